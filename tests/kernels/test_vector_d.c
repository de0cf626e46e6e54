/* SPDX-License-Identifier: BSD-3-Clause */
/* vector_cases.h in double precision. */
#define MPKI_PRECISION 1
#include "vector_cases.h"
