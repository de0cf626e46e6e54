/* SPDX-License-Identifier: BSD-3-Clause */
/* Launches the general kernels of one kind of entries: with as many threads for a matrix as its
 * order can use. */
#include "blas.cuh"
#include "launch.cuh"
#include "panel.h"
#include "registers.h"

#include "general.cuh"
#include "product.cuh"
#include "solve.cuh"

#include <metapack/batch.h>

using namespace mpki;

typedef tile<8, 1, 1> tile8;
typedef tile<16, 1, 1> tile16;
typedef tile<32, 1, 1> tile32;
typedef tile<32, 2, 4> tile64;

template <class KERNEL> static mpk_status allow(mpki_cuda *cuda, KERNEL kernel, size_t bytes) {
    if (bytes > 48 * 1024)
        MPKI_TRY(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    return MPK_OK;
}

/* `each` of these: bytes of shared memory for a matrix */
template <class TILE, class PART>
static mpk_status launch(mpki_cuda *cuda, void (*kernel)(const PART), const PART &p, size_t each,
                         void *stream) {
    const size_t bytes = each * TILE::MATRICES;
    MPKI_PASS(allow(cuda, kernel, bytes));
    MPKI_LAUNCH(kernel, (p.count + TILE::MATRICES - 1) / TILE::MATRICES, TILE_BLOCK, bytes, stream,
                p);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

template <class TILE>
static mpk_status run(mpki_cuda *cuda, int verb, const part &p, void *stream) {
    const int n = p.n;
    if (verb == MPKI_CUDA_SOLVE)
        return launch<TILE>(cuda, solve_kernel<T, TILE>, p, solve_bytes<T>(n, TILE::W), stream);
    if (p.method == 2)
        return launch<TILE>(cuda, general_kernel<T, TILE>, p, general_bytes<T>(n), stream);
    return launch<TILE>(cuda, symmetric_kernel<T, TILE>, p, symmetric_bytes<T>(n), stream);
}

/* borgc's kernels index with 32 bits within a matrix, and know one stride of pivots. */
static bool suits(const mpki_cuda_batch *batch, const part &p) {
    return batch->verb == MPKI_CUDA_FACTORIZE && p.a.layout != MPK_BATCH_INTERLEAVED &&
           p.a.ld <= 1 << 24 && p.pivoting != MPK_PIVOTING_STATIC &&
           (p.method != MPK_BATCH_LDU || p.n == p.most);
}

static bool aligned(const void *p) {
    return (uintptr_t)p % 16 == 0;
}

/* Do the matrices, and their pivots, follow each other without gaps, so that accesses of 16 bytes
 * fit? */
static bool packed(const part &p) {
    return p.a.layout == MPK_BATCH_STRIDED && p.a.ld == p.n && p.a.stride == (int64_t)p.n * p.n &&
           !p.order && p.first == 0 && p.n == p.most && aligned(p.a.data) && aligned(p.pivots);
}

/* ---- which kernels: those of borgc's, in registers, by panels, in shared memory ---- */

static part part_of(const mpki_cuda_batch *batch, const mpki_cuda_bin *bin, int32_t *flags) {
    part p = {};
    p.a = batch->a, p.b = batch->b;
    p.first = bin->first, p.count = bin->count, p.n = bin->n, p.most = batch->n;
    p.order = batch->order;
    p.pivots = batch->pivots, p.outcome = batch->outcome, p.inertia = batch->inertia;
    p.flags = flags;
    p.method = batch->method, p.pivoting = batch->pivoting, p.hermitian = batch->hermitian;
    p.nrhs = batch->nrhs;
    p.tolerance = batch->zero_tolerance;
    if (batch->verb == MPKI_CUDA_SOLVE) p.inertia = NULL;
    return p;
}

static mpki_emitted made(const mpki_cuda_batch *batch, const part &p) {
    mpki_emitted any = suits(batch, p) ? FN(cuda_emitted)(p.method, p.pivoting, p.n) : NULL;
    mpki_emitted faster =
        any && packed(p) ? FN(cuda_emitted_packed)(p.method, p.pivoting, p.n) : NULL;
    return faster ? faster : any;
}

static mpki_emitted in_registers(const mpki_cuda_batch *batch, const part &p) {
    if (batch->verb != MPKI_CUDA_FACTORIZE || p.a.layout == MPK_BATCH_INTERLEAVED || p.n == 0)
        return NULL;
    if (p.method == MPK_BATCH_LDU) return FN(cuda_registers_ldu)(p.pivoting, p.n);
    if (p.method == MPK_BATCH_LDLT && p.pivoting != MPK_PIVOTING_NONE)
        return FN(cuda_registers_indefinite)(p.pivoting, p.hermitian, p.n);
    return FN(cuda_registers_symmetric)(p.method, p.pivoting, p.hermitian, p.n);
}

/* Kernels in registers that are quicker than borgc's for the same: LDU with more rows than a thread
 * can have alone. */
static bool registers_first(const part &p) {
    return p.method == MPK_BATCH_LDU && (p.n > REGISTERS_ALONE || !packed(p));
}

/* A warp for a matrix of which it brings up to date what a step looks at: up to 16 the general
 * kernels, with several matrices in a warp, are as fast or faster. */
static bool panel_suits(const mpki_cuda_batch *batch, const part &p) {
    return MPKI_PRECISION < 2 && batch->verb == MPKI_CUDA_FACTORIZE && p.method == MPK_BATCH_LDLT &&
           p.pivoting != MPK_PIVOTING_STATIC && p.n > 16;
}

bool FN(cuda_batch_has)(const mpki_cuda_batch *batch, const mpki_cuda_bin *bin) {
    const part p = part_of(batch, bin, NULL);
    switch (batch->kernels) {
    case MPK_BATCH_KERNELS_MADE:
        return made(batch, p) != NULL;
    case MPK_BATCH_KERNELS_REGISTERS:
        return in_registers(batch, p) != NULL;
    case MPK_BATCH_KERNELS_PANEL:
        return panel_suits(batch, p);
    default:
        return true;
    }
}

mpk_status FN(cuda_batch_bin)(mpki_cuda *cuda, const mpki_cuda_batch *batch,
                              const mpki_cuda_bin *bin, int32_t *flags) {
    part p = part_of(batch, bin, flags);
    const int kind = batch->kernels;
    const bool any = kind == MPK_BATCH_KERNELS_AUTO;
    mpki_emitted ours = any || kind == MPK_BATCH_KERNELS_MADE ? made(batch, p) : NULL;
    mpki_emitted rows = any || kind == MPK_BATCH_KERNELS_REGISTERS ? in_registers(batch, p) : NULL;
    if (rows && (!ours || registers_first(p))) ours = rows;
    if (ours) {
        if (p.a.layout == MPK_BATCH_POINTERS) p.a.stride = 0;
        return ours(cuda, p, batch->stream);
    }
#if MPKI_PRECISION < 2
    if (kind != MPK_BATCH_KERNELS_SHARED && panel_suits(batch, p))
        return FN(cuda_panel)(cuda, p, batch->stream);
#endif
    if (p.n <= 8) return run<tile8>(cuda, batch->verb, p, batch->stream);
    if (p.n <= 16) return run<tile16>(cuda, batch->verb, p, batch->stream);
    if (p.n <= 32) return run<tile32>(cuda, batch->verb, p, batch->stream);
    return run<tile64>(cuda, batch->verb, p, batch->stream);
}

static bool suits(const mpki_cuda_operand &x) {
    return x.layout != MPK_BATCH_INTERLEAVED && x.ld <= 1 << 24;
}

/* C -= A B, square */
static bool suits(const product_part &p) {
    return p.m == p.n && p.n == p.k && p.alpha == -1 && p.beta == 1 && p.transpose_b == 0 &&
           !p.sizes && !p.d.data && suits(p.a) && suits(p.b) && suits(p.c);
}

mpk_status FN(cuda_batch_product)(mpki_cuda *cuda, const mpki_cuda_batch *batch) {
    product_part p = {};
    p.a = batch->a, p.b = batch->b, p.c = batch->c, p.d = batch->d;
    p.count = batch->count, p.sizes = batch->sizes;
    p.m = batch->rows, p.n = batch->cols, p.k = batch->inner;
    p.transpose_b = batch->transpose_b, p.hermitian = batch->hermitian;
    p.alpha = batch->alpha, p.beta = batch->beta;
    mpki_emitted_product emitted = suits(p) ? FN(cuda_emitted_product)(p.n) : NULL;
    if (emitted) {
        if (p.a.layout == MPK_BATCH_POINTERS) p.a.stride = 0;
        if (p.b.layout == MPK_BATCH_POINTERS) p.b.stride = 0;
        if (p.c.layout == MPK_BATCH_POINTERS) p.c.stride = 0;
        return emitted(cuda, p, batch->stream);
    }
    if (blas_suits(p)) return blas_product<T>(cuda, p, batch->stream);
    const size_t each = product_bytes<T>(p.m, p.n, p.k);
    const size_t has = (cuda->shared_max ? cuda->shared_max : 227 * 1024) - 1024;
    p.columns = p.n;
    /* matrices of few rows take fewer lanes, as long as several blocks fit on a multiprocessor */
    const size_t most = 96 * 1024;
    if (p.m <= 8 && p.n <= 16 && each * tile8::MATRICES <= most)
        return launch<tile8>(cuda, product_kernel<T, tile8>, p, each, batch->stream);
    if (p.m <= 16 && p.n <= 32 && each * tile16::MATRICES <= most)
        return launch<tile16>(cuda, product_kernel<T, tile16>, p, each, batch->stream);
    if (p.m <= 32 && p.n <= 32 && p.k <= 32 && each * tile32::MATRICES <= has)
        return launch<tile32>(cuda, product_kernel<T, tile32>, p, each, batch->stream);
    /* 99 KiB do not hold two matrices of order 64 of double complex */
    while (product_bytes<T>(p.m, p.columns, p.k) > has && p.columns > 4 * tile64::W)
        p.columns = product_ld((p.columns + 1) / 2);
    return launch<tile64>(cuda, product_kernel<T, tile64>, p, product_bytes<T>(p.m, p.columns, p.k),
                          batch->stream);
}
