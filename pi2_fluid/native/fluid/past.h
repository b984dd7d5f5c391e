/* The past of a trajectory: smooth pieces, and the instants at which it is not smooth.
 *
 * Each step is a segment, a cubic in every component through the values and slopes at both ends. No cubic may be read
 * across a breakpoint: a group of classes reads between two neighbouring ones, its stretch. Segments are numbered from
 * 0, the time before 0; the oldest are forgotten when no delay can reach them any more. What is constant between two
 * events is a mode, of as many bytes as its owner says.
 */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define BEGINNING (-1e30) /* s: when the time before 0 began; finite, so that 0 times it is 0 */

typedef struct {
    size_t length, oldest; /* segments so far; the first one that is kept */
    size_t slots;          /* a power of two; segment i lies in slot i & (slots - 1) */
    int components;
    double *start;         /* s */
    double *cubics;        /* [slot][4][component]: coefficients of the powers of the time since `start` */
    uint32_t *mode;        /* number of the mode */
    int forgot;            /* 1: to spare memory, more than what no delay can reach */
    /* modes are numbered likewise */
    char *modes;
    size_t mode_bytes, mode_count, mode_oldest, mode_slots;
} fluid_past;

typedef struct {
    double time;
    size_t index; /* of the segment that begins there */
    int order;    /* of the lowest derivative that jumps */
} fluid_breakpoint;

/* Where one group reads: its breakpoints, and the current stretch. */
typedef struct {
    fluid_breakpoint *marks;
    size_t count, slots, place;
    /* the stretch, and where in it was read last */
    double low, high;
    size_t first, last;
    int open;               /* whether it reaches up to now */
    const void *mode;       /* of then */
    /* the segment that was read last, and from when to when it is */
    size_t cursor;
    double from, to;
    const double *cubics;
} fluid_reader;

/* All return 0 when there is no memory. */
int past_create(fluid_past *past, int components, size_t mode_bytes);
void past_destroy(fluid_past *past);
/* Makes room for one more segment; those that end before `needed` may be forgotten. It may move all of them. */
int past_make_room(fluid_past *past, double needed);
/* Whether it is so long that what is needed for certain should be told from what might be. */
int past_is_long(const fluid_past *past);
void past_append(fluid_past *past, double start, double end, const double *y0, const double *f0, const double *y1,
                 const double *f1);
/* The latest mode, as a copy if segments refer to it already; NULL when there is no memory. */
void *past_change_mode(fluid_past *past);
int reader_mark(fluid_reader *reader, const fluid_past *past, double t, int order, double close);
void reader_seek(fluid_reader *reader, double t);
void reader_stretch(fluid_reader *reader, const fluid_past *past, double now);

static inline size_t past_slot(const fluid_past *past, size_t segment)
{
    return segment & (past->slots - 1);
}

static inline void *past_mode(const fluid_past *past, size_t segment)
{
    return past->modes + (past->mode[past_slot(past, segment)] - past->mode_oldest) * past->mode_bytes;
}

static inline void *past_latest_mode(const fluid_past *past)
{
    return past->modes + (past->mode_count - 1 - past->mode_oldest) * past->mode_bytes;
}

static inline const double *past_cubics(const fluid_past *past, size_t segment)
{
    return past->cubics + past_slot(past, segment) * 4 * (size_t)past->components;
}

/* Component j of a segment with n components, s seconds after it began. */
static inline double past_value(const double *c, int n, int j, double s)
{
    return (c[j] + c[n + j] * s) + (s * s) * (c[2 * n + j] + c[3 * n + j] * s);
}

static inline void past_values(const double *c, int n, double s, double *y)
{
    for (int j = 0; j < n; j++)
        y[j] = past_value(c, n, j, s);
}

/* How long a segment of length `whole` (s) has gone on when a component that only grows comes to `value`. */
static inline double past_reaches(const double *c, int n, int j, double value, double whole)
{
    const double rise = past_value(c, n, j, whole) - c[j];
    double low = 0.0, high = whole, s = rise > 0.0 ? whole * ((value - c[j]) / rise) : whole;
    for (int trial = 0; trial < 60; trial++) { /* Newton's method between bounds */
        const double over = past_value(c, n, j, s) - value;
        const double rate = c[n + j] + s * (2.0 * c[2 * n + j] + 3.0 * s * c[3 * n + j]);
        double next = s - over / rate;
        if (fabs(next - s) <= 1e-9 * whole && next >= 0.0 && next <= whole)
            return next; /* the next step would move it by a rounding error */
        if (over < 0.0)
            low = s > low ? s : low;
        else
            high = s < high ? s : high;
        if (!(next > low && next < high))
            next = 0.5 * (low + high);
        if (next == low || next == high)
            return high;
        s = next;
    }
    return s;
}

/* Goes to the segment of the stretch that holds time t, and returns t. Beyond a breakpoint there is another branch: there
 * the last segment of this one goes on, since a stage of a step that ends at the breakpoint's image may look a little
 * further than the step does; no longer than the segment itself is, for its cubic says nothing of what comes then. */
double reader_find(fluid_reader *reader, const fluid_past *past, double t);

/* The same, at once where it mostly is: in the segment that was read last. */
static inline double reader_go(fluid_reader *reader, const fluid_past *past, double t)
{
    return t >= reader->from && t < reader->to ? t : reader_find(reader, past, t);
}
