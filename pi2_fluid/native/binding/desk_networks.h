// What native/binding/module.cpp registers of native/binding/desk_networks.cpp.
#pragma once

#include <nanobind/nanobind.h>

void register_desk_networks(nanobind::module_ &module);
