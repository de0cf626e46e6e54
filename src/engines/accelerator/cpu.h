/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ACCELERATOR_CPU_H
#define MPKI_ACCELERATOR_CPU_H
/** The processor's kernels for the accelerator interface, by precision (cpu_t.c); their table is in
 *  cpu.c. */
#include <metapack/accelerator.h>
#include <metapack/options.h>

enum { MPKI_ACCELERATOR_MOST = 128 }; /* rows of a block */

/** forms.c */
extern const mpk_accelerator_form mpki_accelerator_cpu_forms[];

#define MPKI_ACCELERATOR_KERNELS(p)                                                                \
    void mpki_##p##_accelerator_factorize(const mpk_accelerator_task *t);                          \
    void mpki_##p##_accelerator_solve(const mpk_accelerator_task *t);                              \
    void mpki_##p##_accelerator_downdate(const mpk_accelerator_task *t);                           \
    void mpki_##p##_accelerator_transpose(const mpk_accelerator_task *t);                          \
    void mpki_##p##_accelerator_zero_out(const mpk_accelerator_task *t);                           \
    void mpki_##p##_accelerator_permute(const mpk_accelerator_task *t);                            \
    void mpki_##p##_accelerator_measure(const mpk_accelerator_task *t);                            \
    void mpki_##p##_accelerator_drop(const mpk_accelerator_task *t);
MPKI_ACCELERATOR_KERNELS(s)
MPKI_ACCELERATOR_KERNELS(d)
MPKI_ACCELERATOR_KERNELS(c)
MPKI_ACCELERATOR_KERNELS(z)
#undef MPKI_ACCELERATOR_KERNELS

#endif
