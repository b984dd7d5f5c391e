// What native/binding/module.cpp registers of native/binding/alias_sums.cpp.
#pragma once

#include <nanobind/nanobind.h>

void register_alias_sums(nanobind::module_ &module);
