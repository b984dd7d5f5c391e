// What native/binding/module.cpp registers of native/binding/replay_updates.cpp.
#ifndef PI2_BINDING_REPLAY_UPDATES_H
#define PI2_BINDING_REPLAY_UPDATES_H

#include <nanobind/nanobind.h>

void register_replay_updates(nanobind::module_ &module);

#endif
