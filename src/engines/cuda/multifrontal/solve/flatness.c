/* SPDX-License-Identifier: BSD-3-Clause */
/* How nearly A takes a vector to zero, by the values that the device has: verdicts ask that of the
 * same vector after each factorization, so a copy of it stays there. */
#include "refining.h"

/* Have v there. Returns false: there is no memory for it, or *status is a failure. */
static bool bring(const mpki_direct *f, mpki_cuda_refining *z, const void *v, uint64_t stamp,
                  int *status) {
    const mpki_cuda_direct_table *to = f->device->table->direct;
    mpki_cuda *cuda = f->device->cuda;
    const int64_t bytes = f->tree.n * (int64_t)mpk_scalar_size(f->tree.scalar);
    if (z->stamp == stamp) return true;
    z->stamp = 0;
    if (!z->asked.own) {
        if (f->limit > 0 && (double)bytes + (double)mpki_cuda_direct_held(f) > f->limit)
            return false;
        if (mpk_failed(mpki_cuda_vector_room_make(f, bytes, &z->asked))) return false;
    }
    *status = to->copy(cuda, z->asked.at, v, bytes, 1);
    if (!mpk_failed(*status)) *status = to->wait(cuda); /* v may go before the copy has gone */
    if (!mpk_failed(*status)) z->stamp = stamp;
    return !mpk_failed(*status);
}

mpk_status mpki_cuda_direct_flatness(mpki_direct *f, const void *v, uint64_t stamp,
                                     mpki_near_zero *near, bool *told) {
    const bool single = f->tree.scalar == MPK_S || f->tree.scalar == MPK_C;
    const double tiny = 1000.0 * f->tree.n * (single ? 0x1p-24 : 0x1p-53);
    const mpki_cuda_columns one = {.count = 1};
    mpki_cuda *cuda = f->device->cuda;
    const mpki_cuda_refine_kind *kernels = f->device->table->direct->refine[f->tree.scalar];
    mpki_cuda_errors e;
    int status = MPK_OK;
    *told = false;
    mpki_cuda_refining *z = mpki_cuda_refining_take(f, 1);
    if (!z) return MPK_OK;
    if (bring(f, z, v, stamp, &status)) {
        mpki_cuda_refine a = z->a;
        a.report = NULL; /* no kernel concludes */
        status = kernels->clear(cuda, &a, 1);
        if (!mpk_failed(status)) status = kernels->flatness(cuda, &a, &one, tiny, z->asked.at);
        if (!mpk_failed(status)) status = kernels->report_to_host(cuda, &a, 1, &e);
        if (!mpk_failed(status)) *near = mpki_cuda_near(&e);
        *told = !mpk_failed(status) && !isnan(near->rough);
    }
    mpki_cuda_refining_keep(f, z);
    return MPKI_CUDA_DID(f, status) ? MPK_OK : mpki_failed(f->ctx);
}
