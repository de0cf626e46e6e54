/* SPDX-License-Identifier: BSD-3-Clause */
/* spectra_cases.h in single precision. */
#define MPKI_PRECISION 0
#include "spectra_cases.h"
