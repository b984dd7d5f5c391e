#include "margins/closed/sampled_margins.h"

#include <math.h>

#include "margins/vector/block.h"
#include "margins/closed/domain.h"
#include "margins/closed/lane.h"

/* Numbers of loops: none of what is computed of them overflows. */
#define LEAST 1e-25
#define MOST 1e25
/* Updates in a round trip: beyond, e^{-j shift} is not exact enough. */
#define MOST_UPDATES 1e4

typedef struct {
    double m, mu, a, rho, theta;
} form;

static form form_at(pi2_sampled_input in, size_t i)
{
    return (form){in.m[i], in.mu[i], in.a[i], in.rho[i], in.theta[i]};
}

/* What the proof asks for, and what rounding asks for besides; not a number is refused, too. */
static int proved(int scalable, form p)
{
    return (p.theta <= PI2_SAMPLED_THETA) & (p.theta * MOST_UPDATES >= 1.0) & (p.mu >= LEAST)
        & (p.mu <= (scalable ? PI2_MU_SCALABLE : PI2_MU_RENO)) & (p.m >= LEAST) & (p.m <= MOST) & (p.a >= LEAST)
        & (p.a <= MOST) & (p.rho >= 0.0) & (p.rho <= MOST);
}

/* The closed form with half a sample of delay: its curves and their slopes over ln v, near enough to begin with. */
static double nearly(int scalable, int phase, form p, double c, double v, double *slope)
{
    const double s = sin(v), co = cos(v), re = p.mu * (scalable ? co : 1.0 + co), im = v - p.mu * s;
    const double re1 = -p.mu * s, im1 = 1.0 - p.mu * co, size = re * re + im * im, lead = c * v / p.a;
    if (phase) {
        const double late = 1.0 + 0.5 * p.theta;
        *slope = lead / (1.0 + lead * lead) - v / (1.0 + v * v) - v * (re * im1 - im * re1) / size - v * late;
        return atan(lead) - atan(v) + atan2(re, im) - v * late;
    }
    const double unit = 20.0 / log(10.0), loud = p.m * p.a / v;
    *slope = unit * (lead * lead / (1.0 + lead * lead) - 1.0 - v * v / (1.0 + v * v) - v * (re * re1 + im * im1) / size);
    return 0.5 * unit * log(loud * loud * (1.0 + lead * lead) / ((1.0 + v * v) * size));
}

static void begin(int scalable, int phase, form p, double start, int lane, pi2_sampled_crossing *to)
{
    const double c = (p.rho + 0.5) * p.a * p.theta;
    const double high = fmin(PI2_SAMPLED_LAST, PI2_SAMPLED_TURN / p.theta);
    double v = fmin(fmax(start, 1e-6), high), slope = -1.0;
    for (int i = 0; i < 3; i++) {
        const double value = nearly(scalable, phase, p, c, v, &slope);
        if (i == 2 || !(slope < 0.0))
            break;
        v = fmin(v * exp(fmin(fmax(-value / slope, -0.5), 0.5)), high);
    }
    to->v[lane] = v;
    to->high[lane] = high;
    to->slope[lane] = slope < 0.0 ? slope : -1.0;
}

/* What is known of order[0] e^{-delay s}/(s + near)^3 + order[1] e^{-delay s}/(s + near)^4 at all aliases. */
static void know(pi2_sampled_lanes *of, int which, int lane, double theta, double delay, double third, double fourth)
{
    const double updates = delay / theta, d = ceil(updates) - updates, fall = exp(-d);
    const double b = fall * third * theta * theta * theta / 2.0, c = fall * fourth * theta * theta * theta * theta / 6.0;
    of->late[which][lane] = d;
    of->on[which][0][lane] = d * d * (b + d * c);
    of->on[which][1][lane] = d * (2.0 * b + 3.0 * d * c);
    of->on[which][2][lane] = b + 3.0 * d * c;
    of->on[which][3][lane] = c;
}

static void put(int scalable, form p, int lane, pi2_sampled_lanes *of, pi2_sampled_crossing *gain,
                pi2_sampled_crossing *phase)
{
    const double near = 1.0 / p.theta, turn = near - floor(near);
    of->loud[lane] = p.m * p.a;
    of->mu[lane] = p.mu;
    of->rho[lane] = p.rho;
    of->theta[lane] = p.theta;
    of->near[lane] = near;
    of->far[lane] = 3.0 * near - 1.0 - (scalable ? 0.0 : p.mu);
    of->shift[lane] = 2.0 * PI2_PI * near;
    of->turn_re[lane] = cos(2.0 * PI2_PI * turn);
    of->turn_im[lane] = -sin(2.0 * PI2_PI * turn);
    know(of, 0, lane, p.theta, 1.0, 1.0, of->far[lane]);
    know(of, 1, lane, p.theta, 2.0, 0.0, -p.mu);
    const double c = (p.rho + 0.5) * p.a * p.theta, square = pi2_phase_start(scalable, p.mu, p.a, c);
    begin(scalable, 0, p, pi2_gain_start(scalable, p.mu, p.m * p.a, p.m * c), lane, gain);
    begin(scalable, 1, p, sqrt(square > 0.0 ? square : 0.0), lane, phase);
}

void pi2_sampled_margins(int simd, int scalable, int varies, size_t n, pi2_sampled_input in, pi2_sampled_output out)
{
    pi2_sampled_function *const solve = pi2_simd_at(simd)->sampled[scalable != 0][varies != 0];
    size_t index[PI2_SAMPLED_WIDE];
    pi2_sampled_lanes lanes;
    pi2_sampled_crossing gain, phase;
    int full = 0;
    for (size_t i = 0; i < n || full; i++) {
        if (i < n) {
            const form p = form_at(in, i);
            if (!proved(scalable, p)) {
                out.gm_db[i] = out.pm_deg[i] = out.v_gc[i] = out.v_pc[i] = NAN;
                continue;
            }
            index[full] = i;
            put(scalable, p, full++, &lanes, &gain, &phase);
            if (full < PI2_SAMPLED_WIDE)
                continue;
        }
        const form last = form_at(in, index[full - 1]);
        for (int lane = full; lane < PI2_SAMPLED_WIDE; lane++) /* which no one asked for */
            put(scalable, last, lane, &lanes, &gain, &phase);
        solve(&lanes, &gain, &phase);
        for (int lane = 0; lane < full; lane++) {
            const size_t k = index[lane];
            const int found = !gain.left[lane] && !phase.left[lane];
            out.gm_db[k] = found ? -phase.other[lane] : NAN;
            out.pm_deg[k] = found ? gain.other[lane] * (180.0 / PI2_PI) : NAN;
            out.v_gc[k] = found ? gain.v[lane] : NAN;
            out.v_pc[k] = found ? phase.v[lane] : NAN;
        }
        full = 0;
    }
}
