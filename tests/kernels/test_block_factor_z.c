/* SPDX-License-Identifier: BSD-3-Clause */
/* block_factor_cases.h in double precision, complex. */
#define MPKI_PRECISION 3
#include "block_factor_cases.h"
