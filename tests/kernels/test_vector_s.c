/* SPDX-License-Identifier: BSD-3-Clause */
/* vector_cases.h in single precision. */
#define MPKI_PRECISION 0
#include "vector_cases.h"
