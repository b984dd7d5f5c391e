/* Of a random link the discipline and its parameters alone. */
#pragma once

#include "tests/packet/choices.h"

void pi2_make_discipline(pi2_choices *choices, pi2_test_link *link);
