/* SPDX-License-Identifier: BSD-3-Clause */
#define MPKI_PRECISION 2
#include "cases.h"
