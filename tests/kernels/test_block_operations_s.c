/* SPDX-License-Identifier: BSD-3-Clause */
/* block_operations_cases.h in single precision. */
#define MPKI_PRECISION 0
#include "block_operations_cases.h"
