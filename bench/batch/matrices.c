/* SPDX-License-Identifier: BSD-3-Clause */
/* The matrices of a row, on the host and in device memory. */
#include "../../src/core/random.h"
#include "rows.h"

static uint64_t state = 1;
static double uniform(void) {
    return mpki_random_signed(&state);
}

static void put(const bench *b, void *x, int64_t k, double re, double im) {
    if (b->scalar == MPK_S) ((float *)x)[k] = (float)re;
    if (b->scalar == MPK_D) ((double *)x)[k] = re;
    if (b->scalar == MPK_C) ((float *)x)[2 * k] = (float)re, ((float *)x)[2 * k + 1] = (float)im;
    if (b->scalar == MPK_Z) ((double *)x)[2 * k] = re, ((double *)x)[2 * k + 1] = im;
}

/* Entry `to` of the host's matrices: the conjugate of entry `from`. */
static void mirror(const bench *b, int64_t to, int64_t from) {
    const double complex x = get(b, b->host, from);
    put(b, b->host, to, creal(x), -cimag(x));
}

void *row_take(bench *b, size_t bytes) {
    void *p = b->room + b->room_used;
    b->room_used += (bytes + 255) / 256 * 256;
    if (b->room_used > b->room_bytes) exit(6);
    return p;
}

static void need(bench *b) {
    const int copies = 5 + (has_queue(b) ? QUEUE : 0);
    const size_t lists = (size_t)b->count * (sizeof(void *) * (1 + QUEUE) + 12 * (size_t)b->n + 4);
    const size_t bytes = (size_t)copies * ((size_t)b->total * size_of(b) + 256) + lists + 65536;
    b->room_used = 0;
    if (bytes <= b->room_bytes) return;
    NEED(cudaFree(b->room));
    b->room_bytes = bytes / 4 * 5;
    NEED(cudaMalloc((void **)&b->room, b->room_bytes));
}

/* The first ones, then copies of what is there. */
static void send(bench *b, void *to) {
    const size_t all = (size_t)b->total * size_of(b);
    size_t have = (size_t)(b->different * b->each) * size_of(b);
    have = have < all ? have : all;
    NEED(cudaMemcpy(to, b->host, have, cudaMemcpyHostToDevice));
    while (have < all) {
        const size_t more = have < all - have ? have : all - have;
        NEED(cudaMemcpy((char *)to + have, to, more, cudaMemcpyDeviceToDevice));
        have += more;
    }
}

/* Pointers to matrices from `data` on, in device memory. */
void **row_pointers(bench *b, void *data) {
    void **p = malloc((size_t)b->count * sizeof *p),
         **there = row_take(b, (size_t)b->count * sizeof *p);
    for (int64_t k = 0; k < b->count; k++) p[k] = (char *)data + (size_t)(k * b->each) * size_of(b);
    NEED(cudaMemcpy(there, p, (size_t)b->count * sizeof *p, cudaMemcpyHostToDevice));
    free(p);
    return there;
}

void row_make(bench *b) {
    const int n = b->n, general = starts(b, "ldu");
    const int strong = starts(b, "llt") ||
                       (starts(b, "l") && pivoting_of(b) == MPK_PIVOTING_NONE) ||
                       (starts(b, "solve") && pivoting_of(b) < MPK_PIVOTING_PARTIAL);
    b->each = (int64_t)n * n + (is(b->layout, "gaps") ? 4 : 0);
    b->total = (b->count + 31) / 32 * 32 * b->each;
    b->different = (b->count + 31) / 32 * 32;
    if (follows(b) && b->different > DIFFERENT) b->different = DIFFERENT;
    b->host = malloc((size_t)(b->different * b->each) * size_of(b));
    for (int64_t k = 0; k < b->different * b->each; k++) put(b, b->host, k, 0, 0);
    for (int64_t k = 0; k < b->different && k < b->count; k++)
        for (int j = 0; j < n; j++)
            for (int i = j; i < n; i++) {
                const double x = i == j && strong ? 2 * n + uniform() : uniform();
                put(b, b->host, at(b, k, i, j), x, i == j ? 0 : uniform());
                mirror(b, at(b, k, j, i), at(b, k, i, j));
                if (general) put(b, b->host, at(b, k, j, i), i == j ? x : uniform(), uniform());
            }
    need(b);
    void **all[] = {&b->first, &b->a, &b->b, &b->c};
    for (int k = 0; k < 4; k++) *all[k] = row_take(b, (size_t)b->total * size_of(b));
    send(b, b->first);
    if (!starts(b, "l")) send(b, b->b);
    b->pivots = row_take(b, (size_t)(b->count * n * 2) * 4);
    b->other_pivots = row_take(b, (size_t)(b->count * n) * 4);
    b->outcome = row_take(b, (size_t)b->count * 4);
    b->pointers = row_pointers(b, b->a);
    b->host_outcome = malloc((size_t)b->count * 4);
    b->sizes = malloc((size_t)b->count * 4);
    for (int64_t k = 0; k < b->count; k++) b->sizes[k] = order_of(b, k);
}

void row_drop(bench *b) {
    free(b->host), free(b->host_outcome), free(b->sizes);
}

void row_renew(bench *b, const void *from) {
    NEED(cudaMemcpyAsync(b->a, from, (size_t)b->total * size_of(b), cudaMemcpyDeviceToDevice,
                         b->stream));
    if (starts(b, "solve"))
        NEED(cudaMemcpyAsync(b->c, b->b, (size_t)(b->count * b->n) * size_of(b),
                             cudaMemcpyDeviceToDevice, b->stream));
}
