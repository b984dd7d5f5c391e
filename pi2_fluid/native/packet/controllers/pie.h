/* PIE's controller in real numbers: the PI controller with gains scaled by a table of its own output, and the heuristics
 * around it. PIE paper (HPSR'13), section IV; RFC 8033, sections 4.2 and 5; PI2 paper (CoNEXT'16), Figure 5. */
#pragma once

#include "packet/controllers/pi_family.h"

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

/* The states of the family, and what is left of the burst allowance (s). */
enum { PI2_PIE_LEFT = PI2_PI_STATES, PI2_PIE_STATES };

int pi2_pie_sound(const pi2_pie *p);
void pi2_pie_initial(const pi2_pie *p, double *state);
/* One update at such a delay, `dt` seconds after the last; not clipped. */
void pi2_pie_real_update(const pi2_pie *p, const double *state, double delay, double dt, double *after);
