/* Inside the plant by the clock of acknowledgements: what the vector code is given. */
#pragma once

#include "margins/aliases/ack_class.h"
#include "margins/aliases/aliases.h"

/* A class, and which of the plant's delays are its own. */
typedef struct {
    pi2_ack_class law;
    int own, signal, acks; /* degrees */
    int follows;           /* acknowledgements that come faster or slower */
    int plain;             /* a window of one state that does not, and is not paced */
    size_t rtt, base, heard;
} pi2_ack_member;

struct pi2_ack_plant {
    size_t classes, delays, queue; /* `queue`: which delay that of the queue is */
    int alone;                     /* one class of windows that waits, and all that waits: theta = e^{-s tau} R w */
    size_t through;                /* which delay lies then between the signal and what the controller acts on */
    pi2_ack_queue rest;
    pi2_ack_member *cls;
    double *delay; /* s, each once */
};

struct pi2_ack_sums {
    const pi2_ack_plant *plant;
    double interval;
    size_t pairs, lines;
    int echoing;
    line *turn;           /* of each delay, all lines */
    double *whole, *mean; /* beyond the last alias 0 */
};
