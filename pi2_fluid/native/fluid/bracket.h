/* Where in a step a function of the state changes its sign. */
#pragma once

/* Returns the part of a step, of which `value` (of 0 to 1) is positive before and not beyond, by the Illinois method; 0
 * if it is nowhere positive. */
double fluid_bracket(double (*value)(void *what, double part), void *what);
