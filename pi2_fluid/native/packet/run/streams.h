/* The streams of random numbers of a run, so that one more draw in one shifts nothing in another. */
#pragma once

/* Those of flows are PI2_STREAM_FLOWS + number of the flow. */
enum {
    PI2_STREAM_ENQUEUE,      /* first and second draw for a packet judged on arrival */
    PI2_STREAM_ENQUEUE_TWO,
    PI2_STREAM_DEQUEUE,      /* the same for one judged on departure */
    PI2_STREAM_DEQUEUE_TWO,
    PI2_STREAM_ACK_JITTER,
    PI2_STREAM_FLOWS,
};
