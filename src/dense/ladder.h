/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_DENSE_LADDER_H
#define MPKI_DENSE_LADDER_H
/** Method auto of mpk_dense_sysv(). */
#include "session.h"

/** Try methods of growing strength, each up to a solution, until one is accurate; s->info says
 *  which were tried. norm [in] ||A||_inf */
mpk_status mpki_dense_ladder(mpki_dense_session *s, double norm, const mpki_dense_sides *sides);

#endif
