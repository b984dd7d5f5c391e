#include "margins/search/ack_ends.h"

#include <math.h>
#include <stdlib.h>

#include "elementary.h"

/* Of the lowest harmonic: below this part of it the loop ends. */
#define BELOW_ECHOES 0.8
/* Harmonics that are looked at. */
#define MOST_POLES (1 << 20)

/* Whether its packets swing undamped; whether they come back from the queue as acknowledgements that send others. */
static int echoes(const pi2_ack_class *cls)
{
    return !(cls->waits || cls->paced);
}

static int returns(const pi2_ack_class *cls)
{
    return cls->waits && !cls->paced;
}

static int exchanges(size_t classes, const pi2_ack_class *cls)
{
    double first = NAN;
    for (size_t c = 0; c < classes; c++)
        if (returns(&cls[c])) {
            if (!isnan(first) && cls[c].rtt != first)
                return 1;
            first = cls[c].rtt;
        }
    return 0;
}

double pi2_ack_reach(size_t classes, const pi2_ack_class *cls)
{
    double ahead = 0.0, several = INFINITY;
    for (size_t c = 0; c < classes; c++) {
        ahead = echoes(&cls[c]) ? fmax(ahead, cls[c].rtt) : ahead;
        several = returns(&cls[c]) ? fmin(several, cls[c].rtt) : several;
    }
    const double end = fmax(ahead, exchanges(classes, cls) ? several : 0.0);
    return end > 0.0 ? BELOW_ECHOES * 2.0 * PI2_PI / end : INFINITY;
}

static int by_size(const void *a, const void *b)
{
    const double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

/* Between two poles of SUM phi cot(w R/2), which falls from infinity to minus infinity, where it is 0. */
static double between(size_t classes, const pi2_ack_class *cls, double low, double up)
{
    for (int i = 0; i < 50; i++) {
        const double middle = 0.5 * (low + up);
        double sum = 0.0;
        for (size_t c = 0; c < classes; c++)
            sum += returns(&cls[c]) ? cls[c].share / tan(middle * cls[c].rtt / 2.0) : 0.0;
        *(sum > 0.0 ? &low : &up) = middle;
    }
    return low;
}

pi2_outcome pi2_ack_landmarks(size_t classes, const pi2_ack_class *cls, double reach, size_t *n, double **found)
{
    *n = 0;
    *found = NULL;
    if (!exchanges(classes, cls))
        return PI2_DONE;
    double longest = 0.0;
    for (size_t c = 0; c < classes; c++)
        longest = returns(&cls[c]) ? fmax(longest, cls[c].rtt) : longest;
    /* of each class the poles from 0 up to one beyond the last one below the reach */
    const double orders = floor(reach * longest / 2.0 / PI2_PI) + 2.0;
    if (!(orders * (double)classes <= MOST_POLES))
        return PI2_TOO_OFTEN;
    double *const all = malloc(2 * (size_t)orders * classes * sizeof *all);
    if (!all)
        return PI2_NO_MEMORY;
    size_t poles = 0, kept = 0;
    for (size_t c = 0; c < classes; c++)
        for (size_t k = 0; returns(&cls[c]) && k < (size_t)orders; k++) {
            const double pole = (double)k * (PI2_PI / (cls[c].rtt / 2.0));
            if (pole < 2.0 * reach)
                all[poles++] = pole;
        }
    qsort(all, poles, sizeof *all, by_size);
    for (size_t i = 0; i < poles; i++) /* each once */
        if (!i || all[i] != all[kept - 1])
            all[kept++] = all[i];
    const size_t last = kept;
    for (size_t i = 0; i + 1 < last && all[i] < reach; i++)
        all[kept++] = between(classes, cls, all[i], all[i + 1]);
    qsort(all, kept, sizeof *all, by_size);
    while (kept > 0 && all[kept - 1] >= reach)
        kept--;
    *n = kept;
    *found = all;
    return PI2_DONE;
}

int pi2_ack_follows(const pi2_ack_class *cls)
{
    for (int k = 0; k < PI2_ACK_COEFFICIENTS; k++)
        if (cls->acks[0][k] != 0.0 || cls->acks[1][k] != 0.0)
            return 1;
    return 0;
}

int pi2_ack_exchanges_unseen(size_t classes, const pi2_ack_class *cls)
{
    size_t waiting = 0, following = 0, ahead = 0;
    for (size_t c = 0; c < classes; c++) {
        const int follower = pi2_ack_follows(&cls[c]) && !cls[c].paced;
        waiting += cls[c].waits != 0;
        following += follower;
        ahead += follower && !cls[c].waits;
    }
    return following > 0 && (waiting > 1 || ahead > 0);
}

double pi2_ack_window_bound(const pi2_ack_class *cls, const pi2_ack_size *size, double bunch, double w, int *falls)
{
    const double rest = w - size->rates;
    int degree = PI2_ACK_COEFFICIENTS - 1;
    while (degree > 0 && cls->own[0][degree] == 0.0)
        degree--;
    *falls = 1;
    if (rest <= 0.0)
        return INFINITY;
    const double window = cls->own[0][degree], unit = cls->rtt / window / rest;
    if (size->grown == 0.0 && cls->reduces && bunch == 0.0) {
        *falls = 2;
        return unit * size->cut * fmin(1.0, 2.0 / (w * cls->rtt));
    }
    return unit * (size->grown + size->cut);
}
