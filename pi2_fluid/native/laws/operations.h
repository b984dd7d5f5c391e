/* What a law on a tape may do, in the order of OPERATIONS of pi2_fluid/laws/trace.py, whose places are the codes.
 *
 * A, B, C are the operands. A comparison has a side, an answer: it is found by the numbers, or it is held, and SIDE says
 * which it was. Who includes this says what A, B, C and SIDE are: numbers, or one lane of many.
 */
#pragma once

#include <math.h>

/* OPERATION(name, operands, value), COMPARISON(name, operands, value by the numbers, value where its side is held). */
#define PI2_TAPE_OPERATIONS(OPERATION, COMPARISON) \
    OPERATION(ADD, 2, A + B) \
    OPERATION(SUBTRACT, 2, A - B) \
    OPERATION(MULTIPLY, 2, A * B) \
    OPERATION(DIVIDE, 2, A / B) \
    OPERATION(NEGATIVE, 1, -A) \
    COMPARISON(ABSOLUTE, 1, fabs(A), SIDE ? -A : A) \
    COMPARISON(LESS, 2, A < B ? 1.0 : 0.0, SIDE ? 1.0 : 0.0) \
    COMPARISON(LESS_EQUAL, 2, A <= B ? 1.0 : 0.0, SIDE ? 1.0 : 0.0) \
    COMPARISON(EQUAL, 2, A == B ? 1.0 : 0.0, SIDE ? 1.0 : 0.0) \
    OPERATION(AND, 2, A != 0.0 && B != 0.0 ? 1.0 : 0.0) \
    OPERATION(OR, 2, A != 0.0 || B != 0.0 ? 1.0 : 0.0) \
    OPERATION(NOT, 1, A == 0.0 ? 1.0 : 0.0) \
    OPERATION(WHERE, 3, A != 0.0 ? B : C) \
    COMPARISON(MINIMUM, 2, A < B || A != A ? A : B, SIDE ? A : B) \
    COMPARISON(MAXIMUM, 2, A > B || A != A ? A : B, SIDE ? B : A) \
    OPERATION(POWER, 2, pow(A, B)) \
    OPERATION(EXP, 1, exp(A)) \
    OPERATION(EXPM1, 1, expm1(A)) \
    OPERATION(LOG, 1, log(A)) \
    OPERATION(LOG1P, 1, log1p(A)) \
    OPERATION(SQRT, 1, sqrt(A)) \
    OPERATION(CBRT, 1, cbrt(A))

#define PI2_TAPE_CODE(name, operands, ...) PI2_TAPE_##name,
enum { PI2_TAPE_OPERATIONS(PI2_TAPE_CODE, PI2_TAPE_CODE) PI2_TAPE_CODES };
#undef PI2_TAPE_CODE
