/* Checks the desk without Python: Reno flows under PI2, whose loop is known in closed form, and its parts on random numbers.
 *
 * Roots are put in again, determinants are found by elimination, the expansion at high frequency is compared with what it
 * expands, and L(jw) with the formula of the paper. Meant to be built with -DPI2_SANITIZE=ON. The exit status is 1 when
 * something is wrong.
 */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "desk/echoes.h"
#include "desk/loop.h"
#include "desk/polynomials.h"
#include "desk/zero.h"
#include "laws/operations.h"
#include "margins/search/crossings.h"
#include "tests/chance.h"

enum { RUNS = 300, CLASSES = 4, ROOM = 24 };

static int wrong;

static void expect(int holds, const char *what)
{
    if (!holds && wrong++ < 20)
        printf("%s\n", what);
}

static int near(double complex a, double complex b, double relative)
{
    return cabs(a - b) <= relative * (cabs(a) + cabs(b));
}

/* --- parts ------------------------------------------------------------------------------------- */

static void check_roots(void)
{
    double rising[8], re[PI2_MOST_ROOTS], im[PI2_MOST_ROOTS];
    const int degree = 1 + pick(7);
    for (int k = 0; k <= degree; k++)
        rising[k] = uniform(-1, 1) * pow(10.0, uniform(-3, 3));
    if (chance(0.2))
        rising[0] = 0.0;
    if (chance(0.2))
        rising[degree] = 0.0;
    const int found = pi2_polynomial_roots(rising, degree, re, im);
    expect(found >= degree - 2 && found <= degree, "the number of roots is another");
    for (int k = 0; k < found; k++) {
        const double complex z = re[k] + I * im[k];
        double complex value = 0.0;
        double size = 0.0;
        for (int j = degree; j >= 0; j--) {
            value = value * z + rising[j];
            size = size * cabs(z) + fabs(rising[j]);
        }
        expect(cabs(value) < 1e-9 * size, "a root is none"); /* of what the terms cancel to */
    }
}

static void check_determinant(void)
{
    pi2_in_s_and_e entry[PI2_STATES + 1][PI2_STATES + 1];
    const int n = 1 + pick(PI2_STATES);
    const double complex s = uniform(-2, 2) + I * uniform(-2, 2), e = uniform(-1, 1) + I * uniform(-1, 1);
    double complex a[PI2_STATES][PI2_STATES], expected = 1.0, found = 0.0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            entry[i][j] = (pi2_in_s_and_e){{{uniform(-1, 1), uniform(-1, 1)}, {uniform(-1, 1)}}};
            a[i][j] = entry[i][j].of[0][0] + entry[i][j].of[0][1] * e + entry[i][j].of[1][0] * s;
        }
    for (int k = 0; k < n; k++) { /* elimination; no pivot is 0 of random numbers */
        expected *= a[k][k];
        for (int i = k + 1; i < n; i++)
            for (int j = n - 1; j >= k; j--)
                a[i][j] -= a[i][k] / a[k][k] * a[k][j];
    }
    const pi2_in_s_and_e whole = pi2_determinant(n, entry);
    for (int i = 0; i < PI2_POWERS; i++)
        for (int j = 0; j < PI2_POWERS; j++)
            found += whole.of[i][j] * cpow(s, i) * cpow(e, j);
    expect(near(found, expected, 1e-7), "a determinant is another");
}

static double cubic(void *of, double x)
{
    return x * x * x - *(const double *)of;
}

static void check_zero(void)
{
    double cube = uniform(-8, 8), none = 100.0;
    expect(near(pi2_find_zero(cubic, &cube, -3, 3), cbrt(cube), 1e-14), "a zero is another");
    expect(isnan(pi2_find_zero(cubic, &none, -3, 3)), "a zero was found where there is none");
}

static void check_echoes(void)
{
    pi2_linear_flows flows[CLASSES];
    pi2_echo echo[3 * CLASSES + CLASSES * CLASSES];
    const size_t classes = 1 + (size_t)pick(CLASSES);
    const double T = uniform(0.5, 2);
    for (size_t c = 0; c < classes; c++) {
        pi2_linear_flows *const p = flows + c;
        memset(p, 0, sizeof *p);
        p->states = 1 + pick(2);
        for (int i = 0; i < p->states; i++) {
            for (int j = 0; j < p->states; j++) {
                p->a0[i][j] = uniform(-2, 2);
                p->a1[i][j] = uniform(-2, 2);
            }
            p->b[i] = uniform(-2, 2);
            p->c[i] = uniform(-2, 2);
        }
        p->weight = uniform(0.1, 1);
        p->rtt = uniform(0.01, 0.1);
        if (chance(0.5)) { /* such a class does not feel the queue */
            p->lead = uniform(0.1, 1);
            continue;
        }
        p->r = uniform(-2, 0);
        for (int i = 0; i < p->states; i++) {
            p->e0[i] = uniform(-2, 2);
            p->e1[i] = uniform(-2, 2);
        }
    }
    const size_t count = pi2_expand_flows(classes, flows, T, echo);
    expect(count <= pi2_most_echoes(classes), "there are too many echoes");
    for (int k = 0; k < 2; k++) {
        const double w = k ? 6e5 : 3e5;
        const double complex s = I * w;
        double complex drive = 0.0, feedback = 0.0, sum = 0.0;
        for (size_t c = 0; c < classes; c++) {
            pi2_linear_class cls;
            pi2_describe_flows(flows + c, &cls);
            const double complex e = cexp(-s * cls.rtt);
            double complex of[3] = {0.0, 0.0, 0.0};
            const double *const polynomials[] = {cls.own, cls.signal, cls.delay};
            for (int which = 0; which < 3; which++)
                for (int i = 0; i <= cls.states; i++)
                    for (int j = 0; j <= cls.states; j++)
                        of[which] += polynomials[which][i * (cls.states + 1) + j] * cpow(s, i) * cpow(e, j);
            drive -= cls.weight * (1.0 + cls.lead * s) * of[1] / of[0] * e;
            feedback += cls.weight * (cls.r + of[2] / of[0]);
        }
        for (size_t m = 0; m < count; m++)
            for (int order = 0; order < 3; order++)
                sum += cexp(-s * echo[m].delay) * echo[m].order[order] / cpow(s + 1.0 / T, order + 2);
        /* What is left falls like s^-5, with products of five of the numbers above; a wrong term of s^-4 would be larger. */
        expect(cabs(drive / (s - feedback) / s - sum) < 1e5 * pow(w, -5.0), "the expansion leaves more than its rest");
    }
}

/* --- a whole loop ------------------------------------------------------------------------------ */

/* A tape that is written row by row. Registers: inputs, then two parameters, then constants, then rows. */
typedef struct {
    pi2_tape tape;
    double constant[4];
    pi2_tape_row row[ROOM];
    int32_t output[ROOM];
} writing;

static void begin(writing *w, int inputs, int parameters)
{
    memset(w, 0, sizeof *w);
    w->constant[0] = 0.0;
    w->constant[1] = 1.0;
    w->constant[2] = 0.5;
    w->constant[3] = 2.0;
    w->tape = (pi2_tape){.inputs = inputs, .parameters = parameters, .constants = 4, .constant = w->constant, .row = w->row,
                         .output = w->output};
}

static int number(const writing *w, int which)
{
    return w->tape.inputs + w->tape.parameters + which;
}

static int put(writing *w, int code, int a, int b)
{
    w->row[w->tape.rows] = (pi2_tape_row){code, a, b, 0};
    return w->tape.inputs + w->tape.parameters + w->tape.constants + w->tape.rows++;
}

static void result(writing *w, int place)
{
    w->output[w->tape.outputs++] = place;
}

enum { ADD = PI2_TAPE_ADD, SUBTRACT = PI2_TAPE_SUBTRACT, MULTIPLY = PI2_TAPE_MULTIPLY, DIVIDE = PI2_TAPE_DIVIDE,
       NEGATIVE = PI2_TAPE_NEGATIVE, SQRT = PI2_TAPE_SQRT };
enum { ZERO, ONE, HALF, TWO };

/* Reno: 1/R(t) - W(t) W(t-R) p(t-R)/(2 R(t-R)). */
static writing at_rest, rate, sending, rate_slopes, sending_slopes;

static void write_reno(void)
{
    begin(&at_rest, 2, 0);
    result(&at_rest, put(&at_rest, SQRT, put(&at_rest, DIVIDE, number(&at_rest, TWO), 1), 0));
    begin(&rate, 5, 0);
    int cut = put(&rate, MULTIPLY, put(&rate, MULTIPLY, number(&rate, HALF), 0), put(&rate, DIVIDE, put(&rate, MULTIPLY, 1, 2), 4));
    result(&rate, put(&rate, SUBTRACT, put(&rate, DIVIDE, number(&rate, ONE), 3), cut));
    begin(&sending, 3, 0);
    result(&sending, put(&sending, DIVIDE, 0, 2));
    writing *const w = &rate_slopes;
    begin(w, 5, 0);
    const int half = put(w, NEGATIVE, put(w, DIVIDE, number(w, HALF), 4), 0); /* -1/(2 R) */
    result(w, put(w, MULTIPLY, half, put(w, MULTIPLY, 1, 2)));
    result(w, put(w, MULTIPLY, half, put(w, MULTIPLY, 0, 2)));
    const int squared = put(w, MULTIPLY, 0, 1);
    result(w, put(w, MULTIPLY, half, squared));
    result(w, put(w, NEGATIVE, put(w, DIVIDE, number(w, ONE), put(w, MULTIPLY, 3, 3)), 0));
    cut = put(w, MULTIPLY, half, put(w, MULTIPLY, squared, 2));
    result(w, put(w, NEGATIVE, put(w, DIVIDE, cut, 4), 0));
    begin(&sending_slopes, 3, 0);
    result(&sending_slopes, put(&sending_slopes, DIVIDE, number(&sending_slopes, ONE), 2));
    result(&sending_slopes, put(&sending_slopes, NEGATIVE,
                                put(&sending_slopes, DIVIDE, 0, put(&sending_slopes, MULTIPLY, 2, 2)), 0));
}

/* PI2: u += alpha (d - target) + beta (d - d before), p = u^2. Parameters: alpha, beta. */
static writing encode, encode_slopes, rests, moves, picks, shows;
static double target;

static void write_pi2(void)
{
    begin(&encode, 1, 2);
    result(&encode, put(&encode, MULTIPLY, 0, 0));
    result(&encode, 0);
    begin(&encode_slopes, 1, 2);
    result(&encode_slopes, put(&encode_slopes, MULTIPLY, number(&encode_slopes, TWO), 0));
    result(&encode_slopes, number(&encode_slopes, ONE));
    begin(&rests, 2, 2);
    rests.constant[HALF] = target;
    result(&rests, 0);
    result(&rests, number(&rests, HALF));
    result(&rests, number(&rests, HALF));
    begin(&moves, 5, 2);
    const int zero = number(&moves, ZERO), one = number(&moves, ONE), alpha = 5, beta = 6;
    const int minus = put(&moves, NEGATIVE, beta, 0), both = put(&moves, ADD, alpha, beta);
    const int columns[] = {one, zero, minus, zero, both, one, zero, zero};
    for (int k = 0; k < 8; k++)
        result(&moves, columns[k]);
    begin(&picks, 2, 2);
    result(&picks, number(&picks, ONE));
    result(&picks, number(&picks, ZERO));
    begin(&shows, 2, 2);
    result(&shows, 0);
}

static void check_loop(pi2_desk_room *room, pi2_searching *searching)
{
    const double gains[] = {uniform(0.05, 0.3), uniform(0.5, 3)}, T = uniform(0.005, 0.04);
    target = uniform(0.005, 0.03);
    write_pi2();
    const int classes = 1 + pick(CLASSES), exact = chance(0.5), solved = chance(0.3);
    const pi2_desk_queue queue = {&encode.tape, &rests.tape, gains, 1, 2, 1.0, 1.0, uniform(2e3, 2e4)};
    const pi2_queue_slopes slopes = {.encode = &encode_slopes.tape, .controller = {&moves.tape, &picks.tape, &shows.tape, 1},
                                     .interval = T};
    pi2_desk_flows flows[CLASSES];
    pi2_flow_slopes flow_slopes[CLASSES];
    pi2_flows_at_rest at[CLASSES];
    pi2_queue_at_rest rest;
    for (int c = 0; c < classes; c++) {
        flows[c] = (pi2_desk_flows){solved ? 0 : &at_rest.tape, &rate.tape, &sending.tape, gains, 1, PI2_HEARS_CLASSIC,
                                    1 + pick(20), uniform(0.01, 0.1)};
        flow_slopes[c] = (pi2_flow_slopes){&rate_slopes.tape, &sending_slopes.tape};
    }
    expect(pi2_find_rest(&queue, classes, flows, &rest, at), "flows rest nowhere");
    double total = 0.0;
    for (int c = 0; c < classes; c++) {
        total += flows[c].count * at[c].rate;
        expect(near(at[c].x[0], sqrt(2.0) / rest.u, 1e-13), "a window is another");
    }
    expect(near(total, queue.packets, 1e-13), "the link is not full");
    for (int update = PI2_CONTINUOUS; update <= PI2_SAMPLED; update++) {
        pi2_linear_loop loop;
        pi2_loop_margins margins;
        double distance;
        expect(pi2_assemble_loop(&queue, &slopes, classes, flows, flow_slopes, &rest, at, (pi2_update)update, exact, 0, room,
                                 &loop)
                   == PI2_LOOP_MADE,
               "no loop was made");
        const pi2_loop whole = pi2_loop_of_rates(&loop);
        expect(pi2_find_margins(&whole, searching, &margins) == PI2_DONE && isfinite(margins.gm_db), "a margin is missing");
        expect(pi2_find_nearest(&whole, searching, &distance) == PI2_DONE && distance <= 1.0, "|1 + L| is missing");
        if (update == PI2_SAMPLED)
            continue;
        const double w = exp(uniform(log(0.1), log(100)));
        const double complex s = I * w, x = s * T / 2.0;
        double complex drive = 0.0, feedback = 0.0;
        double found[2];
        for (int c = 0; c < classes; c++) {
            const double R = at[c].rtt, W = at[c].x[0], p = at[c].p, weight = flows[c].count / queue.packets;
            const double complex e = cexp(-s * R), pole = s + W * p / (2.0 * R) * (1.0 + e);
            const double change = exact ? 1.0 / (R * R) : 0.0; /* e0 = -change, e1 = change: W^2 p = 2 */
            drive += weight / R * W * W * rest.u / R * e / pole;
            feedback += weight * (-W / (R * R) + change * (e - 1.0) / R / pole);
        }
        const double complex controller = (gains[0] + (gains[0] + 2.0 * gains[1]) * x) / (2.0 * x);
        const double complex late = update == PI2_DELAYED ? cexp(-x) : 1.0;
        whole.response.at(whole.response.of, 1, &w, found);
        expect(near(found[0] + I * found[1], controller * drive / (s - feedback) * late, 1e-11), "L is another");
    }
}

int main(void)
{
    pi2_desk_room room = {0};
    pi2_searching searching = {0};
    write_reno();
    for (int run = 0; run < RUNS; run++) {
        check_roots();
        check_determinant();
        check_zero();
        check_echoes();
        check_loop(&room, &searching);
    }
    pi2_desk_room_free(&room);
    pi2_searching_free(&searching);
    if (!wrong)
        printf("the desk is right in %d runs\n", RUNS);
    return wrong != 0;
}
