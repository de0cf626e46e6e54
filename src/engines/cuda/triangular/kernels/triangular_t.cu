/* SPDX-License-Identifier: BSD-3-Clause */
/* Launches the kernels of one kind of entries. */
#include "launches.cuh"

#include "border.cuh"
#include "move.cuh"
#include "pack.cuh"
#include "sweep.cuh"

using namespace mpki;

static unsigned blocks_of(int64_t items, int each) {
    return (unsigned)((items + each - 1) / each);
}

template <class KERNEL> static mpk_status allow(mpki_cuda *cuda, KERNEL kernel, int bytes) {
    MPKI_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 100));
    MPKI_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    return MPK_OK;
}

/* ---- packing ---- */

static mpk_status pack(mpki_cuda *cuda, const mpki_cuda_packing *p, int pass) {
    const int bytes = pass == MPKI_SWEEPS_FILL ? pack_memory<T>::BYTES : pack_memory<T>::LISTS;
    if (p->units[0] == 0) return MPK_OK;
    if (pass == MPKI_SWEEPS_FILL) MPKI_PASS(allow(cuda, pack_kernel<T>, bytes));
    MPKI_LAUNCH(pack_kernel<T>, (int64_t)p->parts[0] + p->parts[1], 32, bytes, cuda->sparse, *p,
                *p->store, pass);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static mpk_status pivots(mpki_cuda *cuda, const mpki_cuda_packing *p) {
    if (p->store->m == 0) return MPK_OK;
    MPKI_LAUNCH(pivots_kernel<T>, blocks_of(p->store->m, 128), 128, 0, cuda->sparse, *p, *p->store);
    const mpki_cuda_store &s = *p->store;
    if (s.border > 0)
        MPKI_LAUNCH(border_pivots_kernel<T>, blocks_of(s.border, 128), 128, 0, cuda->sparse,
                    s.border, s.hermitian != 0, (const T *)s.border_dinv,
                    (T *)p->border_diagonal[0], (T *)p->border_diagonal[1], p->border_partner);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

/* ---- sweeps ---- */

/* As many as a GPU holds at once, a warp a block; a block takes 1 KB of shared memory more. */
template <int NR> static mpk_status warps_of(mpki_cuda *cuda, int32_t *warps) {
    const int bytes = sweep_memory<T, NR>::BYTES;
    static_assert(sweep_memory<T, NR>::BYTES <= 98 * 1024, "what every GPU from 8.0 on gives");
    const int all = cuda->shared_all ? (int)cuda->shared_all : 228 * 1024,
              each = all / (bytes + 1024);
    const int held = cuda->blocks_most ? cuda->blocks_most : 32;
    const int most = held < sweep_memory<T, NR>::AT_ONCE ? held : sweep_memory<T, NR>::AT_ONCE;
    MPKI_PASS(allow(cuda, sweep_kernel<T, NR>, bytes));
    *warps = cuda->sms * (each < most ? each : most);
    return MPK_OK;
}

template <int NR> static mpk_status run_of(mpki_cuda *cuda, const mpki_sweeps_run *r) {
    MPKI_LAUNCH((sweep_kernel<T, NR>), r->warps, 32, (sweep_memory<T, NR>::BYTES), cuda->sparse,
                *r);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

/* numbers of vectors whose entries take more than 64 bytes a slot are not asked for */
template <int NR> struct allowed {
    static const int value = NR * sizeof(widened_of<T>::type) <= 64 ? NR : 1;
};

static mpk_status warps(mpki_cuda *cuda, int32_t nrhs, int32_t *warps) {
    switch (nrhs) {
    case 1:
        return warps_of<1>(cuda, warps);
    case 2:
        return warps_of<2>(cuda, warps);
    case 4:
        return warps_of<4>(cuda, warps);
    default:
        return warps_of<allowed<8>::value>(cuda, warps);
    }
}

static mpk_status run(mpki_cuda *cuda, const mpki_sweeps_run *r) {
    switch (r->nrhs) {
    case 1:
        return run_of<1>(cuda, r);
    case 2:
        return run_of<2>(cuda, r);
    case 4:
        return run_of<4>(cuda, r);
    default:
        return run_of<allowed<8>::value>(cuda, r);
    }
}

/* ---- vectors ---- */

typedef build<T>::widened V;
#if MPKI_PRECISION < 2
typedef float single_entry;
#else
typedef cx<float> single_entry;
#endif

static bool is_double(mpk_scalar scalar) {
    return scalar == MPK_D || scalar == MPK_Z;
}

/* T: by slot */
static mpk_status in(mpki_cuda *cuda, const mpki_sweeps_move *m) {
    const unsigned blocks = blocks_of(m->n, 256);
    if (m->n == 0) return MPK_OK;
    if (m->most) {
        MPKI_TRY(cudaMemsetAsync(m->most, 0, sizeof *m->most, cuda->sparse));
        MPKI_LAUNCH((most_kernel<T, V>), blocks < 512 ? blocks : 512, 256, 0, cuda->sparse, *m);
    }
    if (is_double(m->scalar))
        MPKI_LAUNCH((in_kernel<T, V>), blocks, 256, 0, cuda->sparse, *m);
    else
        MPKI_LAUNCH((in_kernel<T, single_entry>), blocks, 256, 0, cuda->sparse, *m);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static mpk_status out(mpki_cuda *cuda, const mpki_sweeps_move *m) {
    const unsigned blocks = blocks_of(m->n, 256);
    if (m->n == 0) return MPK_OK;
    if (is_double(m->scalar))
        MPKI_LAUNCH((out_kernel<T, V>), blocks, 256, 0, cuda->sparse, *m);
    else
        MPKI_LAUNCH((out_kernel<T, single_entry>), blocks, 256, 0, cuda->sparse, *m);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

/* T: of D */
static mpk_status scale(mpki_cuda *cuda, const mpki_sweeps_move *m, const void *diagonal,
                        const int8_t *partner) {
    const unsigned blocks = blocks_of(m->n, 256);
    if (m->n == 0) return MPK_OK;
    if (is_double(m->stored))
        MPKI_LAUNCH((scale_kernel<T, V>), blocks, 256, 0, cuda->sparse, *m, (const T *)diagonal,
                    partner);
    else
        MPKI_LAUNCH((scale_kernel<T, single_entry>), blocks, 256, 0, cuda->sparse, *m,
                    (const T *)diagonal, partner);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static mpk_status wait(mpki_cuda *cuda, void *p, int64_t entries) {
    if (entries == 0) return MPK_OK;
    MPKI_LAUNCH(mark_kernel<V>, blocks_of(entries, 256), 256, 0, cuda->sparse, (V *)p, entries);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

template <class X> static void border_on(mpki_cuda *cuda, const mpki_sweeps_border &b) {
    const auto multiply = border_kernel<T, X>;
    MPKI_LAUNCH(multiply, blocks_of(b.rows, BORDER_WARPS), 32 * BORDER_WARPS, 0, cuda->sparse, b);
    MPKI_LAUNCH(border_put_kernel<X>, blocks_of((int64_t)b.rows * b.slot_width, 256), 256, 0,
                cuda->sparse, b);
}

static mpk_status border(mpki_cuda *cuda, const mpki_sweeps_border *b) {
    if (b->rows == 0) return MPK_OK;
    if (b->in_scalar)
        border_on<T>(cuda, *b);
    else
        border_on<V>(cuda, *b);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

#if defined(MPKI_STAMPS) && MPKI_PRECISION == 0
/* For bench/cuda/timeline.h: STAMPS numbers of each of the first `tasks` tickets. */
extern "C" __attribute__((visibility("default"))) int mpki_cuda_sweeps_stamps(int64_t *to,
                                                                              int tasks);
extern "C" int mpki_cuda_sweeps_stamps(int64_t *to, int tasks) {
    if (tasks > STAMPED_TASKS) tasks = STAMPED_TASKS;
    return (int)cudaMemcpyFromSymbol(to, stamps, (size_t)tasks * STAMPS * sizeof *to);
}
#endif

extern const mpki_sweeps_launches FN(sweeps_launches) = {pack, pivots, warps, run,   in,
                                                         out,  scale,  wait,  border};
