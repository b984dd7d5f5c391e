#include "matrices/plant.h"

#include <string.h>

#include "matrices/algebra.h"

enum { ROWS = PI2_MATRIX_ROWS, ROOM = PI2_MATRIX_ROWS * PI2_MATRIX_ROWS, STATES = PI2_MATRIX_STATES };

typedef struct {
    number s;
    number late[PI2_MATRIX_DELAYS]; /* e^{-s delay} */
    number X[ROOM], Y[ROOM];        /* X tau = Y u: (queues, queues), (queues, links) */
    number own;                     /* the product of the determinants of all classes over (s + scale)^states */
} parts;

static number late_by(number s, double delay)
{
    return raised((number){-s.re * delay, -s.im * delay});
}

/* --- classes --------------------------------------------------------------------------------- */

/* c Phi b and c Phi (e0 + e1 e), and det(s - a0 - a1 e). */
static int answer(const pi2_matrix_class *cls, number s, number e, number *signal, number *delay, number *own)
{
    const int n = cls->states;
    *signal = *delay = (number){0.0, 0.0};
    *own = (number){1.0, 0.0};
    if (n == 1) {
        *own = minus((number){s.re - cls->a0[0][0], s.im}, scaled(cls->a1[0][0], e));
        const number gain = over((number){cls->c[0], 0.0}, *own);
        *signal = scaled(cls->b[0], gain);
        *delay = times(gain, plus((number){cls->e0[0], 0.0}, scaled(cls->e1[0], e)));
        return 1;
    }
    if (n == 0)
        return 1;
    number matrix[STATES * STATES], right[2 * STATES];
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            matrix[i * n + j] = scaled(-cls->a1[i][j], e);
            matrix[i * n + j].re -= cls->a0[i][j];
            if (i == j)
                matrix[i * n + j] = plus(matrix[i * n + j], s);
        }
        right[2 * i] = (number){cls->b[i], 0.0};
        right[2 * i + 1] = plus((number){cls->e0[i], 0.0}, scaled(cls->e1[i], e));
    }
    int pivot[STATES];
    own->re = pi2_matrix_factor(n, matrix, pivot);
    if (own->re == 0.0)
        return 0;
    for (int i = 0; i < n; i++)
        *own = times(*own, matrix[i * n + i]);
    pi2_matrix_solve(n, matrix, pivot, 2, right);
    for (int i = 0; i < n; i++) {
        *signal = plus(*signal, scaled(cls->c[i], right[2 * i]));
        *delay = plus(*delay, scaled(cls->c[i], right[2 * i + 1]));
    }
    return 1;
}

/* --- queues ---------------------------------------------------------------------------------- */

static void pass_on(const pi2_matrix_plant *plant, const number *late, int count, const pi2_passed *passed, number *to)
{
    for (int k = 0; k < count; k++) {
        number *const entry = to + passed[k].queue * plant->queues + passed[k].unknown;
        *entry = plus(*entry, scaled(passed[k].value, late[passed[k].delay]));
    }
}

/* I + F */
static void passed_on(const pi2_matrix_plant *plant, const number *late, number *to)
{
    const int queues = plant->queues;
    memset(to, 0, sizeof(number) * (size_t)(queues * queues));
    for (int q = 0; q < queues; q++)
        to[q * queues + q].re = 1.0;
    pass_on(plant, late, plant->passings, plant->passing, to);
}

static int find_parts(const pi2_matrix_plant *plant, number s, parts *p)
{
    const int queues = plant->queues, links = plant->links;
    p->s = s;
    p->own = (number){1.0, 0.0};
    for (int k = 0; k < plant->delays; k++)
        p->late[k] = late_by(s, plant->delay[k]);
    passed_on(plant, p->late, p->X);
    for (int m = 0; m < queues; m++)
        for (int q = 0; plant->waits[m] && q < queues; q++)
            p->X[q * queues + m] = times(s, p->X[q * queues + m]);
    memset(p->Y, 0, sizeof(number) * (size_t)(queues * links));
    const number inverse = over((number){1.0, 0.0}, (number){s.re + plant->scale, s.im});
    for (int i = 0; i < plant->classes; i++) {
        const pi2_matrix_class *const cls = plant->cls + i;
        const int *const ahead = plant->ahead + i * queues;
        const number back = p->late[cls->round_trip];
        number signal, delay, own;
        if (!answer(cls, s, back, &signal, &delay, &own))
            return 0;
        for (int k = 0; k < cls->states; k++)
            own = times(own, inverse);
        p->own = times(p->own, own);
        signal.re += cls->feed;
        delay.re += cls->r;
        number heard[ROWS];
        for (int l = 0; l < links; l++) {
            const double slope = plant->slopes[i * links + l];
            heard[l] = slope == 0.0 ? (number){0.0, 0.0}
                                    : scaled(slope, times(signal, over(back, p->late[ahead[plant->queue[l]]])));
        }
        for (int q = 0; q < queues; q++) {
            const double weight = plant->weight[i * queues + q];
            if (weight == 0.0)
                continue;
            const number arriving = scaled(weight, p->late[ahead[q]]), moved = times(arriving, delay);
            for (int m = 0; m < queues; m++) {
                const double felt = plant->delayed[i * queues + m];
                if (felt != 0.0)
                    p->X[q * queues + m] = minus(p->X[q * queues + m], scaled(felt, moved));
            }
            for (int l = 0; l < links; l++)
                p->Y[q * links + l] = plus(p->Y[q * links + l], times(arriving, heard[l]));
        }
    }
    return 1;
}

static number control(const pi2_matrix_controller *controller, number s, number *bottom)
{
    const number x = scaled(controller->unit, s);
    *bottom = polynomial(controller->denominator, controller->bottom, x);
    const number top = scaled(controller->factor, polynomial(controller->numerator, controller->top, x));
    return controller->lag > 0.0 ? times(top, late_by(s, controller->lag)) : top;
}

/* --- answers --------------------------------------------------------------------------------- */

/* -X^-1 Y of some links in an order, seen by what the controllers of these act on. */
static int solve_for(const pi2_matrix_plant *plant, int count, const int *order, parts *p, number *values)
{
    const int queues = plant->queues, links = plant->links;
    number right[ROOM];
    int pivot[ROWS];
    for (int q = 0; q < queues; q++)
        for (int l = 0; l < count; l++)
            right[q * count + l] = p->Y[q * links + order[l]];
    if (!pi2_matrix_factor(queues, p->X, pivot))
        return 0;
    pi2_matrix_solve(queues, p->X, pivot, count, right);
    for (int row = 0; row < count; row++)
        for (int column = 0; column < count; column++) {
            number sum = {0.0, 0.0};
            for (int q = 0; q < queues; q++)
                sum = minus(sum, scaled(plant->acted_on[order[row] * queues + q], right[q * count + column]));
            values[row * count + column] = sum;
        }
    return 1;
}

int pi2_matrix_plant_at(const pi2_matrix_plant *plant, size_t n, const double *w, number *values)
{
    const int links = plant->links;
    int order[ROWS];
    parts p;
    for (int l = 0; l < links; l++)
        order[l] = l;
    for (size_t i = 0; i < n; i++)
        if (!find_parts(plant, (number){0.0, w[i]}, &p)
            || !solve_for(plant, links, order, &p, values + i * (size_t)(links * links)))
            return 0;
    return 1;
}

/* X - Y H for one link: its loop is closed. Returns the denominator of H. */
static number close_link(const pi2_matrix_plant *plant, int link, parts *p)
{
    const int queues = plant->queues, links = plant->links;
    number bottom;
    const number top = control(plant->controller + link, p->s, &bottom), ratio = over(top, bottom);
    for (int q = 0; q < queues; q++) {
        const double acts = plant->acted_on[link * queues + q];
        for (int row = 0; acts != 0.0 && row < queues; row++)
            p->X[row * queues + q]
                = minus(p->X[row * queues + q], times(scaled(acts, ratio), p->Y[row * links + link]));
    }
    return bottom;
}

/* Loops are closed in X, not in L: there what is large at low frequency would cancel. */
int pi2_matrix_response(const pi2_matrix_plant *plant, size_t n, const double *w, number *values)
{
    const int open = plant->open;
    parts p;
    for (size_t i = 0; i < n; i++) {
        number *const L = values + i * (size_t)(open * open), bottom;
        if (!find_parts(plant, (number){0.0, w[i]}, &p))
            return 0;
        for (int l = open; l < plant->links; l++)
            (void)close_link(plant, plant->order[l], &p);
        if (!solve_for(plant, open, plant->order, &p, L))
            return 0;
        for (int column = 0; column < open; column++) {
            const number top = control(plant->controller + plant->order[column], p.s, &bottom);
            const number ratio = over(top, bottom);
            for (int row = 0; row < open; row++)
                L[row * open + column] = times(L[row * open + column], ratio);
        }
    }
    return 1;
}

static number characteristic(const pi2_matrix_plant *plant, double w, int closed, parts *p)
{
    const int queues = plant->queues, links = plant->links;
    const number s = {0.0, w}, inverse = over((number){1.0, 0.0}, (number){plant->scale, w});
    if (!find_parts(plant, s, p))
        return (number){NAN, NAN};
    number found = p->own;
    for (int l = 0; closed && l < links; l++) {
        const pi2_matrix_controller *const controller = plant->controller + l;
        const number bottom = close_link(plant, l, p);
        const int order = controller->bottom;
        found = times(found, scaled(1.0 / (controller->denominator[order] * pow(controller->unit, order)), bottom));
        for (int k = 0; k < order; k++)
            found = times(found, inverse);
    }
    for (int q = 0; q < queues; q++)
        for (int m = 0; plant->waits[q] && m < queues; m++)
            p->X[q * queues + m] = times(inverse, p->X[q * queues + m]);
    found = times(found, pi2_matrix_determinant(queues, p->X));
    number *const limit = p->X;
    passed_on(plant, p->late, limit);
    pass_on(plant, p->late, plant->leading, plant->at_once, limit);
    return over(found, pi2_matrix_determinant(queues, limit));
}

static int along(const pi2_matrix_plant *plant, int closed, size_t n, const double *w, double *values)
{
    parts p;
    for (size_t i = 0; i < n; i++)
        store(characteristic(plant, w[i], closed, &p), values + 2 * i);
    return 1;
}

int pi2_matrix_characteristic(const void *plant, size_t n, const double *w, double *values)
{
    return along(plant, 1, n, w, values);
}

int pi2_matrix_open_characteristic(const void *plant, size_t n, const double *w, double *values)
{
    return along(plant, 0, n, w, values);
}

int pi2_matrix_degree(const pi2_matrix_plant *plant, int closed)
{
    int degree = 0;
    for (int i = 0; i < plant->classes; i++)
        degree += plant->cls[i].states;
    for (int q = 0; q < plant->queues; q++)
        degree += plant->waits[q] != 0;
    for (int l = 0; closed && l < plant->links; l++)
        degree += plant->controller[l].bottom;
    return degree;
}
