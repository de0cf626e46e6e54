/* SPDX-License-Identifier: BSD-3-Clause */
/* cases.h in double precision. */
#define MPKI_PRECISION 1
#include "cases.h"
