// What native/binding/module.cpp registers of native/binding/replay_updates.cpp.
#pragma once

#include <nanobind/nanobind.h>

void register_replay_updates(nanobind::module_ &module);
