/* Through the hops of a run: from the sender into a queue, through its link to the next, and to the far end. */
#pragma once

#include "packet/run/run.h"

/* A sender of that class lets a packet go. */
void pi2_link_begin(pi2_run *run, const pi2_class *class_, pi2_packet *packet, int64_t now);
/* A packet comes out of the pipe. */
void pi2_link_arrive(pi2_run *run, pi2_packet *packet, int64_t now);
/* The link acts by itself, when its hop is due. */
void pi2_link_act(pi2_run *run, pi2_hop *hop, int64_t now);
/* bit/s of a link from `now` on. */
void pi2_link_capacity(pi2_run *run, pi2_hop *hop, double capacity, int64_t now);

/* What the receiver makes of a packet. Given by tcp/ends/receiver.c, which is above what is known here: without delay a
 * packet that leaves the link is received, acknowledged perhaps and answered by another at the same instant. */
void pi2_receive(pi2_run *run, const pi2_packet *packet, int64_t now);
