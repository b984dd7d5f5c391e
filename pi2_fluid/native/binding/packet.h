// What native/binding/module.cpp registers of native/binding/packet.cpp.
#ifndef PI2_BINDING_PACKET_H
#define PI2_BINDING_PACKET_H

#include <nanobind/nanobind.h>

void register_packet(nanobind::module_ &module);

#endif
