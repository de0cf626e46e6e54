/* SPDX-License-Identifier: BSD-3-Clause */
/* front_cases.h in single precision. */
#define MPKI_PRECISION 0
#include "front_cases.h"
