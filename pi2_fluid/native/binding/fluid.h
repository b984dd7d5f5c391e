// What native/binding/module.cpp registers of native/binding/fluid.cpp.
#ifndef PI2_BINDING_FLUID_H
#define PI2_BINDING_FLUID_H

#include <nanobind/nanobind.h>

void register_fluid(nanobind::module_ &module);

#endif
