// What binding.cpp registers of binding_replay_pi.cpp.
#ifndef PI2_BINDING_REPLAY_PI_H
#define PI2_BINDING_REPLAY_PI_H

#include <nanobind/nanobind.h>

void register_replay_pi(nanobind::module_ &module);

#endif
