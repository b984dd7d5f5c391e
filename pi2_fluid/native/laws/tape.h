/* A function of a law as a straight line of operations on registers: the twin of pi2_fluid/laws/tape.py.
 *
 * Registers hold [inputs | parameters | constants | rows], one number each; a row is a code (operations.h) and three
 * registers. A comparison has its number in the place after its operands, -1: none. The frame of registers is on the
 * stack, so that any number of threads may run one tape.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#include <stdint.h>

#include "laws/generated.h"

/* Registers of a tape, at the most. */
enum { PI2_TAPE_REGISTERS = 2048 };

typedef struct {
    int32_t code, a, b, c;
} pi2_tape_row;

typedef struct {
    int inputs, parameters, constants, rows, outputs;
    int sides; /* how many comparisons are numbered, of this tape and of those that share its numbers */
    const double *constant;
    const pi2_tape_row *row;
    const int32_t *output; /* registers of the results */
    pi2_tape_function *generated; /* does the same, NULL: there is none */
} pi2_tape;

/* What is wrong with a tape, NULL if nothing is: a code that is unknown, a register that comes later, a number of a
 * comparison that there is not, or too many registers. */
const char *pi2_tape_wrong(const pi2_tape *tape);

/* `sides` are the answers of the comparisons, by their numbers; NULL: by the numbers that they compare. `in` and `out` may
 * be the same. */
void pi2_tape_run(const pi2_tape *tape, const double *in, const double *parameters, const signed char *sides,
                  double *out);

/* The same function where the parameters are these: what depends on them alone is computed here, once. `to` gets room for
 * as many constants as the tape has parameters, constants and rows, and for as many rows and outputs as it has. It runs as
 * C where C was generated for tapes of this form. */
void pi2_tape_bind(const pi2_tape *tape, const double *parameters, pi2_tape *to, double *constant, pi2_tape_row *row,
                   int32_t *output);

/* What a tape does, but for its constants, in 64 bits (FNV-1a over its counts, rows and outputs). */
uint64_t pi2_tape_form(const pi2_tape *tape);

/* Whether any result depends on an input; whether that one does. */
int pi2_tape_reads(const pi2_tape *tape, int input);
int pi2_tape_depends(const pi2_tape *tape, int result, int input);

/* What the comparison of that number is (PI2_TAPE_LESS, ...), -1: it is another tape's. */
int pi2_tape_comparison(const pi2_tape *tape, int number);

#ifdef __cplusplus
}
#endif
