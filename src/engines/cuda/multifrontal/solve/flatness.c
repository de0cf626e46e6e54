/* SPDX-License-Identifier: BSD-3-Clause */
/* How nearly A takes a vector to zero, by the values that the device has: verdicts ask that of the
 * same vector after each factorization, so a copy of it stays there. */
#include "refining.h"

static int64_t bytes_of(const mpki_direct *f) {
    return mpki_cuda_padded(f->tree.n * (int64_t)mpk_scalar_size(f->tree.scalar));
}

/* Have room for so many vectors. Returns false: there is no memory for them. */
static bool have_room(const mpki_direct *f, mpki_cuda_refining *z, int vectors) {
    const int64_t bytes = vectors * bytes_of(f);
    if (z->asked.bytes >= bytes) return true;
    z->stamp = 0;
    mpki_cuda_vector_room_leave(f, &z->asked);
    if (f->limit > 0 && (double)bytes + (double)mpki_cuda_direct_held(f) > f->limit) return false;
    return !mpk_failed(mpki_cuda_vector_room_make(f, bytes, &z->asked));
}

/* Between the host and the device; v may change, or go, as soon as that is over. */
static int copy(const mpki_direct *f, void *to, const void *from, bool to_device) {
    const mpki_cuda_direct_table *table = f->device->table->direct;
    const int64_t bytes = f->tree.n * (int64_t)mpk_scalar_size(f->tree.scalar);
    const int status = table->copy(f->device->cuda, to, from, bytes, to_device);
    return mpk_failed(status) ? status : table->wait(f->device->cuda);
}

mpk_status mpki_cuda_direct_flatness(mpki_direct *f, const void *v, uint64_t stamp, void *r,
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
    if (have_room(f, z, r ? 2 : 1)) {
        char *const there = r ? z->asked.at + bytes_of(f) : NULL;
        mpki_cuda_refine a = z->a;
        a.report = NULL; /* no kernel concludes */
        if (stamp == 0 || z->stamp != stamp) status = copy(f, z->asked.at, v, true);
        z->stamp = mpk_failed(status) ? 0 : stamp;
        if (!mpk_failed(status)) status = kernels->clear(cuda, &a, 1);
        if (!mpk_failed(status))
            status = kernels->flatness(cuda, &a, &one, tiny, z->asked.at, there);
        if (!mpk_failed(status)) status = kernels->report_to_host(cuda, &a, 1, &e);
        if (!mpk_failed(status)) *near = mpki_cuda_near(&e);
        *told = !mpk_failed(status) && !isnan(near->rough);
        if (*told && r) status = copy(f, r, there, false);
    }
    mpki_cuda_refining_keep(f, z);
    return MPKI_CUDA_DID(f, status) ? MPK_OK : mpki_failed(f->ctx);
}
