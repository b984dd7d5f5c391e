/* One step: as long as its error allows, to an event, or to the delayed image of a breakpoint. */
#include "fluid/routes/steps.h"

#include "fluid/routes/arrival.h"
#include "fluid/routes/events.h"
#include "fluid/routes/plant.h"
#include "fluid/routes/rates.h"
#include "fluid/routes/readers.h"
#include "fluid/routes/trial.h"
#include "fluid/step.h"

enum { MOST_TRIALS = 60 };

/* Whether no delay grows so fast that somebody reads earlier and earlier. */
static int all_move_forward(const pi2_routes *run)
{
    double growth = 0.0;
    for (int k = 0; k < run->queue_count; k++) {
        const double by = run->now->d_tau[k];
        growth += by > 0.0 ? by : 0.0;
    }
    return growth < 1.0;
}

/* Shortens a step to where the first image is expected, to first order in its length; *target is whose. */
static double predict_image(pi2_routes *run, double h, const routes_reader **target)
{
    const int forward = all_move_forward(run);
    *target = NULL;
    for (int k = 0; k < run->reader_count; k++) {
        const routes_reader *r = run->readers + k;
        routes_place place;
        double ahead;
        if (!r->used)
            continue;
        if (forward && r->reader.open)
            continue;
        place = routes_find_place(run, r, run->now);
        if (place.speed > 0.0 ? r->reader.open : place.speed == 0.0 || r->reader.low <= BEGINNING)
            continue;
        ahead = (place.speed > 0.0 ? -place.over : place.under) / place.speed;
        if (run->close < ahead && ahead < h) {
            h = ahead;
            *target = r;
        }
    }
    return h;
}

/* How long a step may be before anything is tried. */
static double first_length(pi2_routes *run)
{
    static const double LONGEST = 1.8; /* of a round-trip time: what is beyond it is taken too often again */
    const fluid_share *shares = routes_shares(run, run->mode);
    const double left = run->next - run->now->t;
    double h = run->step < run->proposal ? run->step : run->proposal;
    for (int i = 0; i < run->class_count; i++)
        if (shares[i].active && run->classes[i].listens) {
            const double most = LONGEST * run->now->rtt[i];
            h = most < h ? most : h;
        }
    if (run->tolerance > 0.0)
        run->proposal = h;
    return step_within(h, left);
}

/* Takes a step as long as allowed, or to where the image of *target is expected; returns how long it could have
 * been. */
static double first_trial(pi2_routes *run, const routes_reader **target)
{
    double h = first_length(run);
    for (;;) {
        const double shorter = predict_image(run, h, target);
        routes_try(run, shorter);
        if (run->error <= 1.0 || h <= 16.0 * SAME)
            return h;
        run->proposal = h = step_shortened(shorter, run->error);
    }
}

/* Whether the trial step of a node alone has obviously passed no event. */
static int quiet(const pi2_routes *run)
{
    const routes_node *node = run->nodes;
    const double q = run->trial->y[0], net = run->trial->net[0], u = run->trial->y[node->controller];
    const int encoder = node->moving == 1 ? node->aqm->plain.encoder : PI2_OTHER_ENCODER;
    if (!run->alone || run->slow || run->rates_compare)
        return 0;
    if (node->aqm->comparisons) {
        const signed char *sides = routes_sides(run, run->mode, 0);
        if (encoder == PI2_OTHER_ENCODER || !sides || sides[0] != fluid_is_within(node->aqm->plain.k, u))
            return 0;
    }
    if (node->continuous
        && (encoder == PI2_OTHER_ENCODER || node->held[0] != 0.0 || u < 0.0 || u > node->aqm->plain.limit))
        return 0;
    for (int i = 0; i < run->class_count; i++)
        if (run->floored[i] || run->trial->y[run->classes[i].x] < 0.0)
            return 0;
    return run->mode->links[0].bound[0] == FREE    ? q >= 0.0 && q <= node->buffer
           : run->mode->links[0].bound[0] == EMPTY ? net <= 0.0
                                                   : net >= 0.0;
}

/* What the trial step has passed; returns how many. */
static int find_events(pi2_routes *run)
{
    if (quiet(run))
        return 0;
    if (run->lean.is_on) { /* which leaves rates out */
        routes_look(run, run->now);
        routes_look(run, run->trial);
    }
    return routes_crossed(run);
}

/* Takes a step that ends at an event, which the cubic of the trial has placed at `h`, and mends the place by the slope
 * of the event's own function. */
static void step_to(pi2_routes *run, double h, const routes_event *event)
{
    enum { MOST_MENDINGS = 6 };
    const double longest = run->trial->t - run->now->t;
    for (int n = 0; n < MOST_MENDINGS; n++) {
        double now, speed;
        routes_try(run, h);
        if (h <= 0.0)
            break;
        speed = routes_speed(run, event, &now);
        if (speed >= 0.0 || fabs(now) <= -speed * run->close)
            break;
        h = h - now / speed > 0.5 * h ? h - now / speed : 0.5 * h;
        h = h < longest ? h : longest;
    }
}

/* Ends the step at the first event in it; returns that, NULL if there is none. */
static const routes_event *stop_at_event(pi2_routes *run)
{
    const routes_event *first = NULL;
    double where = 1.0;
    const int n = find_events(run);
    for (int j = 0; j < n; j++) {
        const double place = routes_locate(run, run->events + j);
        if (!first || place < where) {
            first = run->events + j;
            where = place;
        }
    }
    if (first)
        step_to(run, where * (run->trial->t - run->now->t), first);
    return first;
}

/* Looks where the trial step has come to among the breakpoints: counts the images it has hit, each with its side in
 * `image`, and returns how long it had better be (INFINITY: as it is), to end at an image of *target. */
static double look_for_images(pi2_routes *run, const routes_reader **target, int *images)
{
    const double h = run->trial->t - run->now->t;
    const routes_reader *sought = *target;
    double wanted = INFINITY;
    *images = 0;
    for (int k = 0; k < run->reader_count; k++) {
        routes_reader *r = run->readers + k;
        routes_place place;
        double beyond;
        int side;
        r->image = 0;
        if (!r->used)
            continue;
        if (r->reader.open && r != sought && routes_is_inside(run, r, run->trial))
            continue;
        place = routes_find_place(run, r, run->trial);
        side = place.over > place.under ? 1 : -1;
        beyond = side > 0 ? place.over : place.under;
        if (beyond < -run->close && r != sought)
            continue;
        if (fabs(beyond) <= step_nearness(run->close, run->trial->t, place.speed)) {
            if (place.speed * side > 0.0) {
                r->image = side;
                ++*images;
            }
        } else if (beyond > 0.0 || (-beyond < 0.1 * h && place.speed * side > 0.0)) {
            const double length = h - beyond / (place.speed * side > 0.0 ? fabs(place.speed) : 1.0);
            if (length < wanted) { /* whoever is beyond comes first: from now on the step is to end there */
                wanted = length;
                *target = r;
            }
        }
    }
    return wanted;
}

/* Ends the step where the first image comes, if it does; returns how many readers pass one. Newton's method on the
 * length of the step, which stays below `longest`. */
static int stop_at_image(pi2_routes *run, double longest, const routes_reader *target)
{
    int images;
    for (int n = 0; n < MOST_TRIALS; n++) {
        const double h = run->trial->t - run->now->t;
        double wanted = look_for_images(run, &target, &images);
        if (wanted == INFINITY || (wanted >= h && images))
            return images;
        if (wanted > h) {
            if (wanted > longest)
                return images;
        } else {
            longest = h;
            wanted = wanted > 0.0 ? wanted : 0.5 * h;
        }
        routes_try(run, wanted);
    }
    run->status = PI2_FLUID_LOST_IMAGE;
    return 0;
}

static int too_old(const pi2_routes *run)
{
    const double oldest = run->past.start[past_slot(&run->past, run->past.oldest)];
    const double waits = run->lean.is_on ? run->now->y[run->queues[0].queue] * run->lean.inverse_capacity : 0.0;
    for (int k = 0; k < run->reader_count; k++) {
        const routes_reader *r = run->readers + k;
        const double reads = run->lean.is_on ? run->now->t - r->delay - waits : r->d; /* lean.c moves no reader's d */
        if (r->used && reads < oldest)
            return 1;
    }
    return 0;
}

/* Whether what leaves a queue now may have entered it in the oldest segment. */
static int leaves_the_oldest(const pi2_routes *run)
{
    const double *y = run->now->y, *next = past_cubics(&run->past, run->past.oldest + 1);
    for (int k = 0; k < run->queue_count; k++) {
        const routes_queue *queue = run->queues + k;
        if (next[queue->entered] > y[queue->entered] - y[queue->queue])
            return 1;
    }
    return 0;
}

/* The earliest instant that may still be read. Of a long past: unless windows more than double first, for all packets
 * in flight are no more than these, whoever joins. In slow start they may. */
static double earliest_needed(const pi2_routes *run)
{
    const double *y = run->now->y;
    double windows = 0.0, queues = 0.0, reach;
    if (!past_is_long(&run->past) || run->flooded || run->slow)
        return run->now->t - run->lookback;
    if (run->entered >= 0 && leaves_the_oldest(run))
        return BEGINNING;
    for (int k = 0; k < run->queue_count; k++)
        queues += y[run->queues[k].queue];
    for (int i = 0; i < run->class_count; i++)
        if (run->classes[i].listens)
            windows += run->classes[i].most * y[run->classes[i].x];
    reach = 2.0 * (run->longest_path + run->node_count * (windows > queues ? windows : queues) / run->least_capacity);
    return run->now->t - (reach < run->lookback ? reach : run->lookback);
}

/* Makes room for the step to come. */
static void make_room(pi2_routes *run)
{
    const size_t before = run->past.slots;
    const double needed = earliest_needed(run);
    run->past.forgot |= needed > run->now->t - run->lookback;
    if (!past_make_room(&run->past, needed))
        run->status = PI2_FLUID_NO_MEMORY;
    else if (run->past.slots != before) /* and segments lie elsewhere */
        routes_stretches(run);
}

/* Ends the step at the trial: the cubic, and the state. */
static void accept(pi2_routes *run)
{
    routes_point *old = run->now;
    const int moved = run->trial->t > old->t;
    double sum = 0.0;
    if (moved)
        past_append(&run->past, old->t, run->trial->t, old->y, old->f, run->trial->y, run->trial->f);
    run->now = run->trial;
    run->trial = old;
    run->stalled = moved ? 0 : run->stalled + 1;
    run->smooth = moved;
    if (run->past.length - run->past.oldest == run->past.slots)
        make_room(run);
    routes_follow(run);
    run->taken++;
    if (run->taken > run->most_steps || run->stalled > MOST_TRIALS)
        run->status = PI2_FLUID_STUCK;
    for (int k = 0; k < run->queue_count; k++)
        sum += run->now->y[run->queues[k].queue];
    for (int i = 0; i < run->class_count && !run->lean.is_on; i++) /* which an empty queue does not show */
        sum += run->now->y[run->classes[i].x];
    if (!(fabs(sum) < INFINITY)) /* where whatever is not finite ends up */
        run->status = PI2_FLUID_NOT_FINITE;
    if (SELDOM(run->past.forgot) && too_old(run))
        run->status = PI2_FLUID_TOO_OLD;
}

void routes_step(pi2_routes *run)
{
    const routes_reader *target;
    const routes_event *event;
    double longest, whole, error, reached;
    int images;
    longest = first_trial(run, &target);
    whole = run->trial->t - run->now->t;
    error = run->error;
    event = stop_at_event(run);
    if (event)
        longest = run->trial->t - run->now->t;
    reached = run->trial->t;
    images = stop_at_image(run, longest, target);
    if (run->trial->t < reached)
        event = NULL;
    else if (run->trial->t > reached) { /* the search for the image has gone on beyond what was looked at */
        event = stop_at_event(run);
        images = event ? 0 : images;
    }
    run->proposal = run->tolerance > 0.0 ? step_after(whole, error, run->proposal) : run->step;
    accept(run);
    if (!run->status && (event || images || run->now->t + SAME >= run->next))
        routes_arrive(run, event, images);
}
