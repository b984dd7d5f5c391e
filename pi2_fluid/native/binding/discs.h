// What native/binding/module.cpp registers of native/binding/discs.cpp.
#pragma once

#include <nanobind/nanobind.h>

void register_discs(nanobind::module_ &module);
