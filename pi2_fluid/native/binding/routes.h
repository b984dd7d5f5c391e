// What native/binding/module.cpp registers of native/binding/routes.cpp.
#pragma once

#include <nanobind/nanobind.h>

void register_routes(nanobind::module_ &module);
