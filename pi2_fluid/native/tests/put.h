/* For self-tests: gives a law its numbers by their names. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One number of those that `names` names; what is not put stays as it is. */
static inline void pi2_put(double *numbers, const char *const *names, const char *name, double value)
{
    int i = 0;
    while (names[i] && strcmp(names[i], name))
        i++;
    if (!names[i]) {
        printf("there is no parameter '%s'\n", name);
        abort();
    }
    numbers[i] = value;
}
