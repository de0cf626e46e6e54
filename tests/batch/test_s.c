/* SPDX-License-Identifier: BSD-3-Clause */
/* cases.h in single precision. */
#define MPKI_PRECISION 0
#include "cases.h"
