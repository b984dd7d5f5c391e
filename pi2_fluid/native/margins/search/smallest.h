/* The smallest value of a function of one number. Pure C11. */
#pragma once

/* A function of one number. */
typedef double pi2_function(void *of, double x);

typedef struct {
    double x, f;
} pi2_sample;

/* Whether a function that is convex from a to b does not get down to `enough`. */
int pi2_out_of_reach(pi2_sample a, pi2_sample x, pi2_sample b, double enough);

/* Brent's search between a and b, from a point x between them. If `enough` is finite it ends where the function is not above
 * that, or where one that is convex there cannot get down to it. */
pi2_sample pi2_smallest_between(pi2_function *function, void *of, pi2_sample a, pi2_sample x, pi2_sample b, double enough);
