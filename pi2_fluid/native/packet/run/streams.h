/* The streams of random numbers of a run, so that one more draw in one shifts nothing in another. */
#pragma once

#include <stdint.h>

/* Those of flows are PI2_STREAM_FLOWS + number of the flow. */
enum {
    PI2_STREAM_ENQUEUE,      /* first and second draw for a packet judged on arrival */
    PI2_STREAM_ENQUEUE_TWO,
    PI2_STREAM_DEQUEUE,      /* the same for one judged on departure */
    PI2_STREAM_DEQUEUE_TWO,
    PI2_STREAM_ACK_JITTER,
    PI2_STREAM_FLOWS,
};

/* Of what a queue discipline draws once, and of what is lost behind a link: a link's last streams. */
enum { PI2_STREAM_LOSS = INT32_MAX - 1, PI2_STREAM_QUEUE = INT32_MAX };

/* A link's own stream of that kind: there are fewer flows than lie between two links. */
static inline uint64_t pi2_link_stream(uint32_t link, int kind)
{
    return ((uint64_t)link << 32) + (uint64_t)kind;
}
