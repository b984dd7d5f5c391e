/* Numbers that others have published: what TCP, Linux and its queues do with them is theirs, and is not ours to tune.
 * Each has its source; tests/engines/packet/test_published.py ties each to it. Linux is 6.18 unless said, at HZ = 1000. */
#pragma once

#define PI2_PUBLISHED(X)                                                                                              \
    X(HZ, 1000)                    /* jiffies per second */                                                           \
    X(WHEEL_BUCKETS, 64)           /* of a level of the timer wheel: 2^LVL_BITS */                                    \
    X(WHEEL_SHIFT, 3)              /* each level is 8 times as coarse: LVL_CLK_SHIFT */                               \
    X(WHEEL_LEVELS, 9)             /* LVL_DEPTH above 100 Hz */                                                       \
    X(SYN_BYTES, 74)               /* Ethernet 14, IPv4 20, TCP 20 (RFC 9293), options 20 */                          \
    X(ACK_BYTES, 66)               /* Ethernet 14, IPv4 20, TCP 20, time stamps 12 (RFC 7323, appendix A) */          \
    X(SRTT_SHIFT, 3)               /* alpha = 1/8 (RFC 6298, (2.3)) */                                                \
    X(RTTVAR_SHIFT, 2)             /* beta = 1/4 (ibid.) */                                                           \
    X(RTO_MIN_US, 200000)          /* TCP_RTO_MIN, HZ/5 (RFC 6298 would have 1 s) */                                  \
    X(RTO_MAX_MS, 120000)          /* TCP_RTO_MAX */                                                                  \
    X(RTO_INITIAL_MS, 1000)        /* TCP_TIMEOUT_INIT; RFC 6298, (2.1) */                                            \
    X(SYN_LINEAR_TIMEOUTS, 4)      /* of a SYN, before they grow: net.ipv4.tcp_syn_linear_timeouts */                 \
    X(TIMER_MIN_US, 2000)          /* TCP_TIMEOUT_MIN, two jiffies */                                                 \
    X(ATO_MIN_MS, 40)              /* TCP_ATO_MIN, HZ/25 */                                                           \
    X(ATO_MAX_MS, 200)             /* TCP_DELACK_MAX, HZ/5 */                                                         \
    X(QUICK_ACKS, 16)              /* TCP_MAX_QUICKACKS */                                                            \
    X(QUICK_ACKS_FEW, 2)           /* of tcp_enter_quickack_mode when marks begin or ECT ends */                      \
    X(ACKS_BEFORE_COMPRESSION, 3)  /* TCP_FASTRETRANS_THRESH of __tcp_ack_snd_check */                                \
    X(ACKS_COMPRESSED, 44)         /* net.ipv4.tcp_comp_sack_nr */                                                    \
    X(COMPRESSION_PER_MILLE, 41)   /* of the round trip, between two of them: as 6.18 was measured */                 \
    X(COMPRESSION_MOST_US, 1000)   /* net.ipv4.tcp_comp_sack_delay_ns */                                              \
    X(WINDOW_UNSCALED, 65535)      /* bytes that a SYN can offer at most (RFC 7323, section 2.2) */                   \
    X(RECEIVE_BUFFER, 131072)      /* bytes to begin with: net.ipv4.tcp_rmem, the second */                           \
    X(SEND_BUFFER, 1048576)        /* bytes of a socket, as guests of the engine Linux have it */                     \
    X(SEGMENT_MEMORY, 838)         /* bytes beside its own that one takes there: 462 of 1434 fit, as seen */          \
    X(DUPTHRESH, 3)                /* RFC 5681; RFC 8985, section 6.2 */                                              \
    X(RACK_PARTS, 4)               /* reordering window: min_RTT / 4 (RFC 8985, section 6.2) */                       \
    X(PROBE_RTTS, 2)               /* tail loss probe after 2 SRTT (RFC 8985, section 7.2) */                         \
    X(PACED_BURST_US, 250)         /* that a paced sender sends at once: Prague's longest burst */                    \
    X(PACE_EARLY, 2)               /* of the pace while cwnd < ssthresh/2: net.ipv4.tcp_pacing_ss_ratio = 200 */      \
    X(PACE_PER_MILLE, 1036)        /* of window over round trip: 1500 bytes a packet, of which 1448 are counted */    \
    X(BURST_PARTS, 3)              /* of the window, that leave without waiting for more: tcp_tso_win_divisor */      \
    X(DCTCP_ONE, 1024)             /* alpha = 1: DCTCP_MAX_ALPHA */                                                   \
    X(CUBIC_UNIT_BITS, 10)         /* fractions, and the seconds of K, are in 1/1024: BICTCP_HZ */                    \
    X(CUBIC_GATE_PARTS, 32)        /* an unchanged window is not computed again for HZ/32 */                          \
    X(CUBIC_FIRST_CNT, 20)         /* before the first signal one segment for so many, at least */                    \
    X(CUBIC_SLOWEST, 100)          /* windows for a segment where the cubic is flat */                                \
    X(CUBIC_RATIO_BITS, 4)         /* Linux 3.18: segments per acknowledgement are in 1/16, */                        \
    X(CUBIC_MOST_RATIO, 32)        /* ACK_RATIO_SHIFT, and at most ACK_RATIO_LIMIT */                                 \
    X(HYSTART_WINDOW, 16)          /* hystart_low_window, segments */                                                 \
    X(HYSTART_SAMPLES, 8)          /* HYSTART_MIN_SAMPLES */                                                          \
    X(HYSTART_GAP_US, 2000)        /* hystart_ack_delta_us */                                                         \
    X(HYSTART_SLACK_US, 1000)      /* that a burst may lengthen a train, at most: hystart_ack_delay */                \
    X(HYSTART_PARTS, 8)            /* HYSTART_DELAY_THRESH: an eighth of the smallest RTT, */                         \
    X(HYSTART_PARTS_OLD, 16)       /* in Linux 3.18 a sixteenth, */                                                   \
    X(HYSTART_LEAST_US, 4000)      /* but at least HYSTART_DELAY_MIN */                                               \
    X(HYSTART_MOST_US, 16000)      /* and at most HYSTART_DELAY_MAX */                                                \
    X(HTB_SLOTS, 1)                /* that an idle link stores: the burst of one packet that it is given */

enum {
#define PI2_NUMBER(name, value) PI2_##name = value,
    PI2_PUBLISHED(PI2_NUMBER)
#undef PI2_NUMBER
};
