// What native/binding/module.cpp registers of native/binding/replay_queues.cpp.
#ifndef PI2_BINDING_REPLAY_QUEUES_H
#define PI2_BINDING_REPLAY_QUEUES_H

#include <nanobind/nanobind.h>

void register_replay_queues(nanobind::module_ &module);

#endif
