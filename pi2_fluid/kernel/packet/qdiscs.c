/* The queue disciplines by name. */
#include <string.h>

#include "qdisc.h"

static const pi2_qdisc *const QDISCS[] = {
    &pi2_qdisc_pi,
    &pi2_qdisc_pi2,
    &pi2_qdisc_coupled,
    &pi2_qdisc_pie,
    &pi2_qdisc_dualpi2,
    &pi2_qdisc_red,
    &pi2_qdisc_codel,
    &pi2_qdisc_taildrop,
    &pi2_qdisc_lottery,
};

const pi2_qdisc *pi2_find_qdisc(const char *name)
{
    for (size_t i = 0; i < sizeof QDISCS / sizeof *QDISCS; i++)
        if (!strcmp(QDISCS[i]->name, name))
            return QDISCS[i];
    return NULL;
}
