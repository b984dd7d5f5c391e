// What native/binding/module.cpp registers of native/binding/proofs.cpp.
#pragma once

#include <nanobind/nanobind.h>

void register_proofs(nanobind::module_ &module);
