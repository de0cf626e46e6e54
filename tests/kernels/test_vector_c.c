/* SPDX-License-Identifier: BSD-3-Clause */
/* vector_cases.h in single precision, complex. */
#define MPKI_PRECISION 2
#include "vector_cases.h"
