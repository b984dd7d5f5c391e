// What native/binding/module.cpp registers of native/binding/lanes.cpp.
#ifndef PI2_BINDING_LANES_H
#define PI2_BINDING_LANES_H

#include <nanobind/nanobind.h>

void register_lanes(nanobind::module_ &module);

#endif
