/* SPDX-License-Identifier: BSD-3-Clause */
/* front_cases.h in single precision, complex. */
#define MPKI_PRECISION 2
#include "front_cases.h"
