/* Where a function of one number falls or rises through 0. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

typedef double pi2_of_one_number(void *of, double x);

/* Between two ends with different signs, to the last digits, by T. R. Chandrupatla's method (Advances in Engineering
 * Software 28, 1997): a parabola through the last three points where it may be trusted, else the middle. NaN if both ends
 * are on one side, or the function has no value. */
double pi2_find_zero(pi2_of_one_number *function, void *of, double low, double high);

/* The same from what the function is at both ends. `before` and `after` are what it is left and right of what is found. */
double pi2_find_zero_from(pi2_of_one_number *function, void *of, double low, double f_low, double high, double f_high,
                          double *before, double *after);

#ifdef __cplusplus
}
#endif
