#include "matrices/bound.h"

#include <math.h>
#include <string.h>

#include "matrices/algebra.h"

enum { ROWS = PI2_MATRIX_ROWS, ROOM = PI2_MATRIX_ROWS * PI2_MATRIX_ROWS, POINTS = 200 };

/* The largest |H(jv)| over v >= w; between the points it may be a little larger. */
static double largest(const pi2_matrix_controller *controller, double w)
{
    double most = 0.0;
    for (int k = 0; k < POINTS; k++) {
        const number x = {0.0, controller->unit * w * pow(1e6, (double)k / (POINTS - 1))};
        const number top = polynomial(controller->numerator, controller->top, x);
        most = fmax(most, size_of(over(top, polynomial(controller->denominator, controller->bottom, x))));
    }
    return 1.05 * controller->factor * most;
}

/* (I - a)^-1 b for matrices of numbers >= 0 whose powers die out; 0 if they do not. */
static int sum_powers(int n, const double *a, int columns, const double *b, double *sum)
{
    number matrix[ROOM], right[ROOM];
    int pivot[ROWS];
    if (n > 0 && !(pi2_spectral_radius(n, a) < 1.0))
        return 0;
    for (int k = 0; k < n * n; k++)
        matrix[k] = (number){(k % (n + 1) == 0) - a[k], 0.0};
    for (int k = 0; k < n * columns; k++)
        right[k] = (number){b[k], 0.0};
    if (n > 0 && !pi2_matrix_factor(n, matrix, pivot))
        return 0;
    pi2_matrix_solve(n, matrix, pivot, columns, right);
    for (int k = 0; k < n * columns; k++)
        sum[k] = right[k].re;
    return 1;
}

static void multiply(int rows, int inner, int columns, const double *a, const double *b, double *to)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            double sum = 0.0;
            for (int k = 0; k < inner; k++)
                sum += a[i * inner + k] * b[k * columns + j];
            to[i * columns + j] = sum;
        }
}

double pi2_matrix_bound(const void *given, double w)
{
    const pi2_matrix_sizes *const sizes = given;
    const pi2_matrix_plant *const plant = sizes->plant;
    const int queues = plant->queues, links = plant->links;
    double moved[ROOM] = {0.0}, driven[ROOM] = {0.0}, feedback[ROOM], drive[ROOM], solved[ROOM], full[ROOM];
    for (int i = 0; i < plant->classes; i++) {
        const double rest = w - sizes->fastest[i];
        if (!(rest > 0.0))
            return INFINITY;
        const double signal = sizes->driven[i] / rest + fabs(plant->cls[i].feed);
        const double delay = sizes->at_once[i] + sizes->coupled[i] / rest;
        for (int q = 0; q < queues; q++) {
            const double weight = plant->weight[i * queues + q];
            for (int m = 0; weight != 0.0 && m < queues; m++)
                moved[q * queues + m] += weight * delay * plant->delayed[i * queues + m];
            for (int l = 0; weight != 0.0 && l < links; l++)
                driven[q * links + l] += weight * signal * fabs(plant->slopes[i * links + l]);
        }
    }
    multiply(queues, queues, queues, sizes->passes, moved, feedback);
    multiply(queues, queues, links, sizes->passes, driven, drive);
    for (int k = 0; k < queues * queues; k++)
        feedback[k] /= plant->waits[k % queues] ? w : 1.0;
    if (!sum_powers(queues, feedback, links, drive, solved))
        return INFINITY;
    for (int k = 0; k < queues * links; k++)
        solved[k] /= plant->waits[k / links] ? w : 1.0;
    multiply(links, queues, links, plant->acted_on, solved, full);
    for (int column = 0; column < links; column++) {
        const double most = largest(plant->controller + column, w);
        for (int row = 0; row < links; row++)
            full[row * links + column] *= most;
    }
    const int open = plant->open, closed = links - open, *const order = plant->order;
    double inner[ROOM], beside[ROOM], by_closed[ROOM], whole[ROOM];
    for (int i = 0; i < closed; i++) {
        for (int j = 0; j < closed; j++)
            inner[i * closed + j] = full[order[open + i] * links + order[open + j]];
        for (int j = 0; j < open; j++)
            beside[i * open + j] = full[order[open + i] * links + order[j]];
    }
    if (!sum_powers(closed, inner, open, beside, by_closed))
        return INFINITY;
    for (int i = 0; i < open; i++)
        for (int j = 0; j < open; j++) {
            whole[i * open + j] = full[order[i] * links + order[j]];
            for (int k = 0; k < closed; k++)
                whole[i * open + j] += full[order[i] * links + order[open + k]] * by_closed[k * open + j];
        }
    return pi2_spectral_radius(open, whole);
}
