/* SPDX-License-Identifier: BSD-3-Clause */
/* methods_cases.h in double precision, complex. */
#define MPKI_PRECISION 3
#define TESTED_METHODS                                                                             \
    MPK_DENSE_TILE, MPK_DENSE_BUNCH_KAUFMAN, MPK_DENSE_ROOK, MPK_DENSE_NONE, MPK_DENSE_BUTTERFLY,  \
        MPK_DENSE_AASEN
#include "methods_cases.h"
