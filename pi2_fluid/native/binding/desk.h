#pragma once

#include <nanobind/nanobind.h>

// Part of pi2_fluid._core: where flows and a queue rest, and their loop, from the tapes of laws.
void register_desk(nanobind::module_ &module);
