/* A class of flows and its queue by the clock of acknowledgements, and what is made of them. Pure C11. */
#pragma once

/* Coefficients of a polynomial in s, in rising powers: room for window laws of four states. */
#define PI2_ACK_COEFFICIENTS 5

/* A class of flows, linearised. With P(s), by which cuts are carried out, a window w = dW/W obeys
 * (own[0] + P own[1]) w = (signal[0] + P signal[1]) u + (acks[0] + P acks[1]) kappa,
 * u being the signal that is heard, kappa the rate of acknowledgements relative to that at rest. */
typedef struct {
    double own[2][PI2_ACK_COEFFICIENTS], signal[2][PI2_ACK_COEFFICIENTS], acks[2][PI2_ACK_COEFFICIENTS];
    double base_rtt, rtt; /* s, without and with the queue */
    double heard;         /* s from where a packet is signalled to its sender */
    double share;         /* of the packets in the queue that rules */
    double smoothing;     /* s by which a paced sender's round-trip time lags behind the measured one */
    int waits;            /* in that queue; if not, packets are served first */
    int reduces;          /* P spreads a cut over a round trip; if not, P = 1 */
    int paced;            /* sent at W/R, not as acknowledgements come */
} pi2_ack_class;

/* How large the law of a class is, for bounds. */
typedef struct {
    double rates;      /* norms of what its states answer to themselves, growing and cut, 1/s */
    double grown, cut; /* norms of what the controller's variable adds to its growth and to its cut */
} pi2_ack_size;

typedef struct {
    double queue_delay; /* s, at rest */
    double bunch;       /* 0: a window lies evenly over a round trip; 1: it travels in one burst */
    int head;           /* the controller acts on the waiting of the packet at the head; if not, on the backlog */
} pi2_ack_queue;

/* What is evaluated: all that does not depend on s. */
typedef struct pi2_ack_plant pi2_ack_plant;

/* The sum over the aliases -pairs <= k < pairs of whole_k G(s_k)/s_k, and of the rest as if (s_k + 1/T)^2 G(s_k)/s_k
 * were everywhere the sum of mean_k times it; both have 2 pairs weights. With `echoing` packets that are served first come
 * back in all aliases; without, in that of k = 0 alone. */
typedef struct pi2_ack_sums pi2_ack_sums;
