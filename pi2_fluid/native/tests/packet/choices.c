#include "tests/packet/choices.h"

#include <math.h>

uint64_t pi2_choose_bits(pi2_choices *c)
{
    uint64_t bits = 0;
    if (!c->bytes)
        return pi2_random(c->key, c->index++) >> 32;
    for (int i = 0; i < 4 && c->left > 0; i++, c->left--)
        bits = bits << 8 | *c->bytes++;
    return bits;
}

double pi2_uniform(pi2_choices *c, double low, double high)
{
    return low + (high - low) * (double)pi2_choose_bits(c) * 0x1p-32;
}

double pi2_spread(pi2_choices *c, double low, double high)
{
    return exp(pi2_uniform(c, log(low), log(high)));
}

int pi2_chance(pi2_choices *c, double p)
{
    return pi2_uniform(c, 0.0, 1.0) < p;
}

int pi2_pick(pi2_choices *c, int n)
{
    return (int)(pi2_choose_bits(c) * (uint64_t)n >> 32);
}
