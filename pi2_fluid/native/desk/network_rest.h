/* Where several links rest: which of them are full, and what each signals. pi2_fluid/network/bottlenecks.py says what is
 * done here, and why.
 */
#pragma once

#include "desk/rest.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PI2_DESK_LINKS = 24 };

typedef struct {
    int links, classes;
    const pi2_desk_queue *link;
    const pi2_desk_flows *flows;
    const int *hops;  /* how many links each class crosses */
    const int *route; /* which, in order, of one class after the other */
    int adds;         /* whether signals add up; else they are drawn one by one */
} pi2_desk_network;

/* The coordinate of each link, from -1 to 1, as of `network/bottlenecks.py`; 0 where no rest was found, which may be
 * elsewhere. */
int pi2_find_network_rest(const pi2_desk_network *network, double *v);

#ifdef __cplusplus
}
#endif
