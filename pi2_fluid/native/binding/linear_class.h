// Classes of flows, linearised, from Python: their polynomials and numbers by name.
#pragma once

#include "binding/arguments.h"
#include "margins/aliases/linear_class.h"

namespace binding {

inline const std::vector<std::string> &names_of_classes()
{
    static const std::vector<std::string> names = {"own",  "signal", "delay", "r",     "weight", "rtt",
                                                   "lead", "rates",  "heard", "shown", "felt"};
    return names;
}

// How many states the terms of a polynomial are for.
inline int states_of(std::size_t terms)
{
    for (int states = 1; states <= PI2_STATES; states++)
        if (terms == static_cast<std::size_t>((states + 1) * (states + 1)))
            return states;
    refuse("a polynomial of a class takes (n + 1)^2 coefficients, n from 1 to " + std::to_string(PI2_STATES) + ", not "
           + std::to_string(terms) + ".");
}

} // namespace binding
