/* Transfers: how large they are, when they come, how long they take. */
#pragma once

#include "packet/run/run.h"

/* 0 if there is no memory. */
int pi2_transfers_new(pi2_run *run);
void pi2_transfers_free(pi2_run *run);
/* The next transfer of a flow begins: its size is drawn. */
void pi2_transfer_begin(pi2_run *run, pi2_flow *flow, int64_t now);
void pi2_transfer_end(pi2_run *run, const pi2_flow *flow, int64_t now);
/* ns until the source begins its next one. */
int64_t pi2_transfer_idle(const pi2_run *run, const pi2_flow *flow);
/* ns until the next one arrives at the class. */
int64_t pi2_transfer_gap(const pi2_run *run, const pi2_class *class_);

static inline int pi2_has_transfers(const pi2_class *class_)
{
    return class_->spec->sizes.kind != PI2_SIZES_ENDLESS;
}

/* Whether they arrive, rather than being sent by each source one after the other. */
static inline int pi2_transfers_arrive(const pi2_class *class_)
{
    return pi2_has_transfers(class_) && class_->spec->gap > 0.0;
}

/* Whether there is something that a flow has not sent yet. */
static inline int pi2_more_to_send(pi2_run *run, const pi2_flow *flow)
{
    return !pi2_has_transfers(pi2_class_of(run, flow)) || flow->window.next != flow->end;
}
