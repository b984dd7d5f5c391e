/* A queue's controller in the state of a trajectory: of its law's states, those that move are components, y. */
#pragma once

#include <math.h>
#include <string.h>

#include "laws/aqm.h"

/* All states of the law, of which `still` has those that do not move. */
static inline void controller_state(int states, const double *still, int moving, const int *moves, const double *y,
                                    double *state)
{
    for (int j = 0; j < states; j++)
        state[j] = still[j];
    for (int j = 0; j < moving; j++)
        state[moves[j]] = y[j];
}

/* Which clips stop what moves by `slope` from this state: in `held`, the direction, or 0. */
static inline void controller_hold(const pi2_aqm_law *aqm, const void *law, int moving, const int *moves,
                                   const double *slope, const double *state, double *held)
{
    static const double NUDGE = 1e-6; /* s: how far ahead a clip is felt */
    double ahead[PI2_AQM_STATES], clipped[PI2_AQM_STATES];
    memcpy(ahead, state, sizeof ahead);
    for (int j = 0; j < moving; j++)
        ahead[moves[j]] += NUDGE * slope[j];
    memcpy(clipped, ahead, sizeof clipped);
    aqm->saturate(law, clipped);
    for (int j = 0; j < moving; j++) {
        const int m = moves[j], holds = clipped[m] != ahead[m] && clipped[m] == state[m];
        held[j] = holds ? copysign(1.0, slope[j]) : 0.0;
    }
}

/* What a jump of the queue delay does to a controller that moves by its flow. */
static inline void controller_jump(const pi2_aqm_law *aqm, const void *law, int moving, const int *moves,
                                   const pi2_seen *before, double by, double *state, double *y)
{
    double still[PI2_AQM_STATES], moved[PI2_AQM_STATES];
    aqm->flow(law, state, before, 0.0, NULL, still);
    aqm->flow(law, state, before, by, NULL, moved);
    for (int j = 0; j < moving; j++)
        state[moves[j]] += moved[moves[j]] - still[moves[j]];
    aqm->saturate(law, state);
    for (int j = 0; j < moving; j++)
        y[j] = state[moves[j]];
}
