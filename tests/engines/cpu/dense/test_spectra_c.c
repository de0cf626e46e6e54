/* SPDX-License-Identifier: BSD-3-Clause */
/* spectra_cases.h in single precision, complex. */
#define MPKI_PRECISION 2
#include "spectra_cases.h"
