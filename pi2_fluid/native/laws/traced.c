#include "laws/traced.h"

#include <math.h>
#include <string.h>

#include "laws/operations.h"

static int are_numbers(const double *values, int n)
{
    double none = 0.0;
    for (int j = 0; j < n; j++)
        none += 0.0 * values[j];
    return none == 0.0;
}

/* A law's guard against 0/0 compares, too: where the answer that is held lets that through, what it compares decides. */
static void run(const pi2_tape *tape, const double *in, const signed char *sides, double *out)
{
    pi2_tape_run(tape, in, 0, sides, out);
    if (sides && !are_numbers(out, tape->outputs))
        pi2_tape_run(tape, in, 0, 0, out);
}

/* One by one: a loop would become a call of memcpy, which is long for few numbers. */
static inline double *append(double *to, const double *numbers, int count)
{
    switch (count) {
    default:
        memcpy(to, numbers, (size_t)count * sizeof *to);
        break;
    case 4:
        to[3] = numbers[3]; /* fall through */
    case 3:
        to[2] = numbers[2]; /* fall through */
    case 2:
        to[1] = numbers[1]; /* fall through */
    case 1:
        to[0] = numbers[0]; /* fall through */
    case 0:
        break;
    }
    return to + count;
}

/* Whether a tape of n results gives its first n inputs as they are. */
static int is_identity(const pi2_tape *tape, int n)
{
    for (int k = 0; k < n; k++)
        if (tape->output[k] != k)
            return 0;
    return 1;
}

static int is_zero(const pi2_tape *tape, int place)
{
    const int constant = place - tape->inputs;
    return constant >= 0 && constant < tape->constants && tape->constant[constant] == 0.0;
}

/* Whether a result is 0, or 0 times something, whatever the inputs are. */
static int is_nothing(const pi2_tape *tape, int result)
{
    const int place = tape->output[result], row = place - tape->inputs - tape->constants;
    if (row < 0)
        return is_zero(tape, place);
    return tape->row[row].code == PI2_TAPE_MULTIPLY && (is_zero(tape, tape->row[row].a) || is_zero(tape, tape->row[row].b));
}

/* What each comparison is, by its number, of tapes that share the numbers. */
static void find_comparisons(const pi2_tape *const *tapes, int count, int comparisons, signed char *comparing)
{
    for (int number = 0; number < comparisons; number++) {
        comparing[number] = -1;
        for (int i = 0; i < count; i++) {
            const int code = pi2_tape_comparison(tapes[i], number);
            if (code >= 0)
                comparing[number] = (signed char)code;
        }
    }
}

/* Of laws that leave a state as it is. */
static void stays(const void *law, double *x)
{
    (void)law;
    (void)x;
}

/* Senders */

static const pi2_traced_sender *sender_of(const void *law)
{
    return law;
}

static void sender_inputs(const pi2_traced_sender *sender, const double *x, const double *x_delayed,
                          double signal_delayed, double rtt, double rtt_delayed, double *in)
{
    in = append(in, x, sender->law.states);
    in = append(in, x_delayed, sender->law.states);
    *in++ = signal_delayed;
    *in++ = rtt;
    *in = rtt_delayed;
}

static void rate(const void *law, const double *x, const double *x_delayed, double signal_delayed, double rtt,
                 double rtt_delayed, const signed char *sides, double *dx)
{
    double in[PI2_TRACED_INPUTS];
    sender_inputs(law, x, x_delayed, signal_delayed, rtt, rtt_delayed, in);
    run(&sender_of(law)->rate, in, sides, dx);
}

static void sender_differences(const void *law, const double *x, const double *x_delayed, double signal_delayed,
                               double rtt, double rtt_delayed, const signed char *sides, double *values)
{
    double in[PI2_TRACED_INPUTS];
    sender_inputs(law, x, x_delayed, signal_delayed, rtt, rtt_delayed, in);
    run(&sender_of(law)->differences, in, sides, values);
}

static double acked(const void *law, const double *x, double acks, double marks, double rtt, double *dx)
{
    const pi2_traced_sender *sender = law;
    double in[PI2_TRACED_INPUTS], out[PI2_SENDER_STATES + 1], *to = append(in, x, sender->law.states);
    *to++ = acks;
    *to++ = marks;
    *to = rtt;
    run(&sender->acked, in, 0, out);
    append(dx, out, sender->law.states);
    return out[sender->law.states];
}

static double sending_rate(const void *law, const double *x, double rtt)
{
    double in[PI2_TRACED_INPUTS], out;
    *append(in, x, sender_of(law)->law.states) = rtt;
    run(&sender_of(law)->sending_rate, in, 0, &out);
    return out;
}

static double sending_rate_under(const void *law, const double *x, double signal_delayed, double rtt)
{
    double in[PI2_TRACED_INPUTS], *to = append(in, x, sender_of(law)->law.states), out;
    *to++ = signal_delayed;
    *to = rtt;
    run(&sender_of(law)->sending_rate_under, in, 0, &out);
    return out;
}

static void leave_slow_start(const void *law, double *x)
{
    run(&sender_of(law)->leave_slow_start, x, 0, x);
}

double pi2_window_sending_rate(const void *law, const double *x, double rtt)
{
    (void)law;
    return x[0] / rtt;
}

/* Whether it sends its window in a round-trip time. */
static int is_windowed(const pi2_tape *tape, int states)
{
    const pi2_tape_row *row = tape->row;
    return tape->rows == 1 && row->code == PI2_TAPE_DIVIDE && row->a == 0 && row->b == states
           && tape->output[0] == tape->inputs + tape->constants;
}

void pi2_make_traced_sender(pi2_traced_sender *sender)
{
    const pi2_tape *const comparing[] = {&sender->rate};
    pi2_sender_law *law = &sender->law;
    law->comparisons = sender->rate.sides;
    law->comparing = sender->comparing;
    find_comparisons(comparing, 1, law->comparisons, sender->comparing);
    law->steady = 1;
    for (int j = 0; j < law->states; j++) {
        law->steady &= is_nothing(&sender->rate, j);
        if (pi2_tape_reads(&sender->rate, law->states + j))
            law->recalls |= 1u << j;
    }
    law->rate = rate;
    law->acked = sender->acked.outputs ? acked : 0;
    law->sending_rate = is_windowed(&sender->sending_rate, law->states) ? pi2_window_sending_rate : sending_rate;
    law->sending_rate_under = sender->sending_rate_under.outputs ? sending_rate_under : 0;
    law->leave_slow_start = is_identity(&sender->leave_slow_start, law->states) ? stays : leave_slow_start;
    law->differences = law->comparisons ? sender_differences : 0;
}

/* Queues */

static const pi2_traced_aqm *aqm_of(const void *law)
{
    return law;
}

static int initial(const void *law, double *state)
{
    const pi2_tape *tape = &aqm_of(law)->initial;
    run(tape, 0, 0, state);
    return tape->outputs;
}

/* State and what is seen, nothing if that is NULL; and `last`, where an input follows. */
static void watch(const pi2_traced_aqm *aqm, const double *state, const pi2_seen *seen, double last, double *in)
{
    static const pi2_seen nothing = {{0.0, 0.0}, 0.0, 0.0, 0.0, 0.0};
    in = append(in, state, aqm->initial.outputs);
    seen = seen ? seen : &nothing;
    in = append(in, seen->queue_delay, aqm->law.bands);
    *in++ = seen->queue;
    *in++ = seen->arrival_rate;
    *in++ = seen->capacity;
    *in++ = seen->overflow;
    *in = last;
}

static void update(const void *law, const double *state, const pi2_seen *seen, double dt, double *after)
{
    double in[PI2_TRACED_INPUTS];
    watch(law, state, seen, dt, in);
    run(&aqm_of(law)->update, in, 0, after);
}

static void not_updated(const void *law, const double *state, const pi2_seen *seen, double dt, double *after)
{
    (void)seen;
    (void)dt;
    append(after, state, aqm_of(law)->initial.outputs);
}

static void flow(const void *law, const double *state, const pi2_seen *seen, double d_queue_delay,
                 const signed char *sides, double *slope)
{
    double in[PI2_TRACED_INPUTS];
    watch(law, state, seen, d_queue_delay, in);
    run(&aqm_of(law)->slopes, in, sides, slope);
}

static void drift(const void *law, const double *state, const pi2_seen *seen, const signed char *sides, double *slope)
{
    flow(law, state, seen, 0.0, sides, slope);
}

static pi2_signal signals(const void *law, const double *state, const pi2_seen *seen, const signed char *sides)
{
    double in[PI2_TRACED_INPUTS], out[2];
    watch(law, state, seen, 0.0, in);
    run(&aqm_of(law)->signals, in, sides, out);
    return (pi2_signal){out[0], out[1]};
}

static void differences(const void *law, const double *state, const pi2_seen *seen, double d_queue_delay,
                        const signed char *sides, double *values)
{
    double in[PI2_TRACED_INPUTS];
    watch(law, state, seen, d_queue_delay, in);
    run(&aqm_of(law)->differences, in, sides, values);
}

static void saturate(const void *law, double *state)
{
    run(&aqm_of(law)->saturate, state, 0, state);
}

static double controller(const void *law, const double *state)
{
    double out;
    run(&aqm_of(law)->controller, state, 0, &out);
    return out;
}

static pi2_signal encode(const void *law, double u)
{
    double out[2];
    run(&aqm_of(law)->encode, &u, 0, out);
    return (pi2_signal){out[0], out[1]};
}

static void serve(const void *law, const int backlogged[2], const double arrivals[2], double capacity,
                  double served[2])
{
    const double in[] = {backlogged[0], backlogged[1], arrivals[0], arrivals[1], capacity};
    run(&aqm_of(law)->serve, in, 0, served);
}

/* Whether a state moves in updates only, and only they read it. */
static int is_still(const pi2_traced_aqm *aqm, int state)
{
    const int states = aqm->initial.outputs;
    if (!aqm->flows && !is_nothing(&aqm->slopes, state))
        return 0;
    for (int j = 0; j < states; j++)
        if (j != state && pi2_tape_depends(&aqm->saturate, j, state))
            return 0;
    return !pi2_tape_reads(&aqm->slopes, state) && !pi2_tape_reads(&aqm->signals, state)
           && !pi2_tape_reads(&aqm->controller, state);
}

void pi2_make_traced_aqm(pi2_traced_aqm *aqm)
{
    const pi2_tape *const comparing[] = {&aqm->slopes, &aqm->signals};
    const int states = aqm->initial.outputs;
    pi2_aqm_law *law = &aqm->law;
    int drifts = 0;
    law->comparisons = aqm->slopes.sides;
    law->comparing = aqm->comparing;
    find_comparisons(comparing, 2, law->comparisons, aqm->comparing);
    for (int j = 0; j < states; j++) {
        law->still |= is_still(aqm, j) ? 1u << j : 0u;
        drifts |= !is_nothing(&aqm->slopes, j);
    }
    for (int i = states; i < aqm->signals.inputs; i++)
        law->queue_signals |= pi2_tape_reads(&aqm->signals, i) ? 1u : 0u;
    law->rate_signals = pi2_tape_reads(&aqm->signals, states + law->bands + 1)
                        || pi2_tape_reads(&aqm->signals, states + law->bands + 3);
    law->initial = initial;
    law->update = aqm->update.outputs ? update : not_updated;
    law->flow = aqm->flows ? flow : 0;
    law->drift = drifts ? drift : 0;
    law->saturate = is_identity(&aqm->saturate, states) ? stays : saturate;
    law->controller = controller;
    law->encode = aqm->encode.outputs ? encode : 0;
    law->signals = signals;
    law->differences = law->comparisons ? differences : 0;
    law->serve = aqm->serve.outputs ? serve : 0;
}

int pi2_flows(const pi2_aqm_law *law, int continuous, double update_interval)
{
    return isfinite(update_interval) ? continuous : law->saturate != stays;
}
