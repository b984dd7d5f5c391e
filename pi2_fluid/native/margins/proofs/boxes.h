/* Branch and bound with discs around a loop: which boxes of frequency, round-trip time and 1/window are not excluded
 * from what margins forbid. The compiled twin of pi2_fluid/design/guarantees/certificate.py and enclosure.py, where
 * every bound has its name and its reason. Pure C11.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PI2_SAMPLED, PI2_DELAYED, PI2_CONTINUOUS };

typedef struct {
    int scalable, falling, exact, update;
    double m, alpha, beta, interval;
    double echo, steepest, bend;     /* bounds of |h|, |h'| and |h''| */
    double far, rounding, largest;   /* |L| out of reach; of all terms; rho beyond which a box is too large */
    int aliases;                     /* on each side */
    double near, phase, modulus;     /* forbidden: from -1 to -near, e^{j(x - pi)} for 0 <= x <= phase (rad), around -1 */
} pi2_proof;

/* Centre and half-widths of w (rad/s), R (s) and mu. */
typedef struct {
    double centre[3], half[3];
} pi2_proof_box;

/* Contains all loops of a box; and which side of the box adds most to the radius. */
typedef struct {
    double re, im, radius;
    int widest;
} pi2_proof_disc;

/* The disc around all L of a box with so many aliases on each side enclosed one by one. */
pi2_proof_disc pi2_proof_enclose(const pi2_proof *proof, const pi2_proof_box *box, int aliases);

/* How far a point is from what the margins forbid; negative within a modulus margin. */
double pi2_proof_distance(const pi2_proof *proof, double re, double im);

/* Moves what is not excluded of n boxes to the front, the disc of each beside it, and returns how many these are.
 * `terms` grows by how many terms were enclosed. */
size_t pi2_proof_left(const pi2_proof *proof, size_t n, pi2_proof_box *boxes, pi2_proof_disc *discs, double *terms);

/* Both halves of each of n boxes, cut across their widest sides: all lower ones, then all upper ones. */
void pi2_proof_halves(size_t n, const pi2_proof_disc *discs, const pi2_proof_box *boxes, pi2_proof_box *halves);

#ifdef __cplusplus
}
#endif
