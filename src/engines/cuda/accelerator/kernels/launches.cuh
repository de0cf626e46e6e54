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
    LOAD,
    STORE
};

#define AROUND(number, name, ...)                                                                  \
    __global__ void __launch_bounds__(emitted::b_shape<number>::threads)                           \
        name##_kernel(const block_job x) {                                                         \
        emitted::name(__VA_ARGS__, 0, x.count);                                                    \
    }
#define BLOCK (T *const *)x.block
#define PIVOT (const T *const *)x.pivot
#define A (const T *const *)x.a
#define B (const T *const *)x.b
AROUND(FACTORIZE, factorize, BLOCK, (T *const *)x.a, x.perm, x.columns, x.frame, x.state,
       (T)x.small, (T)x.bound, x.last, x.type, x.perms)
AROUND(PAIRS, factorize_pairs, BLOCK, x.perm, x.rows, x.frame, x.state, (T)x.small, (T)x.bound,
       x.last)
AROUND(APART, factorize_apart, BLOCK, (T *const *)x.a, x.perm, x.columns, x.rows, x.frame, x.state,
       (T)x.small, (T)x.bound, x.last)
AROUND(SOLVE, solve, BLOCK, PIVOT, x.frame, x.state, (T)x.bound, x.last, x.pairs)
AROUND(DOWNDATE, downdate, BLOCK, A, B, PIVOT, x.frame, x.state, x.pairs)
AROUND(TRANSPOSE, transpose, BLOCK)
AROUND(ZERO_OUT, zero_out, BLOCK)
AROUND(PERMUTE, permute, BLOCK, x.perm, x.frame, x.state)
AROUND(LOAD, load, BLOCK, (const float *const *)x.a)
AROUND(STORE, store, (const T *const *)x.block, (float *const *)x.a)
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
    const T *from = (const T *)x.scratch + slot * (MPKI_N * MPKI_N);
    for (long long first = 0; first + slot < x.count; first += step) {
        emitted::product((T *)x.scratch, A, B, PIVOT, x.frame, x.state, x.pairs, first, first,
                         x.count);
        __syncwarp(mask);
        T *to = (T *)x.block[first + slot];
        for (int r = 0; r < MPKI_N; ++r) {
            const T v = from[r * MPKI_N + lane];
            if (v != 0) atomicAdd(&to[r * MPKI_N + lane], -v);
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
        CASE(BLOCK_LOAD, LOAD, load)
        CASE(BLOCK_STORE, STORE, store)
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
