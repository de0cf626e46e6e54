/* SPDX-License-Identifier: BSD-3-Clause */
/* front_cases.h in double precision. */
#define MPKI_PRECISION 1
#include "front_cases.h"
