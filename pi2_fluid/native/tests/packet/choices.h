/* What random scenarios are drawn from, and drawn into. */
#pragma once

#include "packet/simulator.h"

enum { PI2_TEST_LINKS = 6, PI2_TEST_CLASSES = 7, PI2_TEST_CHANGES = 4, PI2_TEST_DETOURS = 3, PI2_TEST_SIZES = 3 };

/* Where the choices come from: bytes that somebody gives, as far as they go, or a seed. */
typedef struct {
    const uint8_t *bytes; /* NULL: from the seed */
    size_t left;
    uint64_t key, index;
} pi2_choices;

uint64_t pi2_choose_bits(pi2_choices *choices);
double pi2_uniform(pi2_choices *choices, double low, double high);
double pi2_spread(pi2_choices *choices, double low, double high); /* its logarithm is uniform */
int pi2_chance(pi2_choices *choices, double p);
int pi2_pick(pi2_choices *choices, int n); /* one of 0 .. n - 1 */

/* What is known of a link besides. */
typedef struct {
    pi2_packet_link *spec;
    int64_t duration; /* ns, of the run */
    double slot;      /* ns of a full packet at the beginning */
    double largest;   /* what the controller's variable may reach */
    int unlikely;     /* its discipline reports no probabilities */
} pi2_test_link;

/* What a scenario points to lies beside it, so that it must not be moved. */
typedef struct {
    pi2_packet_scenario problem;
    pi2_packet_link specs[PI2_TEST_LINKS];
    pi2_test_link links[PI2_TEST_LINKS];
    pi2_packet_class classes[PI2_TEST_CLASSES];
    uint32_t routes[PI2_TEST_CLASSES][PI2_TEST_LINKS];
    int64_t hops[PI2_TEST_CLASSES][PI2_TEST_LINKS]; /* those of the way back follow, as in the routes */
    double sizes[PI2_TEST_CLASSES][PI2_TEST_SIZES];
    pi2_packet_change changes[PI2_TEST_CHANGES];
    pi2_packet_detour detours[PI2_TEST_DETOURS];
    int64_t counts[PI2_TEST_CHANGES * PI2_TEST_CLASSES];
} pi2_test_scenario;
