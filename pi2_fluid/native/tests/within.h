/* For self-tests: says which number lies outside its bounds. */
#pragma once

#include <stdio.h>

static inline int within(const char *what, int n, const double *values, double low, double high)
{
    for (int i = 0; i < n; i++)
        if (!(values[i] >= low && values[i] <= high)) {
            printf("%s = %.17g lies outside [%g, %g]\n", what, values[i], low, high);
            return 0;
        }
    return 1;
}
