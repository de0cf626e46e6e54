/* SPDX-License-Identifier: BSD-3-Clause */
/* block_factor_cases.h in double precision. */
#define MPKI_PRECISION 1
#include "block_factor_cases.h"
