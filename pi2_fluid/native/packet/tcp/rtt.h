/* The round-trip estimator: RFC 6298 with Linux's asymmetric deviation, in whole microseconds. */
#pragma once

#include "packet/tcp/flow.h"
#include "packet/tcp/published.h"

enum { PI2_LONGEST_SAMPLE_US = 1 << 28 }; /* twice the longest timeout; eight times as much fits into 32 bits */

/* srtt + max(200 ms, 4 mdev), rounded up to ms. */
static inline void pi2_set_rto(pi2_flow *f)
{
    const uint32_t us = (f->srtt >> PI2_SRTT_SHIFT) + f->rttvar, ms = (us + 999) / 1000;
    f->rto = ms < PI2_RTO_MAX_MS ? ms : PI2_RTO_MAX_MS;
}

/* Takes a sample (us). The deviation that counts is the largest of a window, and falls by a quarter of
 * the excess per window; a sample below the mean widens it by an eighth only, so that a shrinking queue does not. */
static inline void pi2_rtt_sample(pi2_flow *f, int64_t us)
{
    const uint32_t sample = us < 1 ? 1 : us < PI2_LONGEST_SAMPLE_US ? (uint32_t)us : PI2_LONGEST_SAMPLE_US;
    if (f->srtt == 0) {
        f->srtt = sample << PI2_SRTT_SHIFT;
        f->mdev = sample << (PI2_RTTVAR_SHIFT - 1); /* half of it (RFC 6298, (2.2)) */
        f->rttvar = f->mdev > PI2_RTO_MIN_US ? f->mdev : PI2_RTO_MIN_US;
        f->mdev_max = f->rttvar;
        f->rtt_end = f->window.next;
    } else {
        int32_t error = (int32_t)sample - (int32_t)(f->srtt >> PI2_SRTT_SHIFT), widening;
        f->srtt += (uint32_t)error;
        if (error < 0) {
            widening = -error - (int32_t)(f->mdev >> PI2_RTTVAR_SHIFT);
            if (widening > 0)
                widening >>= 3;
        } else {
            widening = error - (int32_t)(f->mdev >> PI2_RTTVAR_SHIFT);
        }
        f->mdev += (uint32_t)widening;
        if (f->mdev > f->mdev_max) {
            f->mdev_max = f->mdev;
            if (f->mdev_max > f->rttvar)
                f->rttvar = f->mdev_max;
        }
        if ((int32_t)(f->window.una - f->rtt_end) > 0) {
            if (f->mdev_max < f->rttvar)
                f->rttvar -= (f->rttvar - f->mdev_max) >> 2;
            f->rtt_end = f->window.next;
            f->mdev_max = PI2_RTO_MIN_US;
        }
    }
    if (f->srtt == 0)
        f->srtt = 1;
    f->window.srtt = (int64_t)(f->srtt >> PI2_SRTT_SHIFT) * 1000;
    pi2_set_rto(f);
}
