// What native/binding/module.cpp registers of native/binding/replay_senders.cpp.
#ifndef PI2_BINDING_REPLAY_SENDERS_H
#define PI2_BINDING_REPLAY_SENDERS_H

#include <nanobind/nanobind.h>

void register_replay_senders(nanobind::module_ &module);

#endif
