/* What configures PIE's law, which its queue discipline shares: see pie.c. */
#pragma once

#include "laws/aqms/pi_family.h"

/* Values of `table`: a table of steps of the gains, or the curve sqrt(2 u). */
enum {
    PI2_TABLE_NONE,
    PI2_TABLE_RFC8033,
    PI2_TABLE_RFC8034,
    PI2_TABLE_HPSR13,
    PI2_TABLE_IETF_EARLY,
    PI2_TABLE_SQRT2P
};

#define PI2_PIE_OWN(F) \
    F(table) /* one of the above */ \
    F(cap)   /* 1: from u = 10 % on no update adds more than 2 % */ \
    F(boost) /* 1: a delay above 250 ms adds 2 % at each update */ \
    F(decay) /* factor on u at each update of an idle queue, 1: none */ \
    F(burst) /* s during which nothing is signalled, given anew when calm; < 0: never */
#define PI2_PIE_FIELDS(F) PI2_PI_FIELDS(F) PI2_PIE_OWN(F)

typedef struct {
    pi2_pi_family pi;
    PI2_PIE_OWN(PI2_FIELD)
} pi2_pie;
