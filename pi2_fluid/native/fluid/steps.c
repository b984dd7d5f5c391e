/* One step, to the next event or image at the latest. */
#include "fluid/steps.h"

#include "fluid/arrival.h"
#include "fluid/events.h"
#include "fluid/overlap.h"
#include "fluid/plant.h"
#include "fluid/readers.h"
#include "fluid/sides.h"
#include "fluid/step.h"
#include "fluid/trial.h"

enum { MOST_TRIALS = 60 };
/* of a round-trip time, over which its own slope is taken */
#define AHEAD 1e-6

/* How fast the instant moves that a group reads, d(t - R)/dt. */
static double speed(pi2_fluid *run, const fluid_group *group, const fluid_point *at)
{
    if (run->bands == 1)
        return 1.0 - at->f[0] / run->mode->capacity;
    /* The rate at which a band is served moves as well: look ahead a little. */
    if (at == run->trial)
        fluid_complete(run);
    const double rtt = at->view.rtt[group->number], ahead = AHEAD * rtt;
    for (int j = 0; j < run->size; j++)
        run->middle[j] = at->y[j] + ahead * at->f[j];
    fluid_find_delays(run, at->t + ahead, run->middle, run->mode, &run->view_then);
    return 1.0 - (run->view_then.rtt[group->number] - rtt) / ahead;
}

static int open_ended(const pi2_fluid *run, const fluid_reader *reader)
{
    return reader->last + 1 >= run->past.length;
}

/* Shortens a step to where the first image is expected, to first order in its length; *target is whose. */
static double predict_image(pi2_fluid *run, double h, const fluid_group **target)
{
    const double capacity = run->mode->capacity, growth = run->now->f[0];
    *target = NULL;
    for (int k = 0; k < run->hearing_count; k++) {
        const fluid_group *group = run->hearing[k];
        const fluid_reader *reader = &group->reader;
        double fast, ahead;
        if (open_ended(run, reader) && run->bands == 1 && growth < capacity)
            continue; /* it moves forward, to where there is no breakpoint yet */
        fast = speed(run, group, run->now);
        if (fast > 0.0 ? open_ended(run, reader) : fast == 0.0 || reader->low <= BEGINNING)
            continue;
        ahead = ((fast > 0.0 ? reader->high : reader->low) - (run->now->t - run->now->view.rtt[group->number])) / fast;
        if (run->close < ahead && ahead < h) {
            h = ahead;
            *target = group;
        }
    }
    return h;
}

/* Whether what leaves a queue now may have entered it in the oldest segment. */
static int leaves_the_oldest(const pi2_fluid *run, const fluid_point *at)
{
    const double *y = at->y, *next = past_cubics(&run->past, run->past.oldest + 1);
    for (int k = 0; run->arrived >= 0 && k < run->bands; k++)
        if (next[run->arrived + k] > y[run->arrived + k] - y[k])
            return 1;
    return 0;
}

/* The earliest instant that may still be read. Of a long past: unless windows more than double first, for all packets
 * in flight are no more than these, whoever joins. In slow start they may. */
static double earliest_needed(const pi2_fluid *run, const fluid_point *at)
{
    const double *y = at->y, queue = run->bands == 2 ? y[0] + y[1] : y[0];
    double windows = 0.0, reach;
    if (!past_is_long(&run->past) || run->flooded || run->slow)
        return at->t - run->lookback;
    if (leaves_the_oldest(run, at))
        return BEGINNING;
    for (int i = 0; i < run->class_count; i++)
        if (run->classes[i].listens)
            windows += run->classes[i].most * y[run->classes[i].x];
    reach = 2.0 * (run->longest_path + (windows > queue ? windows : queue) / run->least_capacity);
    return at->t - (reach < run->lookback ? reach : run->lookback);
}

static void make_room(pi2_fluid *run, const fluid_point *at)
{
    const double *before = run->past.cubics, needed = earliest_needed(run, at);
    run->past.forgot |= needed > at->t - run->lookback;
    if (!past_make_room(&run->past, needed))
        run->status = PI2_FLUID_NO_MEMORY;
    else if (run->past.cubics != before)
        fluid_stretches(run);
}

static int is_full(const pi2_fluid *run)
{
    return run->past.length - run->past.oldest == run->past.slots;
}

/* Lets the step to come read itself. */
static void make_readable(pi2_fluid *run)
{
    if (is_full(run))
        make_room(run, run->now);
    if (!run->status)
        overlap_begin(run);
}

/* How long a step may be before anything is tried. */
static double first_length(pi2_fluid *run)
{
    /* Of a round-trip time, so that no stage needs a past that is not there yet; and where it can be foretold: the
     * queue itself settles within one, which steps of 2.8 do not follow, and what is further off is foretold worse. */
    static const double LONGEST = 0.9, LONGEST_FORETOLD = 2.0;
    const double left = run->next - run->now->t;
    double h = run->step < run->proposal ? run->step : run->proposal, shortest = INFINITY;
    for (int k = 0; k < run->hearing_count; k++) {
        const double rtt = run->now->view.rtt[run->hearing[k]->number];
        shortest = rtt < shortest ? rtt : shortest;
    }
    if (h > LONGEST * shortest) {
        const int foretold = overlap_is_allowed(run);
        const double most = (foretold ? LONGEST_FORETOLD : LONGEST) * shortest;
        h = h < most ? h : most;
        if (foretold)
            make_readable(run);
    }
    if (run->tolerance > 0.0)
        run->proposal = h;
    return step_within(h, left);
}

/* Takes a step as long as allowed, or to where the image of *target is expected; returns how long it could have
 * been. */
static double first_trial(pi2_fluid *run, const fluid_group **target)
{
    double h = first_length(run);
    for (;;) {
        const double shorter = predict_image(run, h, target);
        fluid_try(run, shorter, 1);
        if (run->error <= 1.0 || h <= 16.0 * SAME)
            return h;
        run->proposal = h = step_shortened(shorter, run->error);
    }
}

/* Whether the trial step has obviously passed no event. */
static int quiet(const pi2_fluid *run)
{
    const double q = run->trial->y[0], net = run->trial->view.net[0], u = run->trial->y[1];
    const signed char *sides = fluid_sides(run, run->mode);
    if (run->kind == GENERAL || run->comparing || run->slow)
        return 0;
    if (sides && sides[0] != fluid_is_within(run->aqm->plain.k, u))
        return 0;
    if (run->continuous && (run->encoder == PI2_OTHER_ENCODER || run->held[0] != 0.0 || u < 0.0
                            || u > run->aqm->plain.limit))
        return 0;
    for (int i = 0; i < run->class_count; i++)
        if (run->floored[i] || run->trial->y[run->classes[i].x] < 0.0)
            return 0;
    return run->mode->bound[0] == FREE    ? q >= 0.0 && q <= run->buffer
           : run->mode->bound[0] == EMPTY ? net <= 0.0
                                          : net >= 0.0;
}

/* Takes a step that ends at an event, which the cubic of the trial has placed at `h`. Where that cubic is poor (a long
 * step, a steep queue) the place is mended by the slope that the event's own function has at the end of the step. */
static void step_to(pi2_fluid *run, double h, const fluid_event *event)
{
    enum { MOST_MENDINGS = 6 };
    const double longest = run->trial->t - run->now->t;
    for (int n = 0; n < MOST_MENDINGS; n++) {
        double now, speed;
        fluid_try(run, h, 0);
        fluid_complete(run);
        if (h <= 0.0)
            break;
        speed = fluid_speed(run, event, &now);
        if (speed >= 0.0 || fabs(now) <= -speed * run->close)
            break;
        h = h - now / speed > 0.5 * h ? h - now / speed : 0.5 * h;
        h = h < longest ? h : longest;
    }
}

/* Ends the step at the first event in it; returns that, NULL if there is none. */
static const fluid_event *stop_at_event(pi2_fluid *run)
{
    const fluid_event *first = NULL;
    double where = 1.0;
    const int n = quiet(run) ? 0 : fluid_crossed(run);
    for (int j = 0; j < n; j++) {
        const double place = fluid_locate(run, run->events + j);
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
static double look_for_images(pi2_fluid *run, const fluid_group **target, int *images)
{
    const double h = run->trial->t - run->now->t;
    const fluid_group *sought = *target;
    double wanted = INFINITY;
    *images = 0;
    for (int k = 0; k < run->hearing_count; k++) {
        fluid_group *group = run->hearing[k];
        const fluid_reader *reader = &group->reader;
        const double d = run->trial->t - run->trial->view.rtt[group->number], under = reader->low - d;
        const double over = open_ended(run, reader) ? -INFINITY : d - reader->high;
        const double beyond = under > over ? under : over;
        group->image = 0;
        if (beyond < -run->close && group != sought)
            continue;
        const int side = over > under ? 1 : -1;
        const double fast = speed(run, group, run->trial);
        if (fabs(beyond) <= step_nearness(run->close, run->trial->t, fast)) {
            if (fast * side > 0.0) {
                group->image = side;
                ++*images;
            }
        } else if (beyond > 0.0 || -beyond < 0.1 * h) {
            const double length = h - beyond / (fast * side > 0.0 ? fabs(fast) : 1.0);
            if (length < wanted) { /* whoever is beyond comes first: from now on the step is to end there */
                wanted = length;
                *target = group;
            }
        }
    }
    return wanted;
}

/* Ends the step where the first image comes, if it does; returns how many groups pass one.
 * Newton's method on the length of the step, which stays below `longest`. */
static int stop_at_image(pi2_fluid *run, double longest, const fluid_group *target)
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
        fluid_try(run, wanted, 0);
    }
    run->status = PI2_FLUID_LOST_IMAGE;
    return 0;
}

static int too_old(const pi2_fluid *run)
{
    const double oldest = run->past.start[past_slot(&run->past, run->past.oldest)];
    for (int k = 0; k < run->hearing_count; k++)
        if (run->now->t - run->now->view.rtt[run->hearing[k]->number] < oldest)
            return 1;
    return 0;
}

/* Stretches that reach up to now have grown, and what is forgotten cannot be read. */
static void follow(pi2_fluid *run)
{
    for (int k = 0; k < run->hearing_count; k++) {
        fluid_reader *reader = &run->hearing[k]->reader;
        if (reader->open) {
            reader->last = run->past.length - 1;
            reader->high = run->now->t;
            if (SELDOM(reader->first < reader->marks[reader->place].index))
                reader_stretch(reader, &run->past, run->now->t);
        }
        if (reader->first < run->past.oldest) {
            reader->first = run->past.oldest;
            if (SELDOM(reader->cursor < reader->first))
                reader_stretch(reader, &run->past, run->now->t);
        }
    }
}

/* Whether the state is. Whatever is not ends up in the queue, but for a window while that is empty. */
static int is_finite(const pi2_fluid *run)
{
    double sum = run->now->y[0];
    for (int i = 0; run->kind != LEAN_KIND && i < run->class_count; i++)
        sum += run->now->y[run->classes[i].x];
    return fabs(sum) < INFINITY;
}

/* Ends the step at the trial: the cubic, and the state. */
static void accept(pi2_fluid *run)
{
    fluid_point *old = run->now;
    if (run->trial->t > old->t) {
        if (run->overlaps)
            run->past.length++; /* there already, as it could be read */
        else if (is_full(run))
            make_room(run, run->trial);
        if (!run->overlaps && !run->status)
            past_append(&run->past, old->t, run->trial->t, old->y, old->f, run->trial->y, run->trial->f);
        run->stalled = 0;
    } else
        run->stalled++;
    run->now = run->trial;
    run->trial = old;
    run->taken++;
    if (run->taken > run->most_steps || run->stalled > MOST_TRIALS)
        run->status = PI2_FLUID_STUCK;
    if (!is_finite(run))
        run->status = PI2_FLUID_NOT_FINITE;
    if (SELDOM(run->past.forgot) && too_old(run))
        run->status = PI2_FLUID_TOO_OLD;
}

void fluid_step(pi2_fluid *run)
{
    const fluid_group *target;
    const fluid_event *event;
    double longest, whole, error, reached;
    int images;
    follow(run);
    longest = first_trial(run, &target);
    whole = run->trial->t - run->now->t;
    error = run->error;
    event = stop_at_event(run);
    if (event)
        longest = run->trial->t - run->now->t;
    reached = run->trial->t;
    images = stop_at_image(run, longest, target);
    fluid_complete(run);
    if (run->trial->t < reached)
        event = NULL;
    else if (run->trial->t > reached) { /* the search for the image has gone on beyond what was looked at */
        event = stop_at_event(run);
        images = event ? 0 : images;
    }
    run->proposal = run->tolerance > 0.0 ? step_after(whole, error, run->proposal) : run->step;
    accept(run);
    if (run->overlaps)
        overlap_end(run);
    run->smooth = !event && !images && run->now->t + SAME < run->next;
    if (!run->status && !run->smooth)
        fluid_arrive(run, event, images);
}
