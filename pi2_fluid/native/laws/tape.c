#include "laws/tape.h"

#include <string.h>

#include "laws/operations.h"

#define PI2_OPERANDS(name, operands, ...) operands,
static const signed char OPERANDS[] = {PI2_TAPE_OPERATIONS(PI2_OPERANDS, PI2_OPERANDS)};
#define PI2_NO(...) 0,
#define PI2_YES(...) 1,
static const signed char COMPARES[] = {PI2_TAPE_OPERATIONS(PI2_NO, PI2_YES)};

/* Where a row keeps an operand, or the number of a comparison behind its operands. */
static int32_t *place(pi2_tape_row *row, int which)
{
    return which == 0 ? &row->a : which == 1 ? &row->b : &row->c;
}

static int32_t operand(const pi2_tape_row *row, int which)
{
    return which == 0 ? row->a : which == 1 ? row->b : row->c;
}

static int first_row(const pi2_tape *tape)
{
    return tape->inputs + tape->parameters + tape->constants;
}

const char *pi2_tape_wrong(const pi2_tape *tape)
{
    const int first = first_row(tape);
    if (first + tape->rows > PI2_TAPE_REGISTERS)
        return "has too many registers";
    for (int i = 0; i < tape->rows; i++) {
        const pi2_tape_row *row = tape->row + i;
        if (row->code < 0 || row->code >= PI2_TAPE_CODES)
            return "has an unknown operation";
        for (int k = 0; k < OPERANDS[row->code]; k++)
            if (operand(row, k) < 0 || operand(row, k) >= first + i)
                return "reads a register that is not written yet";
        if (COMPARES[row->code]) {
            const int32_t number = operand(row, OPERANDS[row->code]);
            if (number < -1 || number >= tape->sides)
                return "has a comparison without a side";
        }
    }
    for (int k = 0; k < tape->outputs; k++)
        if (tape->output[k] < 0 || tape->output[k] >= first + tape->rows)
            return "returns a register that it has not";
    return 0;
}

#define A r[row->a]
#define B r[row->b]
#define C r[row->c]

/* The rows from `row` to `end`, whose registers begin at `to`; `r` are all. */
#if defined(__GNUC__) || defined(__clang__)
/* A jump from each operation to the next is foreseen better than one from a common place. */
static void run_rows(const pi2_tape_row *row, const pi2_tape_row *end, double *r, double *to, const signed char *sides)
{
#define LABEL(name, ...) &&name,
    __extension__ static const void *const labels[] = {PI2_TAPE_OPERATIONS(LABEL, LABEL)};
#define NEXT \
    if (++row == end) \
        return; \
    goto *labels[row->code]
    if (row == end)
        return;
    goto *labels[row->code];
#define OPERATION(name, operands, value) \
    name: \
    *to++ = (value); \
    NEXT;
#define COMPARISON(name, operands, value, held) \
    name: \
    { \
        const int number = (operands) == 1 ? row->b : row->c; \
        if (sides && number >= 0) { \
            const int SIDE = sides[number]; \
            *to++ = (held); \
        } else \
            *to++ = (value); \
    } \
    NEXT;
    PI2_TAPE_OPERATIONS(OPERATION, COMPARISON)
#undef OPERATION
#undef COMPARISON
}
#else
static void run_rows(const pi2_tape_row *row, const pi2_tape_row *end, double *r, double *to, const signed char *sides)
{
    for (; row != end; row++)
        switch (row->code) {
#define OPERATION(name, operands, value) \
    case PI2_TAPE_##name: \
        *to++ = (value); \
        break;
#define COMPARISON(name, operands, value, held) \
    case PI2_TAPE_##name: { \
        const int number = (operands) == 1 ? row->b : row->c; \
        const int SIDE = sides && number >= 0 ? sides[number] : -1; \
        *to++ = SIDE >= 0 ? (held) : (value); \
        break; \
    }
            PI2_TAPE_OPERATIONS(OPERATION, COMPARISON)
#undef OPERATION
#undef COMPARISON
        }
}
#endif

void pi2_tape_run(const pi2_tape *tape, const double *in, const double *parameters, const signed char *sides,
                  double *out)
{
    double r[PI2_TAPE_REGISTERS], *to = r;
    if (tape->generated) {
        tape->generated(in, tape->constant, sides, out);
        return;
    }
    for (int i = 0; i < tape->inputs; i++)
        *to++ = in[i];
    for (int i = 0; i < tape->parameters; i++)
        *to++ = parameters[i];
    for (int i = 0; i < tape->constants; i++)
        *to++ = tape->constant[i];
    run_rows(tape->row, tape->row + tape->rows, r, to, sides);
    for (int k = 0; k < tape->outputs; k++)
        out[k] = r[tape->output[k]];
}

void pi2_tape_bind(const pi2_tape *tape, const double *parameters, pi2_tape *to, double *constant, pi2_tape_row *row,
                   int32_t *output)
{
    /* Of each register: whether its value is known here and which, whether a result needs it, where it is placed. */
    double r[PI2_TAPE_REGISTERS];
    unsigned char known[PI2_TAPE_REGISTERS] = {0}, needed[PI2_TAPE_REGISTERS] = {0};
    int32_t new[PI2_TAPE_REGISTERS];
    const int first = first_row(tape), all = first + tape->rows;
    *to = (pi2_tape){.inputs = tape->inputs, .outputs = tape->outputs, .sides = tape->sides, .constant = constant,
                     .row = row, .output = output};
    for (int i = tape->inputs; i < first; i++) {
        const int j = i - tape->inputs;
        r[i] = j < tape->parameters ? parameters[j] : tape->constant[j - tape->parameters];
        known[i] = 1;
    }
    for (int i = 0; i < tape->rows; i++) {
        const pi2_tape_row *from = tape->row + i;
        int all_known = 1;
        for (int k = 0; k < OPERANDS[from->code]; k++)
            all_known &= known[operand(from, k)];
        if (all_known)
            run_rows(from, from + 1, r, r + first + i, 0);
        known[first + i] = (unsigned char)all_known;
    }
    for (int k = 0; k < tape->outputs; k++)
        needed[tape->output[k]] = 1;
    for (int i = all - 1; i >= first; i--) {
        const pi2_tape_row *from = tape->row + i - first;
        for (int k = 0; needed[i] && !known[i] && k < OPERANDS[from->code]; k++)
            needed[operand(from, k)] = 1;
    }
    for (int i = 0; i < tape->inputs; i++)
        new[i] = i;
    for (int i = tape->inputs; i < all; i++)
        if (known[i] && needed[i]) {
            constant[to->constants] = r[i];
            new[i] = tape->inputs + to->constants++;
        }
    for (int i = first; i < all; i++)
        if (!known[i] && needed[i]) {
            pi2_tape_row *moved = row + to->rows;
            *moved = tape->row[i - first];
            for (int k = 0; k < OPERANDS[moved->code]; k++)
                *place(moved, k) = new[*place(moved, k)];
            new[i] = tape->inputs + to->constants + to->rows++;
        }
    for (int k = 0; k < tape->outputs; k++)
        output[k] = new[tape->output[k]];
    to->generated = pi2_find_generated(pi2_tape_form(to));
}

static uint64_t mix(uint64_t form, int32_t number)
{
    for (int shift = 0; shift < 32; shift += 8)
        form = (form ^ ((uint32_t)number >> shift & 0xff)) * UINT64_C(0x100000001b3);
    return form;
}

uint64_t pi2_tape_form(const pi2_tape *tape)
{
    uint64_t form = UINT64_C(0xcbf29ce484222325);
    const int32_t counts[] = {tape->inputs, tape->parameters, tape->constants, tape->rows, tape->outputs, tape->sides};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        form = mix(form, counts[i]);
    for (int i = 0; i < tape->rows; i++) {
        const pi2_tape_row *row = tape->row + i;
        form = mix(form, row->code);
        for (int k = 0; k < OPERANDS[row->code] + COMPARES[row->code]; k++)
            form = mix(form, operand(row, k));
    }
    for (int k = 0; k < tape->outputs; k++)
        form = mix(form, tape->output[k]);
    return form;
}

int pi2_tape_depends(const pi2_tape *tape, int result, int input)
{
    unsigned char depends[PI2_TAPE_REGISTERS] = {0};
    const int first = first_row(tape);
    depends[input] = 1;
    for (int i = 0; i < tape->rows; i++)
        for (int k = 0; k < OPERANDS[tape->row[i].code]; k++)
            depends[first + i] |= depends[operand(tape->row + i, k)];
    return depends[tape->output[result]];
}

int pi2_tape_reads(const pi2_tape *tape, int input)
{
    for (int k = 0; k < tape->outputs; k++)
        if (pi2_tape_depends(tape, k, input))
            return 1;
    return 0;
}

int pi2_tape_comparison(const pi2_tape *tape, int number)
{
    for (int i = 0; i < tape->rows; i++) {
        const pi2_tape_row *row = tape->row + i;
        if (COMPARES[row->code] && operand(row, OPERANDS[row->code]) == number)
            return row->code;
    }
    return -1;
}
