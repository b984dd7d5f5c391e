/* What the door of the packet simulator lets in, once for C and Python. */
#pragma once

#include <stdint.h>

#define PI2_LIMITS(X)                                                                                                 \
    X(LONGEST, INT64_C(1) << 51)      /* ns, of every time but the next; timers count ms in 32 bits */                \
    X(LONGEST_SLOT, INT64_C(1) << 53) /* ns of a packet, and between two of constant bit rate: doubles count them */  \
    X(MOST_JITTER, INT64_C(1) << 31)  /* ns of an acknowledgement: 32 bits are drawn */                               \
    X(MOST_FLOWS, 1000000)            /* in a whole run, all classes together */                                      \
    X(MOST_CLASSES, 65535)            /* a flow has 16 bits for its class */                                          \
    X(MOST_LINKS, 65535)              /* a row of the trace has 16 bits for its link */                               \
    X(MOST_LEGS, 1000000)             /* links on all routes together: 6 GB of histograms */                          \
    X(MOST_WINDOW, 1000000)           /* segments, the first window */                                                \
    X(MOST_TRANSFER, 1 << 30)         /* segments: they are compared in 32 bits */                                     \
    X(MOST_BURST, 1 << 30)            /* bytes that a source sends at once: they are counted in 32 bits */            \
    X(MOST_SIZES, 1000000)            /* of which one is drawn */                                                     \
    X(MOST_BUFFER, 1000000000)        /* packets */                                                                   \
    X(LEAST_PACKET, 64)               /* bytes */                                                                     \
    X(MOST_PACKET, 65535)                                                                                             \
    X(MOST_ROWS, INT64_C(1) << 31)    /* of statistics */                                                             \
    X(MOST_TRACE, 100000000)          /* events of one run */

#define PI2_LIMIT(name, value) static const int64_t PI2_##name = value;
PI2_LIMITS(PI2_LIMIT)
#undef PI2_LIMIT
