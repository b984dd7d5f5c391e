/* Laws whose functions are tapes, as all of the fluid are.
 *
 * Whoever makes one fills in what engines have inline of it, and its tapes, bound to the law's numbers, with the inputs that pi2_fluid/laws/tapes.py gives
 * them, and its number of states; the rest follows. Engines are given `law`, and the whole as what configures it.
 */
#pragma once

#include "laws/aqm.h"
#include "laws/sender.h"
#include "laws/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Inputs and results of a law's function, and comparisons, at the most. */
enum { PI2_TRACED_INPUTS = 2 * PI2_SENDER_STATES + 8, PI2_TRACED_COMPARISONS = 512 };

typedef struct {
    pi2_sender_law law;
    pi2_tape rate, differences, sending_rate, leave_slow_start;
    pi2_tape acked, sending_rate_under; /* without outputs: it has none */
    signed char comparing[PI2_TRACED_COMPARISONS];
} pi2_traced_sender;

typedef struct {
    pi2_aqm_law law;
    pi2_tape initial, slopes, signals, differences, saturate, controller;
    pi2_tape update, encode, serve; /* without outputs: it has none */
    int flows; /* 1: `slopes` is its flow, 0: its drift */
    signed char comparing[PI2_TRACED_COMPARISONS];
} pi2_traced_aqm;

/* Fill in `law`, of which name, states and bands are there. */
void pi2_make_traced_sender(pi2_traced_sender *sender);
void pi2_make_traced_aqm(pi2_traced_aqm *aqm);

#ifdef __cplusplus
}
#endif
