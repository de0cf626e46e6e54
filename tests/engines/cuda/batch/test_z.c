/* SPDX-License-Identifier: BSD-3-Clause */
/* tests/batch/test_z.c's cases in device memory. */
#define MPKI_PRECISION 3
#define CASES_DEVICE
#include "batch/cases.h"
