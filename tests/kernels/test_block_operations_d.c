/* SPDX-License-Identifier: BSD-3-Clause */
/* block_operations_cases.h in double precision. */
#define MPKI_PRECISION 1
#include "block_operations_cases.h"
