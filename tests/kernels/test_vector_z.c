/* SPDX-License-Identifier: BSD-3-Clause */
/* vector_cases.h in double precision, complex. */
#define MPKI_PRECISION 3
#include "vector_cases.h"
