// What native/binding/module.cpp registers of native/binding/fluid.cpp.
#pragma once

#include <nanobind/nanobind.h>

void register_fluid(nanobind::module_ &module);
