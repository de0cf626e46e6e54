/* SPDX-License-Identifier: BSD-3-Clause */
/* spectra_cases.h in double precision. */
#define MPKI_PRECISION 1
#include "spectra_cases.h"
