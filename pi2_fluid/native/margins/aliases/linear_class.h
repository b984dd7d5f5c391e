/* Classes of flows, linearised, and what they are at high frequency. */
#pragma once

/* Room for the states of a class. */
#define PI2_STATES 4
#define PI2_TERMS ((PI2_STATES + 1) * (PI2_STATES + 1))

/* A class of flows of n states: the queue obeys s d = -sum(drive) u + sum(feedback) d. With e = e^{-s rtt} the sending rate
 * answers to the controller's variable of one round trip ago as signal/own, to the queue delay as r + delay/own: polynomials
 * in s and e, of which s^i e^j, i + j <= n, has the coefficient i (n + 1) + j; own is 1 s^n and less. */
typedef struct {
    int states;
    double own[PI2_TERMS], signal[PI2_TERMS], delay[PI2_TERMS];
    double r;
    double weight;       /* flows per unit of capacity */
    double rtt;          /* s */
    double lead;         /* s by which the rate leads, 0 without */
    double rates;        /* norm of the response of the states to themselves, 1/s */
    double heard, shown; /* norms of their response to the controller's variable, and of the rate's to them */
    double felt;         /* norm of their response to the queue delay */
} pi2_linear_class;

/* Leading terms of one delay: e^{-s delay} sum over m = 2, 3, 4 of order[m - 2]/(s + 1/T)^m. */
typedef struct {
    double delay;
    double order[3];
} pi2_echo;
