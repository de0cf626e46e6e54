/* SPDX-License-Identifier: BSD-3-Clause */
#define MPKI_PRECISION 3
#include "block_factor_cases.h"
