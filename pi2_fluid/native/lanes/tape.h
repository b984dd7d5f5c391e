/* Inside the lanes kernel: a law as a line of operations (pi2_fluid/laws/tape.py), done for all lanes one by one. */
#pragma once

#include "lanes/state.h"
#include "laws/operations.h"

/* The numbers of a tape that stay the same during a run: its parameters, and its constants. */
static void load_tape(const block *b, const pi2_lanes_tape *t)
{
    if (!t->rows && !t->outputs)
        return;
    double *to = b->room + t->kept * V;
    for (int j = 0; j < t->parameters; j++, to += V)
        LANES to[l] = t->parameter[(size_t)j * b->p->runs + b->run[l]];
    for (int j = 0; j < t->constants; j++, to += V)
        LANES to[l] = t->constant[j];
}

/* out[k] must be none of the lanes that are given. */
static void run_tape(const block *b, const pi2_lanes_tape *t, const double *const *given, double *const *out)
{
    const double *at[PI2_LANES_REGISTERS];
    const int fixed = t->parameters + t->constants, first = t->inputs + fixed;
    double *const kept = b->room + t->kept * V;
    double *to = b->room; /* what is computed on the way: all tapes use the same room */
    for (int j = 0; j < t->inputs; j++)
        at[j] = given[j];
    for (int j = 0; j < fixed; j++)
        at[t->inputs + j] = kept + j * V;
    for (int j = 0; j < t->rows; j++, to += V) {
        const int32_t *const row = t->row + 4 * j;
        at[first + j] = to;
        /* what is no register, such as the number of a comparison, is not looked up */
        switch (row[0]) {
#define A at[row[1]][l]
#define B at[row[2]][l]
#define C at[row[3]][l]
#define LANES_OF_OPERATION(name, operands, value) \
    case PI2_TAPE_##name: \
        LANES to[l] = (value); \
        break;
#define LANES_OF_COMPARISON(name, operands, value, held) LANES_OF_OPERATION(name, operands, value)
            PI2_TAPE_OPERATIONS(LANES_OF_OPERATION, LANES_OF_COMPARISON)
#undef LANES_OF_COMPARISON
#undef LANES_OF_OPERATION
#undef A
#undef B
#undef C
        default:
            break;
        }
    }
    for (int k = 0; k < t->outputs; k++)
        memcpy(out[k], at[t->output[k]], sizeof(lane));
}
