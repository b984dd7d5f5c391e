/* Classes of flows with one state, linearised, and what they are at high frequency. */
#pragma once

/* A class of flows with one state, linearised: the queue obeys s d = -sum(drive) u + sum(feedback) d. */
typedef struct {
    double a0, a1; /* response of dx/dt to the state now and one round trip ago, 1/s */
    double b;      /* to the controller's variable one round trip ago */
    double e0, e1; /* to the queue delay now and one round trip ago */
    double c, r;   /* of the sending rate to the state and to the queue delay */
    double weight; /* flows per unit of capacity */
    double rtt;    /* s */
    double lead;   /* s by which the rate leads, 0 without */
} pi2_linear_class;

/* Leading terms of one delay: e^{-s delay} sum over m = 2, 3, 4 of order[m - 2]/(s + 1/T)^m. */
typedef struct {
    double delay;
    double order[3];
} pi2_echo;
