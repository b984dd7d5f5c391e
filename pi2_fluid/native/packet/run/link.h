/* Through the hops of a run: from the sender into a queue, through its link to the next, and to the far end. */
#pragma once

#include "packet/run/run.h"

/* The packet reaches the queue of its leg. */
void pi2_link_enter(pi2_run *run, pi2_hop *hop, pi2_packet *packet, int64_t now);
/* Into a pipe: it comes out `onward`, at that leg, or at the receiver. */
void pi2_link_travel(pi2_run *run, const pi2_packet *packet, uint32_t pipe, uint32_t leg, unsigned onward, int64_t now);
/* A packet comes out of the pipe. */
void pi2_link_arrive(pi2_run *run, pi2_packet *packet, int64_t now);
/* The link acts by itself, when its hop is due. */
void pi2_link_act(pi2_run *run, pi2_hop *hop, int64_t now);
/* bit/s of a link from `now` on. */
void pi2_link_capacity(pi2_run *run, pi2_hop *hop, double capacity, int64_t now);

/* A sender of that class lets a packet go. */
static inline void pi2_link_begin(pi2_run *run, const pi2_class *class_, pi2_packet *packet, int64_t now)
{
    packet->leg = class_->leg;
    if (class_->access == PI2_NO_PIPE)
        pi2_link_enter(run, class_->hop, packet, now);
    else
        pi2_link_travel(run, packet, class_->access, class_->leg, 1, now);
}

/* An acknowledgement on its way over links: its number; UINT32_MAX: no memory. */
uint32_t pi2_link_keep_ack(pi2_run *run);
/* It is lost. */
void pi2_link_forget_ack(pi2_run *run, uint32_t number);
/* It begins its way. */
void pi2_link_return(pi2_run *run, const pi2_class *class_, uint32_t number, int64_t now);
/* Room for one that is on its way to the sender, past all links; NULL: no memory. */
pi2_ack *pi2_link_homeward(pi2_run *run, const pi2_class *class_, int64_t now);

/* What the receiver makes of a packet. Given by tcp/ends/receiver.c, which is above what is known here: without delay a
 * packet that leaves the link is received, acknowledged perhaps and answered by another at the same instant. */
void pi2_receive(pi2_run *run, const pi2_packet *packet, int64_t now);
