/* Checks the fluid over several nodes without Python, on random networks: rings, hops that take no time, all laws,
 * changes of load and capacity.
 *
 * Each must end, or say why not; stay finite and within its bounds; give the same bytes when it is interrupted and
 * resumed; give the same queues beside an idle node, if it is one node alone, and when a class is split in two. Meant to be built with -DPI2_SANITIZE=ON. Prints counts; the exit status is 1 when something is wrong.
 */
#include "tests/networks.h"

enum { RUNS = 300 };

static void make_node(pi2_routes_node *node, int continuous)
{
    pi2_routes_node drawn;
    memset(&drawn, 0, sizeof drawn);
    node->capacity = spread(300, 5000);
    node->buffer = node->capacity * spread(0.02, 20);
    do
        draw_aqm(&drawn, node->capacity);
    while (drawn.continuous != continuous);
    node->aqm = drawn.aqm;
    node->parameters = drawn.parameters;
    memcpy(node->state, drawn.state, sizeof node->state);
    node->update_interval = drawn.update_interval;
    node->continuous = continuous;
}

static void make_route(scenario *s, int i, int nodes)
{
    pi2_routes_class *c = s->classes + i;
    double left = c->flows.base_rtt;
    int from = pick(nodes), step = 1 + pick(nodes > 1 ? nodes - 1 : 1);
    c->length = 1 + pick(nodes);
    for (int k = 0; k < c->length; k++) {
        int taken = 0, node = (from + k * step) % nodes;
        for (int j = 0; j < k; j++)
            taken |= s->routes[i][j] == node;
        if (taken) {
            c->length = k;
            break;
        }
        s->routes[i][k] = node;
        s->hops[i][k] = chance(0.4) ? 0.0 : uniform(0, 0.5) * left;
        left -= s->hops[i][k];
    }
}

/* Links with a price, and sources that answer it. */
static void make_prices(scenario *s)
{
    pi2_routes_problem *p = &s->problem;
    for (int l = 0; l < p->node_count; l++) {
        pi2_routes_node *node = s->nodes + l;
        const law_number numbers[] = {{"utilization", chance(0.5) ? 0.95 : 1.0}, {"update_interval", uniform(0.005, 0.02)},
                                      {0}};
        node->aqm = make_queue("price", numbers, node->continuous, &node->parameters, &node->update_interval);
        memset(node->state, 0, sizeof node->state);
    }
    for (int i = 0; i < p->class_count; i++) {
        pi2_fluid_class *c = &s->classes[i].flows;
        c->law = make_sender("paganini", NULL, &c->parameters);
        c->signal = PI2_FLUID_SCALABLE;
        c->thinned = 0;
        c->x[0] = uniform(1, 10);
    }
}

static int can_thin(const scenario *s, int nodes)
{
    for (int l = 0; l < nodes; l++)
        if (!s->nodes[l].aqm->encode)
            return 0;
    return 1;
}

static void make(scenario *s)
{
    pi2_routes_problem *p = &s->problem;
    const int continuous = chance(0.5);
    double least = INFINITY;
    memset(s, 0, sizeof *s);
    point_at_own(s);
    p->duration = uniform(0.5, 3);
    p->node_count = chance(0.2) ? 1 : 2 + pick(NODES - 1);
    p->class_count = 1 + pick(CLASSES - 1);
    p->sum = chance(0.2);
    p->began = chance(0.2);
    for (int l = 0; l < p->node_count; l++) {
        make_node(s->nodes + l, continuous);
        least = fmin(least, s->nodes[l].capacity);
        if (p->began) {
            s->nodes[l].queues[0] = chance(0.5) ? 0.0 : s->nodes[l].buffer * uniform(0, 1);
            s->nodes[l].state[0] = !s->nodes[l].aqm->encode ? 0.0 : uniform(0, 0.5);
        }
    }
    for (int i = 0; i < p->class_count; i++) {
        draw_class(&s->classes[i].flows, p->duration, least, can_thin(s, p->node_count));
        make_route(s, i, p->node_count);
    }
    if (chance(0.15))
        make_prices(s);
    draw_changes(s, 0.3);
    p->step = p->duration;
    p->tolerance = spread(1e-9, 1e-4);
    p->most_steps = 20000;
    if (chance(0.2)) {
        p->step = spread(5e-3, 5e-2);
        p->tolerance = 0.0;
    }
}

/* The largest difference of the queues (s) of a node alone from those beside one that nobody crosses, where no way is
 * shorter for there being one node. */
static double alone(const scenario *s)
{
    static scenario single, both;
    static result r, other;
    const int bands = s->nodes[0].aqm->bands;
    double worst = 0.0;
    single = *s;
    point_at_own(&single);
    single.problem.tolerance = 1e-9;
    single.problem.step = s->problem.duration;
    single.problem.most_steps = 1000000;
    for (int i = 0; i < single.problem.class_count; i++)
        single.hops[i][0] = 0.0;
    both = single;
    point_at_own(&both);
    both.nodes[1] = both.nodes[0];
    both.problem.node_count = 2;
    run(&single.problem, 1 << 30, &r);
    run(&both.problem, 1 << 30, &other);
    if (r.status != PI2_FLUID_DONE || other.status != PI2_FLUID_DONE)
        return INFINITY;
    for (int row = 0; row < ROWS; row++)
        for (int k = 0; k < bands; k++)
            worst = fmax(worst, fabs(r.queue[row * bands + k] - other.queue[2 * row * bands + k]));
    return worst / s->nodes[0].capacity;
}

int main(void)
{
    static scenario s;
    static result whole, parts;
    int ended[PI2_FLUID_NO_MEMORY + 1] = {0}, wrong = 0, equal = 0, halves = 0, ones = 0, same = 0;
    long long steps = 0;
    for (int i = 0; i < RUNS; i++) {
        make(&s);
        run(&s.problem, 1 << 30, &whole);
        run(&s.problem, 7, &parts);
        ended[whole.status]++;
        steps += whole.steps;
        if (memcmp(&whole, &parts, sizeof whole)) {
            printf("run %d gives other bytes when it is interrupted\n", i);
            wrong++;
        }
        if (!sound(&s.problem, &whole, PI2_FLUID_STUCK, 1e-6)) {
            printf("run %d: status %d, %d nodes, %d classes\n", i, whole.status, s.problem.node_count,
                   s.problem.class_count);
            wrong++;
        }
        if (whole.status != PI2_FLUID_DONE || s.problem.tolerance == 0.0)
            continue;
        halves++;
        equal += split(&s, &whole) < 1e-6;
        if (s.problem.node_count == 1) {
            ones++;
            same += alone(&s) < 1e-6;
        }
    }
    printf("%d networks, %lld steps: %d done, %d stuck, %d with a lost image; %d of %d unchanged by a split, %d of %d as "
           "beside an idle node\n",
           RUNS, steps, ended[PI2_FLUID_DONE], ended[PI2_FLUID_STUCK], ended[PI2_FLUID_LOST_IMAGE], equal, halves, same,
           ones);
    return wrong || ended[PI2_FLUID_DONE] < 0.9 * RUNS || equal < 0.9 * halves || same < 0.9 * ones;
}
