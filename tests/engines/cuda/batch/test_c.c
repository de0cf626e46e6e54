/* SPDX-License-Identifier: BSD-3-Clause */
/* tests/batch/test_c.c's cases in device memory. */
#define MPKI_PRECISION 2
#define CASES_DEVICE
#include "batch/cases.h"
