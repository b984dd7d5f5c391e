#include "desk/loop.h"

#include <math.h>
#include <stdlib.h>

#include "desk/corners.h"
#include "desk/echoes.h"
#include "elementary.h"

/* Of the packets per second: so near to what arrives is what is served where Classic packets alone wait. */
#define APART 1e-9
/* Times 1/R: below every corner; and the second frequency at which what L is there is asked. */
#define LOW 1e-30
#define STEP 100.0
/* Pairs of aliases that are summed: at least so many, and enough for the highest one to lie REACH times above the fastest
 * pole of the loop, where the expansion holds. */
#define ALIASES 32.0
#define REACH 40.0
#define MOST_ALIASES 4000.0

void pi2_desk_room_free(pi2_desk_room *room)
{
    free(room->linear);
    free(room->cls);
    free(room->echo);
    pi2_linear_sums_free(room->sums);
    pi2_linear_sums_free(room->rough);
    *room = (pi2_desk_room){0};
}

static int prepare(pi2_desk_room *room, size_t classes)
{
    if (room->room >= classes)
        return 1;
    pi2_desk_room_free(room);
    room->linear = malloc(classes * sizeof *room->linear);
    room->cls = malloc(classes * sizeof *room->cls);
    room->echo = malloc(pi2_most_echoes(classes) * sizeof *room->echo);
    if (!room->linear || !room->cls || !room->echo) {
        pi2_desk_room_free(room);
        return 0;
    }
    room->room = classes;
    return 1;
}

/* --- what a class does to the queue delay ------------------------------------------------------ */

typedef struct {
    double classic, l4s, lead; /* seconds of delay per second and per part of the link that a class takes */
    int apart;                 /* whether L4S packets wait elsewhere */
} shares;

/* Where Classic packets wait and L4S ones are served as they come (pi2_fluid/loop/link.py). */
static int couple(const pi2_desk_queue *queue, const pi2_queue_slopes *slopes, int classes, const pi2_desk_flows *flows,
                  const pi2_queue_at_rest *at, const pi2_flows_at_rest *rests, shares *found)
{
    *found = (shares){1.0, 1.0, 0.0, 0};
    if (queue->bands == 1)
        return 1;
    double part = 0.0;
    for (int c = 0; c < classes; c++)
        if (flows[c].hears == PI2_HEARS_SCALABLE)
            part += flows[c].count * rests[c].rate / queue->packets;
    const double packets = queue->packets, to_c = packets * (1.0 - part), to_l = packets * part;
    const double arrivals[] = {to_l, to_c, packets};
    double served, service, by[2];
    if (!(at->delay[0] > 0.0))
        return 0;
    pi2_tape_run(slopes->serve, arrivals, queue->numbers, 0, &served);
    pi2_tape_run(slopes->serve_slope, arrivals, queue->numbers, 0, &service);
    const double waiting[] = {at->delay[0] * served, served, packets};
    pi2_tape_run(slopes->delay_slopes, waiting, queue->numbers, 0, by);
    if (!(fabs(served - to_c) <= APART * packets) || !isfinite(by[0]) || !isfinite(by[1]) || !isfinite(service))
        return 0;
    *found = (shares){by[0] * packets, -by[0] * service * packets, -by[1] / by[0], 1};
    return 1;
}

/* --- what the search is told of a loop --------------------------------------------------------- */

/* Poles at 0 of L, -1: it begins negative or at 0, or has no value. */
static int integrators(const pi2_linear_loop *loop, double longest)
{
    const pi2_curve curve = pi2_loop_of_rates(loop).response;
    const double w[] = {LOW / longest, STEP * LOW / longest};
    double L[4];
    if (!curve.at(curve.of, 2, w, L))
        return -1;
    const double order = nearbyint(-log(hypot(L[2], L[3]) / hypot(L[0], L[1])) / log(STEP));
    const double angle = 0.5 * PI2_PI * order, value = L[0] * cos(angle) - L[1] * sin(angle);
    return order >= 0.0 && order < 100.0 && value > 0.0 ? (int)order : -1;
}

/* Whether no mode is known to grow with the loop open: pi2_fluid/loop/open_loop.py. */
static int settles_alone(const pi2_linear_controller *controller, int ticks, size_t classes, const pi2_linear_flows *linear)
{
    if (!ticks || controller->bottom > 1 || !(fabs(controller->denominator[controller->bottom]) <= fabs(controller->denominator[0])))
        return 0;
    for (size_t c = 0; c < classes; c++) {
        const pi2_linear_flows *const p = linear + c;
        if (p->states > 1 || p->e0[0] != 0.0 || p->e1[0] != 0.0)
            return 0;
        const double a0 = p->a0[0][0], a1 = p->a1[0][0];
        const int stays = a0 + fabs(a1) < 0.0, returns = a0 <= 0.0 && a1 < 0.0 && -a1 * p->rtt < 0.5 * PI2_PI;
        if (!(stays || returns) || !(p->weight * p->r < 0.0))
            return 0;
    }
    return 1;
}

static size_t aliases_of(size_t classes, const pi2_linear_flows *linear, double interval)
{
    double most = 0.0;
    for (size_t c = 0; c < classes; c++)
        most = fmax(most, fmax(1.0 / linear[c].rtt, pi2_fastest_rate(linear + c)));
    const double count = ceil(REACH * most * interval / (2.0 * PI2_PI));
    return (size_t)(count < ALIASES ? ALIASES : count > MOST_ALIASES ? MOST_ALIASES : count);
}

static int moves(const pi2_linear_flows *p)
{
    int moving = p->r != 0.0;
    for (int i = 0; i < p->states; i++)
        moving |= p->c[i] != 0.0;
    return moving;
}

static int hears(const pi2_linear_flows *p)
{
    int hearing = 0;
    for (int i = 0; i < p->states; i++)
        hearing |= p->b[i] != 0.0;
    return hearing;
}

pi2_assembly pi2_assemble_loop(const pi2_desk_queue *queue, const pi2_queue_slopes *slopes, int classes,
                               const pi2_desk_flows *flows, const pi2_flow_slopes *flow_slopes,
                               const pi2_queue_at_rest *at, const pi2_flows_at_rest *rests, pi2_update update, int exact,
                               int simd, pi2_desk_room *room, pi2_linear_loop *loop)
{
    pi2_linear_controller controller;
    shares link;
    double encode[2], longest = 0.0;
    if (!prepare(room, (size_t)classes))
        return PI2_LOOP_NO_MEMORY;
    pi2_tape_run(slopes->encode, &at->u, queue->numbers, 0, encode);
    if (!isfinite(encode[0]) || !isfinite(encode[1]) || !pi2_linearize_queue(queue, &slopes->controller, at, &controller)
        || !couple(queue, slopes, classes, flows, at, rests, &link))
        return PI2_LOOP_ELSEWHERE;
    size_t moving = 0;
    int hearing = 0;
    for (int c = 0; c < classes; c++) {
        const int l4s = flows[c].hears == PI2_HEARS_SCALABLE, deaf = flows[c].hears == PI2_HEARS_NOTHING;
        const double share = flows[c].count * rests[c].rate / queue->packets / rests[c].rate;
        const pi2_coupling coupling = {share * (l4s ? link.l4s : link.classic), l4s ? link.lead : 0.0, !(link.apart && l4s),
                                       deaf ? 0.0 : encode[l4s], exact || deaf};
        pi2_linear_flows *const linear = room->linear + moving;
        if (!(rests[c].x[0] > 0.0) || !pi2_linearize_flows(flows + c, flow_slopes + c, rests + c, &coupling, linear))
            return PI2_LOOP_ELSEWHERE;
        hearing |= hears(linear);
        if (!moves(linear))
            continue;
        pi2_describe_flows(linear, room->cls + moving++);
        longest = fmax(longest, linear->rtt);
    }
    if (!hearing || !moving)
        return PI2_LOOP_ELSEWHERE;

    const int ticks = slopes->controller.ticks;
    pi2_corners corners;
    *loop = (pi2_linear_loop){.classes = moving, .cls = room->cls};
    pi2_controller *const told = &loop->controller;
    *told = (pi2_controller){.update = PI2_CONTINUOUS};
    if (ticks) {
        told->degree = pi2_in_continuous_time(&controller, told->top, told->bottom);
        told->interval = slopes->interval;
        told->unit = slopes->interval / 2.0;
    } else {
        if (controller.top > controller.bottom)
            return PI2_LOOP_ELSEWHERE;
        told->degree = controller.bottom;
        for (int k = 0; k <= controller.bottom; k++) {
            told->top[k] = k <= controller.top ? controller.numerator[k] : 0.0;
            told->bottom[k] = controller.denominator[k];
        }
        told->unit = 1.0;
    }
    if (!pi2_find_corners(moving, room->linear, room->cls, told->degree, told->top, told->bottom, told->unit, &corners))
        return PI2_LOOP_ELSEWHERE;
    loop->slow = corners.slow;
    loop->integrators = corners.sharp > 1 ? -2 : integrators(loop, longest);
    loop->settles = settles_alone(&controller, ticks, moving, room->linear);
    told->update = update;
    if (update == PI2_SAMPLED) {
        told->degree = pi2_in_steps(&controller, told->top, told->bottom);
        told->unit = 1.0;
    }
    if (told->bottom[told->degree] == 0.0 || loop->integrators < 0)
        return PI2_LOOP_ELSEWHERE;
    if (update == PI2_SAMPLED) {
        const size_t echoes = pi2_expand_flows(moving, room->linear, told->interval, room->echo);
        const size_t all = aliases_of(moving, room->linear, told->interval);
        pi2_linear_sums_free(room->sums);
        pi2_linear_sums_free(room->rough);
        room->sums = pi2_linear_sums_make(simd, moving, room->cls, echoes, room->echo, told->interval, all);
        room->rough = pi2_linear_sums_make(simd, moving, room->cls, echoes, room->echo, told->interval, pi2_rough_aliases(all));
        loop->sums = room->sums;
        loop->rough = room->rough;
        if (!loop->sums || !loop->rough)
            return PI2_LOOP_NO_MEMORY;
    }
    return PI2_LOOP_MADE;
}
