/* Checks the fluid through one node without Python: a closed form, then random scenarios of every law.
 *
 * Each must end, or say why not; stay finite and within its bounds; give the same bytes when it is interrupted and
 * resumed; and, as a rule, the same queue when a class is split in two. Meant to be built with -DPI2_SANITIZE=ON.
 * Prints counts and the worst difference; the exit status is 1 when something is wrong.
 */
#include "tests/networks.h"

enum { MOST = 3, RUNS = 2500 };

static void make(scenario *s)
{
    pi2_routes_problem *p = &s->problem;
    pi2_routes_node *node = s->nodes;
    memset(s, 0, sizeof *s);
    p->duration = uniform(0.5, 5);
    point_at_own(s);
    node->capacity = spread(100, 20000);
    node->buffer = node->capacity * spread(0.02, 20);
    draw_aqm(node, node->capacity);
    p->node_count = 1;
    p->class_count = 1 + pick(MOST);
    for (int i = 0; i < p->class_count; i++) {
        draw_class(&s->classes[i].flows, p->duration, node->capacity, node->aqm->encode != NULL);
        s->classes[i].length = 1;
    }
    draw_changes(s, 0.2);
    if (chance(0.2)) {
        p->began = 1;
        node->queues[0] = node->buffer * uniform(0, 1);
        node->state[0] = !node->aqm->encode ? 0.0 : uniform(0, 0.5);
    }
    p->step = chance(0.5) ? p->duration : spread(2e-3, 0.1);
    p->tolerance = chance(0.5) ? spread(1e-9, 1e-3) : 0.0;
    if (p->tolerance == 0.0)
        p->step = spread(5e-3, 0.1);
    p->most_steps = 20000;
}

/* While the queue is empty and nobody is signalled, windows grow as 1/base_rtt, and it is empty until
 * (base_rtt C/N - W) base_rtt. */
static int closed_form(void)
{
    static scenario s;
    static result r;
    pi2_routes_problem *p = &s.problem;
    pi2_fluid_class *flows = &s.classes[0].flows;
    const law_number none[] = {{0}};
    const double fills = (0.1 * 2500 / 3 / 5 - 1) * 0.1;
    memset(&s, 0, sizeof s);
    point_at_own(&s);
    p->node_count = 1;
    s.classes[0].length = 1;
    p->duration = 2.0;
    s.nodes->capacity = 2500.0 / 3;
    s.nodes->buffer = 1e9;
    s.nodes->aqm = make_queue("pi2", none, 0, &s.nodes->parameters, &s.nodes->update_interval);
    p->class_count = 1;
    do
        flows->law = make_sender("reno", none, &flows->parameters);
    while (!flows->law->plain.known);
    flows->count = 5;
    flows->base_rtt = 0.1;
    flows->stop = INFINITY;
    flows->x[0] = 1.0;
    p->step = 0.01;
    p->most_steps = 100000;
    run(p, 1 << 30, &r);
    for (int i = 0; i < ROWS; i++) {
        const double t = i * p->duration / (ROWS - 1);
        const double w = 1 + t / 0.1;
        if (t < fills && (r.queue[i] != 0.0 || fabs(r.window[i] - w) > 1e-12 * w)) {
            printf("at t = %g s the queue is %g and the window %.17g instead of 0 and %.17g\n", t, r.queue[i],
                   r.window[i], w);
            return 0;
        }
        if (t > fills + 1e-9 && !(r.queue[i] > 0.0)) {
            printf("at t = %g s the queue is still empty\n", t);
            return 0;
        }
    }
    return r.status == PI2_FLUID_DONE;
}

int main(void)
{
    static scenario s;
    static result whole, parts;
    int ended[PI2_FLUID_NO_MEMORY + 1] = {0}, wrong = !closed_form(), equal = 0, halves = 0;
    long long steps = 0;
    for (int i = 0; i < RUNS; i++) {
        double difference;
        make(&s);
        run(&s.problem, 1 << 30, &whole);
        run(&s.problem, 7, &parts);
        ended[whole.status]++;
        steps += whole.steps;
        if (memcmp(&whole, &parts, sizeof whole)) {
            printf("run %d gives other bytes when it is interrupted\n", i);
            wrong++;
        }
        if (!sound(&s.problem, &whole, PI2_FLUID_LOST_IMAGE, 1e-9)) {
            printf("run %d: %s, status %d\n", i, s.nodes->aqm->name, whole.status);
            wrong++;
        }
        if (whole.status == PI2_FLUID_DONE && s.nodes->aqm->bands == 1) {
            difference = split(&s, &whole);
            halves++;
            equal += difference < 1e-9;
        }
    }
    printf("%d scenarios, %lld steps: %d done, %d stuck, %d with a lost image; %d of %d unchanged by a split\n", RUNS,
           steps, ended[PI2_FLUID_DONE], ended[PI2_FLUID_STUCK], ended[PI2_FLUID_LOST_IMAGE], equal, halves);
    return wrong || ended[PI2_FLUID_DONE] < 0.9 * RUNS || equal < 0.9 * halves;
}
