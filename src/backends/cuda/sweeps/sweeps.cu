/* SPDX-License-Identifier: BSD-3-Clause */
/* Triangular solves with a factor on blocks: the module's table for them. */
#include "launches.cuh"

#include "pack.cuh"

using namespace mpki;

static const mpki_sweeps_launches *const kinds[] = {
    &mpki_s_sweeps_launches, &mpki_d_sweeps_launches, &mpki_c_sweeps_launches,
    &mpki_z_sweeps_launches};

static int order(mpki_cuda *cuda, const mpki_cuda_packing *p) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    if (p->store->m == 0) return MPK_OK;
    MPKI_LAUNCH(order_kernel, (p->store->m + 3) / 4, 128, 0, cuda->sparse, *p->store, p->slot,
                p->order);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int pack(mpki_cuda *cuda, const mpki_cuda_packing *p, int pass) {
    return kinds[p->store->scalar]->pack(cuda, p, pass);
}

static int pivots(mpki_cuda *cuda, const mpki_cuda_packing *p) {
    return kinds[p->store->scalar]->pivots(cuda, p);
}

static int warps(mpki_cuda *cuda, mpk_scalar scalar, int32_t nrhs, int32_t *count) {
    return kinds[scalar]->warps(cuda, nrhs, count);
}

static int run(mpki_cuda *cuda, const mpki_sweeps_run *r) {
    return kinds[r->scalar]->run(cuda, r);
}

static int in(mpki_cuda *cuda, const mpki_sweeps_move *m) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    return kinds[m->stored]->in(cuda, m);
}

static int out(mpki_cuda *cuda, const mpki_sweeps_move *m) {
    return kinds[m->stored]->out(cuda, m);
}

static int scale(mpki_cuda *cuda, const mpki_sweeps_move *m, const void *diagonal,
                 const int8_t *partner) {
    return kinds[m->stored]->scale(cuda, m, diagonal, partner);
}

static int set(mpki_cuda *cuda, void *p, int byte, int64_t bytes) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    if (bytes > 0) MPKI_TRY(cudaMemsetAsync(p, byte, (size_t)bytes, cuda->sparse));
    return MPK_OK;
}

static int wait(mpki_cuda *cuda, mpk_scalar scalar, void *p, int64_t entries) {
    return kinds[scalar]->wait(cuda, p, entries);
}

static void *stream(mpki_cuda *cuda) {
    return (void *)cuda->sparse;
}

extern "C" const mpki_cuda_sweeps_table mpki_cuda_sweeps_functions = {
    order, pack, pivots, warps, run, in, out, scale, set, wait, stream};
