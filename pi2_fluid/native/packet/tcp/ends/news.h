/* What a sender learns, from one acknowledgement or one timer. */
#pragma once

#include <stdint.h>

typedef struct {
    uint32_t delivered;     /* segments newly known to have arrived */
    uint32_t newly_lost;    /* segments taken for lost */
    unsigned flags;         /* below */
} pi2_news;

enum {
    PI2_ADVANCED = 1,       /* una moved */
    PI2_NEWLY_SACKED = 2,
    PI2_ORIGINAL = 4,       /* a segment from before `high` arrived that was never retransmitted */
    PI2_ECE = 8,
    PI2_DUPLICATE = 16,     /* the receiver told of a duplicate */
    PI2_LOST_AGAIN = 32,    /* a retransmission was taken for lost */
    PI2_WAITS = 64          /* the reordering timer was set */
};
