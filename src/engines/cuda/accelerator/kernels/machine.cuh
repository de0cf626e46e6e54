/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_ACCELERATOR_MACHINE_CUH
#define MPKI_CUDA_ACCELERATOR_MACHINE_CUH
/** What the machine (accelerator.cu) and borgc's kernels know of each other. */
#include "accelerator.h"
#include "engines/cuda/module/launch.cuh"

namespace mpki {

enum block_kernel {
    BLOCK_FACTORIZE,
    BLOCK_FACTORIZE_PAIRS, /* with 2x2 pivots */
    BLOCK_FACTORIZE_APART, /* LDU, rows and columns pivoted apart */
    BLOCK_SOLVE,
    BLOCK_DOWNDATE,
    BLOCK_PRODUCT, /* downdate, by atomic operations */
    BLOCK_TRANSPOSE,
    BLOCK_ZERO_OUT,
    BLOCK_PERMUTE,
    BLOCK_MEASURE,
    BLOCK_DROP
};

/** Items as a kernel sees them: lists in device memory. Numbers are those of mpk_accelerator_task. */
struct block_job {
    void *const *block, *const *a, *const *b, *const *pivot;
    int *const *perm, *const *columns;
    const int *rows, *frame;
    int *state;
    const long long *first; /* downdate: items of each block, count + 1; NULL: one */
    int *trouble;           /* where no words of frames are judged: what was found */
    double *largest, *norm2;
    const double *limit;
    const long long *keep;
    long long *kept;
    double small, bound;
    int last, type, pairs, hermitian, judging;
    int perms;     /* permutations that there are: none, of rows, of columns as well */
    void *scratch; /* BLOCK_PRODUCT: `slots` blocks */
    long long slots;
    long long count; /* blocks that are written */
};

typedef mpk_status block_launch(mpki_cuda *cuda, block_kernel kernel, const block_job &job,
                                cudaStream_t stream);

/** Of the table that CMake writes: NULL, or the launches for blocks of n; all n, and bits of precisions. */
block_launch *block_launch_of(int n, mpk_scalar scalar);
extern const int32_t block_sizes[];
extern const unsigned block_precisions;

} // namespace mpki

#endif
