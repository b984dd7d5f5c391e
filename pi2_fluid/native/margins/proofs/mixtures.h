/* Whether the classes of every mixture lie in one open half-plane, over boxes of frequency and load: the compiled twin
 * of angles_of and discs_of in pi2_fluid/design/guarantees/mixtures.py, where every bound has its name and its reason.
 * Pure C11.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A cell of round-trip times of one sender: its middle and half its width, omega, and of which kind the sender is. */
typedef struct {
    double rtt, half, omega;
    int scalable;
} pi2_mixture_cell;

typedef struct {
    double interval, integral, gain; /* T, alpha/T and beta + alpha/2 */
    double factor;                   /* PIE's, halved; 0: p' itself is controlled */
    int exact;                       /* the window law sees R vary */
    double rounding, largest;        /* of all terms; rho beyond which a box is too large */
} pi2_mixture_law;

/* Centre and half-widths of w and p'. */
typedef struct {
    double w, load, dw, dload;
} pi2_mixture_box;

/* Cuts boxes until the classes of each lie within a half-plane. Returns how many were looked at; `most` + 1 if that many
 * did not do; 0 if there is no memory. */
size_t pi2_mixture_boxes(const pi2_mixture_law *law, size_t cells, const pi2_mixture_cell *cell, size_t boxes,
                         const pi2_mixture_box *box, size_t most);

#ifdef __cplusplus
}
#endif
