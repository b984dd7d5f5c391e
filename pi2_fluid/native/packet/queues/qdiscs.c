/* The queue disciplines by name. */
#include <string.h>

#include "packet/queues/qdisc.h"

static const pi2_qdisc *const QDISCS[] = {
#define PI2_QDISC(name) &pi2_qdisc_##name,
#include "laws.def"
};

const pi2_qdisc *pi2_find_qdisc(const char *name)
{
    for (size_t i = 0; i < sizeof QDISCS / sizeof *QDISCS; i++)
        if (!strcmp(QDISCS[i]->name, name))
            return QDISCS[i];
    return NULL;
}
