/* SPDX-License-Identifier: BSD-3-Clause */
/* tests/batch/test_s.c's cases in device memory. */
#define MPKI_PRECISION 0
#define CASES_DEVICE
#include "batch/cases.h"
