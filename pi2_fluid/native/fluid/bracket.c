#include "fluid/bracket.h"

double fluid_bracket(double (*value)(void *what, double part), void *what)
{
    static const double WITHIN = 1e-13;
    double low = 0.0, high = 1.0, at_low = value(what, low), at_high = value(what, high);
    if (at_low <= 0.0) {
        /* It begins on the event (the other branch has just been left): look where it is off it. */
        for (int n = 15; n > 0 && low == 0.0; n--)
            if ((at_low = value(what, n / 16.0)) > 0.0)
                low = n / 16.0;
        if (low == 0.0)
            return 0.0;
    }
    for (int i = 0; i < 100 && high - low > WITHIN && at_high != 0.0; i++) {
        const double middle = (low * at_high - high * at_low) / (at_high - at_low);
        const double at_middle = value(what, middle);
        if (at_middle <= 0.0) {
            if (high - middle < 0.5 * (high - low))
                at_low *= 0.5;
            high = middle;
            at_high = at_middle;
        } else {
            if (middle - low < 0.5 * (high - low))
                at_high *= 0.5;
            low = middle;
            at_low = at_middle;
        }
    }
    return high;
}
