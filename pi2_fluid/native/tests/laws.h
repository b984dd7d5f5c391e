/* Laws for self-tests, made of the tapes in law_tapes.h as Python makes them. */
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "laws/traced.h"
#include "tests/chance.h"

enum { LAW_TAPES = 9, LAW_NUMBERS = 16 };

/* `tape`: of a sender rate, differences, sending_rate, leave_slow_start, acked, sending_rate_under; of a queue initial,
 * slopes, signals, differences, saturate, controller, update, encode, serve. */
typedef struct {
    const char *name;
    int size, flows; /* states of a sender, bands of a queue */
    const char *names[LAW_NUMBERS];
    double numbers[LAW_NUMBERS];
    pi2_tape tape[LAW_TAPES];
} tested_law;

#include "tests/law_tapes.h"

typedef struct {
    const char *name;
    double value;
} law_number;

/* A law that was made, and what its tapes are bound in; it lasts while a scenario does. */
typedef struct {
    pi2_traced_sender sender;
    pi2_traced_aqm aqm;
    double constants[LAW_TAPES][512];
    pi2_tape_row rows[LAW_TAPES][256];
    int32_t outputs[LAW_TAPES][16];
} made_law;

static inline made_law *law_room(void)
{
    enum { ROOMS = 64 };
    static made_law rooms[ROOMS];
    static int next;
    made_law *room = rooms + next++ % ROOMS;
    memset(room, 0, sizeof *room);
    return room;
}

/* The number of that name, of a law or of what is given. */
static inline double law_value(const tested_law *law, const double *numbers, const char *name)
{
    for (int i = 0; law->names[i]; i++)
        if (!strcmp(law->names[i], name))
            return numbers[i];
    printf("%s has no number '%s'\n", law->name, name);
    abort();
}

/* Binds the tapes of a law to its numbers, those given instead of its own. */
static inline void law_bind(const tested_law *law, const law_number *given, made_law *to, double *numbers,
                            pi2_tape *const *tapes)
{
    memcpy(numbers, law->numbers, sizeof law->numbers);
    for (; given && given->name; given++)
        for (int i = 0; law->names[i]; i++)
            if (!strcmp(law->names[i], given->name))
                numbers[i] = given->value;
    for (int k = 0; k < LAW_TAPES && tapes[k]; k++)
        if (law->tape[k].outputs || law->tape[k].inputs)
            pi2_tape_bind(law->tape + k, numbers, tapes[k], to->constants[k], to->rows[k], to->outputs[k]);
}

/* A sender of that name, with a state for a window; numbers that it has not are passed over. */
static inline const pi2_sender_law *make_sender(const char *name, const law_number *given, const void **parameters)
{
    const tested_law *law = SENDERS + pick((int)(sizeof SENDERS / sizeof *SENDERS));
    made_law *made = law_room();
    pi2_traced_sender *s = &made->sender;
    pi2_tape *const tapes[LAW_TAPES] = {&s->rate, &s->differences, &s->sending_rate, &s->leave_slow_start, &s->acked,
                                        &s->sending_rate_under};
    double numbers[LAW_NUMBERS];
    while (strcmp(law->name, name))
        law = law == SENDERS ? SENDERS + sizeof SENDERS / sizeof *SENDERS - 1 : law - 1;
    law_bind(law, given, made, numbers, tapes);
    s->law.name = law->name;
    s->law.states = law->size;
    if (!strcmp(name, "reno") && law == SENDERS)
        s->law.plain = (pi2_plain_window){1, law_value(law, numbers, "decrease"), 0.0};
    if (!strcmp(name, "scalable"))
        s->law.plain = (pi2_plain_window){1, 0.0, law_value(law, numbers, "per_mark")};
    pi2_make_traced_sender(s);
    *parameters = s;
    return &s->law;
}

/* A queue of that name, and how often it updates (s; INFINITY: never); with one band it may move by its flow. */
static inline const pi2_aqm_law *make_queue(const char *name, const law_number *given, int continuous,
                                            const void **parameters, double *interval)
{
    static const char *const encoders[] = {"pi2", "pi", "coupled"};
    const int many = (int)(sizeof QUEUES / sizeof *QUEUES);
    made_law *made = law_room();
    pi2_traced_aqm *a = &made->aqm;
    pi2_tape *const tapes[LAW_TAPES] = {&a->initial,    &a->slopes, &a->signals, &a->differences, &a->saturate,
                                        &a->controller, &a->update, &a->encode,  &a->serve};
    const tested_law *law;
    double numbers[LAW_NUMBERS];
    do
        law = QUEUES + pick(many);
    while (strcmp(law->name, name) || (law->flows != continuous && law->size == 1));
    law_bind(law, given, made, numbers, tapes);
    a->law.name = law->name;
    a->law.bands = law->size;
    a->flows = law->flows || !a->update.outputs;
    for (int encoder = PI2_SQUARE; encoder <= PI2_COUPLED; encoder++)
        if (!strcmp(name, encoders[encoder - PI2_SQUARE]))
            a->law.plain = (pi2_plain_controller){encoder,
                                                  law_value(law, numbers, "alpha"),
                                                  law_value(law, numbers, "beta"),
                                                  law_value(law, numbers, "target"),
                                                  law_value(law, numbers, "update_interval"),
                                                  1.0,
                                                  encoder == PI2_COUPLED ? law_value(law, numbers, "k") : 1.0};
    pi2_make_traced_aqm(a);
    *parameters = a;
    *interval = INFINITY;
    for (int i = 0; law->names[i]; i++)
        if (!strcmp(law->names[i], "update_interval"))
            *interval = numbers[i];
    return &a->law;
}
