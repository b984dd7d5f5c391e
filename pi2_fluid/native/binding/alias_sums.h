// What native/binding/module.cpp registers of native/binding/alias_sums.cpp.
#ifndef PI2_BINDING_ALIAS_SUMS_H
#define PI2_BINDING_ALIAS_SUMS_H

#include <nanobind/nanobind.h>

void register_alias_sums(nanobind::module_ &module);

#endif
