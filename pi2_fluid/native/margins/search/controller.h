/* The queue's controller, as the search takes it: a ratio of polynomials, and how its updates are seen. Pure C11. */
#pragma once

/* Room for the controller's coefficients. */
#define PI2_CONTROLLER_COEFFICIENTS 8

typedef enum { PI2_CONTINUOUS, PI2_DELAYED, PI2_SAMPLED } pi2_update;

typedef struct {
    pi2_update update;
    /* Coefficients in rising powers: of s unit, or, if the loop is sampled, of 1 - e^{-sT}. */
    int degree;
    double top[PI2_CONTROLLER_COEFFICIENTS], bottom[PI2_CONTROLLER_COEFFICIENTS];
    double unit;     /* s */
    double interval; /* T (s); 0 if it acts on every packet */
} pi2_controller;
