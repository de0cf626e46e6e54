/* SPDX-License-Identifier: BSD-3-Clause */
#define MPKI_PRECISION 0
#include "spectra_cases.h"
