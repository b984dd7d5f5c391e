// What native/binding/module.cpp registers of native/binding/ack_plant.cpp.
#pragma once

#include <nanobind/nanobind.h>

void register_ack_plant(nanobind::module_ &module);
