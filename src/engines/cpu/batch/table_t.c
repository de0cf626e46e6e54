/* SPDX-License-Identifier: BSD-3-Clause */
/* The portable kernels of each instruction set, and the choice between these and borgc's. */
#include "engines/cpu/isa/level.h"
#include "emitted.h"
#include "kernels.h"

#if MPKI_PRECISION == 0
#define NAME(isa, name) mpki_s_##isa##_batch_##name
#elif MPKI_PRECISION == 1
#define NAME(isa, name) mpki_d_##isa##_batch_##name
#elif MPKI_PRECISION == 2
#define NAME(isa, name) mpki_c_##isa##_batch_##name
#else
#define NAME(isa, name) mpki_z_##isa##_batch_##name
#endif

#define FACTOR_ARGUMENTS                                                                           \
    (int64_t count, int n, T *a, int64_t ld, int64_t stride, int32_t *piv, int32_t *info, R tol,   \
     int hermitian, T *work)
#define SOLVE_ARGUMENTS                                                                            \
    (int64_t count, int n, int nrhs, const T *a, int64_t ld, int64_t stride, const int32_t *piv,   \
     T *b, int64_t ldb, int64_t stride_b, int32_t *info, int hermitian, T *work)
#define TABLE(isa)                                                                                 \
    void NAME(isa, llt_none) FACTOR_ARGUMENTS;                                                     \
    void NAME(isa, llt_complete) FACTOR_ARGUMENTS;                                                 \
    void NAME(isa, ldlt_none) FACTOR_ARGUMENTS;                                                    \
    void NAME(isa, ldlt_static) FACTOR_ARGUMENTS;                                                  \
    void NAME(isa, ldlt_partial) FACTOR_ARGUMENTS;                                                 \
    void NAME(isa, ldlt_rook) FACTOR_ARGUMENTS;                                                    \
    void NAME(isa, ldlt_complete) FACTOR_ARGUMENTS;                                                \
    void NAME(isa, ldu_none) FACTOR_ARGUMENTS;                                                     \
    void NAME(isa, ldu_static) FACTOR_ARGUMENTS;                                                   \
    void NAME(isa, ldu_partial) FACTOR_ARGUMENTS;                                                  \
    void NAME(isa, ldu_rook) FACTOR_ARGUMENTS;                                                     \
    void NAME(isa, ldu_complete) FACTOR_ARGUMENTS;                                                 \
    void NAME(isa, llt_solve) SOLVE_ARGUMENTS;                                                     \
    void NAME(isa, ldlt_solve) SOLVE_ARGUMENTS;                                                    \
    void NAME(isa, ldu_solve) SOLVE_ARGUMENTS;                                                     \
    static const FN(batch_kernels) isa##_table = {                                                 \
        .factor = {{NAME(isa, llt_none), NULL, NULL, NULL, NAME(isa, llt_complete)},               \
                   {NAME(isa, ldlt_none), NAME(isa, ldlt_static), NAME(isa, ldlt_partial),         \
                    NAME(isa, ldlt_rook), NAME(isa, ldlt_complete)},                               \
                   {NAME(isa, ldu_none), NAME(isa, ldu_static), NAME(isa, ldu_partial),            \
                    NAME(isa, ldu_rook), NAME(isa, ldu_complete)}},                                \
        .solve = {NAME(isa, llt_solve), NAME(isa, ldlt_solve), NAME(isa, ldu_solve)},              \
    };

#define WHERE_BUILT(isa) MPKI_IF_##isa(TABLE(isa), )
MPKI_LEVELS(WHERE_BUILT)

const FN(batch_kernels) * FN(batch_portable)(void) {
#define ENTRY(isa) MPKI_IF_##isa(&isa##_table, NULL),
    static const FN(batch_kernels) *const tables[] = {MPKI_LEVELS(ENTRY)};
    return tables[mpki_cpu_level()];
}

FN(batch_factor_fn)
FN(batch_factor_kernel)(mpk_batch_method method, mpk_pivoting pivoting, int n, bool hermitian) {
    FN(batch_factor_fn) emitted = FN(batch_emitted_factor)(method, pivoting, n, hermitian);
    return emitted ? emitted : FN(batch_portable)()->factor[method][pivoting];
}
