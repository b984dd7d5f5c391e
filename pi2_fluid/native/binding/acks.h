// What native/binding/module.cpp registers of native/binding/acks.cpp.
#pragma once

#include <nanobind/nanobind.h>

void register_acks(nanobind::module_ &module);
