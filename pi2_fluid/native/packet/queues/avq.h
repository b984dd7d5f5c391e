/* What a replay reads of an AVQ queue discipline, beyond what the table in qdisc.h gives. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    double queue;    /* what the virtual queue holds: packets, or bytes if it counts in these */
    double capacity; /* of the virtual queue, in the same per second */
} pi2_avq_view;

void pi2_avq_look(const void *qdisc, pi2_avq_view *view);

#ifdef __cplusplus
}
#endif
