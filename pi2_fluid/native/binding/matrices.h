// What native/binding/module.cpp registers of native/binding/matrices.cpp.
#pragma once

#include <nanobind/nanobind.h>

void register_matrices(nanobind::module_ &module);
