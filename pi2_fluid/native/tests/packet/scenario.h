/* Random scenarios for the self-tests and for fuzzing: everything that the door in simulator.h allows, the plausible
 * more often than the extreme, and short enough that a run takes some thousand events. */
#pragma once

#include "tests/packet/choices.h"

void pi2_make_scenario(pi2_choices *choices, pi2_test_scenario *scenario);
void pi2_print_scenario(const pi2_test_scenario *scenario);
