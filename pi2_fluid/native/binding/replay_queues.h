// What native/binding/module.cpp registers of native/binding/replay_queues.cpp.
#pragma once

#include <nanobind/nanobind.h>

void register_replay_queues(nanobind::module_ &module);
