/* The functions of laws as C, from their tapes: written by tools/write_laws.py.
 *
 * A tape runs by such a function where there is one of its form, and otherwise line by line; both
 * do the same. Registers have the names of the inputs, or r and their place; k are the constants of
 * the bound tape, among which is what depends on the law's numbers alone.
 */
#include "laws/generated.h"

#include "laws/operations.h"

#define OPERATION(name, operands, value) \
    static inline double name(double A, double B, double C) \
    { \
        (void)B; \
        (void)C; \
        return (value); \
    }
#define COMPARISON(name, operands, value, held) \
    static inline double name(double A, double B, const signed char *sides, int number) \
    { \
        const int SIDE = sides ? sides[number] : 0; \
        (void)B; \
        return sides ? (held) : (value); \
    }
PI2_TAPE_OPERATIONS(OPERATION, COMPARISON)
#undef OPERATION
#undef COMPARISON

#if defined(__GNUC__) || defined(__clang__)
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE static inline
#endif

static void reno_rate(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double window = in[0];
    const double window_delayed = in[1];
    const double signal_delayed = in[2];
    const double rtt = in[3];
    const double rtt_delayed = in[4];
    const double r7 = k[1] / rtt;
    const double r8 = k[0] * window;
    const double r9 = r8 * window_delayed;
    const double r10 = r9 / rtt_delayed;
    const double r11 = r10 * signal_delayed;
    const double r12 = r7 - r11;
    out[0] = r12;
}

static void reno_sending_rate(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)k;
    (void)sides;
    const double window = in[0];
    const double rtt = in[1];
    const double r2 = window / rtt;
    out[0] = r2;
}

static void reno_acked(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double window = in[0];
    const double acks = in[1];
    const double marks = in[2];
    const double r6 = k[1] * acks;
    const double r7 = r6 / window;
    const double r8 = k[0] * window;
    const double r9 = r8 * marks;
    out[0] = r7;
    out[1] = r9;
}

static void scalable_rate(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double window_delayed = in[1];
    const double signal_delayed = in[2];
    const double rtt = in[3];
    const double rtt_delayed = in[4];
    const double r7 = k[1] / rtt;
    const double r8 = k[0] * window_delayed;
    const double r9 = r8 / rtt_delayed;
    const double r10 = r9 * signal_delayed;
    const double r11 = r7 - r10;
    out[0] = r11;
}

static void scalable_acked(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double window = in[0];
    const double acks = in[1];
    const double marks = in[2];
    const double r5 = acks / window;
    const double r6 = k[0] * marks;
    out[0] = r5;
    out[1] = r6;
}

ALWAYS_INLINE void dctcp_rate_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double window = in[0];
    const double alpha = in[1];
    const double window_delayed = in[2];
    const double signal_delayed = in[4];
    const double rtt = in[5];
    const double r10 = window_delayed * signal_delayed;
    const double r11 = signal_delayed - alpha;
    const double r12 = k[0] * r11;
    const double r13 = r12 / rtt;
    const double r14 = LESS(r10, k[1], sides, 0);
    const double r15 = WHERE(r14, r10, k[1]);
    const double r16 = k[2] * alpha;
    const double r17 = r16 * window;
    const double r18 = r17 * r15;
    const double r19 = k[1] - r18;
    const double r20 = r19 / rtt;
    out[0] = r20;
    out[1] = r13;
}

static void dctcp_rate(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        dctcp_rate_by(in, k, sides, out);
    else
        dctcp_rate_by(in, k, 0, out);
}

static void dctcp_differences(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double window_delayed = in[2];
    const double signal_delayed = in[4];
    const double r8 = window_delayed * signal_delayed;
    const double r9 = r8 - k[0];
    out[0] = r9;
}

static void dctcp_sending_rate(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)k;
    (void)sides;
    const double window = in[0];
    const double rtt = in[2];
    const double r3 = window / rtt;
    out[0] = r3;
}

ALWAYS_INLINE void dctcp_rate_2_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double window = in[0];
    const double alpha = in[1];
    const double window_delayed = in[2];
    const double signal_delayed = in[4];
    const double rtt = in[5];
    const double r18 = window_delayed * signal_delayed;
    const double r19 = signal_delayed - alpha;
    const double r20 = k[0] * r19;
    const double r21 = r20 / rtt;
    const double r22 = k[1] * r18;
    const double r23 = r22 + k[2];
    const double r24 = MAXIMUM(r18, r23, sides, 0);
    const double r25 = -r24;
    const double r26 = EXP(r25, 0.0, 0.0);
    const double r27 = LESS(r18, k[2], sides, 1);
    const double r28 = k[3] * r18;
    const double r29 = k[4] - r28;
    const double r30 = r24 * r26;
    const double r31 = k[4] - r26;
    const double r32 = r30 / r31;
    const double r33 = WHERE(r27, r29, r32);
    const double r34 = k[3] * alpha;
    const double r35 = r34 * window;
    const double r36 = r35 - k[6];
    const double r37 = k[1] * r35;
    const double r38 = MAXIMUM(r36, r37, sides, 2);
    const double r39 = k[4] - r35;
    const double r40 = r39 / k[10];
    const double r41 = r37 + k[7];
    const double r42 = MINIMUM(r40, r41, sides, 3);
    const double r43 = EXP(r42, 0.0, 0.0);
    const double r44 = k[4] + r43;
    const double r45 = k[4] / r44;
    const double r46 = k[5] - r35;
    const double r47 = r46 / k[10];
    const double r48 = MINIMUM(r47, r41, sides, 4);
    const double r49 = EXP(r48, 0.0, 0.0);
    const double r50 = k[4] + r49;
    const double r51 = k[4] / r50;
    const double r52 = k[8] - r35;
    const double r53 = r52 / k[10];
    const double r54 = MINIMUM(r53, r41, sides, 5);
    const double r55 = EXP(r54, 0.0, 0.0);
    const double r56 = k[4] + r55;
    const double r57 = k[4] / r56;
    const double r58 = k[9] - r35;
    const double r59 = r58 / k[10];
    const double r60 = MINIMUM(r59, r41, sides, 6);
    const double r61 = EXP(r60, 0.0, 0.0);
    const double r62 = k[4] + r61;
    const double r63 = k[4] / r62;
    const double r64 = r38 + r45;
    const double r65 = r64 + r51;
    const double r66 = r65 + r57;
    const double r67 = r66 + r63;
    const double r68 = r18 * r67;
    const double r69 = r33 - r68;
    const double r70 = k[4] + r18;
    const double r71 = r70 * rtt;
    const double r72 = r69 / r71;
    out[0] = r72;
    out[1] = r21;
}

static void dctcp_rate_2(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        dctcp_rate_2_by(in, k, sides, out);
    else
        dctcp_rate_2_by(in, k, 0, out);
}

static void dctcp_differences_2(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double window = in[0];
    const double alpha = in[1];
    const double window_delayed = in[2];
    const double signal_delayed = in[4];
    const double r17 = window_delayed * signal_delayed;
    const double r18 = k[0] * r17;
    const double r19 = r18 + k[1];
    const double r20 = k[2] * alpha;
    const double r21 = r20 * window;
    const double r22 = r21 - k[5];
    const double r23 = k[0] * r21;
    const double r24 = k[3] - r21;
    const double r25 = r24 / k[9];
    const double r26 = r23 + k[6];
    const double r27 = k[4] - r21;
    const double r28 = r27 / k[9];
    const double r29 = k[7] - r21;
    const double r30 = r29 / k[9];
    const double r31 = k[8] - r21;
    const double r32 = r31 / k[9];
    const double r33 = r17 - r19;
    const double r34 = r17 - k[1];
    const double r35 = r22 - r23;
    const double r36 = r25 - r26;
    const double r37 = r28 - r26;
    const double r38 = r30 - r26;
    const double r39 = r32 - r26;
    out[0] = r33;
    out[1] = r34;
    out[2] = r35;
    out[3] = r36;
    out[4] = r37;
    out[5] = r38;
    out[6] = r39;
}

ALWAYS_INLINE void dctcp_acked_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double window = in[0];
    const double alpha = in[1];
    const double acks = in[2];
    const double marks = in[3];
    const double rtt = in[4];
    const double r16 = MAXIMUM(acks, k[1], sides, 0);
    const double r17 = marks / r16;
    const double r18 = r17 - alpha;
    const double r19 = k[0] * r18;
    const double r20 = r19 / rtt;
    const double r21 = k[2] * window;
    const double r22 = k[3] * alpha;
    const double r23 = r22 * window;
    const double r24 = r23 - k[5];
    const double r25 = k[2] * r23;
    const double r26 = MAXIMUM(r24, r25, sides, 1);
    const double r27 = k[6] - r23;
    const double r28 = r27 / k[10];
    const double r29 = r25 + k[7];
    const double r30 = MINIMUM(r28, r29, sides, 2);
    const double r31 = EXP(r30, 0.0, 0.0);
    const double r32 = k[6] + r31;
    const double r33 = k[6] / r32;
    const double r34 = k[4] - r23;
    const double r35 = r34 / k[10];
    const double r36 = MINIMUM(r35, r29, sides, 3);
    const double r37 = EXP(r36, 0.0, 0.0);
    const double r38 = k[6] + r37;
    const double r39 = k[6] / r38;
    const double r40 = k[8] - r23;
    const double r41 = r40 / k[10];
    const double r42 = MINIMUM(r41, r29, sides, 4);
    const double r43 = EXP(r42, 0.0, 0.0);
    const double r44 = k[6] + r43;
    const double r45 = k[6] / r44;
    const double r46 = k[9] - r23;
    const double r47 = r46 / k[10];
    const double r48 = MINIMUM(r47, r29, sides, 5);
    const double r49 = EXP(r48, 0.0, 0.0);
    const double r50 = k[6] + r49;
    const double r51 = k[6] / r50;
    const double r52 = r26 + r33;
    const double r53 = r52 + r39;
    const double r54 = r53 + r45;
    const double r55 = r54 + r51;
    const double r56 = marks * r55;
    out[0] = r21;
    out[1] = r20;
    out[2] = r56;
}

static void dctcp_acked(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        dctcp_acked_by(in, k, sides, out);
    else
        dctcp_acked_by(in, k, 0, out);
}

ALWAYS_INLINE void prague_rate_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double window = in[0];
    const double alpha = in[1];
    const double window_delayed = in[2];
    const double signal_delayed = in[4];
    const double rtt = in[5];
    const double rtt_delayed = in[6];
    const double r11 = window_delayed / rtt_delayed;
    const double r12 = r11 * signal_delayed;
    const double r13 = r11 - r12;
    const double r14 = LESS(k[1], rtt, sides, 0);
    const double r15 = WHERE(r14, rtt, k[1]);
    const double r16 = LESS(k[1], rtt_delayed, sides, 1);
    const double r17 = WHERE(r16, rtt_delayed, k[1]);
    const double r18 = r12 * r17;
    const double r19 = LESS(r18, k[2], sides, 2);
    const double r20 = WHERE(r19, r18, k[2]);
    const double r21 = r20 / r15;
    const double r22 = rtt / r15;
    const double r23 = r22 * r22;
    const double r24 = r23 * r13;
    const double r25 = r24 / window;
    const double r26 = signal_delayed - alpha;
    const double r27 = k[0] * r26;
    const double r28 = r27 / r15;
    const double r29 = k[3] * alpha;
    const double r30 = r29 * window;
    const double r31 = r30 * r21;
    const double r32 = r25 - r31;
    out[0] = r32;
    out[1] = r28;
}

static void prague_rate(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        prague_rate_by(in, k, sides, out);
    else
        prague_rate_by(in, k, 0, out);
}

ALWAYS_INLINE void prague_differences_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double window_delayed = in[2];
    const double signal_delayed = in[4];
    const double rtt = in[5];
    const double rtt_delayed = in[6];
    const double r9 = window_delayed / rtt_delayed;
    const double r10 = r9 * signal_delayed;
    const double r11 = LESS(k[0], rtt_delayed, sides, 1);
    const double r12 = WHERE(r11, rtt_delayed, k[0]);
    const double r13 = r10 * r12;
    const double r14 = k[0] - rtt;
    const double r15 = k[0] - rtt_delayed;
    const double r16 = r13 - k[1];
    out[0] = r14;
    out[1] = r15;
    out[2] = r16;
}

static void prague_differences(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        prague_differences_by(in, k, sides, out);
    else
        prague_differences_by(in, k, 0, out);
}

ALWAYS_INLINE void prague_acked_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double window = in[0];
    const double alpha = in[1];
    const double acks = in[2];
    const double marks = in[3];
    const double rtt = in[4];
    const double r9 = acks - marks;
    const double r10 = marks / acks;
    const double r11 = LESS(k[1], rtt, sides, 0);
    const double r12 = WHERE(r11, rtt, k[1]);
    const double r13 = marks * r12;
    const double r14 = LESS(r13, k[2], sides, 1);
    const double r15 = WHERE(r14, r13, k[2]);
    const double r16 = r15 / r12;
    const double r17 = rtt / r12;
    const double r18 = r17 * r17;
    const double r19 = r18 * r9;
    const double r20 = r19 / window;
    const double r21 = r10 - alpha;
    const double r22 = k[0] * r21;
    const double r23 = r22 / r12;
    const double r24 = k[3] * alpha;
    const double r25 = r24 * window;
    const double r26 = r25 * r16;
    out[0] = r20;
    out[1] = r23;
    out[2] = r26;
}

static void prague_acked(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        prague_acked_by(in, k, sides, out);
    else
        prague_acked_by(in, k, 0, out);
}

ALWAYS_INLINE void cubic_rate_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double window = in[0];
    const double w_max = in[1];
    const double epoch = in[2];
    const double variance = in[3];
    const double window_delayed = in[4];
    const double signal_delayed = in[8];
    const double rtt = in[9];
    const double rtt_delayed = in[10];
    const double r17 = window_delayed / rtt_delayed;
    const double r18 = r17 * signal_delayed;
    const double r19 = k[1] * w_max;
    const double r20 = r19 / k[0];
    const double r21 = CBRT(r20, 0.0, 0.0);
    const double r22 = epoch - r21;
    const double r23 = k[2] * r22;
    const double r24 = r23 * r22;
    const double r25 = r24 + variance;
    const double r26 = k[0] * r25;
    const double r27 = k[3] / rtt;
    const double r28 = window / k[5];
    const double r29 = LESS(r27, r26, sides, 0);
    const double r30 = WHERE(r29, r26, r27);
    const double r31 = r28 - w_max;
    const double r32 = r31 * r18;
    const double r33 = epoch * r18;
    const double r34 = k[4] - r33;
    const double r35 = epoch * epoch;
    const double r36 = r35 - variance;
    const double r37 = r36 * r18;
    const double r38 = k[1] * r28;
    const double r39 = r38 * r18;
    const double r40 = r30 - r39;
    out[0] = r40;
    out[1] = r32;
    out[2] = r34;
    out[3] = r37;
}

static void cubic_rate(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        cubic_rate_by(in, k, sides, out);
    else
        cubic_rate_by(in, k, 0, out);
}

static void cubic_differences(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double w_max = in[1];
    const double epoch = in[2];
    const double variance = in[3];
    const double rtt = in[9];
    const double r15 = k[1] * w_max;
    const double r16 = r15 / k[0];
    const double r17 = CBRT(r16, 0.0, 0.0);
    const double r18 = epoch - r17;
    const double r19 = k[2] * r18;
    const double r20 = r19 * r18;
    const double r21 = r20 + variance;
    const double r22 = k[0] * r21;
    const double r23 = k[3] / rtt;
    const double r24 = r23 - r22;
    out[0] = r24;
}

static void cubic_sending_rate(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)k;
    (void)sides;
    const double window = in[0];
    const double rtt = in[4];
    const double r5 = window / rtt;
    out[0] = r5;
}

static void cubic_leave_slow_start(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double window = in[0];
    const double r6 = window / k[1];
    out[0] = window;
    out[1] = r6;
    out[2] = k[0];
    out[3] = k[0];
}

ALWAYS_INLINE void cubic_acked_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double window = in[0];
    const double w_max = in[1];
    const double epoch = in[2];
    const double variance = in[3];
    const double acks = in[4];
    const double marks = in[5];
    const double r13 = k[1] * w_max;
    const double r14 = r13 / k[0];
    const double r15 = CBRT(r14, 0.0, 0.0);
    const double r16 = epoch - r15;
    const double r17 = k[2] * r16;
    const double r18 = r17 * r16;
    const double r19 = r18 + variance;
    const double r20 = k[0] * r19;
    const double r21 = k[3] * acks;
    const double r22 = r21 / window;
    const double r23 = window / k[5];
    const double r24 = LESS(r22, r20, sides, 0);
    const double r25 = WHERE(r24, r20, r22);
    const double r26 = r23 - w_max;
    const double r27 = r26 * marks;
    const double r28 = epoch * marks;
    const double r29 = k[4] - r28;
    const double r30 = epoch * epoch;
    const double r31 = r30 - variance;
    const double r32 = r31 * marks;
    const double r33 = k[1] * r23;
    const double r34 = r33 * marks;
    out[0] = r25;
    out[1] = r27;
    out[2] = r29;
    out[3] = r32;
    out[4] = r34;
}

static void cubic_acked(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        cubic_acked_by(in, k, sides, out);
    else
        cubic_acked_by(in, k, 0, out);
}

static void cbr_rate(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double window = in[0];
    const double r6 = k[0] * window;
    out[0] = r6;
}

ALWAYS_INLINE void paganini_rate_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double window = in[0];
    const double signal_delayed = in[2];
    const double rtt = in[3];
    const double r12 = window / rtt;
    const double r13 = MINIMUM(signal_delayed, k[4], sides, 0);
    const double r14 = -r13;
    const double r15 = LOG1P(r14, 0.0, 0.0);
    const double r16 = -r15;
    const double r17 = r16 / k[6];
    const double r18 = k[0] * r17;
    const double r19 = k[5] * rtt;
    const double r20 = r18 / r19;
    const double r21 = -r20;
    const double r22 = EXP(r21, 0.0, 0.0);
    const double r23 = r12 * r22;
    const double r24 = k[1] * window;
    const double r25 = r24 / rtt;
    const double r26 = POWER(r23, k[3], 0.0);
    const double r27 = k[2] / r26;
    const double r28 = r27 - r17;
    const double r29 = r25 * r28;
    out[0] = r29;
}

static void paganini_rate(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        paganini_rate_by(in, k, sides, out);
    else
        paganini_rate_by(in, k, 0, out);
}

static void paganini_differences(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double signal_delayed = in[2];
    const double r6 = signal_delayed - k[0];
    out[0] = r6;
}

ALWAYS_INLINE void paganini_sending_rate_under_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double window = in[0];
    const double signal_delayed = in[1];
    const double rtt = in[2];
    const double r7 = window / rtt;
    const double r8 = MINIMUM(signal_delayed, k[1], sides, 0);
    const double r9 = -r8;
    const double r10 = LOG1P(r9, 0.0, 0.0);
    const double r11 = -r10;
    const double r12 = r11 / k[3];
    const double r13 = k[0] * r12;
    const double r14 = k[2] * rtt;
    const double r15 = r13 / r14;
    const double r16 = -r15;
    const double r17 = EXP(r16, 0.0, 0.0);
    const double r18 = r7 * r17;
    out[0] = r18;
}

static void paganini_sending_rate_under(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        paganini_sending_rate_under_by(in, k, sides, out);
    else
        paganini_sending_rate_under_by(in, k, 0, out);
}

static void timeoutreno_rate(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double window = in[0];
    const double sending = in[1];
    const double window_delayed = in[2];
    const double signal_delayed = in[4];
    const double rtt = in[5];
    const double rtt_delayed = in[6];
    const double r15 = window_delayed / rtt_delayed;
    const double r16 = r15 * signal_delayed;
    const double r17 = k[2] - signal_delayed;
    const double r18 = rtt + k[1];
    const double r19 = signal_delayed * k[3];
    const double r20 = k[4] + r19;
    const double r21 = signal_delayed * r20;
    const double r22 = k[5] + r21;
    const double r23 = signal_delayed * r22;
    const double r24 = k[6] + r23;
    const double r25 = signal_delayed * r24;
    const double r26 = k[7] + r25;
    const double r27 = signal_delayed * r26;
    const double r28 = k[2] + r27;
    const double r29 = signal_delayed * r28;
    const double r30 = k[2] + r29;
    const double r31 = r18 * r30;
    const double r32 = r17 / r31;
    const double r33 = k[2] / rtt;
    const double r34 = k[0] * window;
    const double r35 = r34 * r16;
    const double r36 = r33 - r35;
    const double r37 = k[2] - sending;
    const double r38 = r37 * r32;
    const double r39 = sending * r16;
    const double r40 = r39 * signal_delayed;
    const double r41 = r38 - r40;
    out[0] = r36;
    out[1] = r41;
}

static void timeoutreno_sending_rate(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)k;
    (void)sides;
    const double window = in[0];
    const double sending = in[1];
    const double rtt = in[2];
    const double r3 = sending * window;
    const double r4 = r3 / rtt;
    out[0] = r4;
}

ALWAYS_INLINE void pi_saturate_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double r4 = MAXIMUM(state0, k[0], sides, 0);
    const double r5 = MINIMUM(r4, k[1], sides, 1);
    out[0] = r5;
    out[1] = state1;
}

static void pi_saturate(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pi_saturate_by(in, k, sides, out);
    else
        pi_saturate_by(in, k, 0, out);
}

static void pi_update(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double state1 = in[1];
    const double queue_delay = in[2];
    const double r12 = queue_delay - k[2];
    const double r13 = k[0] * r12;
    const double r14 = queue_delay - state1;
    const double r15 = k[1] * r14;
    const double r16 = r13 + r15;
    const double r17 = k[3] * r16;
    const double r18 = state0 + r17;
    out[0] = r18;
    out[1] = queue_delay;
}

static void pi_slopes(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double queue_delay = in[2];
    const double d_queue_delay = in[7];
    const double r12 = queue_delay - k[0];
    const double r13 = k[2] * r12;
    const double r14 = k[3] * d_queue_delay;
    const double r15 = r13 + r14;
    const double r16 = k[1] * r15;
    out[0] = r16;
    out[1] = d_queue_delay;
}

ALWAYS_INLINE void pie_update_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double queue_delay = in[2];
    const double r29 = queue_delay - k[2];
    const double r30 = k[0] * r29;
    const double r31 = queue_delay - state1;
    const double r32 = k[1] * r31;
    const double r33 = r30 + r32;
    const double r34 = LESS(state0, k[3], sides, 0);
    const double r35 = WHERE(r34, k[4], k[5]);
    const double r36 = LESS(state0, k[6], sides, 1);
    const double r37 = WHERE(r36, k[7], r35);
    const double r38 = LESS(state0, k[8], sides, 2);
    const double r39 = WHERE(r38, k[9], r37);
    const double r40 = LESS(state0, k[10], sides, 3);
    const double r41 = WHERE(r40, k[11], r39);
    const double r42 = LESS(state0, k[12], sides, 4);
    const double r43 = WHERE(r42, k[13], r41);
    const double r44 = LESS(state0, k[14], sides, 5);
    const double r45 = WHERE(r44, k[15], r43);
    const double r46 = r45 * r33;
    const double r47 = LESS(k[16], r46, sides, 6);
    const double r48 = LESS_EQUAL(k[17], state0, sides, 7);
    const double r49 = AND(r47, r48, 0.0);
    const double r50 = WHERE(r49, k[16], r46);
    const double r51 = LESS(k[18], queue_delay, sides, 8);
    const double r52 = WHERE(r51, k[16], k[19]);
    const double r53 = r50 + r52;
    const double r54 = state0 + r53;
    const double r55 = EQUAL(queue_delay, k[19], sides, 9);
    const double r56 = EQUAL(state1, k[19], sides, 10);
    const double r57 = AND(r55, r56, 0.0);
    const double r58 = r54 * k[20];
    const double r59 = WHERE(r57, r58, r54);
    out[0] = r59;
    out[1] = queue_delay;
}

static void pie_update(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_update_by(in, k, sides, out);
    else
        pie_update_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_encode_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double u = in[0];
    const double r4 = u * k[0];
    const double r5 = k[1] - u;
    const double r6 = r5 * k[2];
    const double r7 = k[1] - r6;
    const double r8 = MAXIMUM(r4, r7, sides, 0);
    out[0] = r8;
    out[1] = r8;
}

static void pie_encode(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_encode_by(in, k, sides, out);
    else
        pie_encode_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_signals_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double r10 = state0 * k[0];
    const double r11 = k[1] - state0;
    const double r12 = r11 * k[2];
    const double r13 = k[1] - r12;
    const double r14 = MAXIMUM(r10, r13, sides, 0);
    out[0] = r14;
    out[1] = r14;
}

static void pie_signals(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_signals_by(in, k, sides, out);
    else
        pie_signals_by(in, k, 0, out);
}

static void pie_differences(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double r10 = state0 * k[0];
    const double r11 = k[1] - state0;
    const double r12 = r11 * k[2];
    const double r13 = k[1] - r12;
    const double r14 = r10 - r13;
    out[0] = r14;
}

ALWAYS_INLINE void pie_slopes_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double d_queue_delay = in[7];
    const double r30 = LESS(state0, k[3], sides, 0);
    const double r31 = WHERE(r30, k[4], k[5]);
    const double r32 = LESS(state0, k[6], sides, 1);
    const double r33 = WHERE(r32, k[7], r31);
    const double r34 = LESS(state0, k[8], sides, 2);
    const double r35 = WHERE(r34, k[9], r33);
    const double r36 = LESS(state0, k[10], sides, 3);
    const double r37 = WHERE(r36, k[11], r35);
    const double r38 = LESS(state0, k[12], sides, 4);
    const double r39 = WHERE(r38, k[13], r37);
    const double r40 = LESS(state0, k[14], sides, 5);
    const double r41 = WHERE(r40, k[15], r39);
    const double r42 = r41 * k[1];
    const double r43 = queue_delay - k[2];
    const double r44 = r42 * r43;
    const double r45 = LESS(k[16], r44, sides, 6);
    const double r46 = LESS_EQUAL(k[17], state0, sides, 7);
    const double r47 = AND(r45, r46, 0.0);
    const double r48 = WHERE(r47, k[16], r44);
    const double r49 = LESS(k[18], queue_delay, sides, 8);
    const double r50 = WHERE(r49, k[16], k[19]);
    const double r51 = r48 + r50;
    const double r52 = EQUAL(queue_delay, k[19], sides, 9);
    const double r53 = k[20] * state0;
    const double r54 = WHERE(r52, r53, k[19]);
    const double r55 = r51 + r54;
    const double r56 = r55 / k[0];
    const double r57 = r41 * k[21];
    const double r58 = r57 * d_queue_delay;
    const double r59 = r56 + r58;
    out[0] = r59;
    out[1] = d_queue_delay;
}

static void pie_slopes(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_slopes_by(in, k, sides, out);
    else
        pie_slopes_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_signals_2_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double r11 = state0 * k[1];
    const double r12 = k[0] - state0;
    const double r13 = r12 * k[2];
    const double r14 = k[0] - r13;
    const double r15 = MAXIMUM(r11, r14, sides, 10);
    out[0] = r15;
    out[1] = r15;
}

static void pie_signals_2(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_signals_2_by(in, k, sides, out);
    else
        pie_signals_2_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_differences_2_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double r29 = LESS(state0, k[2], sides, 0);
    const double r30 = WHERE(r29, k[3], k[4]);
    const double r31 = LESS(state0, k[5], sides, 1);
    const double r32 = WHERE(r31, k[6], r30);
    const double r33 = LESS(state0, k[7], sides, 2);
    const double r34 = WHERE(r33, k[8], r32);
    const double r35 = LESS(state0, k[9], sides, 3);
    const double r36 = WHERE(r35, k[10], r34);
    const double r37 = LESS(state0, k[11], sides, 4);
    const double r38 = WHERE(r37, k[12], r36);
    const double r39 = LESS(state0, k[13], sides, 5);
    const double r40 = WHERE(r39, k[14], r38);
    const double r41 = r40 * k[0];
    const double r42 = queue_delay - k[1];
    const double r43 = r41 * r42;
    const double r44 = state0 * k[19];
    const double r45 = k[4] - state0;
    const double r46 = r45 * k[20];
    const double r47 = k[4] - r46;
    const double r48 = state0 - k[2];
    const double r49 = state0 - k[5];
    const double r50 = state0 - k[7];
    const double r51 = state0 - k[9];
    const double r52 = state0 - k[11];
    const double r53 = state0 - k[13];
    const double r54 = k[15] - r43;
    const double r55 = k[16] - state0;
    const double r56 = k[17] - queue_delay;
    const double r57 = queue_delay - k[18];
    const double r58 = r44 - r47;
    out[0] = r48;
    out[1] = r49;
    out[2] = r50;
    out[3] = r51;
    out[4] = r52;
    out[5] = r53;
    out[6] = r54;
    out[7] = r55;
    out[8] = r56;
    out[9] = r57;
    out[10] = r58;
}

static void pie_differences_2(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_differences_2_by(in, k, sides, out);
    else
        pie_differences_2_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_saturate_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double state2 = in[2];
    const double r5 = MAXIMUM(state0, k[0], sides, 0);
    const double r6 = MINIMUM(r5, k[1], sides, 1);
    out[0] = r6;
    out[1] = state1;
    out[2] = state2;
}

static void pie_saturate(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_saturate_by(in, k, sides, out);
    else
        pie_saturate_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_update_2_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double state2 = in[2];
    const double queue_delay = in[3];
    const double dt = in[8];
    const double r32 = queue_delay - k[2];
    const double r33 = k[0] * r32;
    const double r34 = queue_delay - state1;
    const double r35 = k[1] * r34;
    const double r36 = r33 + r35;
    const double r37 = LESS(state0, k[4], sides, 0);
    const double r38 = WHERE(r37, k[5], k[6]);
    const double r39 = LESS(state0, k[7], sides, 1);
    const double r40 = WHERE(r39, k[8], r38);
    const double r41 = LESS(state0, k[9], sides, 2);
    const double r42 = WHERE(r41, k[10], r40);
    const double r43 = LESS(state0, k[11], sides, 3);
    const double r44 = WHERE(r43, k[12], r42);
    const double r45 = LESS(state0, k[13], sides, 4);
    const double r46 = WHERE(r45, k[14], r44);
    const double r47 = LESS(state0, k[15], sides, 5);
    const double r48 = WHERE(r47, k[16], r46);
    const double r49 = r48 * r36;
    const double r50 = LESS(k[17], r49, sides, 6);
    const double r51 = LESS_EQUAL(k[18], state0, sides, 7);
    const double r52 = AND(r50, r51, 0.0);
    const double r53 = WHERE(r52, k[17], r49);
    const double r54 = LESS(k[19], queue_delay, sides, 8);
    const double r55 = WHERE(r54, k[17], k[20]);
    const double r56 = r53 + r55;
    const double r57 = state0 + r56;
    const double r58 = EQUAL(queue_delay, k[20], sides, 9);
    const double r59 = EQUAL(state1, k[20], sides, 10);
    const double r60 = AND(r58, r59, 0.0);
    const double r61 = r57 * k[21];
    const double r62 = WHERE(r60, r61, r57);
    const double r63 = LESS(queue_delay, k[22], sides, 11);
    const double r64 = LESS(state1, k[22], sides, 12);
    const double r65 = AND(r63, r64, 0.0);
    const double r66 = LESS_EQUAL(r62, k[20], sides, 13);
    const double r67 = AND(r65, r66, 0.0);
    const double r68 = LESS(dt, state2, sides, 14);
    const double r69 = state2 - dt;
    const double r70 = WHERE(r68, r69, k[20]);
    const double r71 = WHERE(r67, k[3], r70);
    out[0] = r62;
    out[1] = queue_delay;
    out[2] = r71;
}

static void pie_update_2(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_update_2_by(in, k, sides, out);
    else
        pie_update_2_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_signals_3_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state2 = in[2];
    const double r12 = LESS(k[0], state2, sides, 0);
    const double r13 = WHERE(r12, k[0], state0);
    const double r14 = r13 * k[1];
    const double r15 = k[2] - r13;
    const double r16 = r15 * k[3];
    const double r17 = k[2] - r16;
    const double r18 = MAXIMUM(r14, r17, sides, 1);
    out[0] = r18;
    out[1] = r18;
}

static void pie_signals_3(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_signals_3_by(in, k, sides, out);
    else
        pie_signals_3_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_differences_3_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state2 = in[2];
    const double r12 = LESS(k[0], state2, sides, 0);
    const double r13 = WHERE(r12, k[0], state0);
    const double r14 = r13 * k[1];
    const double r15 = k[2] - r13;
    const double r16 = r15 * k[3];
    const double r17 = k[2] - r16;
    const double r18 = k[0] - state2;
    const double r19 = r14 - r17;
    out[0] = r18;
    out[1] = r19;
}

static void pie_differences_3(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_differences_3_by(in, k, sides, out);
    else
        pie_differences_3_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_slopes_2_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state2 = in[2];
    const double queue_delay = in[3];
    const double d_queue_delay = in[8];
    const double r32 = LESS(state0, k[3], sides, 0);
    const double r33 = WHERE(r32, k[4], k[5]);
    const double r34 = LESS(state0, k[6], sides, 1);
    const double r35 = WHERE(r34, k[7], r33);
    const double r36 = LESS(state0, k[8], sides, 2);
    const double r37 = WHERE(r36, k[9], r35);
    const double r38 = LESS(state0, k[10], sides, 3);
    const double r39 = WHERE(r38, k[11], r37);
    const double r40 = LESS(state0, k[12], sides, 4);
    const double r41 = WHERE(r40, k[13], r39);
    const double r42 = LESS(state0, k[14], sides, 5);
    const double r43 = WHERE(r42, k[15], r41);
    const double r44 = r43 * k[1];
    const double r45 = queue_delay - k[2];
    const double r46 = r44 * r45;
    const double r47 = LESS(k[16], r46, sides, 6);
    const double r48 = LESS_EQUAL(k[17], state0, sides, 7);
    const double r49 = AND(r47, r48, 0.0);
    const double r50 = WHERE(r49, k[16], r46);
    const double r51 = LESS(k[18], queue_delay, sides, 8);
    const double r52 = WHERE(r51, k[16], k[19]);
    const double r53 = r50 + r52;
    const double r54 = EQUAL(queue_delay, k[19], sides, 9);
    const double r55 = k[20] * state0;
    const double r56 = WHERE(r54, r55, k[19]);
    const double r57 = r53 + r56;
    const double r58 = r57 / k[0];
    const double r59 = r43 * k[22];
    const double r60 = r59 * d_queue_delay;
    const double r61 = r58 + r60;
    const double r62 = LESS(k[19], state2, sides, 10);
    const double r63 = WHERE(r62, k[21], k[19]);
    out[0] = r61;
    out[1] = d_queue_delay;
    out[2] = r63;
}

static void pie_slopes_2(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_slopes_2_by(in, k, sides, out);
    else
        pie_slopes_2_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_signals_4_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state2 = in[2];
    const double r13 = LESS(k[1], state2, sides, 10);
    const double r14 = WHERE(r13, k[1], state0);
    const double r15 = r14 * k[2];
    const double r16 = k[0] - r14;
    const double r17 = r16 * k[3];
    const double r18 = k[0] - r17;
    const double r19 = MAXIMUM(r15, r18, sides, 11);
    out[0] = r19;
    out[1] = r19;
}

static void pie_signals_4(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_signals_4_by(in, k, sides, out);
    else
        pie_signals_4_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_differences_4_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state2 = in[2];
    const double queue_delay = in[3];
    const double r30 = LESS(state0, k[2], sides, 0);
    const double r31 = WHERE(r30, k[3], k[4]);
    const double r32 = LESS(state0, k[5], sides, 1);
    const double r33 = WHERE(r32, k[6], r31);
    const double r34 = LESS(state0, k[7], sides, 2);
    const double r35 = WHERE(r34, k[8], r33);
    const double r36 = LESS(state0, k[9], sides, 3);
    const double r37 = WHERE(r36, k[10], r35);
    const double r38 = LESS(state0, k[11], sides, 4);
    const double r39 = WHERE(r38, k[12], r37);
    const double r40 = LESS(state0, k[13], sides, 5);
    const double r41 = WHERE(r40, k[14], r39);
    const double r42 = r41 * k[0];
    const double r43 = queue_delay - k[1];
    const double r44 = r42 * r43;
    const double r45 = LESS(k[18], state2, sides, 10);
    const double r46 = WHERE(r45, k[18], state0);
    const double r47 = r46 * k[19];
    const double r48 = k[4] - r46;
    const double r49 = r48 * k[20];
    const double r50 = k[4] - r49;
    const double r51 = state0 - k[2];
    const double r52 = state0 - k[5];
    const double r53 = state0 - k[7];
    const double r54 = state0 - k[9];
    const double r55 = state0 - k[11];
    const double r56 = state0 - k[13];
    const double r57 = k[15] - r44;
    const double r58 = k[16] - state0;
    const double r59 = k[17] - queue_delay;
    const double r60 = queue_delay - k[18];
    const double r61 = k[18] - state2;
    const double r62 = r47 - r50;
    out[0] = r51;
    out[1] = r52;
    out[2] = r53;
    out[3] = r54;
    out[4] = r55;
    out[5] = r56;
    out[6] = r57;
    out[7] = r58;
    out[8] = r59;
    out[9] = r60;
    out[10] = r61;
    out[11] = r62;
}

static void pie_differences_4(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_differences_4_by(in, k, sides, out);
    else
        pie_differences_4_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_update_3_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double queue_delay = in[2];
    const double r33 = queue_delay - k[2];
    const double r34 = k[0] * r33;
    const double r35 = queue_delay - state1;
    const double r36 = k[1] * r35;
    const double r37 = r34 + r36;
    const double r38 = LESS(state0, k[3], sides, 0);
    const double r39 = WHERE(r38, k[4], k[5]);
    const double r40 = LESS(state0, k[6], sides, 1);
    const double r41 = WHERE(r40, k[7], r39);
    const double r42 = LESS(state0, k[8], sides, 2);
    const double r43 = WHERE(r42, k[9], r41);
    const double r44 = LESS(state0, k[10], sides, 3);
    const double r45 = WHERE(r44, k[11], r43);
    const double r46 = LESS(state0, k[12], sides, 4);
    const double r47 = WHERE(r46, k[13], r45);
    const double r48 = LESS(state0, k[14], sides, 5);
    const double r49 = WHERE(r48, k[15], r47);
    const double r50 = LESS(state0, k[16], sides, 6);
    const double r51 = WHERE(r50, k[17], r49);
    const double r52 = LESS(state0, k[18], sides, 7);
    const double r53 = WHERE(r52, k[19], r51);
    const double r54 = r53 * r37;
    const double r55 = LESS(k[20], r54, sides, 8);
    const double r56 = LESS_EQUAL(k[21], state0, sides, 9);
    const double r57 = AND(r55, r56, 0.0);
    const double r58 = WHERE(r57, k[20], r54);
    const double r59 = LESS(k[22], queue_delay, sides, 10);
    const double r60 = WHERE(r59, k[20], k[23]);
    const double r61 = r58 + r60;
    const double r62 = state0 + r61;
    const double r63 = EQUAL(queue_delay, k[23], sides, 11);
    const double r64 = EQUAL(state1, k[23], sides, 12);
    const double r65 = AND(r63, r64, 0.0);
    const double r66 = r62 * k[24];
    const double r67 = WHERE(r65, r66, r62);
    out[0] = r67;
    out[1] = queue_delay;
}

static void pie_update_3(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_update_3_by(in, k, sides, out);
    else
        pie_update_3_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_slopes_3_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double d_queue_delay = in[7];
    const double r34 = LESS(state0, k[3], sides, 0);
    const double r35 = WHERE(r34, k[4], k[5]);
    const double r36 = LESS(state0, k[6], sides, 1);
    const double r37 = WHERE(r36, k[7], r35);
    const double r38 = LESS(state0, k[8], sides, 2);
    const double r39 = WHERE(r38, k[9], r37);
    const double r40 = LESS(state0, k[10], sides, 3);
    const double r41 = WHERE(r40, k[11], r39);
    const double r42 = LESS(state0, k[12], sides, 4);
    const double r43 = WHERE(r42, k[13], r41);
    const double r44 = LESS(state0, k[14], sides, 5);
    const double r45 = WHERE(r44, k[15], r43);
    const double r46 = LESS(state0, k[16], sides, 6);
    const double r47 = WHERE(r46, k[17], r45);
    const double r48 = LESS(state0, k[18], sides, 7);
    const double r49 = WHERE(r48, k[19], r47);
    const double r50 = r49 * k[1];
    const double r51 = queue_delay - k[2];
    const double r52 = r50 * r51;
    const double r53 = LESS(k[20], r52, sides, 8);
    const double r54 = LESS_EQUAL(k[21], state0, sides, 9);
    const double r55 = AND(r53, r54, 0.0);
    const double r56 = WHERE(r55, k[20], r52);
    const double r57 = LESS(k[22], queue_delay, sides, 10);
    const double r58 = WHERE(r57, k[20], k[23]);
    const double r59 = r56 + r58;
    const double r60 = EQUAL(queue_delay, k[23], sides, 11);
    const double r61 = k[24] * state0;
    const double r62 = WHERE(r60, r61, k[23]);
    const double r63 = r59 + r62;
    const double r64 = r63 / k[0];
    const double r65 = r49 * k[25];
    const double r66 = r65 * d_queue_delay;
    const double r67 = r64 + r66;
    out[0] = r67;
    out[1] = d_queue_delay;
}

static void pie_slopes_3(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_slopes_3_by(in, k, sides, out);
    else
        pie_slopes_3_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_signals_5_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double r11 = state0 * k[1];
    const double r12 = k[0] - state0;
    const double r13 = r12 * k[2];
    const double r14 = k[0] - r13;
    const double r15 = MAXIMUM(r11, r14, sides, 12);
    out[0] = r15;
    out[1] = r15;
}

static void pie_signals_5(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_signals_5_by(in, k, sides, out);
    else
        pie_signals_5_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_differences_5_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double r33 = LESS(state0, k[2], sides, 0);
    const double r34 = WHERE(r33, k[3], k[4]);
    const double r35 = LESS(state0, k[5], sides, 1);
    const double r36 = WHERE(r35, k[6], r34);
    const double r37 = LESS(state0, k[7], sides, 2);
    const double r38 = WHERE(r37, k[8], r36);
    const double r39 = LESS(state0, k[9], sides, 3);
    const double r40 = WHERE(r39, k[10], r38);
    const double r41 = LESS(state0, k[11], sides, 4);
    const double r42 = WHERE(r41, k[12], r40);
    const double r43 = LESS(state0, k[13], sides, 5);
    const double r44 = WHERE(r43, k[14], r42);
    const double r45 = LESS(state0, k[15], sides, 6);
    const double r46 = WHERE(r45, k[16], r44);
    const double r47 = LESS(state0, k[17], sides, 7);
    const double r48 = WHERE(r47, k[18], r46);
    const double r49 = r48 * k[0];
    const double r50 = queue_delay - k[1];
    const double r51 = r49 * r50;
    const double r52 = state0 * k[23];
    const double r53 = k[4] - state0;
    const double r54 = r53 * k[24];
    const double r55 = k[4] - r54;
    const double r56 = state0 - k[2];
    const double r57 = state0 - k[5];
    const double r58 = state0 - k[7];
    const double r59 = state0 - k[9];
    const double r60 = state0 - k[11];
    const double r61 = state0 - k[13];
    const double r62 = state0 - k[15];
    const double r63 = state0 - k[17];
    const double r64 = k[19] - r51;
    const double r65 = k[20] - state0;
    const double r66 = k[21] - queue_delay;
    const double r67 = queue_delay - k[22];
    const double r68 = r52 - r55;
    out[0] = r56;
    out[1] = r57;
    out[2] = r58;
    out[3] = r59;
    out[4] = r60;
    out[5] = r61;
    out[6] = r62;
    out[7] = r63;
    out[8] = r64;
    out[9] = r65;
    out[10] = r66;
    out[11] = r67;
    out[12] = r68;
}

static void pie_differences_5(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_differences_5_by(in, k, sides, out);
    else
        pie_differences_5_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_update_4_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double queue_delay = in[2];
    const double r21 = queue_delay - k[2];
    const double r22 = k[0] * r21;
    const double r23 = queue_delay - state1;
    const double r24 = k[1] * r23;
    const double r25 = r22 + r24;
    const double r26 = LESS(state0, k[3], sides, 0);
    const double r27 = WHERE(r26, k[4], k[5]);
    const double r28 = LESS(state0, k[6], sides, 1);
    const double r29 = WHERE(r28, k[7], r27);
    const double r30 = r29 * r25;
    const double r31 = LESS(k[8], r30, sides, 2);
    const double r32 = LESS_EQUAL(k[9], state0, sides, 3);
    const double r33 = AND(r31, r32, 0.0);
    const double r34 = WHERE(r33, k[8], r30);
    const double r35 = LESS(k[10], queue_delay, sides, 4);
    const double r36 = WHERE(r35, k[8], k[11]);
    const double r37 = r34 + r36;
    const double r38 = state0 + r37;
    const double r39 = EQUAL(queue_delay, k[11], sides, 5);
    const double r40 = EQUAL(state1, k[11], sides, 6);
    const double r41 = AND(r39, r40, 0.0);
    const double r42 = r38 * k[12];
    const double r43 = WHERE(r41, r42, r38);
    out[0] = r43;
    out[1] = queue_delay;
}

static void pie_update_4(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_update_4_by(in, k, sides, out);
    else
        pie_update_4_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_slopes_4_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double d_queue_delay = in[7];
    const double r22 = LESS(state0, k[3], sides, 0);
    const double r23 = WHERE(r22, k[4], k[5]);
    const double r24 = LESS(state0, k[6], sides, 1);
    const double r25 = WHERE(r24, k[7], r23);
    const double r26 = r25 * k[1];
    const double r27 = queue_delay - k[2];
    const double r28 = r26 * r27;
    const double r29 = LESS(k[8], r28, sides, 2);
    const double r30 = LESS_EQUAL(k[9], state0, sides, 3);
    const double r31 = AND(r29, r30, 0.0);
    const double r32 = WHERE(r31, k[8], r28);
    const double r33 = LESS(k[10], queue_delay, sides, 4);
    const double r34 = WHERE(r33, k[8], k[11]);
    const double r35 = r32 + r34;
    const double r36 = EQUAL(queue_delay, k[11], sides, 5);
    const double r37 = k[12] * state0;
    const double r38 = WHERE(r36, r37, k[11]);
    const double r39 = r35 + r38;
    const double r40 = r39 / k[0];
    const double r41 = r25 * k[13];
    const double r42 = r41 * d_queue_delay;
    const double r43 = r40 + r42;
    out[0] = r43;
    out[1] = d_queue_delay;
}

static void pie_slopes_4(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_slopes_4_by(in, k, sides, out);
    else
        pie_slopes_4_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_signals_6_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double r11 = state0 * k[1];
    const double r12 = k[0] - state0;
    const double r13 = r12 * k[2];
    const double r14 = k[0] - r13;
    const double r15 = MAXIMUM(r11, r14, sides, 6);
    out[0] = r15;
    out[1] = r15;
}

static void pie_signals_6(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_signals_6_by(in, k, sides, out);
    else
        pie_signals_6_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_differences_6_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double r21 = LESS(state0, k[2], sides, 0);
    const double r22 = WHERE(r21, k[3], k[4]);
    const double r23 = LESS(state0, k[5], sides, 1);
    const double r24 = WHERE(r23, k[6], r22);
    const double r25 = r24 * k[0];
    const double r26 = queue_delay - k[1];
    const double r27 = r25 * r26;
    const double r28 = state0 * k[11];
    const double r29 = k[4] - state0;
    const double r30 = r29 * k[12];
    const double r31 = k[4] - r30;
    const double r32 = state0 - k[2];
    const double r33 = state0 - k[5];
    const double r34 = k[7] - r27;
    const double r35 = k[8] - state0;
    const double r36 = k[9] - queue_delay;
    const double r37 = queue_delay - k[10];
    const double r38 = r28 - r31;
    out[0] = r32;
    out[1] = r33;
    out[2] = r34;
    out[3] = r35;
    out[4] = r36;
    out[5] = r37;
    out[6] = r38;
}

static void pie_differences_6(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_differences_6_by(in, k, sides, out);
    else
        pie_differences_6_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_update_5_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double queue_delay = in[2];
    const double r23 = queue_delay - k[2];
    const double r24 = k[0] * r23;
    const double r25 = queue_delay - state1;
    const double r26 = k[1] * r25;
    const double r27 = r24 + r26;
    const double r28 = LESS(state0, k[3], sides, 0);
    const double r29 = WHERE(r28, k[4], k[5]);
    const double r30 = LESS(state0, k[6], sides, 1);
    const double r31 = WHERE(r30, k[7], r29);
    const double r32 = LESS(state0, k[8], sides, 2);
    const double r33 = WHERE(r32, k[9], r31);
    const double r34 = r33 * r27;
    const double r35 = LESS(k[10], r34, sides, 3);
    const double r36 = LESS_EQUAL(k[11], state0, sides, 4);
    const double r37 = AND(r35, r36, 0.0);
    const double r38 = WHERE(r37, k[10], r34);
    const double r39 = LESS(k[12], queue_delay, sides, 5);
    const double r40 = WHERE(r39, k[10], k[13]);
    const double r41 = r38 + r40;
    const double r42 = state0 + r41;
    const double r43 = EQUAL(queue_delay, k[13], sides, 6);
    const double r44 = EQUAL(state1, k[13], sides, 7);
    const double r45 = AND(r43, r44, 0.0);
    const double r46 = r42 * k[14];
    const double r47 = WHERE(r45, r46, r42);
    out[0] = r47;
    out[1] = queue_delay;
}

static void pie_update_5(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_update_5_by(in, k, sides, out);
    else
        pie_update_5_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_slopes_5_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double d_queue_delay = in[7];
    const double r24 = LESS(state0, k[3], sides, 0);
    const double r25 = WHERE(r24, k[4], k[5]);
    const double r26 = LESS(state0, k[6], sides, 1);
    const double r27 = WHERE(r26, k[7], r25);
    const double r28 = LESS(state0, k[8], sides, 2);
    const double r29 = WHERE(r28, k[9], r27);
    const double r30 = r29 * k[1];
    const double r31 = queue_delay - k[2];
    const double r32 = r30 * r31;
    const double r33 = LESS(k[10], r32, sides, 3);
    const double r34 = LESS_EQUAL(k[11], state0, sides, 4);
    const double r35 = AND(r33, r34, 0.0);
    const double r36 = WHERE(r35, k[10], r32);
    const double r37 = LESS(k[12], queue_delay, sides, 5);
    const double r38 = WHERE(r37, k[10], k[13]);
    const double r39 = r36 + r38;
    const double r40 = EQUAL(queue_delay, k[13], sides, 6);
    const double r41 = k[14] * state0;
    const double r42 = WHERE(r40, r41, k[13]);
    const double r43 = r39 + r42;
    const double r44 = r43 / k[0];
    const double r45 = r29 * k[15];
    const double r46 = r45 * d_queue_delay;
    const double r47 = r44 + r46;
    out[0] = r47;
    out[1] = d_queue_delay;
}

static void pie_slopes_5(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_slopes_5_by(in, k, sides, out);
    else
        pie_slopes_5_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_signals_7_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double r11 = state0 * k[1];
    const double r12 = k[0] - state0;
    const double r13 = r12 * k[2];
    const double r14 = k[0] - r13;
    const double r15 = MAXIMUM(r11, r14, sides, 7);
    out[0] = r15;
    out[1] = r15;
}

static void pie_signals_7(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_signals_7_by(in, k, sides, out);
    else
        pie_signals_7_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_differences_7_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double r23 = LESS(state0, k[2], sides, 0);
    const double r24 = WHERE(r23, k[3], k[4]);
    const double r25 = LESS(state0, k[5], sides, 1);
    const double r26 = WHERE(r25, k[6], r24);
    const double r27 = LESS(state0, k[7], sides, 2);
    const double r28 = WHERE(r27, k[8], r26);
    const double r29 = r28 * k[0];
    const double r30 = queue_delay - k[1];
    const double r31 = r29 * r30;
    const double r32 = state0 * k[13];
    const double r33 = k[4] - state0;
    const double r34 = r33 * k[14];
    const double r35 = k[4] - r34;
    const double r36 = state0 - k[2];
    const double r37 = state0 - k[5];
    const double r38 = state0 - k[7];
    const double r39 = k[9] - r31;
    const double r40 = k[10] - state0;
    const double r41 = k[11] - queue_delay;
    const double r42 = queue_delay - k[12];
    const double r43 = r32 - r35;
    out[0] = r36;
    out[1] = r37;
    out[2] = r38;
    out[3] = r39;
    out[4] = r40;
    out[5] = r41;
    out[6] = r42;
    out[7] = r43;
}

static void pie_differences_7(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_differences_7_by(in, k, sides, out);
    else
        pie_differences_7_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_update_6_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double queue_delay = in[2];
    const double r17 = queue_delay - k[2];
    const double r18 = k[0] * r17;
    const double r19 = queue_delay - state1;
    const double r20 = k[1] * r19;
    const double r21 = r18 + r20;
    const double r22 = k[3] * r21;
    const double r23 = LESS(k[4], r22, sides, 0);
    const double r24 = LESS_EQUAL(k[5], state0, sides, 1);
    const double r25 = AND(r23, r24, 0.0);
    const double r26 = WHERE(r25, k[4], r22);
    const double r27 = LESS(k[6], queue_delay, sides, 2);
    const double r28 = WHERE(r27, k[4], k[7]);
    const double r29 = r26 + r28;
    const double r30 = state0 + r29;
    const double r31 = EQUAL(queue_delay, k[7], sides, 3);
    const double r32 = EQUAL(state1, k[7], sides, 4);
    const double r33 = AND(r31, r32, 0.0);
    const double r34 = r30 * k[8];
    const double r35 = WHERE(r33, r34, r30);
    out[0] = r35;
    out[1] = queue_delay;
}

static void pie_update_6(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_update_6_by(in, k, sides, out);
    else
        pie_update_6_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_slopes_6_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double d_queue_delay = in[7];
    const double r17 = queue_delay - k[1];
    const double r18 = k[7] * r17;
    const double r19 = LESS(k[2], r18, sides, 0);
    const double r20 = LESS_EQUAL(k[3], state0, sides, 1);
    const double r21 = AND(r19, r20, 0.0);
    const double r22 = WHERE(r21, k[2], r18);
    const double r23 = LESS(k[4], queue_delay, sides, 2);
    const double r24 = WHERE(r23, k[2], k[5]);
    const double r25 = r22 + r24;
    const double r26 = EQUAL(queue_delay, k[5], sides, 3);
    const double r27 = k[6] * state0;
    const double r28 = WHERE(r26, r27, k[5]);
    const double r29 = r25 + r28;
    const double r30 = r29 / k[0];
    const double r31 = k[8] * d_queue_delay;
    const double r32 = r30 + r31;
    out[0] = r32;
    out[1] = d_queue_delay;
}

static void pie_slopes_6(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_slopes_6_by(in, k, sides, out);
    else
        pie_slopes_6_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_signals_8_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double r11 = state0 * k[1];
    const double r12 = k[0] - state0;
    const double r13 = r12 * k[2];
    const double r14 = k[0] - r13;
    const double r15 = MAXIMUM(r11, r14, sides, 4);
    out[0] = r15;
    out[1] = r15;
}

static void pie_signals_8(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_signals_8_by(in, k, sides, out);
    else
        pie_signals_8_by(in, k, 0, out);
}

static void pie_differences_8(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double r17 = queue_delay - k[0];
    const double r18 = k[8] * r17;
    const double r19 = state0 * k[6];
    const double r20 = k[1] - state0;
    const double r21 = r20 * k[7];
    const double r22 = k[1] - r21;
    const double r23 = k[2] - r18;
    const double r24 = k[3] - state0;
    const double r25 = k[4] - queue_delay;
    const double r26 = queue_delay - k[5];
    const double r27 = r19 - r22;
    out[0] = r23;
    out[1] = r24;
    out[2] = r25;
    out[3] = r26;
    out[4] = r27;
}

ALWAYS_INLINE void pie_update_7_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double queue_delay = in[2];
    const double r17 = queue_delay - k[2];
    const double r18 = k[0] * r17;
    const double r19 = queue_delay - state1;
    const double r20 = k[1] * r19;
    const double r21 = r18 + r20;
    const double r22 = k[3] * state0;
    const double r23 = SQRT(r22, 0.0, 0.0);
    const double r24 = r23 * r21;
    const double r25 = LESS(k[4], r24, sides, 0);
    const double r26 = LESS_EQUAL(k[5], state0, sides, 1);
    const double r27 = AND(r25, r26, 0.0);
    const double r28 = WHERE(r27, k[4], r24);
    const double r29 = LESS(k[6], queue_delay, sides, 2);
    const double r30 = WHERE(r29, k[4], k[7]);
    const double r31 = r28 + r30;
    const double r32 = state0 + r31;
    const double r33 = EQUAL(queue_delay, k[7], sides, 3);
    const double r34 = EQUAL(state1, k[7], sides, 4);
    const double r35 = AND(r33, r34, 0.0);
    const double r36 = r32 * k[8];
    const double r37 = WHERE(r35, r36, r32);
    out[0] = r37;
    out[1] = queue_delay;
}

static void pie_update_7(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_update_7_by(in, k, sides, out);
    else
        pie_update_7_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_slopes_7_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double d_queue_delay = in[7];
    const double r18 = k[3] * state0;
    const double r19 = SQRT(r18, 0.0, 0.0);
    const double r20 = r19 * k[1];
    const double r21 = queue_delay - k[2];
    const double r22 = r20 * r21;
    const double r23 = LESS(k[4], r22, sides, 0);
    const double r24 = LESS_EQUAL(k[5], state0, sides, 1);
    const double r25 = AND(r23, r24, 0.0);
    const double r26 = WHERE(r25, k[4], r22);
    const double r27 = LESS(k[6], queue_delay, sides, 2);
    const double r28 = WHERE(r27, k[4], k[7]);
    const double r29 = r26 + r28;
    const double r30 = EQUAL(queue_delay, k[7], sides, 3);
    const double r31 = k[8] * state0;
    const double r32 = WHERE(r30, r31, k[7]);
    const double r33 = r29 + r32;
    const double r34 = r33 / k[0];
    const double r35 = r19 * k[9];
    const double r36 = r35 * d_queue_delay;
    const double r37 = r34 + r36;
    out[0] = r37;
    out[1] = d_queue_delay;
}

static void pie_slopes_7(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_slopes_7_by(in, k, sides, out);
    else
        pie_slopes_7_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_signals_9_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double r11 = state0 * k[0];
    const double r12 = k[1] - state0;
    const double r13 = r12 * k[2];
    const double r14 = k[1] - r13;
    const double r15 = MAXIMUM(r11, r14, sides, 4);
    out[0] = r15;
    out[1] = r15;
}

static void pie_signals_9(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_signals_9_by(in, k, sides, out);
    else
        pie_signals_9_by(in, k, 0, out);
}

static void pie_differences_9(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double r18 = k[2] * state0;
    const double r19 = SQRT(r18, 0.0, 0.0);
    const double r20 = r19 * k[0];
    const double r21 = queue_delay - k[1];
    const double r22 = r20 * r21;
    const double r23 = state0 * k[7];
    const double r24 = k[8] - state0;
    const double r25 = r24 * k[9];
    const double r26 = k[8] - r25;
    const double r27 = k[3] - r22;
    const double r28 = k[4] - state0;
    const double r29 = k[5] - queue_delay;
    const double r30 = queue_delay - k[6];
    const double r31 = r23 - r26;
    out[0] = r27;
    out[1] = r28;
    out[2] = r29;
    out[3] = r30;
    out[4] = r31;
}

ALWAYS_INLINE void pie_slopes_8_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double d_queue_delay = in[7];
    const double r22 = LESS(state0, k[3], sides, 0);
    const double r23 = WHERE(r22, k[4], k[5]);
    const double r24 = LESS(state0, k[6], sides, 1);
    const double r25 = WHERE(r24, k[7], r23);
    const double r26 = r25 * k[1];
    const double r27 = queue_delay - k[2];
    const double r28 = r26 * r27;
    const double r29 = LESS(k[8], r28, sides, 2);
    const double r30 = LESS_EQUAL(k[9], state0, sides, 3);
    const double r31 = AND(r29, r30, 0.0);
    const double r32 = WHERE(r31, k[8], r28);
    const double r33 = LESS(k[10], queue_delay, sides, 4);
    const double r34 = WHERE(r33, k[8], k[11]);
    const double r35 = r32 + r34;
    const double r36 = EQUAL(queue_delay, k[11], sides, 5);
    const double r37 = k[12] * state0;
    const double r38 = WHERE(r36, r37, k[11]);
    const double r39 = r35 + r38;
    const double r40 = r39 / k[0];
    const double r41 = r25 * k[13];
    const double r42 = r41 * d_queue_delay;
    const double r43 = r40 + r42;
    out[0] = r43;
    out[1] = d_queue_delay;
}

static void pie_slopes_8(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_slopes_8_by(in, k, sides, out);
    else
        pie_slopes_8_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_differences_10_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double r19 = LESS(state0, k[2], sides, 0);
    const double r20 = WHERE(r19, k[3], k[4]);
    const double r21 = LESS(state0, k[5], sides, 1);
    const double r22 = WHERE(r21, k[6], r20);
    const double r23 = r22 * k[0];
    const double r24 = queue_delay - k[1];
    const double r25 = r23 * r24;
    const double r26 = state0 - k[2];
    const double r27 = state0 - k[5];
    const double r28 = k[7] - r25;
    const double r29 = k[8] - state0;
    const double r30 = k[9] - queue_delay;
    const double r31 = queue_delay - k[10];
    out[0] = r26;
    out[1] = r27;
    out[2] = r28;
    out[3] = r29;
    out[4] = r30;
    out[5] = r31;
}

static void pie_differences_10(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_differences_10_by(in, k, sides, out);
    else
        pie_differences_10_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_update_8_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double queue_delay = in[2];
    const double r28 = queue_delay - k[2];
    const double r29 = k[0] * r28;
    const double r30 = queue_delay - state1;
    const double r31 = k[1] * r30;
    const double r32 = r29 + r31;
    const double r33 = LESS(state0, k[3], sides, 0);
    const double r34 = WHERE(r33, k[4], k[5]);
    const double r35 = LESS(state0, k[6], sides, 1);
    const double r36 = WHERE(r35, k[7], r34);
    const double r37 = LESS(state0, k[8], sides, 2);
    const double r38 = WHERE(r37, k[9], r36);
    const double r39 = LESS(state0, k[10], sides, 3);
    const double r40 = WHERE(r39, k[11], r38);
    const double r41 = LESS(state0, k[12], sides, 4);
    const double r42 = WHERE(r41, k[13], r40);
    const double r43 = LESS(state0, k[14], sides, 5);
    const double r44 = WHERE(r43, k[15], r42);
    const double r45 = r44 * r32;
    const double r46 = LESS(k[16], r45, sides, 6);
    const double r47 = LESS_EQUAL(k[17], state0, sides, 7);
    const double r48 = AND(r46, r47, 0.0);
    const double r49 = WHERE(r48, k[16], r45);
    const double r50 = state0 + r49;
    const double r51 = EQUAL(queue_delay, k[18], sides, 8);
    const double r52 = EQUAL(state1, k[18], sides, 9);
    const double r53 = AND(r51, r52, 0.0);
    const double r54 = r50 * k[19];
    const double r55 = WHERE(r53, r54, r50);
    out[0] = r55;
    out[1] = queue_delay;
}

static void pie_update_8(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_update_8_by(in, k, sides, out);
    else
        pie_update_8_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_slopes_9_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double d_queue_delay = in[7];
    const double r29 = LESS(state0, k[3], sides, 0);
    const double r30 = WHERE(r29, k[4], k[5]);
    const double r31 = LESS(state0, k[6], sides, 1);
    const double r32 = WHERE(r31, k[7], r30);
    const double r33 = LESS(state0, k[8], sides, 2);
    const double r34 = WHERE(r33, k[9], r32);
    const double r35 = LESS(state0, k[10], sides, 3);
    const double r36 = WHERE(r35, k[11], r34);
    const double r37 = LESS(state0, k[12], sides, 4);
    const double r38 = WHERE(r37, k[13], r36);
    const double r39 = LESS(state0, k[14], sides, 5);
    const double r40 = WHERE(r39, k[15], r38);
    const double r41 = r40 * k[1];
    const double r42 = queue_delay - k[2];
    const double r43 = r41 * r42;
    const double r44 = LESS(k[16], r43, sides, 6);
    const double r45 = LESS_EQUAL(k[17], state0, sides, 7);
    const double r46 = AND(r44, r45, 0.0);
    const double r47 = WHERE(r46, k[16], r43);
    const double r48 = EQUAL(queue_delay, k[18], sides, 8);
    const double r49 = k[19] * state0;
    const double r50 = WHERE(r48, r49, k[18]);
    const double r51 = r47 + r50;
    const double r52 = r51 / k[0];
    const double r53 = r40 * k[20];
    const double r54 = r53 * d_queue_delay;
    const double r55 = r52 + r54;
    out[0] = r55;
    out[1] = d_queue_delay;
}

static void pie_slopes_9(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_slopes_9_by(in, k, sides, out);
    else
        pie_slopes_9_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_differences_11_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double r26 = LESS(state0, k[2], sides, 0);
    const double r27 = WHERE(r26, k[3], k[4]);
    const double r28 = LESS(state0, k[5], sides, 1);
    const double r29 = WHERE(r28, k[6], r27);
    const double r30 = LESS(state0, k[7], sides, 2);
    const double r31 = WHERE(r30, k[8], r29);
    const double r32 = LESS(state0, k[9], sides, 3);
    const double r33 = WHERE(r32, k[10], r31);
    const double r34 = LESS(state0, k[11], sides, 4);
    const double r35 = WHERE(r34, k[12], r33);
    const double r36 = LESS(state0, k[13], sides, 5);
    const double r37 = WHERE(r36, k[14], r35);
    const double r38 = r37 * k[0];
    const double r39 = queue_delay - k[1];
    const double r40 = r38 * r39;
    const double r41 = state0 - k[2];
    const double r42 = state0 - k[5];
    const double r43 = state0 - k[7];
    const double r44 = state0 - k[9];
    const double r45 = state0 - k[11];
    const double r46 = state0 - k[13];
    const double r47 = k[15] - r40;
    const double r48 = k[16] - state0;
    const double r49 = queue_delay - k[17];
    out[0] = r41;
    out[1] = r42;
    out[2] = r43;
    out[3] = r44;
    out[4] = r45;
    out[5] = r46;
    out[6] = r47;
    out[7] = r48;
    out[8] = r49;
}

static void pie_differences_11(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_differences_11_by(in, k, sides, out);
    else
        pie_differences_11_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_update_9_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double queue_delay = in[2];
    const double r16 = queue_delay - k[2];
    const double r17 = k[0] * r16;
    const double r18 = queue_delay - state1;
    const double r19 = k[1] * r18;
    const double r20 = r17 + r19;
    const double r21 = LESS(state0, k[3], sides, 0);
    const double r22 = WHERE(r21, k[4], k[5]);
    const double r23 = LESS(state0, k[6], sides, 1);
    const double r24 = WHERE(r23, k[7], r22);
    const double r25 = r24 * r20;
    const double r26 = state0 + r25;
    out[0] = r26;
    out[1] = queue_delay;
}

static void pie_update_9(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_update_9_by(in, k, sides, out);
    else
        pie_update_9_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_slopes_10_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double d_queue_delay = in[7];
    const double r17 = LESS(state0, k[3], sides, 0);
    const double r18 = WHERE(r17, k[4], k[5]);
    const double r19 = LESS(state0, k[6], sides, 1);
    const double r20 = WHERE(r19, k[7], r18);
    const double r21 = r20 * k[1];
    const double r22 = queue_delay - k[2];
    const double r23 = r21 * r22;
    const double r24 = r23 / k[0];
    const double r25 = r20 * k[8];
    const double r26 = r25 * d_queue_delay;
    const double r27 = r24 + r26;
    out[0] = r27;
    out[1] = d_queue_delay;
}

static void pie_slopes_10(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_slopes_10_by(in, k, sides, out);
    else
        pie_slopes_10_by(in, k, 0, out);
}

static void pie_differences_12(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double r10 = state0 - k[0];
    const double r11 = state0 - k[1];
    out[0] = r10;
    out[1] = r11;
}

ALWAYS_INLINE void pie_update_10_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double queue_delay = in[2];
    const double r28 = queue_delay - k[2];
    const double r29 = k[0] * r28;
    const double r30 = queue_delay - state1;
    const double r31 = k[1] * r30;
    const double r32 = r29 + r31;
    const double r33 = LESS(state0, k[3], sides, 0);
    const double r34 = WHERE(r33, k[4], k[5]);
    const double r35 = LESS(state0, k[6], sides, 1);
    const double r36 = WHERE(r35, k[7], r34);
    const double r37 = LESS(state0, k[8], sides, 2);
    const double r38 = WHERE(r37, k[9], r36);
    const double r39 = LESS(state0, k[10], sides, 3);
    const double r40 = WHERE(r39, k[11], r38);
    const double r41 = LESS(state0, k[12], sides, 4);
    const double r42 = WHERE(r41, k[13], r40);
    const double r43 = LESS(state0, k[14], sides, 5);
    const double r44 = WHERE(r43, k[15], r42);
    const double r45 = r44 * r32;
    const double r46 = LESS(k[16], queue_delay, sides, 6);
    const double r47 = WHERE(r46, k[17], k[18]);
    const double r48 = r45 + r47;
    const double r49 = state0 + r48;
    const double r50 = EQUAL(queue_delay, k[18], sides, 7);
    const double r51 = EQUAL(state1, k[18], sides, 8);
    const double r52 = AND(r50, r51, 0.0);
    const double r53 = r49 * k[19];
    const double r54 = WHERE(r52, r53, r49);
    out[0] = r54;
    out[1] = queue_delay;
}

static void pie_update_10(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_update_10_by(in, k, sides, out);
    else
        pie_update_10_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_slopes_11_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double d_queue_delay = in[7];
    const double r29 = LESS(state0, k[3], sides, 0);
    const double r30 = WHERE(r29, k[4], k[5]);
    const double r31 = LESS(state0, k[6], sides, 1);
    const double r32 = WHERE(r31, k[7], r30);
    const double r33 = LESS(state0, k[8], sides, 2);
    const double r34 = WHERE(r33, k[9], r32);
    const double r35 = LESS(state0, k[10], sides, 3);
    const double r36 = WHERE(r35, k[11], r34);
    const double r37 = LESS(state0, k[12], sides, 4);
    const double r38 = WHERE(r37, k[13], r36);
    const double r39 = LESS(state0, k[14], sides, 5);
    const double r40 = WHERE(r39, k[15], r38);
    const double r41 = r40 * k[1];
    const double r42 = queue_delay - k[2];
    const double r43 = r41 * r42;
    const double r44 = LESS(k[16], queue_delay, sides, 6);
    const double r45 = WHERE(r44, k[17], k[18]);
    const double r46 = r43 + r45;
    const double r47 = EQUAL(queue_delay, k[18], sides, 7);
    const double r48 = k[19] * state0;
    const double r49 = WHERE(r47, r48, k[18]);
    const double r50 = r46 + r49;
    const double r51 = r50 / k[0];
    const double r52 = r40 * k[20];
    const double r53 = r52 * d_queue_delay;
    const double r54 = r51 + r53;
    out[0] = r54;
    out[1] = d_queue_delay;
}

static void pie_slopes_11(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_slopes_11_by(in, k, sides, out);
    else
        pie_slopes_11_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_signals_10_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double r11 = state0 * k[1];
    const double r12 = k[0] - state0;
    const double r13 = r12 * k[2];
    const double r14 = k[0] - r13;
    const double r15 = MAXIMUM(r11, r14, sides, 8);
    out[0] = r15;
    out[1] = r15;
}

static void pie_signals_10(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_signals_10_by(in, k, sides, out);
    else
        pie_signals_10_by(in, k, 0, out);
}

static void pie_differences_13(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double r19 = state0 * k[9];
    const double r20 = k[1] - state0;
    const double r21 = r20 * k[10];
    const double r22 = k[1] - r21;
    const double r23 = state0 - k[0];
    const double r24 = state0 - k[2];
    const double r25 = state0 - k[3];
    const double r26 = state0 - k[4];
    const double r27 = state0 - k[5];
    const double r28 = state0 - k[6];
    const double r29 = k[7] - queue_delay;
    const double r30 = queue_delay - k[8];
    const double r31 = r19 - r22;
    out[0] = r23;
    out[1] = r24;
    out[2] = r25;
    out[3] = r26;
    out[4] = r27;
    out[5] = r28;
    out[6] = r29;
    out[7] = r30;
    out[8] = r31;
}

ALWAYS_INLINE void pie_slopes_12_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double d_queue_delay = in[7];
    const double r29 = LESS(state0, k[3], sides, 0);
    const double r30 = WHERE(r29, k[4], k[5]);
    const double r31 = LESS(state0, k[6], sides, 1);
    const double r32 = WHERE(r31, k[7], r30);
    const double r33 = LESS(state0, k[8], sides, 2);
    const double r34 = WHERE(r33, k[9], r32);
    const double r35 = LESS(state0, k[10], sides, 3);
    const double r36 = WHERE(r35, k[11], r34);
    const double r37 = LESS(state0, k[12], sides, 4);
    const double r38 = WHERE(r37, k[13], r36);
    const double r39 = LESS(state0, k[14], sides, 5);
    const double r40 = WHERE(r39, k[15], r38);
    const double r41 = r40 * k[1];
    const double r42 = queue_delay - k[2];
    const double r43 = r41 * r42;
    const double r44 = LESS(k[16], r43, sides, 6);
    const double r45 = LESS_EQUAL(k[17], state0, sides, 7);
    const double r46 = AND(r44, r45, 0.0);
    const double r47 = WHERE(r46, k[16], r43);
    const double r48 = EQUAL(queue_delay, k[18], sides, 8);
    const double r49 = k[19] * state0;
    const double r50 = WHERE(r48, r49, k[18]);
    const double r51 = r47 + r50;
    const double r52 = r51 / k[0];
    const double r53 = r40 * k[20];
    const double r54 = r53 * d_queue_delay;
    const double r55 = r52 + r54;
    out[0] = r55;
    out[1] = d_queue_delay;
}

static void pie_slopes_12(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_slopes_12_by(in, k, sides, out);
    else
        pie_slopes_12_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_signals_11_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double r11 = state0 * k[1];
    const double r12 = k[0] - state0;
    const double r13 = r12 * k[2];
    const double r14 = k[0] - r13;
    const double r15 = MAXIMUM(r11, r14, sides, 9);
    out[0] = r15;
    out[1] = r15;
}

static void pie_signals_11(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_signals_11_by(in, k, sides, out);
    else
        pie_signals_11_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_differences_14_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double r28 = LESS(state0, k[2], sides, 0);
    const double r29 = WHERE(r28, k[3], k[4]);
    const double r30 = LESS(state0, k[5], sides, 1);
    const double r31 = WHERE(r30, k[6], r29);
    const double r32 = LESS(state0, k[7], sides, 2);
    const double r33 = WHERE(r32, k[8], r31);
    const double r34 = LESS(state0, k[9], sides, 3);
    const double r35 = WHERE(r34, k[10], r33);
    const double r36 = LESS(state0, k[11], sides, 4);
    const double r37 = WHERE(r36, k[12], r35);
    const double r38 = LESS(state0, k[13], sides, 5);
    const double r39 = WHERE(r38, k[14], r37);
    const double r40 = r39 * k[0];
    const double r41 = queue_delay - k[1];
    const double r42 = r40 * r41;
    const double r43 = state0 * k[18];
    const double r44 = k[4] - state0;
    const double r45 = r44 * k[19];
    const double r46 = k[4] - r45;
    const double r47 = state0 - k[2];
    const double r48 = state0 - k[5];
    const double r49 = state0 - k[7];
    const double r50 = state0 - k[9];
    const double r51 = state0 - k[11];
    const double r52 = state0 - k[13];
    const double r53 = k[15] - r42;
    const double r54 = k[16] - state0;
    const double r55 = queue_delay - k[17];
    const double r56 = r43 - r46;
    out[0] = r47;
    out[1] = r48;
    out[2] = r49;
    out[3] = r50;
    out[4] = r51;
    out[5] = r52;
    out[6] = r53;
    out[7] = r54;
    out[8] = r55;
    out[9] = r56;
}

static void pie_differences_14(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_differences_14_by(in, k, sides, out);
    else
        pie_differences_14_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_update_11_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double queue_delay = in[2];
    const double r28 = queue_delay - k[2];
    const double r29 = k[0] * r28;
    const double r30 = queue_delay - state1;
    const double r31 = k[1] * r30;
    const double r32 = r29 + r31;
    const double r33 = LESS(state0, k[3], sides, 0);
    const double r34 = WHERE(r33, k[4], k[5]);
    const double r35 = LESS(state0, k[6], sides, 1);
    const double r36 = WHERE(r35, k[7], r34);
    const double r37 = LESS(state0, k[8], sides, 2);
    const double r38 = WHERE(r37, k[9], r36);
    const double r39 = LESS(state0, k[10], sides, 3);
    const double r40 = WHERE(r39, k[11], r38);
    const double r41 = LESS(state0, k[12], sides, 4);
    const double r42 = WHERE(r41, k[13], r40);
    const double r43 = LESS(state0, k[14], sides, 5);
    const double r44 = WHERE(r43, k[15], r42);
    const double r45 = r44 * r32;
    const double r46 = LESS(k[16], r45, sides, 6);
    const double r47 = LESS_EQUAL(k[17], state0, sides, 7);
    const double r48 = AND(r46, r47, 0.0);
    const double r49 = WHERE(r48, k[16], r45);
    const double r50 = LESS(k[18], queue_delay, sides, 8);
    const double r51 = WHERE(r50, k[16], k[19]);
    const double r52 = r49 + r51;
    const double r53 = state0 + r52;
    out[0] = r53;
    out[1] = queue_delay;
}

static void pie_update_11(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_update_11_by(in, k, sides, out);
    else
        pie_update_11_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_slopes_13_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double d_queue_delay = in[7];
    const double r29 = LESS(state0, k[3], sides, 0);
    const double r30 = WHERE(r29, k[4], k[5]);
    const double r31 = LESS(state0, k[6], sides, 1);
    const double r32 = WHERE(r31, k[7], r30);
    const double r33 = LESS(state0, k[8], sides, 2);
    const double r34 = WHERE(r33, k[9], r32);
    const double r35 = LESS(state0, k[10], sides, 3);
    const double r36 = WHERE(r35, k[11], r34);
    const double r37 = LESS(state0, k[12], sides, 4);
    const double r38 = WHERE(r37, k[13], r36);
    const double r39 = LESS(state0, k[14], sides, 5);
    const double r40 = WHERE(r39, k[15], r38);
    const double r41 = r40 * k[1];
    const double r42 = queue_delay - k[2];
    const double r43 = r41 * r42;
    const double r44 = LESS(k[16], r43, sides, 6);
    const double r45 = LESS_EQUAL(k[17], state0, sides, 7);
    const double r46 = AND(r44, r45, 0.0);
    const double r47 = WHERE(r46, k[16], r43);
    const double r48 = LESS(k[18], queue_delay, sides, 8);
    const double r49 = WHERE(r48, k[16], k[19]);
    const double r50 = r47 + r49;
    const double r51 = r50 / k[0];
    const double r52 = r40 * k[20];
    const double r53 = r52 * d_queue_delay;
    const double r54 = r51 + r53;
    out[0] = r54;
    out[1] = d_queue_delay;
}

static void pie_slopes_13(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_slopes_13_by(in, k, sides, out);
    else
        pie_slopes_13_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_differences_15_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double r28 = LESS(state0, k[2], sides, 0);
    const double r29 = WHERE(r28, k[3], k[4]);
    const double r30 = LESS(state0, k[5], sides, 1);
    const double r31 = WHERE(r30, k[6], r29);
    const double r32 = LESS(state0, k[7], sides, 2);
    const double r33 = WHERE(r32, k[8], r31);
    const double r34 = LESS(state0, k[9], sides, 3);
    const double r35 = WHERE(r34, k[10], r33);
    const double r36 = LESS(state0, k[11], sides, 4);
    const double r37 = WHERE(r36, k[12], r35);
    const double r38 = LESS(state0, k[13], sides, 5);
    const double r39 = WHERE(r38, k[14], r37);
    const double r40 = r39 * k[0];
    const double r41 = queue_delay - k[1];
    const double r42 = r40 * r41;
    const double r43 = state0 * k[18];
    const double r44 = k[4] - state0;
    const double r45 = r44 * k[19];
    const double r46 = k[4] - r45;
    const double r47 = state0 - k[2];
    const double r48 = state0 - k[5];
    const double r49 = state0 - k[7];
    const double r50 = state0 - k[9];
    const double r51 = state0 - k[11];
    const double r52 = state0 - k[13];
    const double r53 = k[15] - r42;
    const double r54 = k[16] - state0;
    const double r55 = k[17] - queue_delay;
    const double r56 = r43 - r46;
    out[0] = r47;
    out[1] = r48;
    out[2] = r49;
    out[3] = r50;
    out[4] = r51;
    out[5] = r52;
    out[6] = r53;
    out[7] = r54;
    out[8] = r55;
    out[9] = r56;
}

static void pie_differences_15(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_differences_15_by(in, k, sides, out);
    else
        pie_differences_15_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_slopes_14_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double d_queue_delay = in[7];
    const double r30 = LESS(state0, k[3], sides, 0);
    const double r31 = WHERE(r30, k[4], k[5]);
    const double r32 = LESS(state0, k[6], sides, 1);
    const double r33 = WHERE(r32, k[7], r31);
    const double r34 = LESS(state0, k[8], sides, 2);
    const double r35 = WHERE(r34, k[9], r33);
    const double r36 = LESS(state0, k[10], sides, 3);
    const double r37 = WHERE(r36, k[11], r35);
    const double r38 = LESS(state0, k[12], sides, 4);
    const double r39 = WHERE(r38, k[13], r37);
    const double r40 = LESS(state0, k[14], sides, 5);
    const double r41 = WHERE(r40, k[15], r39);
    const double r42 = r41 * k[1];
    const double r43 = queue_delay - k[2];
    const double r44 = r42 * r43;
    const double r45 = LESS(k[16], r44, sides, 6);
    const double r46 = LESS_EQUAL(k[17], state0, sides, 7);
    const double r47 = AND(r45, r46, 0.0);
    const double r48 = WHERE(r47, k[16], r44);
    const double r49 = LESS(k[18], queue_delay, sides, 8);
    const double r50 = WHERE(r49, k[16], k[19]);
    const double r51 = r48 + r50;
    const double r52 = EQUAL(queue_delay, k[19], sides, 9);
    const double r53 = k[20] * state0;
    const double r54 = WHERE(r52, r53, k[19]);
    const double r55 = r51 + r54;
    const double r56 = r55 / k[0];
    const double r57 = r41 * k[21];
    const double r58 = r57 * d_queue_delay;
    const double r59 = r56 + r58;
    out[0] = r59;
    out[1] = d_queue_delay;
}

static void pie_slopes_14(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_slopes_14_by(in, k, sides, out);
    else
        pie_slopes_14_by(in, k, 0, out);
}

ALWAYS_INLINE void pie_differences_16_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double queue_delay = in[2];
    const double r27 = LESS(state0, k[2], sides, 0);
    const double r28 = WHERE(r27, k[3], k[4]);
    const double r29 = LESS(state0, k[5], sides, 1);
    const double r30 = WHERE(r29, k[6], r28);
    const double r31 = LESS(state0, k[7], sides, 2);
    const double r32 = WHERE(r31, k[8], r30);
    const double r33 = LESS(state0, k[9], sides, 3);
    const double r34 = WHERE(r33, k[10], r32);
    const double r35 = LESS(state0, k[11], sides, 4);
    const double r36 = WHERE(r35, k[12], r34);
    const double r37 = LESS(state0, k[13], sides, 5);
    const double r38 = WHERE(r37, k[14], r36);
    const double r39 = r38 * k[0];
    const double r40 = queue_delay - k[1];
    const double r41 = r39 * r40;
    const double r42 = state0 - k[2];
    const double r43 = state0 - k[5];
    const double r44 = state0 - k[7];
    const double r45 = state0 - k[9];
    const double r46 = state0 - k[11];
    const double r47 = state0 - k[13];
    const double r48 = k[15] - r41;
    const double r49 = k[16] - state0;
    const double r50 = k[17] - queue_delay;
    const double r51 = queue_delay - k[18];
    out[0] = r42;
    out[1] = r43;
    out[2] = r44;
    out[3] = r45;
    out[4] = r46;
    out[5] = r47;
    out[6] = r48;
    out[7] = r49;
    out[8] = r50;
    out[9] = r51;
}

static void pie_differences_16(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        pie_differences_16_by(in, k, sides, out);
    else
        pie_differences_16_by(in, k, 0, out);
}

static void pi2_encode(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)k;
    (void)sides;
    const double u = in[0];
    const double r1 = u * u;
    out[0] = r1;
    out[1] = r1;
}

static void pi2_signals(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)k;
    (void)sides;
    const double state0 = in[0];
    const double r7 = state0 * state0;
    out[0] = r7;
    out[1] = r7;
}

static void pi2_signals_2(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)k;
    (void)sides;
    const double state0 = in[0];
    const double r8 = state0 * state0;
    out[0] = r8;
    out[1] = r8;
}

ALWAYS_INLINE void coupled_encode_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double u = in[0];
    const double r4 = k[0] * u;
    const double r5 = u * u;
    const double r6 = LESS_EQUAL(r4, k[1], sides, 0);
    const double r7 = WHERE(r6, r4, k[2]);
    out[0] = r5;
    out[1] = r7;
}

static void coupled_encode(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        coupled_encode_by(in, k, sides, out);
    else
        coupled_encode_by(in, k, 0, out);
}

ALWAYS_INLINE void coupled_signals_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double r10 = k[0] * state0;
    const double r11 = state0 * state0;
    const double r12 = LESS_EQUAL(r10, k[1], sides, 0);
    const double r13 = WHERE(r12, r10, k[2]);
    out[0] = r11;
    out[1] = r13;
}

static void coupled_signals(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        coupled_signals_by(in, k, sides, out);
    else
        coupled_signals_by(in, k, 0, out);
}

static void coupled_differences(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double r9 = k[0] * state0;
    const double r10 = r9 - k[1];
    out[0] = r10;
}

static void coupled_slopes(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double queue_delay = in[2];
    const double d_queue_delay = in[7];
    const double r12 = queue_delay - k[0];
    const double r13 = k[2] * r12;
    const double r14 = k[3] * d_queue_delay;
    const double r15 = r13 + r14;
    const double r16 = k[1] * r15;
    out[0] = r16;
    out[1] = d_queue_delay;
}

ALWAYS_INLINE void coupled_signals_2_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double r11 = k[0] * state0;
    const double r12 = state0 * state0;
    const double r13 = LESS_EQUAL(r11, k[2], sides, 0);
    const double r14 = WHERE(r13, r11, k[1]);
    out[0] = r12;
    out[1] = r14;
}

static void coupled_signals_2(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        coupled_signals_2_by(in, k, sides, out);
    else
        coupled_signals_2_by(in, k, 0, out);
}

static void coupled_differences_2(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double r10 = k[0] * state0;
    const double r11 = r10 - k[1];
    out[0] = r11;
}

ALWAYS_INLINE void coupled_saturate_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double r4 = MAXIMUM(state0, k[0], sides, 0);
    const double r5 = MINIMUM(r4, k[1], sides, 2);
    out[0] = r5;
    out[1] = state1;
}

static void coupled_saturate(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        coupled_saturate_by(in, k, sides, out);
    else
        coupled_saturate_by(in, k, 0, out);
}

ALWAYS_INLINE void dualpi2_update_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double classic_delay = in[2];
    const double l4s_delay = in[3];
    const double r13 = LESS_EQUAL(l4s_delay, classic_delay, sides, 0);
    const double r14 = WHERE(r13, classic_delay, l4s_delay);
    const double r15 = r14 - k[2];
    const double r16 = k[0] * r15;
    const double r17 = r14 - state1;
    const double r18 = k[1] * r17;
    const double r19 = r16 + r18;
    const double r20 = k[3] * r19;
    const double r21 = state0 + r20;
    out[0] = r21;
    out[1] = r14;
}

static void dualpi2_update(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        dualpi2_update_by(in, k, sides, out);
    else
        dualpi2_update_by(in, k, 0, out);
}

ALWAYS_INLINE void dualpi2_serve_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double classic_backlogged = in[0];
    const double l4s_backlogged = in[1];
    const double classic_arrivals = in[2];
    const double l4s_arrivals = in[3];
    const double capacity = in[4];
    const double r7 = WHERE(classic_backlogged, k[1], classic_arrivals);
    const double r8 = WHERE(l4s_backlogged, k[1], l4s_arrivals);
    const double r9 = k[0] * capacity;
    const double r10 = capacity - r8;
    const double r11 = MAXIMUM(r9, r10, sides, 0);
    const double r12 = MINIMUM(r7, r11, sides, 1);
    const double r13 = capacity - r9;
    const double r14 = capacity - r7;
    const double r15 = MAXIMUM(r13, r14, sides, 2);
    const double r16 = MINIMUM(r8, r15, sides, 3);
    out[0] = r12;
    out[1] = r16;
}

static void dualpi2_serve(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        dualpi2_serve_by(in, k, sides, out);
    else
        dualpi2_serve_by(in, k, 0, out);
}

ALWAYS_INLINE void dualpi2_signals_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double l4s_delay = in[3];
    const double r13 = k[0] * state0;
    const double r14 = state0 * state0;
    const double r15 = LESS_EQUAL(r13, k[2], sides, 0);
    const double r16 = WHERE(r15, r13, k[3]);
    const double r17 = LESS(k[1], l4s_delay, sides, 1);
    const double r18 = WHERE(r17, k[3], k[4]);
    const double r19 = LESS_EQUAL(r18, r16, sides, 2);
    const double r20 = WHERE(r19, r16, r18);
    out[0] = r14;
    out[1] = r20;
}

static void dualpi2_signals(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        dualpi2_signals_by(in, k, sides, out);
    else
        dualpi2_signals_by(in, k, 0, out);
}

ALWAYS_INLINE void dualpi2_differences_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double l4s_delay = in[3];
    const double r13 = k[0] * state0;
    const double r14 = LESS_EQUAL(r13, k[2], sides, 0);
    const double r15 = WHERE(r14, r13, k[3]);
    const double r16 = LESS(k[1], l4s_delay, sides, 1);
    const double r17 = WHERE(r16, k[3], k[4]);
    const double r18 = r13 - k[2];
    const double r19 = k[1] - l4s_delay;
    const double r20 = r17 - r15;
    out[0] = r18;
    out[1] = r19;
    out[2] = r20;
}

static void dualpi2_differences(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        dualpi2_differences_by(in, k, sides, out);
    else
        dualpi2_differences_by(in, k, 0, out);
}

ALWAYS_INLINE void dualpi2_signals_2_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double l4s_delay = in[3];
    const double r14 = k[0] * state0;
    const double r15 = state0 * state0;
    const double r16 = LESS_EQUAL(r14, k[2], sides, 0);
    const double r17 = WHERE(r16, r14, k[3]);
    const double r18 = l4s_delay - k[5];
    const double r19 = r18 / k[1];
    const double r20 = LESS(k[4], r19, sides, 1);
    const double r21 = LESS_EQUAL(r19, k[2], sides, 2);
    const double r22 = WHERE(r21, r19, k[3]);
    const double r23 = WHERE(r20, r22, k[4]);
    const double r24 = LESS_EQUAL(r23, r17, sides, 3);
    const double r25 = WHERE(r24, r17, r23);
    out[0] = r15;
    out[1] = r25;
}

static void dualpi2_signals_2(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        dualpi2_signals_2_by(in, k, sides, out);
    else
        dualpi2_signals_2_by(in, k, 0, out);
}

ALWAYS_INLINE void dualpi2_differences_2_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double l4s_delay = in[3];
    const double r14 = k[0] * state0;
    const double r15 = LESS_EQUAL(r14, k[2], sides, 0);
    const double r16 = WHERE(r15, r14, k[3]);
    const double r17 = l4s_delay - k[5];
    const double r18 = r17 / k[1];
    const double r19 = LESS(k[4], r18, sides, 1);
    const double r20 = LESS_EQUAL(r18, k[2], sides, 2);
    const double r21 = WHERE(r20, r18, k[3]);
    const double r22 = WHERE(r19, r21, k[4]);
    const double r23 = r14 - k[2];
    const double r24 = k[4] - r18;
    const double r25 = r18 - k[2];
    const double r26 = r22 - r16;
    out[0] = r23;
    out[1] = r24;
    out[2] = r25;
    out[3] = r26;
}

static void dualpi2_differences_2(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        dualpi2_differences_2_by(in, k, sides, out);
    else
        dualpi2_differences_2_by(in, k, 0, out);
}

static void dualpi2_update_2(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double state1 = in[1];
    const double classic_delay = in[2];
    const double r13 = classic_delay - k[2];
    const double r14 = k[0] * r13;
    const double r15 = classic_delay - state1;
    const double r16 = k[1] * r15;
    const double r17 = r14 + r16;
    const double r18 = k[3] * r17;
    const double r19 = state0 + r18;
    out[0] = r19;
    out[1] = classic_delay;
}

ALWAYS_INLINE void red_controller_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double r8 = state0 - k[0];
    const double r9 = state1 * r8;
    const double r10 = r9 / k[4];
    const double r11 = k[3] - state1;
    const double r12 = state0 - k[1];
    const double r13 = r11 * r12;
    const double r14 = r13 / k[1];
    const double r15 = state1 + r14;
    const double r16 = LESS(state0, k[5], sides, 1);
    const double r17 = WHERE(r16, r15, k[3]);
    const double r18 = LESS(state0, k[0], sides, 2);
    const double r19 = LESS(state0, k[1], sides, 3);
    const double r20 = WHERE(r19, r10, r17);
    const double r21 = WHERE(r18, k[2], r20);
    out[0] = r21;
}

static void red_controller(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        red_controller_by(in, k, sides, out);
    else
        red_controller_by(in, k, 0, out);
}

static void red_slopes(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double state1 = in[1];
    const double queue = in[3];
    const double arrival_rate = in[4];
    const double r10 = k[1] * arrival_rate;
    const double r11 = queue - state0;
    const double r12 = r10 * r11;
    const double r13 = k[0] * state1;
    out[0] = r12;
    out[1] = r13;
}

ALWAYS_INLINE void red_signals_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double r14 = state0 - k[0];
    const double r15 = state1 * r14;
    const double r16 = r15 / k[4];
    const double r17 = k[3] - state1;
    const double r18 = state0 - k[1];
    const double r19 = r17 * r18;
    const double r20 = r19 / k[1];
    const double r21 = state1 + r20;
    const double r22 = LESS(state0, k[5], sides, 1);
    const double r23 = WHERE(r22, r21, k[3]);
    const double r24 = LESS(state0, k[0], sides, 2);
    const double r25 = LESS(state0, k[1], sides, 3);
    const double r26 = WHERE(r25, r16, r23);
    const double r27 = WHERE(r24, k[2], r26);
    out[0] = r27;
    out[1] = r27;
}

static void red_signals(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        red_signals_by(in, k, sides, out);
    else
        red_signals_by(in, k, 0, out);
}

static void red_differences(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double r12 = state0 - k[0];
    const double r13 = state0 - k[1];
    const double r14 = state0 - k[2];
    out[0] = k[3];
    out[1] = r14;
    out[2] = r12;
    out[3] = r13;
}

ALWAYS_INLINE void red_controller_2_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double r7 = state0 - k[0];
    const double r8 = state1 * r7;
    const double r9 = r8 / k[4];
    const double r10 = LESS(state0, k[0], sides, 1);
    const double r11 = LESS(state0, k[1], sides, 2);
    const double r12 = WHERE(r11, r9, k[3]);
    const double r13 = WHERE(r10, k[2], r12);
    out[0] = r13;
}

static void red_controller_2(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        red_controller_2_by(in, k, sides, out);
    else
        red_controller_2_by(in, k, 0, out);
}

static void red_slopes_2(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double state1 = in[1];
    const double queue = in[3];
    const double arrival_rate = in[4];
    const double r10 = k[1] * arrival_rate;
    const double r11 = queue - state0;
    const double r12 = r10 * r11;
    const double r13 = k[0] * state1;
    out[0] = r12;
    out[1] = r13;
}

ALWAYS_INLINE void red_signals_2_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double r13 = state0 - k[0];
    const double r14 = state1 * r13;
    const double r15 = r14 / k[4];
    const double r16 = LESS(state0, k[0], sides, 1);
    const double r17 = LESS(state0, k[1], sides, 2);
    const double r18 = WHERE(r17, r15, k[3]);
    const double r19 = WHERE(r16, k[2], r18);
    out[0] = r19;
    out[1] = r19;
}

static void red_signals_2(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        red_signals_2_by(in, k, sides, out);
    else
        red_signals_2_by(in, k, 0, out);
}

static void red_differences_2(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double r11 = state0 - k[0];
    const double r12 = state0 - k[1];
    out[0] = k[2];
    out[1] = r11;
    out[2] = r12;
}

ALWAYS_INLINE void red_update_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double r15 = LESS_EQUAL(state1, k[0], sides, 0);
    const double r16 = state1 / k[1];
    const double r17 = MINIMUM(k[2], r16, sides, 1);
    const double r18 = k[3] * state1;
    const double r19 = WHERE(r15, r17, r18);
    const double r20 = LESS_EQUAL(k[2], state1, sides, 2);
    const double r21 = k[4] * state1;
    const double r22 = WHERE(r20, r21, r18);
    const double r23 = LESS(k[6], state0, sides, 3);
    const double r24 = LESS(state0, k[5], sides, 4);
    const double r25 = WHERE(r24, r22, r18);
    const double r26 = WHERE(r23, r19, r25);
    const double r27 = state1 + r26;
    out[0] = state0;
    out[1] = r27;
}

static void red_update(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        red_update_by(in, k, sides, out);
    else
        red_update_by(in, k, 0, out);
}

static void red_slopes_3(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double state1 = in[1];
    const double queue = in[3];
    const double arrival_rate = in[4];
    const double r9 = k[1] * arrival_rate;
    const double r10 = queue - state0;
    const double r11 = r9 * r10;
    const double r12 = k[0] * state1;
    out[0] = r11;
    out[1] = r12;
}

ALWAYS_INLINE void red_signals_3_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double r13 = state0 - k[0];
    const double r14 = state1 * r13;
    const double r15 = r14 / k[4];
    const double r16 = k[3] - state1;
    const double r17 = state0 - k[1];
    const double r18 = r16 * r17;
    const double r19 = r18 / k[1];
    const double r20 = state1 + r19;
    const double r21 = LESS(state0, k[5], sides, 1);
    const double r22 = WHERE(r21, r20, k[3]);
    const double r23 = LESS(state0, k[0], sides, 2);
    const double r24 = LESS(state0, k[1], sides, 3);
    const double r25 = WHERE(r24, r15, r22);
    const double r26 = WHERE(r23, k[2], r25);
    out[0] = r26;
    out[1] = r26;
}

static void red_signals_3(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        red_signals_3_by(in, k, sides, out);
    else
        red_signals_3_by(in, k, 0, out);
}

static void red_differences_3(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double r11 = state0 - k[0];
    const double r12 = state0 - k[1];
    const double r13 = state0 - k[2];
    out[0] = k[3];
    out[1] = r13;
    out[2] = r11;
    out[3] = r12;
}

ALWAYS_INLINE void red_slopes_4_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double queue = in[3];
    const double arrival_rate = in[4];
    const double r17 = k[6] * arrival_rate;
    const double r18 = queue - state0;
    const double r19 = r17 * r18;
    const double r20 = k[1] * state1;
    const double r21 = LESS_EQUAL(state1, k[2], sides, 0);
    const double r22 = state1 / k[3];
    const double r23 = MINIMUM(k[4], r22, sides, 1);
    const double r24 = WHERE(r21, r23, r20);
    const double r25 = LESS_EQUAL(k[4], state1, sides, 2);
    const double r26 = k[5] * state1;
    const double r27 = WHERE(r25, r26, r20);
    const double r28 = LESS(k[8], state0, sides, 3);
    const double r29 = LESS(state0, k[7], sides, 4);
    const double r30 = WHERE(r29, r27, r20);
    const double r31 = WHERE(r28, r24, r30);
    const double r32 = r31 / k[0];
    out[0] = r19;
    out[1] = r32;
}

static void red_slopes_4(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        red_slopes_4_by(in, k, sides, out);
    else
        red_slopes_4_by(in, k, 0, out);
}

ALWAYS_INLINE void red_signals_4_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double r14 = state0 - k[0];
    const double r15 = state1 * r14;
    const double r16 = r15 / k[4];
    const double r17 = k[3] - state1;
    const double r18 = state0 - k[1];
    const double r19 = r17 * r18;
    const double r20 = r19 / k[1];
    const double r21 = state1 + r20;
    const double r22 = LESS(state0, k[5], sides, 6);
    const double r23 = WHERE(r22, r21, k[3]);
    const double r24 = LESS(state0, k[0], sides, 7);
    const double r25 = LESS(state0, k[1], sides, 8);
    const double r26 = WHERE(r25, r16, r23);
    const double r27 = WHERE(r24, k[2], r26);
    out[0] = r27;
    out[1] = r27;
}

static void red_signals_4(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        red_signals_4_by(in, k, sides, out);
    else
        red_signals_4_by(in, k, 0, out);
}

static void red_differences_4(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double state1 = in[1];
    const double r17 = state1 / k[3];
    const double r18 = state0 - k[0];
    const double r19 = state0 - k[1];
    const double r20 = state1 - k[2];
    const double r21 = k[4] - r17;
    const double r22 = k[4] - state1;
    const double r23 = k[6] - state0;
    const double r24 = state0 - k[5];
    const double r25 = state0 - k[7];
    out[0] = r20;
    out[1] = r21;
    out[2] = r22;
    out[3] = r23;
    out[4] = r24;
    out[5] = k[8];
    out[6] = r25;
    out[7] = r18;
    out[8] = r19;
}

ALWAYS_INLINE void price_saturate_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double r3 = MAXIMUM(state0, k[0], sides, 0);
    out[0] = r3;
    out[1] = state1;
}

static void price_saturate(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        price_saturate_by(in, k, sides, out);
    else
        price_saturate_by(in, k, 0, out);
}

static void price_update(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double state1 = in[1];
    const double capacity = in[5];
    const double dt = in[7];
    const double r10 = k[0] * capacity;
    const double r11 = state1 / r10;
    const double r12 = state0 + r11;
    const double r13 = r12 - dt;
    const double r14 = k[1] * state1;
    out[0] = r13;
    out[1] = r14;
}

static void price_encode(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double u = in[0];
    const double r2 = -u;
    const double r3 = r2 * k[0];
    const double r4 = EXPM1(r3, 0.0, 0.0);
    const double r5 = -r4;
    out[0] = r5;
    out[1] = r5;
}

static void price_slopes(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double arrival_rate = in[4];
    const double r8 = k[0] * state0;
    out[0] = r8;
    out[1] = arrival_rate;
}

static void price_signals(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double r8 = -state0;
    const double r9 = r8 * k[0];
    const double r10 = EXPM1(r9, 0.0, 0.0);
    const double r11 = -r10;
    out[0] = r11;
    out[1] = r11;
}

static void price_slopes_2(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state1 = in[1];
    const double arrival_rate = in[4];
    const double capacity = in[5];
    const double r11 = k[0] * capacity;
    const double r12 = arrival_rate / r11;
    const double r13 = r12 - k[1];
    const double r14 = k[2] * state1;
    out[0] = r13;
    out[1] = r14;
}

static void price_signals_2(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double r9 = -state0;
    const double r10 = r9 * k[0];
    const double r11 = EXPM1(r10, 0.0, 0.0);
    const double r12 = -r11;
    out[0] = r12;
    out[1] = r12;
}

ALWAYS_INLINE void rem_saturate_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double state1 = in[1];
    const double state2 = in[2];
    const double r4 = MAXIMUM(state0, k[0], sides, 0);
    out[0] = r4;
    out[1] = state1;
    out[2] = state2;
}

static void rem_saturate(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        rem_saturate_by(in, k, sides, out);
    else
        rem_saturate_by(in, k, 0, out);
}

static void rem_update(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double state1 = in[1];
    const double state2 = in[2];
    const double queue = in[4];
    const double capacity = in[6];
    const double dt = in[8];
    const double r14 = state2 - state1;
    const double r15 = k[3] * r14;
    const double r16 = state1 + r15;
    const double r17 = queue - k[2];
    const double r18 = k[1] * r17;
    const double r19 = r16 + r18;
    const double r20 = capacity * dt;
    const double r21 = r19 - r20;
    const double r22 = k[0] * r21;
    const double r23 = state0 + r22;
    const double r24 = k[4] * state2;
    out[0] = r23;
    out[1] = r16;
    out[2] = r24;
}

static void rem_slopes(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double state1 = in[1];
    const double arrival_rate = in[5];
    const double r9 = k[0] * state0;
    const double r10 = k[0] * state1;
    out[0] = r9;
    out[1] = r10;
    out[2] = arrival_rate;
}

static void rem_slopes_2(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state1 = in[1];
    const double state2 = in[2];
    const double queue = in[4];
    const double arrival_rate = in[5];
    const double capacity = in[6];
    const double r16 = state1 / k[0];
    const double r17 = WHERE(k[4], r16, arrival_rate);
    const double r18 = arrival_rate * k[0];
    const double r19 = r18 - state1;
    const double r20 = k[5] * r19;
    const double r21 = k[3] * state1;
    const double r22 = WHERE(k[4], r20, r21);
    const double r23 = r17 - capacity;
    const double r24 = queue - k[2];
    const double r25 = k[6] * r24;
    const double r26 = r23 + r25;
    const double r27 = k[1] * r26;
    const double r28 = k[3] * state2;
    out[0] = r27;
    out[1] = r22;
    out[2] = r28;
}

static void rem_signals(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double r10 = -state0;
    const double r11 = r10 * k[0];
    const double r12 = EXPM1(r11, 0.0, 0.0);
    const double r13 = -r12;
    out[0] = r13;
    out[1] = r13;
}

ALWAYS_INLINE void avq_saturate_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double r3 = MAXIMUM(state0, k[0], sides, 0);
    const double r4 = MINIMUM(r3, k[1], sides, 1);
    out[0] = r4;
}

static void avq_saturate(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        avq_saturate_by(in, k, sides, out);
    else
        avq_saturate_by(in, k, 0, out);
}

ALWAYS_INLINE void avq_controller_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double r7 = MAXIMUM(state0, k[1], sides, 0);
    const double r8 = k[0] / r7;
    const double r9 = MAXIMUM(r8, k[1], sides, 1);
    const double r10 = LOG(r9, 0.0, 0.0);
    const double r11 = MAXIMUM(r10, k[2], sides, 2);
    const double r12 = MINIMUM(r10, k[2], sides, 3);
    const double r13 = r11 - r12;
    const double r14 = MAXIMUM(r13, k[3], sides, 4);
    const double r15 = k[4] * r12;
    const double r16 = EXP(r15, 0.0, 0.0);
    const double r17 = -r14;
    const double r18 = EXPM1(r17, 0.0, 0.0);
    const double r19 = r16 * r18;
    const double r20 = k[5] * r14;
    const double r21 = EXPM1(r20, 0.0, 0.0);
    const double r22 = r19 / r21;
    out[0] = r22;
}

static void avq_controller(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        avq_controller_by(in, k, sides, out);
    else
        avq_controller_by(in, k, 0, out);
}

static void avq_slopes(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double arrival_rate = in[3];
    const double capacity = in[4];
    const double r10 = arrival_rate / capacity;
    const double r11 = k[0] - r10;
    const double r12 = k[1] * r11;
    const double r13 = k[2] * state0;
    const double r14 = r12 + r13;
    out[0] = r14;
}

ALWAYS_INLINE void avq_signals_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double arrival_rate = in[3];
    const double capacity = in[4];
    const double r12 = MAXIMUM(state0, k[1], sides, 0);
    const double r13 = capacity * r12;
    const double r14 = arrival_rate / r13;
    const double r15 = MAXIMUM(r14, k[1], sides, 1);
    const double r16 = LOG(r15, 0.0, 0.0);
    const double r17 = MAXIMUM(r16, k[0], sides, 2);
    const double r18 = MINIMUM(r16, k[0], sides, 3);
    const double r19 = r17 - r18;
    const double r20 = MAXIMUM(r19, k[2], sides, 4);
    const double r21 = k[3] * r18;
    const double r22 = EXP(r21, 0.0, 0.0);
    const double r23 = -r20;
    const double r24 = EXPM1(r23, 0.0, 0.0);
    const double r25 = r22 * r24;
    const double r26 = k[4] * r20;
    const double r27 = EXPM1(r26, 0.0, 0.0);
    const double r28 = r25 / r27;
    out[0] = r28;
    out[1] = r28;
}

static void avq_signals(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        avq_signals_by(in, k, sides, out);
    else
        avq_signals_by(in, k, 0, out);
}

ALWAYS_INLINE void avq_differences_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double arrival_rate = in[3];
    const double capacity = in[4];
    const double r10 = MAXIMUM(state0, k[1], sides, 0);
    const double r11 = capacity * r10;
    const double r12 = arrival_rate / r11;
    const double r13 = MAXIMUM(r12, k[1], sides, 1);
    const double r14 = LOG(r13, 0.0, 0.0);
    const double r15 = MAXIMUM(r14, k[0], sides, 2);
    const double r16 = MINIMUM(r14, k[0], sides, 3);
    const double r17 = r15 - r16;
    const double r18 = state0 - k[1];
    const double r19 = r12 - k[1];
    const double r20 = r14 - k[0];
    const double r21 = r17 - k[2];
    out[0] = r18;
    out[1] = r19;
    out[2] = r20;
    out[3] = r20;
    out[4] = r21;
}

static void avq_differences(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        avq_differences_by(in, k, sides, out);
    else
        avq_differences_by(in, k, 0, out);
}

ALWAYS_INLINE void avq_controller_2_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double r5 = MAXIMUM(state0, k[1], sides, 0);
    const double r6 = k[0] / r5;
    const double r7 = MAXIMUM(r6, k[1], sides, 1);
    const double r8 = k[2] / r7;
    const double r9 = k[2] - r8;
    const double r10 = MAXIMUM(r9, k[3], sides, 2);
    out[0] = r10;
}

static void avq_controller_2(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        avq_controller_2_by(in, k, sides, out);
    else
        avq_controller_2_by(in, k, 0, out);
}

static void avq_slopes_2(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double state0 = in[0];
    const double arrival_rate = in[3];
    const double capacity = in[4];
    const double r10 = arrival_rate / capacity;
    const double r11 = k[0] - r10;
    const double r12 = k[1] * r11;
    const double r13 = k[2] * state0;
    const double r14 = r12 + r13;
    out[0] = r14;
}

ALWAYS_INLINE void avq_signals_2_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double arrival_rate = in[3];
    const double capacity = in[4];
    const double r10 = MAXIMUM(state0, k[1], sides, 0);
    const double r11 = capacity * r10;
    const double r12 = arrival_rate / r11;
    const double r13 = MAXIMUM(r12, k[1], sides, 1);
    const double r14 = k[2] / r13;
    const double r15 = k[2] - r14;
    const double r16 = MAXIMUM(r15, k[0], sides, 2);
    out[0] = r16;
    out[1] = r16;
}

static void avq_signals_2(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        avq_signals_2_by(in, k, sides, out);
    else
        avq_signals_2_by(in, k, 0, out);
}

ALWAYS_INLINE void avq_differences_2_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double state0 = in[0];
    const double arrival_rate = in[3];
    const double capacity = in[4];
    const double r10 = MAXIMUM(state0, k[1], sides, 0);
    const double r11 = capacity * r10;
    const double r12 = arrival_rate / r11;
    const double r13 = MAXIMUM(r12, k[1], sides, 1);
    const double r14 = k[2] / r13;
    const double r15 = k[2] - r14;
    const double r16 = state0 - k[1];
    const double r17 = r12 - k[1];
    const double r18 = r15 - k[0];
    out[0] = r16;
    out[1] = r17;
    out[2] = r18;
}

static void avq_differences_2(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        avq_differences_2_by(in, k, sides, out);
    else
        avq_differences_2_by(in, k, 0, out);
}

ALWAYS_INLINE void taildrop_signals_by(const double *in, const double *k, const signed char *sides, double *out)
{
    const double arrival_rate = in[3];
    const double overflow = in[5];
    const double r9 = LESS(k[0], arrival_rate, sides, 0);
    const double r10 = WHERE(r9, arrival_rate, k[1]);
    const double r11 = overflow / r10;
    const double r12 = WHERE(r9, r11, k[0]);
    out[0] = r12;
    out[1] = r12;
}

static void taildrop_signals(const double *in, const double *k, const signed char *sides, double *out)
{
    if (sides)
        taildrop_signals_by(in, k, sides, out);
    else
        taildrop_signals_by(in, k, 0, out);
}

static void taildrop_differences(const double *in, const double *k, const signed char *sides, double *out)
{
    (void)sides;
    const double arrival_rate = in[3];
    const double r8 = k[0] - arrival_rate;
    out[0] = r8;
}

pi2_tape_function *pi2_find_generated(uint64_t form)
{
    static const struct {
        uint64_t form;
        pi2_tape_function *function;
    } all[] = {
        {UINT64_C(0x1299b28bf2e60afa), reno_rate},
        {UINT64_C(0xbfeb31fce4eef977), reno_sending_rate},
        {UINT64_C(0x6f5cf1bab8151656), reno_acked},
        {UINT64_C(0xcf0a6bb3b4863007), scalable_rate},
        {UINT64_C(0x48eca9a02e84ae75), scalable_acked},
        {UINT64_C(0x82aba93de1f5516a), dctcp_rate},
        {UINT64_C(0x47aae8f36df7e192), dctcp_differences},
        {UINT64_C(0x1e93766ed3b94fc4), dctcp_sending_rate},
        {UINT64_C(0x17a14c61971ab8e3), dctcp_rate_2},
        {UINT64_C(0x8f227cb05160ff1a), dctcp_differences_2},
        {UINT64_C(0x15059ab15a198a27), dctcp_acked},
        {UINT64_C(0xa42dd6f53ae4b4ae), prague_rate},
        {UINT64_C(0x425ec275fd305eb2), prague_differences},
        {UINT64_C(0xc5b46cb9d8f57f6e), prague_acked},
        {UINT64_C(0x849249499db62e7b), cubic_rate},
        {UINT64_C(0x3cefb5d2df6d47a6), cubic_differences},
        {UINT64_C(0xa0e3ced1d8912c22), cubic_sending_rate},
        {UINT64_C(0x4854fe47df7a3f56), cubic_leave_slow_start},
        {UINT64_C(0x6bc86b5fb7203ba2), cubic_acked},
        {UINT64_C(0xbaf077d81759f440), cbr_rate},
        {UINT64_C(0x78976756291d4be5), paganini_rate},
        {UINT64_C(0xf17277a8a20d08e0), paganini_differences},
        {UINT64_C(0xbf5e174df4edbcc4), paganini_sending_rate_under},
        {UINT64_C(0x1d3d46397e547094), timeoutreno_rate},
        {UINT64_C(0x0676c619e2efbe40), timeoutreno_sending_rate},
        {UINT64_C(0xb67bfee303386c24), pi_saturate},
        {UINT64_C(0x730df93923451e3e), pi_update},
        {UINT64_C(0x4297cc2d16e793df), pi_slopes},
        {UINT64_C(0x52297b65532a3014), pie_update},
        {UINT64_C(0x22b9f9919f82b95d), pie_encode},
        {UINT64_C(0x586d5ed89630c8d7), pie_signals},
        {UINT64_C(0xc3a918b977c4a155), pie_differences},
        {UINT64_C(0xfba5ab94bdb1bd80), pie_slopes},
        {UINT64_C(0x68ce35b03f3aa7d1), pie_signals_2},
        {UINT64_C(0x82cd674fbd4ec0e1), pie_differences_2},
        {UINT64_C(0xb12438d668c124b2), pie_saturate},
        {UINT64_C(0x830bfa7e19190f3b), pie_update_2},
        {UINT64_C(0x280952bbed50d277), pie_signals_3},
        {UINT64_C(0xbc8cf69c5645468c), pie_differences_3},
        {UINT64_C(0xfe84f8c7ddd86693), pie_slopes_2},
        {UINT64_C(0x3f570d1694e524d0), pie_signals_4},
        {UINT64_C(0x99d66c9713efc24c), pie_differences_4},
        {UINT64_C(0xf2900e8236949ee5), pie_update_3},
        {UINT64_C(0xe53c2833f1d2f017), pie_slopes_3},
        {UINT64_C(0xa1a2c7e542976391), pie_signals_5},
        {UINT64_C(0xb5af25f52258f987), pie_differences_5},
        {UINT64_C(0xa92c0f5c38084644), pie_update_4},
        {UINT64_C(0x6232eafb53cb0bbc), pie_slopes_4},
        {UINT64_C(0x800b1049113baad1), pie_signals_6},
        {UINT64_C(0x67a628c4605546b1), pie_differences_6},
        {UINT64_C(0x15afcd8905f2457a), pie_update_5},
        {UINT64_C(0xd80ab7af03d7cbf7), pie_slopes_5},
        {UINT64_C(0x79202310a0b4b9df), pie_signals_7},
        {UINT64_C(0x548fd2b4dcecaac5), pie_differences_7},
        {UINT64_C(0xb9be11310cbcf685), pie_update_6},
        {UINT64_C(0x949effc94faac769), pie_slopes_6},
        {UINT64_C(0xa9dfa02d526fd591), pie_signals_8},
        {UINT64_C(0x143d703147dade16), pie_differences_8},
        {UINT64_C(0xd9285be4a3e03e44), pie_update_7},
        {UINT64_C(0xc96f0dc8fbe3911e), pie_slopes_7},
        {UINT64_C(0x8587140efc8d0770), pie_signals_9},
        {UINT64_C(0x0451aa869a3ae8bd), pie_differences_9},
        {UINT64_C(0xf2cb7d3fcf77931d), pie_slopes_8},
        {UINT64_C(0x03ad46ba09ba499e), pie_differences_10},
        {UINT64_C(0xd24812983a5f2fc0), pie_update_8},
        {UINT64_C(0x9533acaa173ce981), pie_slopes_9},
        {UINT64_C(0x2dfbdbbfc45080b8), pie_differences_11},
        {UINT64_C(0x7b8fc1d4e3a9dc45), pie_update_9},
        {UINT64_C(0x40ce9972071f21ba), pie_slopes_10},
        {UINT64_C(0xd24e09a3b337941d), pie_differences_12},
        {UINT64_C(0x099bd46b2f3cd02a), pie_update_10},
        {UINT64_C(0xef75d5fbc05c2a5a), pie_slopes_11},
        {UINT64_C(0x92a2c594806ed291), pie_signals_10},
        {UINT64_C(0x8de3677bf5b72483), pie_differences_13},
        {UINT64_C(0xb1e17e1cdcc28572), pie_slopes_12},
        {UINT64_C(0xb823efb90f3b2c53), pie_signals_11},
        {UINT64_C(0x156edb5b93838243), pie_differences_14},
        {UINT64_C(0x68aa70c132e20a91), pie_update_11},
        {UINT64_C(0x309fd855faf058fa), pie_slopes_13},
        {UINT64_C(0x690d551ff5d6ff13), pie_differences_15},
        {UINT64_C(0x1b3dd46aef997b61), pie_slopes_14},
        {UINT64_C(0x4da974bab20dd12a), pie_differences_16},
        {UINT64_C(0x82d0e645db9ad915), pi2_encode},
        {UINT64_C(0xfe759e2398ca4153), pi2_signals},
        {UINT64_C(0x174d5d93d22ed3dc), pi2_signals_2},
        {UINT64_C(0xa7333386815f6b0f), coupled_encode},
        {UINT64_C(0x6e2831185be845e1), coupled_signals},
        {UINT64_C(0x51dfeb7ca868864d), coupled_differences},
        {UINT64_C(0x57a96048edc3109e), coupled_slopes},
        {UINT64_C(0x8818a885b07c0ea6), coupled_signals_2},
        {UINT64_C(0x34f8b8bea045d3be), coupled_differences_2},
        {UINT64_C(0xed9483199c1fe946), coupled_saturate},
        {UINT64_C(0x0f6313ccbec626e3), dualpi2_update},
        {UINT64_C(0x38620e2fa67e95a9), dualpi2_serve},
        {UINT64_C(0x5c9cc93a05ff5dfb), dualpi2_signals},
        {UINT64_C(0xd8f1f14f0d07beaf), dualpi2_differences},
        {UINT64_C(0x36485f9423716be5), dualpi2_signals_2},
        {UINT64_C(0xfe3b7e843e3c2b66), dualpi2_differences_2},
        {UINT64_C(0x131e728fc4ca39b4), dualpi2_update_2},
        {UINT64_C(0x51bd954783df6e27), red_controller},
        {UINT64_C(0xd8db6fe218226829), red_slopes},
        {UINT64_C(0xf4e9c428ff0b5d91), red_signals},
        {UINT64_C(0xfe52870d0e67b904), red_differences},
        {UINT64_C(0x9dffd57ebafd49a7), red_controller_2},
        {UINT64_C(0x6494fbeee2e8c4de), red_slopes_2},
        {UINT64_C(0xd299d64c6a5b12e7), red_signals_2},
        {UINT64_C(0xdc99d159cdacc080), red_differences_2},
        {UINT64_C(0x56460ac32f11ac10), red_update},
        {UINT64_C(0x600941c20154cf5c), red_slopes_3},
        {UINT64_C(0x3c87be53ee4666ad), red_signals_3},
        {UINT64_C(0xeea151132f2fa7d2), red_differences_3},
        {UINT64_C(0x0a0d921ae91341ad), red_slopes_4},
        {UINT64_C(0x9f6414c4364247b5), red_signals_4},
        {UINT64_C(0x92a0fc6298fa8172), red_differences_4},
        {UINT64_C(0x9089c63dc9ae647a), price_saturate},
        {UINT64_C(0x972c6c42fefd24b7), price_update},
        {UINT64_C(0x720aa684415f85b4), price_encode},
        {UINT64_C(0x30c9c1d2ab951f59), price_slopes},
        {UINT64_C(0x0dc5ee7a0666f1da), price_signals},
        {UINT64_C(0x2ff5bdce0e793b75), price_slopes_2},
        {UINT64_C(0xc09a3d7c984e1229), price_signals_2},
        {UINT64_C(0xf6a2035a51883c9e), rem_saturate},
        {UINT64_C(0x38e7c76786957d28), rem_update},
        {UINT64_C(0xf6ff0f6c7054601a), rem_slopes},
        {UINT64_C(0x931249f085d4f8db), rem_slopes_2},
        {UINT64_C(0xd7f4502b66e3eb1d), rem_signals},
        {UINT64_C(0xe0b8ab4d10866ff1), avq_saturate},
        {UINT64_C(0x5427b42352312c84), avq_controller},
        {UINT64_C(0x1898e419816520ad), avq_slopes},
        {UINT64_C(0x928c3c0fc0251b86), avq_signals},
        {UINT64_C(0x62be4b1cfe162aad), avq_differences},
        {UINT64_C(0x42cd82cf74999df2), avq_controller_2},
        {UINT64_C(0xa6df2b83f65dd18b), avq_slopes_2},
        {UINT64_C(0xdfe98dca9f05d928), avq_signals_2},
        {UINT64_C(0xbb16685035235845), avq_differences_2},
        {UINT64_C(0x48a6935281e33c7e), taildrop_signals},
        {UINT64_C(0xf91c6e11e3d4555f), taildrop_differences},
        {0, 0},
    };
    for (int i = 0; all[i].function; i++)
        if (all[i].form == form)
            return all[i].function;
    return 0;
}
