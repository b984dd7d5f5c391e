/* Inside: one trajectory over several nodes in the making. */
#pragma once

#include "fluid/routes/problem.h"
#include "fluid/run.h"

/* Who looks back: over a hop, at what left the node before; at when what leaves a node now came; at a node's signals or
 * a class's window. */
enum { HOP, ENTRY, BACK };

typedef struct {
    fluid_reader reader;
    int kind;
    double delay;    /* s: the part that stays, */
    int queue_count;
    const int *queues; /* and the queues whose delays come to it */
    int queue;       /* of an ENTRY */
    int used;        /* whether what it reads matters now */
    int image, order; /* side on which it leaves its stretch (0: none); of a mark to be made */
    double d;        /* s: where it reads now, */
    double s;        /* how long the segment had begun then, */
    const struct routes_mode *mode; /* and what held then (not of an ENTRY) */
    double ahead;    /* s: how far it has read into the step in the making, < 0: not at all */
    double low, high; /* of an ENTRY: packets that had entered at the ends of its stretch */
    int read_count;
    int *reads;      /* the components that it reads */
} routes_reader;

typedef struct {
    const pi2_aqm_law *aqm;
    const void *law; /* what configures it */
    double buffer;
    double interval, tick; /* s; number of the next one */
    int continuous, thins;
    int by_pi;                     /* whether that moves by the PI controller of the queue delay */
    int states, moving, moves[PI2_AQM_STATES];
    double state[PI2_AQM_STATES]; /* those that do not move */
    double held[PI2_AQM_STATES];
    int first, bands;               /* its queues: one, or that of Classic and that of L4S packets */
    int controller;                 /* where it lies in the state */
    int sides;                      /* and the answers of its comparisons among those of the mode; see sides.h */
    double *pushes;
    size_t push_count;
} routes_node;

/* One of a node's. */
typedef struct {
    int node, band;
    int queue, entered;    /* where they lie in the state */
    int entry;             /* reader, -1: nobody needs it */
    int hands_on;          /* whether what leaves is at another node at once */
    int visit_count;
    int *visits, *offered; /* those, and where what they offer lies */
    size_t departures;     /* for reports: segment in which came what leaves now */
    double total;          /* packets/s that came then */
} routes_queue;

typedef struct {
    int class_, node, queue;
    int from;    /* component: what left the node before, or was sent, */
    int hop;     /* and its reader, -1: no delay */
    int offered; /* component: packets/s that enter */
    int left;    /* component: packets/s that leave; -1: nobody needs it */
    int signals; /* reader of the signals that the class hears from here, */
    int encoder, controller, scalable; /* how they follow from which component, if from one alone, */
    double coupling;                   /* as in fluid/inline_laws.h */
} routes_visit;

typedef struct {
    const pi2_sender_law *law;
    const void *parameters;
    int signal, thinned, listens;
    int plain;         /* its slope is inline */
    int windowed;      /* sends window / round-trip time */
    int answers;       /* its rate hears signals at once */
    int hands_on;      /* what it sends is at a node at once */
    int x, states, expected, sent;
    int sides;         /* where the answers of its comparisons lie */
    int reader;
    int from, end;     /* its visits, */
    int *queues;       /* and in which queue it waits at each */
    double base_rtt, start, start_jitter, most;
} routes_class;

typedef struct {
    double capacity, per_packet; /* packets/s; s */
    signed char bound[2]; /* of each of its queues */
} routes_link;

/* The discrete state; fluid_share of each class follows after the links, then the answers of the nodes' comparisons. */
typedef struct routes_mode {
    double signalling; /* 0 before time 0 */
    int sided;         /* whether comparisons hold their answers: see sides.h */
    routes_link links[];
} routes_mode;

typedef struct {
    double t;
    double *y, *f;
    double *tau, *net, *served; /* of each queue: s, packets/s: how it would grow, and what it gets while packets wait */
    double *d_tau, *d_served;   /* slopes of delays, and of what dual queues get */
    double *rtt, *per_rtt; /* of each class: s, 1/s */
} routes_point;

typedef struct {
    int kind, index;    /* of run.h; of which queue, of a buffer or clip which node, or class; of a SIDE nodes first */
    int state;          /* of a controller; number of a comparison */
    double bound, side;
} routes_event;

typedef struct {
    double *from, *k1, *k2, *k3, *k4;              /* q, u, windows */
    double *w, *share, *signals, *rtt, *inverse;
} lean_buffers;

/* See lean.h. Classes are numbered here among those who listen now, group by group: those with one delay. */
typedef struct {
    routes_reader *reader;
    double base_rtt, base_packets; /* s; times the capacity of then, packets */
    int from, end; /* its classes */
    int within;    /* whether k u was a probability then */
} routes_lean_group;

typedef struct {
    int is_on;                                     /* whether it serves now */
    int n, groups, encoder, bound, continuous;
    double capacity, inverse_capacity;             /* packets/s, s/packet */
    double others;                                 /* constant arrivals - capacity, packets/s */
    double integral, proportional, target, k;      /* of the controller's flow (0: held); s; coupling factor */
    double *count, *decrease, *per_mark;           /* flows; of the law, one of both is 0 */
    double *gain;                                  /* capacity of then if it was signalled, else 0 */
    int *at, *of, *class_, *scalable;              /* component, group, number among all classes, signal */
    routes_lean_group *group;
    lean_buffers buffers;
} routes_lean;

typedef struct pi2_routes {
    int node_count, queue_count, class_count, visit_count, sum, answering;
    /* One node, to which all packets come at once, from senders that answer a round trip later to signals that follow from
     * controller and queues: then no rate is heard of later, and the error of a step at its ends tells enough. */
    int at_once;
    int alone; /* the same with one queue: all rates follow from the state of their time, and are no part of the past */
    int dual; /* whether a node has two queues */
    routes_node *nodes;
    routes_queue *queues;
    routes_class *classes;
    routes_visit *visits;
    routes_reader *readers; /* the HOPs, the ENTRYs, the BACKs: */
    int hop_count, entry_end, reader_count;
    double lookback, longest_path, least_capacity;
    double nearest; /* s: all who look back now look further back than that, however short queues become */
    int flooded;
    double step, tolerance, per_tolerance, close; /* per_tolerance: 1/(24 step_allowance(tolerance)) */
    long long most_steps;

    fluid_agenda agenda;
    double end, next;

    /* The state is [queues, controllers, senders, what entered the queues | sent, offered, left | expected signals]: the
     * first part and the last are integrated, the second follows from the first and the past. Of a node alone the second
     * is the last. */
    int integrated, stored, size, room; /* `room`: with rates that are no part of the past */
    int entered;     /* where what entered the queues begins, -1: nobody needs it */
    double *weights; /* of each component: what makes its error relative; < 0: it does not count */

    unsigned char *delayed; /* of a rate: whether it comes from the past, or is read there; */
    int *fills;             /* and the queue that it fills */

    fluid_past past;
    routes_mode *mode;
    int nodes_compare, rates_compare; /* whether laws of queues, of senders, compare something; */
    int node_sides;                   /* how often those of queues do; */
    signed char *sides;               /* answers of the senders' comparisons, */
    signed char *sides_before;        /* those of the nodes before an event; see sides.h */
    int by_numbers;                   /* 1: those of the present are not held just now */
    double *distances;                /* room for those of one law, twice; */
    int most_compared;                /* the second begins there */
    pi2_seen *seen;  /* of each node, before something jumps */
    unsigned char *floored;
    routes_point ends[2], *now, *trial, scratch, before;
    double *k2, *k3, *k4, *middle, *foreseen, *then;
    double *heard;   /* of each class whose rate answers at once: probability of a signal */
    int readable;    /* whether open stretches reach into the step in the making: of one node if somebody may read it, */
    int provisional; /* whether that is as it has been foreseen, not made, */
    double reach;    /* and for how long (s) */
    int smooth;      /* whether the step before ended at nothing */
    int overlapped;  /* whether it has been read */
    routes_event *events;
    double proposal, error;
    long long taken;
    int stalled, slow, status;
    routes_lean lean;
    void *parts, *memory;
} pi2_routes;

static inline fluid_share *routes_shares(const pi2_routes *run, const routes_mode *mode)
{
    return (fluid_share *)(void *)(mode->links + run->node_count);
}

/* The answers of all nodes' comparisons that a mode holds. */
static inline signed char *routes_mode_sides(const pi2_routes *run, const routes_mode *mode)
{
    return (signed char *)(routes_shares(run, mode) + run->class_count);
}

/* A node's in a mode; NULL: what is compared decides, as before time 0 and while an event is made. */
static inline const signed char *routes_sides(const pi2_routes *run, const routes_mode *mode, int l)
{
    return mode->sided && !(run->by_numbers && mode == run->mode) ? routes_mode_sides(run, mode) + run->nodes[l].sides
                                                                  : NULL;
}

static inline const signed char *routes_rate_sides(const pi2_routes *run, const routes_class *c)
{
    return run->by_numbers || !c->law->comparisons ? NULL : run->sides + c->sides;
}

/* The node of a queue: without dual ones each has its own. */
static inline int routes_node_of(const pi2_routes *run, int k)
{
    return run->dual ? run->queues[k].node : k;
}

static inline int routes_bound(const pi2_routes *run, const routes_mode *mode, int k)
{
    if (!run->dual) /* each node has one queue */
        return mode->links[k].bound[0];
    return mode->links[run->queues[k].node].bound[run->queues[k].band];
}

static inline const routes_mode *routes_mode_then(const pi2_routes *run, const routes_reader *reader)
{
    return past_mode(&run->past, reader->reader.cursor);
}

/* Notes that a reader reads the step in the making. */
static inline void routes_overlap(pi2_routes *run, routes_reader *reader)
{
    run->overlapped = 1;
    reader->ahead = reader->s > reader->ahead ? reader->s : reader->ahead;
}

/* A component where a reader reads now, and its slope. */
static inline double routes_then(const pi2_routes *run, const routes_reader *reader, int component)
{
    const double *c = reader->reader.cubics + component, s = reader->s;
    const size_t n = (size_t)run->stored;
    return (c[0] + c[n] * s) + (s * s) * (c[2 * n] + c[3 * n] * s);
}

static inline double routes_slope_then(const pi2_routes *run, const routes_reader *reader, int component)
{
    const double *c = reader->reader.cubics + component, s = reader->s;
    const size_t n = (size_t)run->stored;
    return c[n] + s * (2.0 * c[2 * n] + 3.0 * s * c[3 * n]);
}
