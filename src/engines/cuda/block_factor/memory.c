/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a factor on blocks on the device, and copies there and back. */
#include "state.h"
#include "engines/cuda/module/transfer.h"

#include <string.h>

static const char STAGE[] = "factorize";

mpk_status mpki_blocks_status(const mpki_blocks *f, int status) {
    return mpki_cuda_status(f->ctx, STAGE, status);
}

void mpki_blocks_give(mpki_blocks *f, mpki_piece *p) {
    f->device->table->give(f->device->cuda, p->at);
    f->held -= p->bytes;
    *p = (mpki_piece){0};
}

/* What may still be taken under options.device_memory_limit; a large number where there is none. */
int64_t mpki_blocks_left(const mpki_blocks *f) {
    const double limit = f->stages->options->device_memory_limit;
    const mpki_matrix *a = f->stages->matrix;
    const int64_t held = f->held + (a ? mpki_cuda_matrix_bytes(a) : 0);
    return limit > 0 && limit < 0x1p62 ? (int64_t)limit - held : INT64_MAX;
}

/* Refuse what is beyond the limit before any of it is taken. */
mpk_status mpki_blocks_check(const mpki_blocks *f, int64_t bytes) {
    if (bytes <= mpki_blocks_left(f)) return MPK_OK;
    return mpki_error(f->ctx, MPK_ERR_MEMORY, STAGE, f->held + bytes,
                      "the factorization needs %.3f GiB of device memory; device_memory_limit is "
                      "%.3f GiB",
                      (double)(f->held + bytes) * 0x1p-30,
                      f->stages->options->device_memory_limit * 0x1p-30);
}

mpk_status mpki_blocks_take(mpki_blocks *f, mpki_piece *p, int64_t bytes) {
    if (p->at && p->bytes >= bytes) return MPK_OK;
    mpki_blocks_give(f, p);
    mpk_status status = mpki_blocks_check(f, bytes);
    if (mpk_failed(status)) return status;
    void *at = NULL;
    status = mpki_blocks_status(f, f->device->table->take(f->device->cuda, bytes, &at));
    if (mpk_failed(status)) return status;
    *p = (mpki_piece){at, bytes};
    f->held += bytes;
    return MPK_OK;
}

/* Copies: a call moves no more than this, for a row of a copy has less than 2^31 bytes. */
enum { COPY_MOST = 1 << 30 };

mpk_status mpki_blocks_copy(const mpki_blocks *f, void *to, const void *from, int64_t bytes,
                            bool to_device) {
    const mpki_cuda_table *t = f->device->table;
    mpk_status status = MPK_OK;
    for (int64_t k = 0; k < bytes && !mpk_failed(status); k += COPY_MOST) {
        const int64_t n = bytes - k < COPY_MOST ? bytes - k : COPY_MOST;
        status = mpki_blocks_status(f, t->copy(f->device->cuda, (char *)to + k, n,
                                               (const char *)from + k, n, n, 1, to_device,
                                               f->job.stream));
    }
    return status;
}

mpk_status mpki_blocks_wait(const mpki_blocks *f) {
    return mpki_blocks_status(f, f->device->table->synchronize(f->device->cuda, f->job.stream));
}

/* An array in a piece: where its address goes, what is sent there (NULL: nothing), and its size.
 * `at` is const in many: the device's kernels only read it. */
typedef struct array {
    void *at;
    const void *from;
    int64_t bytes;
} array;

static int64_t rounded(int64_t bytes) {
    return (bytes + 255) / 256 * 256;
}

int64_t mpki_blocks_bytes_of(const mpki_array *arrays, int count) {
    int64_t bytes = 256;
    for (int k = 0; k < count; k++) bytes += rounded(arrays[k].bytes);
    return bytes;
}

/* Take the piece, and place the arrays in it. */
mpk_status mpki_blocks_lay_out(mpki_blocks *f, mpki_piece *p, const mpki_array *arrays, int count) {
    mpk_status status = mpki_blocks_take(f, p, mpki_blocks_bytes_of(arrays, count));
    int64_t used = 0;
    for (int k = 0; k < count && !mpk_failed(status); k++) {
        char *at = p->at + used;
        memcpy(arrays[k].at, &at, sizeof at);
        used += rounded(arrays[k].bytes);
        if (arrays[k].from) status = mpki_blocks_copy(f, at, arrays[k].from, arrays[k].bytes, true);
    }
    return status;
}

mpk_status mpki_blocks_send(mpki_blocks *f, const void *to, const void *from, int64_t bytes) {
    enum { WORTH_THREADS = 4 << 20 };
    const int threads = f->stages->options->threads;
    mpki_pool *pool = NULL;
    if (threads > 1 && bytes > WORTH_THREADS) {
        pool = mpki_context_pool(f->ctx, threads, 16);
        if (!pool) return mpki_failed(f->ctx);
    }
    return mpki_cuda_send(f->ctx, STAGE, pool, (void *)(uintptr_t)to, from, bytes);
}
