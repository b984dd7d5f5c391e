/* What a replay sets and reads of a DualPI2 queue discipline, beyond what the table in qdisc.h gives. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Holds p' at `base`, in units of 1/(2^32 - 1), until the next tick. */
void pi2_dualpi2_hold(void *qdisc, uint32_t base);

/* p' in those units, and the credit of C in bytes times percent: C's turn comes when it is above 0. */
uint32_t pi2_dualpi2_base(const void *qdisc);
int64_t pi2_dualpi2_credit(const void *qdisc);

#ifdef __cplusplus
}
#endif
