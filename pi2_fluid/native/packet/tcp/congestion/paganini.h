/* The variables of Paganini's source, for those who watch it. */
#pragma once

#include <stdint.h>

#include "packet/tcp/congestion/paganini_law.h"

#define PI2_PAGANINI_OWN(F) \
    F(window)        /* segments whose marks it remembers, 1 to 128 */ \
    F(interval)      /* s between two updates */ \
    F(max_increment) /* segments that its window rises by with each acknowledged one, at most */ \
    F(max_decrement) /* and falls by */ \
    F(by_window)     /* 1: the update without an exponential */
#define PI2_PAGANINI_CC_FIELDS(F) PI2_PAGANINI_FIELDS(F) PI2_PAGANINI_OWN(F)

enum { PI2_PAGANINI_MOST_MARKS = 128 };

typedef struct {
    pi2_paganini law;
    PI2_PAGANINI_OWN(PI2_FIELD)
} pi2_paganini_parameters;

typedef struct {
    double window;     /* segments, with their fraction: CWnd */
    double expected;   /* segments, to which it moves: expWnd */
    double xi;         /* logarithm of the window that it would have without prices */
    double price;      /* s, as of the last update */
    uint64_t marks[2]; /* of the last 128 segments, the last one in the lowest bit of the first */
    int64_t due;       /* ns: when the next update is */
    int64_t base_rtt;  /* ns: the smallest so far */
    uint32_t seen;     /* segments whose marks are known, as many as are remembered at most */
    uint32_t cwnd;     /* the window in whole segments, as this algorithm left it */
} pi2_paganini_state;
