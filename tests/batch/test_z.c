/* SPDX-License-Identifier: BSD-3-Clause */
/* cases.h in double precision, complex. */
#define MPKI_PRECISION 3
#include "cases.h"
