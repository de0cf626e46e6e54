/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_SINGLE_H
#define MPKI_CPU_SINGLE_H
/** The scalar of values that are held in single precision beside vectors of T; (T) makes T of one.
 *  For files on T. */
#include "core/precision.h"

#if MPKI_PRECISION == 1
typedef float single_entry;
#elif MPKI_PRECISION == 3
typedef float complex single_entry;
#else
typedef T single_entry; /* never asked for */
#endif

#endif
