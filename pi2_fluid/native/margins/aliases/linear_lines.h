/* Inside the sums over aliases of linear_sums.h: what the vector code is given. */
#pragma once

#include <stddef.h>

#include "margins/aliases/linear_class.h"

/* Aliases at once, real and imaginary parts apart: loops over them are what a compiler makes vector code of. */
enum { PI2_WIDE = 8 };

typedef struct {
    double re[PI2_WIDE], im[PI2_WIDE];
} pi2_wide;

/* A polynomial of pi2_linear_class without the powers of e that it has not. */
typedef struct {
    int states;
    int highest[PI2_STATES + 1]; /* power of e, of each power of s; -1: none */
    const double *of;
} pi2_polynomial;

/* A class, and the leading terms of its own delay and of twice that. */
typedef struct {
    pi2_linear_class law;
    pi2_polynomial own, signal, delay;
    double once[3], twice[3];
    const pi2_wide *turn; /* e^{-2 pi j k rtt/T} of all aliases; 0 in lanes beyond the last one, which add nothing */
} pi2_linear_member;

/* Leading terms of a delay of several classes. */
typedef struct {
    double order[3];
    const pi2_wide *turn;
} pi2_linear_cross;

/* The leading terms of one delay, summed over all aliases: y^{first/T} times these of the sums over m of m^{0, 1, 2, 3} q^m. */
typedef struct {
    double first; /* s */
    double on[4];
} pi2_linear_known;

typedef struct {
    size_t classes, crosses, lines;
    const pi2_linear_member *cls;
    const pi2_linear_cross *cross;
    const double *shift; /* 2 pi k/T */
    double rate;         /* 1/T */
    size_t delays, knowns;
    const double *delay; /* s, of each class, then of each cross */
    const pi2_linear_known *known;
    double decay; /* q = decay y */
} pi2_linear_lines;

/* The sum over the lines at s of G/s less its leading terms; `e` holds e^{-s delay}, a pair for each class, then for each
 * cross. */
typedef void pi2_linear_sum_function(const pi2_linear_lines *of, const double *s, const double *e, double *sum);

/* 1/T times the sum over all aliases at up to PI2_WIDE frequencies x of which none times a delay is PI2_SINCOS_LIMIT; there
 * are at most PI2_FEW delays. */
enum { PI2_FEW = 16 };
typedef void pi2_linear_at_function(const pi2_linear_lines *of, size_t n, const double *x, double *values);

/* e^{-2 pi j k x} for all aliases from k = -count - 1 to count, 0 in the lanes beyond. */
typedef void pi2_linear_turns_function(double x, size_t count, size_t lines, pi2_wide *to);
