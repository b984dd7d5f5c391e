// Arrays of loops by the clock of acknowledgements, searched for all of their crossovers.
#pragma once

#include <nanobind/nanobind.h>

void register_ack_loops(nanobind::module_ &module);
