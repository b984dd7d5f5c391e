/* The laws that trajectories have inline: senders of one window, and queues whose signals follow from one controller. */
#pragma once

#include "laws/aqms/pi_family.h"
#include "laws/sender.h"
#include "laws/senders/reno.h"
#include "laws/senders/scalable.h"

enum { OTHER_LAW, RENO, SCALABLE };

/* How a law of the PI family makes its signals from u, if from u alone. */
enum { OTHER_ENCODER = -1, SQUARE, LINEAR, COUPLED };

static inline int fluid_kind_of(const pi2_sender_law *law)
{
    return law == &pi2_sender_reno ? RENO : law == &pi2_sender_scalable ? SCALABLE : OTHER_LAW;
}

static inline int fluid_encoder_of(const pi2_aqm_law *law)
{
    return law == &pi2_aqm_pi2       ? SQUARE
           : law == &pi2_aqm_pi      ? LINEAR
           : law == &pi2_aqm_coupled ? COUPLED
                                     : OTHER_ENCODER;
}

/* The coupling factor of the parameters of such a law. */
static inline double fluid_coupling_of(int encoder, const void *parameters)
{
    return encoder == COUPLED ? ((const pi2_coupled *)parameters)->k : 1.0;
}

/* Whether k u is a probability: the only comparison of a coupled encoder. */
static inline int fluid_is_within(double k, double u)
{
    return k * u <= 1.0 + 1e-12;
}

static inline double fluid_encode_on(int within, int encoder, double k, double u, int scalable)
{
    if (encoder == SQUARE)
        return u * u;
    if (encoder == LINEAR)
        return u;
    return !scalable ? u * u : within ? k * u : 1.0;
}

static inline double fluid_encode(int encoder, double k, double u, int scalable)
{
    return fluid_encode_on(fluid_is_within(k, u), encoder, k, u, scalable);
}

/* dW/dt of a sender of a known kind that hears of so many signals per second. */
static inline double fluid_window_rate(int kind, const void *parameters, double window, double signals,
                                       double inverse_rtt)
{
    return kind == RENO ? pi2_reno_rate(parameters, window, signals, inverse_rtt)
                        : pi2_scalable_rate(parameters, signals, inverse_rtt);
}
