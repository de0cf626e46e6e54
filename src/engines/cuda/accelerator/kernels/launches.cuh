/* SPDX-License-Identifier: BSD-3-Clause */
/** What stands behind borgc's output of blocks.cl: a kernel around each of its functions, and who
 *  launches them. MPKI_N is the order of the blocks. */
namespace mpki {
namespace {

/* the order of the file */
enum {
    FACTORIZE,
    PAIRS,
    APART,
    SOLVE,
    DOWNDATE,
    PRODUCT,
    TRANSPOSE,
    ZERO_OUT,
    PERMUTE,
    MEASURE,
    DROP
};

#define AROUND(number, name, ...)                                                                  \
    __global__ void __launch_bounds__(emitted::b_shape<number>::threads)                           \
        name##_kernel(const block_job x) {                                                         \
        emitted::name(__VA_ARGS__, 0, x.count);                                                    \
    }
#define BLOCK (R *const *)x.block
#define PIVOT (const R *const *)x.pivot
#define A (const R *const *)x.a
#define B (const R *const *)x.b
#define FOUND x.frame, x.state, x.trouble, x.largest
AROUND(FACTORIZE, factorize, BLOCK, (R *const *)x.a, x.perm, x.columns, FOUND, (R)x.small,
       (R)x.bound, x.last, x.type, x.perms, x.hermitian, x.judging)
AROUND(PAIRS, factorize_pairs, BLOCK, x.perm, x.rows, FOUND, (R)x.small, (R)x.bound, x.last,
       x.hermitian, x.judging)
AROUND(APART, factorize_apart, BLOCK, (R *const *)x.a, x.perm, x.columns, x.rows, FOUND, (R)x.small,
       (R)x.bound, x.last, x.judging)
AROUND(SOLVE, solve, BLOCK, PIVOT, FOUND, (R)x.bound, x.last, x.pairs, x.hermitian, x.judging)
AROUND(DOWNDATE, downdate, BLOCK, A, B, PIVOT, x.frame, x.state, x.first, x.pairs, x.hermitian,
       x.judging, x.first != NULL)
AROUND(TRANSPOSE, transpose, BLOCK, x.hermitian)
AROUND(ZERO_OUT, zero_out, BLOCK)
AROUND(PERMUTE, permute, BLOCK, x.perm, x.frame, x.state, x.judging)
AROUND(MEASURE, measure, (const R *const *)x.block, x.norm2)
AROUND(DROP, drop, BLOCK, x.limit, x.keep, x.kept, x.keep != NULL)
#undef FOUND
#undef AROUND

/** block -= a D b^T, where several items may have one block: products into memory of the group, and
 *  subtracted from there. */
__global__ void __launch_bounds__(emitted::b_shape<PRODUCT>::threads)
    product_kernel(const block_job x) {
    enum { groups = emitted::b_shape<PRODUCT>::groups };
    const int lane = (int)threadIdx.x % MPKI_N, base = (int)threadIdx.x % 32 / MPKI_N * MPKI_N;
    const unsigned mask = (MPKI_N == 32 ? ~0u : (1u << MPKI_N % 32) - 1) << base;
    const long long step = (long long)gridDim.x * groups, before = (long long)blockIdx.x * groups;
    const long long slot = before + threadIdx.x / MPKI_N;
    enum { entries = MPKI_N * MPKI_N * PARTS };
    const R *from = (const R *)x.scratch + slot * entries;
    for (long long first = 0; first + slot < x.count; first += step) {
        emitted::product((R *)x.scratch, A, B, PIVOT, x.frame, x.state, x.pairs, x.hermitian,
                         x.judging, first, first, x.count);
        __syncwarp(mask);
        R *to = (R *)x.block[first + slot];
        for (int k = lane; k < entries; k += MPKI_N) {
            const R v = from[k];
            if (v != 0) atomicAdd(&to[k], -v);
        }
        __syncwarp(mask);
    }
}
#undef A
#undef B
#undef BLOCK
#undef PIVOT

mpk_status launch_blocks(mpki_cuda *cuda, block_kernel kernel, const block_job &x,
                         cudaStream_t stream) {
#define CASE(name, number, around)                                                                 \
    case name:                                                                                     \
        MPKI_LAUNCH(around##_kernel,                                                               \
                    (x.count + emitted::b_shape<number>::groups - 1) /                             \
                        emitted::b_shape<number>::groups,                                          \
                    emitted::b_shape<number>::threads, 0, stream, x);                              \
        break;
    switch (kernel) {
        CASE(BLOCK_FACTORIZE, FACTORIZE, factorize)
        CASE(BLOCK_FACTORIZE_PAIRS, PAIRS, factorize_pairs)
        CASE(BLOCK_FACTORIZE_APART, APART, factorize_apart)
        CASE(BLOCK_SOLVE, SOLVE, solve)
        CASE(BLOCK_DOWNDATE, DOWNDATE, downdate)
        CASE(BLOCK_TRANSPOSE, TRANSPOSE, transpose)
        CASE(BLOCK_ZERO_OUT, ZERO_OUT, zero_out)
        CASE(BLOCK_PERMUTE, PERMUTE, permute)
        CASE(BLOCK_MEASURE, MEASURE, measure)
        CASE(BLOCK_DROP, DROP, drop)
    case BLOCK_PRODUCT: {
        const long long groups = emitted::b_shape<PRODUCT>::groups;
        const long long blocks = (x.count + groups - 1) / groups, most = x.slots / groups;
        MPKI_LAUNCH(product_kernel, blocks < most ? blocks : most,
                    emitted::b_shape<PRODUCT>::threads, 0, stream, x);
    }
    }
#undef CASE
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

} // namespace
} // namespace mpki
