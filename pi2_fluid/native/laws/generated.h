/* Tapes as C: see generated.c. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#include <stdint.h>

/* `in` are the inputs, `k` the constants of the bound tape, `sides` the answers of its comparisons; NULL: by the numbers. */
typedef void pi2_tape_function(const double *in, const double *k, const signed char *sides, double *out);

/* The function of tapes of a form (pi2_tape_form), NULL: there is none. */
pi2_tape_function *pi2_find_generated(uint64_t form);

#ifdef __cplusplus
}
#endif
