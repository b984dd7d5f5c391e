/* The controller of the disciplines pi, pi2 and coupled; see pi_controller.h. */
#include "packet/queues/pi_controller.h"

/* 32 bits as sch_pi2 compares them with a draw (draw < p), and as sch_dualpi2 does (draw <= p). */
static uint64_t strictly_below(uint32_t p)
{
    return (uint64_t)p << 32;
}

static uint64_t up_to(uint32_t p)
{
    return (uint64_t)p << 32 | UINT32_MAX;
}

static uint32_t sixteenths(double gain)
{
    return (uint32_t)(gain * 16.0 + 0.5);
}

static void set_integers(pi2_controller *c)
{
    const pi2_pi_parameters *p = &c->parameters;
    const pi2_pi_family *pi = &p->law.pi;
    const double k = p->law.k;
    const int64_t target = pi2_ns(pi->target);
    const int quirks = p->quirks != 0.0;
    c->k = (uint32_t)k;
    c->ns_params.alpha = pi2_pi_ns_gain(pi->alpha);
    c->ns_params.beta = pi2_pi_ns_gain(pi->beta);
    c->ns_params.target = target;
    c->ns_params.limit = (uint32_t)(pi->limit * UINT32_MAX);
    c->ns_params.quirks = quirks;
    c->params_2016.alpha = pi2_2016_gain(sixteenths(k * pi->alpha));
    c->params_2016.beta = pi2_2016_gain(sixteenths(k * pi->beta));
    c->params_2016.target = target >> PI2_TICK_SHIFT;
    c->params_2016.decay = p->decay < 1.0;
    c->params_2016.quirks = quirks;
    c->rate_params.quirks = quirks;
}

static void set_thresholds(pi2_controller *c)
{
    const double k = c->parameters.law.k;
    if (c->arithmetic == PI2_2016) {
        c->linear = strictly_below(c->vars_2016.p / c->k);
        c->scalable = strictly_below(c->vars_2016.p);
    } else if (c->arithmetic == PI2_DUALPI2) {
        const double coupled = k * c->ns.p;
        c->linear = up_to(c->ns.p);
        c->scalable = up_to(coupled < UINT32_MAX ? (uint32_t)coupled : UINT32_MAX);
    } else {
        c->linear = pi2_bits_below(c->state[0]);
        c->scalable = pi2_bits_below(k * c->state[0]);
    }
}

int pi2_controller_setup(pi2_controller *c, const void *parameters, const pi2_queue *queue, pi2_encoder *encode)
{
    const pi2_pi_parameters *p = parameters;
    *c = (pi2_controller){.parameters = *p, .encode = encode};
    c->arithmetic = (int)p->arithmetic;
    c->shift = c->arithmetic == PI2_2016 ? PI2_TICK_SHIFT : 0;
    c->delay_from = (int)p->delay_from;
    c->ecn = p->ecn != 0.0;
    c->at_dequeue = p->at_dequeue != 0.0;
    c->floor = 2 * queue->mtu;
    c->interval = pi2_ns(p->law.pi.update_interval);
    c->first = pi2_ns(p->first_update);
    /* bytes, and the weight, as in the PIE of Linux 3.14 to 5.0, on which sch_pi2 is built */
    c->rate_params.threshold = 10000;
    c->rate_params.weight = 1.0 / 8.0;
    c->rate_params.integers = c->arithmetic == PI2_2016;
    pi2_rate_reset(&c->rate);
    set_integers(c);
    pi2_pi_initial(c->state);
    set_thresholds(c);
    if (c->arithmetic < PI2_REAL || c->arithmetic > PI2_2016 || c->delay_from < PI2_HEAD || c->delay_from > PI2_LENGTH)
        return 0;
    return c->interval > 0 && c->k >= (c->arithmetic == PI2_2016);
}

int64_t pi2_controller_first_tick(const void *qdisc)
{
    return ((const pi2_controller *)qdisc)->first;
}

static void update_real(pi2_controller *c, int64_t delay, int backlog)
{
    const pi2_pi_family *pi = &c->parameters.law.pi;
    const int idle = delay == 0 && c->state[1] == 0.0 && !backlog;
    double after[PI2_PI_STATES];
    pi2_pi_update(pi, c->state, (double)delay * 1e-9, after);
    pi2_pi_saturate(pi, after);
    c->state[0] = idle ? after[0] * c->parameters.decay : after[0];
    c->state[1] = after[1];
}

/* `delay` is in ticks. */
static void update(pi2_controller *c, int64_t delay, int backlog)
{
    switch (c->arithmetic) {
    case PI2_2016:
        pi2_2016_update(&c->params_2016, &c->vars_2016, delay, backlog);
        break;
    case PI2_DUALPI2:
        pi2_pi_ns_update(&c->ns_params, &c->ns, delay);
        break;
    default:
        update_real(c, delay, backlog);
    }
    set_thresholds(c);
}

void pi2_controller_sample(pi2_controller *c, int64_t delay, int backlog)
{
    update(c, delay >> c->shift, backlog);
}

int64_t pi2_controller_tick(void *qdisc, pi2_queue *queue, int64_t now)
{
    pi2_controller *c = qdisc;
    const int64_t backlog = pi2_queue_bytes(queue);
    if (c->delay_from == PI2_RATE)
        update(c, pi2_rate_delay(&c->rate_params, &c->rate, backlog), backlog != 0);
    else if (c->delay_from == PI2_LENGTH)
        pi2_controller_sample(c, pi2_ns((double)pi2_queue_packets(queue) * c->parameters.per_packet),
                              backlog != 0);
    else
        pi2_controller_sample(c, pi2_band_age(&queue->band[PI2_C], now), backlog != 0);
    return now + c->interval;
}

double pi2_controller_u(const pi2_controller *c)
{
    if (c->arithmetic == PI2_2016)
        return (double)c->vars_2016.p / UINT32_MAX / c->k;
    return c->arithmetic == PI2_DUALPI2 ? (double)c->ns.p / UINT32_MAX : c->state[0];
}

uint32_t pi2_controller_raw(const pi2_controller *c)
{
    return c->arithmetic == PI2_2016 ? c->vars_2016.p : c->arithmetic == PI2_DUALPI2 ? c->ns.p : 0;
}

void pi2_controller_hold(pi2_controller *c, double u, int64_t delay)
{
    c->state[0] = u;
    c->state[1] = (double)delay * 1e-9;
    c->ns.before = delay;
    c->vars_2016.before = delay >> c->shift;
    c->ns.p = (uint32_t)(u * UINT32_MAX + 0.5);
    c->vars_2016.p = (uint32_t)(u * c->k * UINT32_MAX + 0.5);
    set_thresholds(c);
}

void pi2_controller_push(void *qdisc, double amount)
{
    ((pi2_controller *)qdisc)->state[PI2_U] += amount; /* of the law: integers are not pushed */
}

void pi2_controller_probe(const void *qdisc, const pi2_queue *queue, pi2_probe *probe)
{
    const pi2_controller *c = qdisc;
    const double u = pi2_controller_u(c);
    (void)queue;
    probe->controller = u;
    c->encode(&c->parameters.law, u, &probe->classic, &probe->scalable);
}
