/* SPDX-License-Identifier: BSD-3-Clause */
/* cases.h in single precision, complex. */
#define MPKI_PRECISION 2
#include "cases.h"
