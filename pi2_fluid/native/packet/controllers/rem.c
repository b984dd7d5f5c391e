#include "packet/controllers/rem.h"

void pi2_rem_update(const pi2_rem *p, double *state, double queue, double capacity)
{
    const double average = state[PI2_REM_AVERAGE] + p->weight * (state[PI2_REM_COUNT] - state[PI2_REM_AVERAGE]);
    const double excess = average + p->alpha * (queue - p->target) - capacity * p->update_interval;
    const double price = state[PI2_REM_PRICE] + p->gamma * excess;
    state[PI2_REM_PRICE] = price < 0.0 ? 0.0 : price;
    state[PI2_REM_AVERAGE] = average;
    state[PI2_REM_COUNT] = 0.0;
}
