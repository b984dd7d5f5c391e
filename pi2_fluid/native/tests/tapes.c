/* Checks the interpreter of tapes without Python, on random ones.
 *
 * A tape whose parameters are bound must give what it gives with them beside it, to the byte; whether or not sides are
 * held, results may be written over inputs, and what it is said to depend on must be all that it depends on; tapes with
 * any number changed must be refused, or run. Meant to be built with -DPI2_SANITIZE=ON. The exit status is 1 when something
 * is wrong.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "laws/operations.h"
#include "laws/tape.h"
#include "tests/chance.h"

enum { RUNS = 20000, INPUTS = 6, PARAMETERS = 4, CONSTANTS = 5, ROWS = 40, OUTPUTS = 4, ALL = 15 + ROWS };

#define OPERANDS(name, operands, ...) operands,
static const int OPERANDS_OF[] = {PI2_TAPE_OPERATIONS(OPERANDS, OPERANDS)};
#define NO(...) 0,
#define YES(...) 1,
static const int COMPARES[] = {PI2_TAPE_OPERATIONS(NO, YES)};

typedef struct {
    pi2_tape tape;
    double constant[ALL];
    pi2_tape_row row[ROWS];
    int32_t output[OUTPUTS];
} whole;

static double number(void)
{
    static const double special[] = {0.0, -0.0, 1.0, INFINITY, NAN};
    return chance(0.2) ? special[pick(5)] : uniform(-3, 3);
}

static void make(whole *w)
{
    pi2_tape *t = &w->tape;
    int first;
    memset(w, 0, sizeof *w);
    t->inputs = 1 + pick(INPUTS);
    t->parameters = pick(PARAMETERS + 1);
    t->constants = pick(CONSTANTS + 1);
    t->rows = pick(ROWS + 1);
    t->outputs = 1 + pick(OUTPUTS);
    t->constant = w->constant;
    t->row = w->row;
    t->output = w->output;
    first = t->inputs + t->parameters + t->constants;
    for (int i = 0; i < t->constants; i++)
        w->constant[i] = number();
    for (int i = 0; i < t->rows; i++) {
        pi2_tape_row *row = w->row + i;
        int32_t *const places[] = {&row->a, &row->b, &row->c};
        row->code = pick(PI2_TAPE_CODES);
        for (int k = 0; k < OPERANDS_OF[row->code]; k++)
            *places[k] = pick(first + i);
        if (COMPARES[row->code])
            *places[OPERANDS_OF[row->code]] = chance(0.2) ? -1 : t->sides++;
    }
    for (int k = 0; k < t->outputs; k++)
        w->output[k] = pick(first + t->rows);
}

/* NaNs may differ in what nobody reads of them. */
static int same(const double *a, const double *b, int count)
{
    for (int i = 0; i < count; i++)
        if (memcmp(a + i, b + i, sizeof *a) && !(isnan(a[i]) && isnan(b[i])))
            return 0;
    return 1;
}

static const char *check(const whole *w)
{
    const pi2_tape *t = &w->tape;
    double in[INPUTS + OUTPUTS], parameters[PARAMETERS], out[OUTPUTS], bound_out[OUTPUTS];
    signed char sides[ROWS];
    const signed char *held = chance(0.5) ? sides : NULL;
    whole b;
    for (int i = 0; i < t->inputs; i++)
        in[i] = number();
    for (int i = 0; i < t->parameters; i++)
        parameters[i] = number();
    pi2_tape_bind(t, parameters, &b.tape, b.constant, b.row, b.output);
    for (int n = 0; n < ROWS; n++)
        sides[n] = (signed char)chance(0.5);
    if (pi2_tape_wrong(&b.tape))
        return pi2_tape_wrong(&b.tape);
    pi2_tape_run(t, in, parameters, NULL, out);
    pi2_tape_run(&b.tape, in, NULL, NULL, bound_out);
    if (!same(out, bound_out, t->outputs))
        return "gives something else when it is bound";
    pi2_tape_run(&b.tape, in, NULL, held, out);
    for (int i = 0; i < t->inputs; i++) {
        const double before = in[i];
        in[i] = number();
        pi2_tape_run(&b.tape, in, NULL, held, bound_out);
        for (int k = 0; k < t->outputs; k++)
            if (!pi2_tape_depends(&b.tape, k, i) && !same(out + k, bound_out + k, 1))
                return "depends on what it does not read";
        in[i] = before;
    }
    pi2_tape_run(&b.tape, in, NULL, held, in);
    return same(in, out, t->outputs) ? NULL : "gives something else where results lie over inputs";
}

/* Whether a tape with one number changed is refused; else it is run. */
static int refused(whole *w)
{
    double in[INPUTS] = {1.0}, parameters[PARAMETERS] = {1.0}, out[OUTPUTS];
    signed char sides[ROWS] = {0};
    int32_t *numbers = (int32_t *)w->row;
    if (w->tape.rows)
        numbers[pick(4 * w->tape.rows)] = pick(3 * ALL) - ALL;
    if (pi2_tape_wrong(&w->tape))
        return 1;
    pi2_tape_run(&w->tape, in, parameters, sides, out);
    return 0;
}

int main(void)
{
    static whole w;
    int wrong = 0, refusals = 0;
    for (int i = 0; i < RUNS; i++) {
        const char *what;
        make(&w);
        what = pi2_tape_wrong(&w.tape) ? pi2_tape_wrong(&w.tape) : check(&w);
        if (what) {
            printf("tape %d %s\n", i, what);
            wrong++;
        }
        refusals += refused(&w);
    }
    printf("%d tapes, %d refused with a number changed\n", RUNS, refusals);
    return wrong || refusals < RUNS / 4;
}
