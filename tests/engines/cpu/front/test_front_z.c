/* SPDX-License-Identifier: BSD-3-Clause */
/* front_cases.h in double precision, complex. */
#define MPKI_PRECISION 3
#include "front_cases.h"
