// What native/binding/module.cpp registers of native/binding/packet.cpp.
#pragma once

#include <nanobind/nanobind.h>

void register_packet(nanobind::module_ &module);
