// What native/binding/module.cpp registers of native/binding/lanes.cpp.
#pragma once

#include <nanobind/nanobind.h>

void register_lanes(nanobind::module_ &module);
