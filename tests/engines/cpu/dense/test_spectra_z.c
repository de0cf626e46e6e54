/* SPDX-License-Identifier: BSD-3-Clause */
/* spectra_cases.h in double precision, complex. */
#define MPKI_PRECISION 3
#include "spectra_cases.h"
