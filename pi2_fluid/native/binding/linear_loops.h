// Margins of arrays of loops, searched for all of their crossovers.
#pragma once

#include <nanobind/nanobind.h>

void register_linear_loops(nanobind::module_ &module);
