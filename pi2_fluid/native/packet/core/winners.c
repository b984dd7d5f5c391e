/* The memory of a tree of winners; see winners.h. */
#include "packet/core/winners.h"

#include <stddef.h>
#include <stdlib.h>

#include "packet/core/time.h"

int pi2_winners_new(pi2_winners *of, uint32_t count)
{
    of->leaves = 1;
    while (of->leaves < count)
        of->leaves *= 2;
    of->due = PI2_NEVER;
    of->nodes = malloc(2 * (size_t)of->leaves * sizeof *of->nodes);
    if (!of->nodes)
        return 0;
    /* nobody's time has come: the lowest wins, but it must be one below the node, as no match may ever be played there */
    for (uint32_t i = 2 * of->leaves - 1; i > 0; i--)
        of->nodes[i] = (pi2_winner){PI2_NEVER, i < of->leaves ? of->nodes[2 * (size_t)i].number : i - of->leaves};
    return 1;
}

void pi2_winners_free(pi2_winners *of)
{
    free(of->nodes);
}
