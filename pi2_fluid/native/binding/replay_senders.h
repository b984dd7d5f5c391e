// What native/binding/module.cpp registers of native/binding/replay_senders.cpp.
#pragma once

#include <nanobind/nanobind.h>

void register_replay_senders(nanobind::module_ &module);
