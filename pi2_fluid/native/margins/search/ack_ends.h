/* Where a loop by the clock of acknowledgements ends, what lies on the way, and how large its windows are beyond a
 * frequency. Pure C11.
 */
#pragma once

#include <stddef.h>

#include "margins/aliases/ack_class.h"
#include "margins/search/curve.h"

/* The frequency (rad/s) below which it ends: below the first harmonic of packets that are served first, and of the shortest
 * of several round-trip times in one queue; infinite if there are no such. */
double pi2_ack_reach(size_t classes, const pi2_ack_class *cls);

/* Frequencies below the reach at which classes in one queue swing against one another, rising; PI2_TOO_OFTEN: that many are
 * not looked at. */
pi2_outcome pi2_ack_landmarks(size_t classes, const pi2_ack_class *cls, double reach, size_t *n, double **found);

/* Whether a law is told when acknowledgements come faster or slower; whether several classes are, whose modes beside the
 * axis are not seen in the delay. */
int pi2_ack_follows(const pi2_ack_class *cls);
int pi2_ack_exchanges_unseen(size_t classes, const pi2_ack_class *cls);

/* An upper bound of what R dW/W answers to the controller's variable at v >= w, and the power of 1/v with which it falls. */
double pi2_ack_window_bound(const pi2_ack_class *cls, const pi2_ack_size *size, double bunch, double w, int *falls);
