/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_FLOATS_H
#define MPKI_FLOATS_H
/** Floating point as C begins with it, while a public function runs: a caller may have turned
 *  traps on (feenableexcept, gfortran -ffpe-trap), another rounding, or flushing of tiny numbers
 *  to zero. Here an overflow is a number like others, which is looked at in the end, and
 *  compilers compute what they may not need (-fno-trapping-math). When the function returns, all
 *  is as the caller had it, flags of exceptions too. Worker threads are started, and METIS and
 *  SCOTCH called, in between. */

#if defined(__x86_64__)
#include <xmmintrin.h>

typedef struct mpki_floats {
    unsigned mxcsr;
    unsigned short control, status; /* of the x87, which long double is for */
} mpki_floats;

static inline mpki_floats mpki_floats_calm(void) {
    enum { MXCSR = 0x1f80, CONTROL = 0x37f };
    const unsigned short control = CONTROL;
    mpki_floats kept = {.mxcsr = _mm_getcsr()};
    __asm__ volatile("fnstcw %0\n\tfnstsw %1" : "=m"(kept.control), "=m"(kept.status));
    if (kept.control != control) __asm__ volatile("fldcw %0" : : "m"(control));
    if (kept.mxcsr != MXCSR) _mm_setcsr(MXCSR);
    return kept;
}

static inline void mpki_floats_restore(const mpki_floats *kept) {
    enum { CONTROL = 0x37f, FLAGS = 0x3f };
    unsigned short status;
    __asm__ volatile("fnstsw %0" : "=m"(status));
    /* a flag that is up traps where its trap is turned on; the x87's go down together */
    if ((status ^ kept->status) & FLAGS) __asm__ volatile("fnclex");
    if (kept->control != CONTROL) __asm__ volatile("fldcw %0" : : "m"(kept->control));
    _mm_setcsr(kept->mxcsr);
}
#else
#include <fenv.h>

typedef struct mpki_floats {
    fenv_t all;
} mpki_floats;

static inline mpki_floats mpki_floats_calm(void) {
    mpki_floats kept;
    fegetenv(&kept.all);
    fesetenv(FE_DFL_ENV);
    return kept;
}

static inline void mpki_floats_restore(const mpki_floats *kept) {
    fesetenv(&kept->all);
}
#endif

/** The first line of every public function that computes: until it returns. */
#define MPKI_CALM                                                                                  \
    __attribute__((cleanup(mpki_floats_restore), unused)) mpki_floats mpki_theirs =                \
        mpki_floats_calm()

#endif
