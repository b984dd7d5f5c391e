/* Which vector instructions may be used here: those that the processor has, where the operating system keeps their registers. */
#pragma once

#include <stdint.h>

/* Of x86-64 alone: AVX2 with FMA; AVX-512 F, DQ, VL and BW with FMA. Elsewhere there is none. */
enum { PI2_AVX2 = 1, PI2_AVX512 = 2 };

/* What the processor answers: ECX of CPUID's leaf 1, EBX of its leaf 7, and XCR0, 0 where the operating system sets none. */
typedef struct { uint32_t leaf1_ecx, leaf7_ebx; uint64_t xcr0; } pi2_processor;

/* The sum of those that may be used by such a processor. */
int pi2_vectors_of(pi2_processor answers);

/* The same of this machine, which is asked once: CPUID leaves a virtual machine each time. */
int pi2_vectors(void);
