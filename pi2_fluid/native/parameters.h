/* What a law is configured by: a struct of doubles and the names of its fields, both from one list:
 *
 *   #define REM_FIELDS(F) \
 *       F(gamma) \
 *       F(phi)
 *   typedef struct { REM_FIELDS(PI2_FIELD) } rem;
 *   const pi2_aqm_law pi2_aqm_rem = {.name = "rem", PI2_CONFIGURED_BY(REM_FIELDS), ... };
 *
 * Who configures a law gives its numbers by these names, so that nobody need know their order.
 */
#pragma once

#include <stddef.h>

#define PI2_FIELD(field) double field;
#define PI2_FIELD_NAME(field) #field,
#define PI2_FIELD_COUNT(field) +1

/* The entries of a law's table: how many numbers, and their names in the order of the struct, NULL after the last. */
#define PI2_CONFIGURED_BY(FIELDS) \
    .parameters = 0 FIELDS(PI2_FIELD_COUNT), .names = (const char *const[]){FIELDS(PI2_FIELD_NAME) NULL}

/* The same for a law that takes none. */
#define PI2_NO_FIELDS(F)
