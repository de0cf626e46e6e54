/* SPDX-License-Identifier: BSD-3-Clause */
/* block_factor_cases.h in single precision, complex. */
#define MPKI_PRECISION 2
#include "block_factor_cases.h"
