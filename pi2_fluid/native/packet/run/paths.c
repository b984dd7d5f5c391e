/* Paths: the legs of every class, and the pipes between them. */
#include "packet/run/paths.h"

#include <stdlib.h>

/* Who needs a pipe: what share one, and whose that is. */
typedef struct {
    int64_t delay;  /* ns */
    uint32_t place; /* with the same delay from another place it is another one */
    uint32_t who;   /* in the order in which they are asked */
    uint32_t *pipe; /* to be told its number */
} pi2_wish;

typedef struct {
    pi2_wish *wishes;
    uint32_t count;
} pi2_wishes;

static void wish(pi2_wishes *all, uint32_t place, int64_t delay, uint32_t *pipe)
{
    all->wishes[all->count] = (pi2_wish){delay, place, all->count, pipe};
    all->count++;
}

static int same(const pi2_wish *a, const pi2_wish *b)
{
    return a->place == b->place && a->delay == b->delay;
}

static int compare(const void *x, const void *y)
{
    const pi2_wish *a = x, *b = y;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    if (a->delay != b->delay)
        return a->delay < b->delay ? -1 : 1;
    return a->who < b->who ? -1 : a->who > b->who;
}

/* Numbers the pipes as they are first asked for, and makes them. Returns 0 if there is no memory. */
static int grant(pi2_pipes *pipes, pi2_wishes *all, size_t content)
{
    const size_t room = (size_t)all->count + 1;
    uint32_t *first = malloc(room * sizeof *first); /* who asked first for the same */
    pi2_wish *asked = malloc(room * sizeof *asked);
    int64_t *delays = malloc(room * sizeof *delays);
    uint32_t count = 0;
    int made = 0;
    if (!first || !asked || !delays)
        goto end;
    for (uint32_t i = 0; i < all->count; i++)
        asked[i] = all->wishes[i];
    qsort(all->wishes, all->count, sizeof *all->wishes, compare);
    for (uint32_t i = 0; i < all->count; i++) {
        const pi2_wish *w = all->wishes + i;
        first[w->who] = i > 0 && same(w - 1, w) ? first[w[-1].who] : w->who;
    }
    for (uint32_t i = 0; i < all->count; i++) {
        if (first[i] == i)
            delays[count++] = asked[i].delay;
        *asked[i].pipe = first[i] == i ? count - 1 : *asked[first[i]].pipe;
    }
    made = pi2_pipes_new(pipes, delays, count, content);
end:
    free(first);
    free(asked);
    free(delays);
    return made;
}

int64_t pi2_paths_split(const pi2_packet_scenario *s, const pi2_packet_class *spec, int64_t base_rtt, int64_t *back)
{
    const int where = s->links[spec->route[spec->route_length - 1]].delay_on;
    int64_t rest = base_rtt, forward;
    for (uint32_t k = 0; k < spec->route_length; k++)
        rest -= spec->hops[k];
    for (uint32_t k = 0; k < spec->back_length; k++)
        rest -= spec->back_hops[k];
    forward = where == PI2_DELAY_FORWARD ? rest : where == PI2_DELAY_SPLIT ? rest / 2 : 0;
    *back = rest - forward;
    return forward;
}

void pi2_paths_change(pi2_run *run, const pi2_class *class_, int64_t forward, int64_t back)
{
    const pi2_leg *last = run->legs + class_->leg + class_->spec->route_length - 1;
    run->data.pipes[last->pipe].delay = forward;
    run->acks.pipes[class_->back].delay = back;
}

static int has_detour(const pi2_packet_scenario *s, size_t class_)
{
    for (int j = 0; j < s->detour_count; j++)
        if (s->detours[j].class_ == class_)
            return 1;
    return 0;
}

/* Forward all delays are constant, so that whatever takes as long stays in order; acknowledgements may be late, each by
 * the link that its class crosses last. */
static int make_pipes(pi2_run *run, const pi2_packet_scenario *s)
{
    const size_t classes = (size_t)s->class_count, room = run->leg_count + 2 * classes;
    pi2_wishes data = {malloc(room * sizeof(pi2_wish)), 0}, acks = {malloc(classes * sizeof(pi2_wish)), 0};
    int made = data.wishes && acks.wishes;
    for (size_t i = 0; made && i < classes; i++) {
        pi2_class *class_ = run->classes + i;
        const pi2_packet_class *spec = class_->spec;
        pi2_leg *leg = run->legs + class_->leg, *back = run->legs + class_->back_leg;
        const uint32_t end = spec->route[spec->route_length - 1];
        /* Whose path changes has pipes of its own. */
        const int alone = has_detour(s, i);
        const uint32_t own = UINT32_MAX - (uint32_t)i;
        int64_t rest;
        const int64_t forward = pi2_paths_split(s, spec, spec->base_rtt, &rest);
        class_->access = class_->back_access = PI2_NO_PIPE;
        if (spec->hops[0] > 0)
            wish(&data, 0, spec->hops[0], &class_->access);
        for (uint32_t k = 1; k < spec->route_length; k++, leg++)
            wish(&data, 0, spec->hops[k], &leg->pipe);
        leg->at_end = forward == 0 && !alone;
        wish(&data, alone ? own : 0, forward, &leg->pipe);
        wish(&acks, alone ? own : end, rest, &class_->back);
        if (spec->back_length && spec->back_hops[0] > 0)
            wish(&data, 0, spec->back_hops[0], &class_->back_access);
        for (uint32_t k = 1; k < spec->back_length; k++, back++)
            wish(&data, 0, spec->back_hops[k], &back->pipe);
    }
    made = made && grant(&run->data, &data, sizeof(pi2_packet))
           && grant(&run->acks, &acks, sizeof(pi2_ack));
    free(data.wishes);
    free(acks.wishes);
    return made;
}

int pi2_paths_new(pi2_run *run, const pi2_packet_scenario *s)
{
    uint32_t legs = 0;
    for (int i = 0; i < s->class_count; i++)
        legs += s->classes[i].route_length + s->classes[i].back_length;
    run->legs = calloc(legs, sizeof *run->legs);
    if (!run->legs)
        return 0;
    for (int i = 0; i < s->class_count; i++) {
        pi2_class *class_ = run->classes + i;
        const pi2_packet_class *spec = s->classes + i;
        class_->leg = run->leg_count;
        class_->hop = run->hops + spec->route[0];
        class_->late = run->late + spec->route[spec->route_length - 1];
        for (uint32_t k = 0; k < spec->route_length; k++)
            run->legs[run->leg_count++] =
                (pi2_leg){.hop = run->hops + spec->route[k], .first = k == 0, .last = k + 1 == spec->route_length};
        class_->back_leg = run->leg_count;
        class_->returns = spec->back_length > 0;
        for (uint32_t k = 0; k < spec->back_length; k++)
            run->legs[run->leg_count++] =
                (pi2_leg){.hop = run->hops + spec->back[k], .first = k == 0, .at_end = k + 1 == spec->back_length};
    }
    return make_pipes(run, s);
}

void pi2_paths_free(pi2_run *run)
{
    pi2_pipes_free(&run->data);
    pi2_pipes_free(&run->acks);
    free(run->legs);
}
