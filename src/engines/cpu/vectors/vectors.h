/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_VECTORS_VECTORS_H
#define MPKI_CPU_VECTORS_VECTORS_H
/** The processor's vectors of Krylov methods, by scalar: vectors_t.c. */
#include "engines/interface/engine.h"

extern const mpki_vector_ops mpki_s_vector_ops, mpki_d_vector_ops, mpki_c_vector_ops,
    mpki_z_vector_ops;

#endif
