/* SPDX-License-Identifier: BSD-3-Clause */
/* tests/batch/test_d.c's cases in device memory. */
#define MPKI_PRECISION 1
#define CASES_DEVICE
#include "batch/cases.h"
