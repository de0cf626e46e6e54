/* SPDX-License-Identifier: BSD-3-Clause */
/* Device memory of approximate inverses: pieces, and reserves that they are parts of. */
#include "make.h"

static mpk_status ask(mpki_isai_job *job, int64_t bytes, mpki_isai_piece *p) {
    void *at = NULL;
    *p = (mpki_isai_piece){0};
    if (job->limit > 0 && (double)(job->bytes + bytes) > job->limit)
        return mpki_error(job->ctx, MPK_ERR_MEMORY, job->stage, job->bytes + bytes,
                          "approximate inverses need %.3f GiB of device memory; "
                          "device_memory_limit is %.3f GiB",
                          (double)(job->bytes + bytes) * 0x1p-30, job->limit * 0x1p-30);
    const mpk_status status =
        mpki_cuda_isai_status(job, job->d->table->alloc(job->d->cuda, bytes, &at));
    if (mpk_failed(status)) return status;
    *p = (mpki_isai_piece){at, bytes};
    job->bytes += bytes;
    return MPK_OK;
}

static bool part_of(mpki_isai_reserve *r, int64_t bytes, mpki_isai_piece *p) {
    if (!r->all.at || mpki_cuda_isai_rounded(bytes) > r->all.bytes - r->used) return false;
    *p = (mpki_isai_piece){r->all.at + r->used, bytes};
    r->used += mpki_cuda_isai_rounded(bytes);
    return true;
}

mpk_status mpki_cuda_isai_take(mpki_isai_job *job, int64_t bytes, mpki_isai_piece *p) {
    for (int k = 0; k < 2; k++)
        if (part_of(&job->held[k], bytes, p)) return MPK_OK;
    return ask(job, bytes, p);
}

mpk_status mpki_cuda_isai_borrow(mpki_isai_job *job, int64_t bytes, mpki_isai_piece *p) {
    return part_of(&job->work, bytes, p) ? MPK_OK : ask(job, bytes, p);
}

/* The reserve that a piece is of; NULL: none. */
static mpki_isai_reserve *reserve_of(mpki_isai_job *job, const mpki_isai_piece *p) {
    mpki_isai_reserve *const all[] = {&job->work, &job->held[0], &job->held[1]};
    for (int k = 0; k < 3; k++) {
        const mpki_isai_piece *r = &all[k]->all;
        if (r->at && p->at >= r->at && p->at < r->at + r->bytes) return all[k];
    }
    return NULL;
}

void mpki_cuda_isai_give(mpki_isai_job *job, mpki_isai_piece *p) {
    if (!p->at) return;
    mpki_isai_reserve *const r = reserve_of(job, p);
    if (!r) {
        job->d->table->release(job->d->cuda, p->at);
        job->bytes -= p->bytes;
    } else if (p->at + mpki_cuda_isai_rounded(p->bytes) == r->all.at + r->used) {
        r->used = p->at - r->all.at; /* else it is lost until the reserve goes */
    }
    *p = (mpki_isai_piece){0};
}

mpk_status mpki_cuda_isai_set_aside(mpki_isai_job *job, int64_t bytes, mpki_isai_reserve *r) {
    r->used = 0;
    return ask(job, bytes, &r->all);
}

void mpki_cuda_isai_give_reserve(mpki_isai_job *job, mpki_isai_reserve *r) {
    mpki_isai_piece all = r->all;
    *r = (mpki_isai_reserve){0};
    mpki_cuda_isai_give(job, &all);
}

void mpki_cuda_isai_give_sparse(mpki_isai_job *job, mpki_isai_sparse *a) {
    mpki_cuda_isai_give(job, &a->pattern);
    mpki_cuda_isai_give(job, &a->values);
    mpki_cuda_isai_give(job, &a->map);
    *a = (mpki_isai_sparse){0};
}

void *mpki_cuda_isai_place(const mpki_isai_piece *p, int64_t *used, int64_t bytes) {
    void *const at = p->at + *used;
    *used += mpki_cuda_isai_rounded(bytes);
    return at;
}
