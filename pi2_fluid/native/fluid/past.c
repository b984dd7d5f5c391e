#include "fluid/past.h"

#include <stdlib.h>
#include <string.h>

#include "fluid/problem.h"

enum { FIRST_SLOTS = 64, FIRST_MODES = 8, FIRST_MARKS = 64 };

int past_create(fluid_past *past, int components, size_t mode_bytes)
{
    memset(past, 0, sizeof *past);
    past->components = components;
    past->slots = FIRST_SLOTS;
    past->start = malloc(past->slots * sizeof *past->start);
    past->cubics = malloc(past->slots * sizeof *past->cubics * 4 * (size_t)components);
    past->mode = malloc(past->slots * sizeof *past->mode);
    past->mode_bytes = (mode_bytes + 7) / 8 * 8;
    past->mode_slots = FIRST_MODES;
    past->mode_count = 1;
    past->modes = calloc(past->mode_slots, past->mode_bytes);
    return past->start && past->cubics && past->mode && past->modes;
}

void past_destroy(fluid_past *past)
{
    free(past->start);
    free(past->cubics);
    free(past->mode);
    free(past->modes);
}

/* Makes twice the room for n things, so that thing i is in slot i & (slots - 1) again: half of them stay where they are,
 * all while nothing has been forgotten, and a large ring need not be copied to grow. */
static int double_ring(void **ring, size_t bytes, size_t slots, size_t first, size_t n)
{
    char *new = realloc(*ring, 2 * slots * bytes);
    if (!new)
        return 0;
    *ring = new;
    while (n > 0) { /* up to where the old ring begins again */
        const size_t from = first & (slots - 1), some = n < slots - from ? n : slots - from;
        if (first & slots)
            memcpy(new + (slots + from) * bytes, new + from * bytes, some * bytes);
        first += some;
        n -= some;
    }
    return 1;
}

int past_is_long(const fluid_past *past)
{
    return past->slots * 4 * (size_t)past->components * sizeof(double) >= PI2_FLUID_LONG_PAST;
}

int past_make_room(fluid_past *past, double needed)
{
    const size_t kept = past->length - past->oldest;
    const size_t cubic = 4 * (size_t)past->components * sizeof(double);
    void *start = past->start, *cubics = past->cubics, *mode = past->mode;
    int done;
    if (past->start[past_slot(past, past->oldest + 1)] <= needed) {
        past->oldest++;
        return 1;
    }
    if (2 * past->slots * cubic > PI2_FLUID_MOST_BYTES) {
        past->oldest++;
        past->forgot = 1;
        return 1;
    }
    done = double_ring(&start, sizeof *past->start, past->slots, past->oldest, kept)
           && double_ring(&cubics, cubic, past->slots, past->oldest, kept)
           && double_ring(&mode, sizeof *past->mode, past->slots, past->oldest, kept);
    past->start = start;
    past->cubics = cubics;
    past->mode = mode;
    if (done)
        past->slots *= 2;
    return done;
}

/* The cubics with these values and slopes at both ends of a step of length 1/inverse. */
static inline void fit(double *restrict c, const int n, double inverse, const double *restrict y0,
                       const double *restrict f0, const double *restrict y1, const double *restrict f1)
{
    for (int j = 0; j < n; j++) {
        const double slope = (y1[j] - y0[j]) * inverse;
        c[j] = y0[j];
        c[n + j] = f0[j];
        c[2 * n + j] = (3.0 * slope - 2.0 * f0[j] - f1[j]) * inverse;
        c[3 * n + j] = (f0[j] + f1[j] - 2.0 * slope) * (inverse * inverse);
    }
}

void past_append(fluid_past *past, double start, double end, const double *y0, const double *f0, const double *y1,
                 const double *f1)
{
    const size_t slot = past_slot(past, past->length);
    const double inverse = start > BEGINNING ? 1.0 / (end - start) : 0.0;
    double *c = past->cubics + slot * 4 * (size_t)past->components;
    if (past->components == 3)
        fit(c, 3, inverse, y0, f0, y1, f1);
    else
        fit(c, past->components, inverse, y0, f0, y1, f1);
    past->start[slot] = start;
    past->mode[slot] = (uint32_t)(past->mode_count - 1);
    past->length++;
}

void *past_change_mode(fluid_past *past)
{
    const size_t last = past->mode_count - 1;
    if (past->length == 0 || past->mode[past_slot(past, past->length - 1)] != last)
        return past_latest_mode(past);
    if (past->mode_count - past->mode_oldest == past->mode_slots) {
        const size_t needed = past->mode[past_slot(past, past->oldest)], gone = needed - past->mode_oldest;
        if (2 * gone >= past->mode_slots) {
            memmove(past->modes, past->modes + gone * past->mode_bytes, (past->mode_slots - gone) * past->mode_bytes);
            past->mode_oldest = needed;
        } else {
            char *more = realloc(past->modes, 2 * past->mode_slots * past->mode_bytes);
            if (!more)
                return NULL;
            past->modes = more;
            past->mode_slots *= 2;
        }
    }
    past->mode_count++;
    memcpy(past_latest_mode(past), (char *)past_latest_mode(past) - past->mode_bytes, past->mode_bytes);
    return past_latest_mode(past);
}

int reader_mark(fluid_reader *reader, const fluid_past *past, double t, int order, double close)
{
    fluid_breakpoint *mark;
    if (reader->count) {
        mark = reader->marks + (reader->count - 1);
        if (t - mark->time <= close) {
            mark->index = past->length;
            if (order < mark->order)
                mark->order = order;
            return 1;
        }
    }
    if (reader->count == reader->slots) {
        size_t gone = 0; /* marks that only delimit what is forgotten */
        while (gone < reader->place && reader->marks[gone + 1].index <= past->oldest)
            gone++;
        if (2 * gone >= reader->slots && gone) {
            memmove(reader->marks, reader->marks + gone, (reader->count - gone) * sizeof *mark);
            reader->count -= gone;
            reader->place -= gone;
        } else {
            const size_t slots = reader->slots ? 2 * reader->slots : FIRST_MARKS;
            fluid_breakpoint *more = realloc(reader->marks, slots * sizeof *mark);
            if (!more)
                return 0;
            reader->marks = more;
            reader->slots = slots;
        }
    }
    mark = reader->marks + reader->count;
    mark->time = t;
    mark->index = past->length;
    mark->order = order;
    reader->count++;
    return 1;
}

void reader_seek(fluid_reader *reader, double t)
{
    size_t low = 0, high = reader->count; /* the last mark at or before t */
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        if (reader->marks[middle].time <= t)
            low = middle;
        else
            high = middle;
    }
    reader->place = low;
}

void reader_stretch(fluid_reader *reader, const fluid_past *past, double now)
{
    const fluid_breakpoint *mark = reader->marks + reader->place;
    const int open = reader->open = reader->place + 1 == reader->count;
    reader->low = mark[0].time;
    reader->high = open ? now : mark[1].time;
    reader->first = mark[0].index;
    reader->last = (open ? past->length : mark[1].index) - 1;
    if (reader->first >= past->length) /* no delay at all: stay where there is a past */
        reader->first = past->length - 1;
    if (reader->first < past->oldest)
        reader->first = past->oldest;
    if (reader->last < reader->first)
        reader->last = reader->first;
    if (reader->cursor < reader->first)
        reader->cursor = reader->first;
    if (reader->cursor > reader->last)
        reader->cursor = reader->last;
    reader->mode = past_mode(past, reader->first);
    reader->from = reader->to = 0.0; /* read nothing yet */
}

double reader_find(fluid_reader *reader, const fluid_past *past, double t)
{
    size_t i = reader->cursor;
    double inside = t > reader->low ? t : reader->low, reach;
    inside = inside < reader->high ? inside : reader->high;
    while (i < reader->last && past->start[past_slot(past, i + 1)] <= inside)
        i++;
    while (i > reader->first && past->start[past_slot(past, i)] > inside)
        i--;
    reader->cursor = i;
    reader->from = past->start[past_slot(past, i)];
    reader->to = i < reader->last ? past->start[past_slot(past, i + 1)] : reader->high;
    reader->cubics = past_cubics(past, i);
    reach = reader->to - reader->from;
    return t < reader->from - reach ? reader->from - reach : t > reader->to + reach ? reader->to + reach : t;
}
