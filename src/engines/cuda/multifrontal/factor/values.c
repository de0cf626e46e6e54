/* SPDX-License-Identifier: BSD-3-Clause */
/* Values as a caller has them, in the device's memory or copied there: brought into the order of the
 * lower triangle, and scaled, without a loop on the host. What it needs of the pattern is made with
 * the first of them and kept. */
#include "../state.h"

#include <string.h>

static const char STAGE[] = "factorize";

struct mpki_cuda_taking {
    void *memory;                      /* device: all of it */
    double *other;                     /* n: work space of the scaling */
    double *matched;                   /* n: the analysis' scaling; NULL: it has none */
    int32_t *flags;                    /* MPKI_CUDA_SCALE_FLAGS */
    int32_t turn;                      /* how often values were taken */
    int32_t extra;                     /* sweeps beyond those asked for that values before needed */
    bool more;                         /* the last ones needed more than were queued */
    mpki_cuda_long_row *rows;          /* of the pattern's long rows */
    int32_t *lower, *upper, *diagonal; /* as mpki_cuda_given has them, or NULL */
    const void *place;                 /* the caller's order that they are for */
    const double *scale;               /* the scaling that `matched` is */
    int64_t bytes;                     /* of `memory` */
};

static void release(const mpki_direct *f, struct mpki_cuda_taking *z) {
    if (!z) return;
    if (z->memory) f->device->table->release(f->device->cuda, z->memory);
    mpki_release(f->ctx, z);
}

int64_t mpki_cuda_direct_taking_held(const mpki_direct *f) {
    return f->taking ? f->taking->bytes : 0;
}

void mpki_cuda_direct_drop_taking(mpki_direct *f) {
    release(f, f->taking);
    f->taking = NULL;
    f->taken = f->has_begun = false;
}

/* Where each entry is among the caller's values: lower, upper [out] nnz. Returns false where
 * several meet in one place of a triangle. */
static bool find_sources(const mpki_given_view *given, int64_t nnz, int32_t *lower,
                         int32_t *upper) {
    for (int64_t k = 0; k < nnz; k++) lower[k] = upper[k] = -1;
    for (int64_t k = 0; k < given->count; k++) {
        const int64_t place =
            given->wide ? ((const int64_t *)given->place)[k] : ((const int32_t *)given->place)[k];
        if (place == -1) continue;
        int32_t *to = place >= 0 ? &lower[place] : &upper[-2 - place];
        if (*to >= 0) return false;
        *to = (int32_t)k;
    }
    for (int64_t k = 0; k < nnz; k++)
        if (lower[k] < 0 && upper[k] < 0) return false;
    return true;
}

static void find_diagonal(const mpki_tree_view *a, int32_t *diagonal) {
    for (int32_t j = 0; j < a->n; j++) {
        const int64_t k = a->ap[j];
        diagonal[j] = k < a->ap[j + 1] && a->ai[k] == j ? (int32_t)k : -1;
    }
}

/* Memory on the device and what does not depend on values. NULL: there is none, or the order is not
 * a plain one, which is no error. */
static struct mpki_cuda_taking *make(const mpki_direct *f, const mpki_given_view *given,
                                     int32_t longs) {
    const mpki_device *d = f->device;
    const int64_t n = f->tree.n, nnz = f->tree.nnz, word = sizeof(int32_t);
    const bool mapped = given->place != NULL, hermitian = f->tree.symmetry == MPK_HERMITIAN;
    int32_t *lists = mpki_alloc(f->ctx, STAGE, (mapped ? 2 * nnz : 0) + n + 1, sizeof *lists);
    struct mpki_cuda_taking *z = mpki_calloc(f->ctx, STAGE, 1, sizeof *z);
    int32_t *const diagonal = lists ? lists + (mapped ? 2 * nnz : 0) : NULL;
    bool there = z && lists && (!mapped || find_sources(given, nnz, lists, lists + nnz));
    if (there && hermitian) find_diagonal(&f->tree, diagonal);
    const struct {
        const void *from;
        int64_t bytes;
    } part[] = {{NULL, n * 8},
                {given->scale, given->scale ? n * 8 : 0},
                {NULL, MPKI_CUDA_SCALE_FLAGS * word},
                {lists, mapped ? nnz * word : 0},
                {lists && mapped ? lists + nnz : NULL, mapped ? nnz * word : 0},
                {diagonal, hermitian ? n * word : 0},
                {NULL, longs * (int64_t)sizeof(mpki_cuda_long_row)}};
    enum { PARTS = sizeof part / sizeof *part };
    char *at[PARTS], *next = NULL;
    int64_t bytes = 0;
    for (int k = 0; k < PARTS; k++) bytes += (part[k].bytes + 255) & ~(int64_t)255;
    there = there && !(f->limit > 0 && (double)bytes + (double)mpki_cuda_direct_held(f) > f->limit);
    if (there && mpk_failed(d->table->alloc(d->cuda, bytes, &z->memory))) z->memory = NULL;
    there = there && z->memory;
    if (there) next = z->memory, z->bytes = bytes;
    for (int k = 0; there && k < PARTS; k++) {
        at[k] = part[k].bytes > 0 ? next : NULL, next += (part[k].bytes + 255) & ~(int64_t)255;
        if (part[k].from && part[k].bytes > 0)
            there =
                !mpk_failed(d->table->direct->copy(d->cuda, at[k], part[k].from, part[k].bytes, 1));
    }
    there = there &&
            !mpk_failed(d->table->direct->clear(d->cuda, at[PARTS - 1], part[PARTS - 1].bytes)) &&
            !mpk_failed(d->table->direct->clear(d->cuda, at[2], part[2].bytes)) &&
            !mpk_failed(d->table->direct->wait(d->cuda));
    mpki_release(f->ctx, lists);
    if (!there) {
        release(f, z);
        return NULL;
    }
    z->other = (double *)(void *)at[0], z->matched = (double *)(void *)at[1];
    z->flags = (int32_t *)(void *)at[2], z->lower = (int32_t *)(void *)at[3];
    z->upper = (int32_t *)(void *)at[4], z->diagonal = (int32_t *)(void *)at[5];
    z->rows = (mpki_cuda_long_row *)(void *)at[6];
    z->place = given->place, z->scale = given->scale;
    return z;
}

/* Where the given values are, or a copy of those of the host: in what is idle between factorizations,
 * where nothing is kept then, or in memory of its own, *own [out]. NULL: there is none for it, or a
 * recorded failure. */
static const void *values_there(mpki_direct *f, const mpki_given_view *given, void **own) {
    const mpki_device *d = f->device;
    const int64_t bytes = given->count * (int64_t)mpk_scalar_size(f->tree.scalar);
    void *to = f->idle;
    *own = NULL;
    if (d->table->is_device(d->cuda, given->values)) return given->values;
    if (f->idle && bytes <= f->idle_bytes) {
        atomic_store(&f->squared, false);
        atomic_store(&f->half_copied, false);
    } else {
        if (f->limit > 0 && (double)bytes + (double)mpki_cuda_direct_held(f) > f->limit)
            return NULL;
        if (mpk_failed(d->table->take(d->cuda, bytes, own))) *own = NULL;
        if (!*own) return NULL;
        to = *own;
    }
    return MPKI_CUDA_DID(f, d->table->direct->copy(d->cuda, to, given->values, bytes, 1)) ? to
                                                                                          : NULL;
}

mpk_status mpki_cuda_direct_take(mpki_direct *f, const mpki_given_view *given,
                                 const mpki_cuda_beginning *next,
                                 mpk_status (*tasks)(mpki_direct *), bool *taken) {
    const mpki_tree_view *tree = &f->tree;
    mpki_cuda *cuda = f->device->cuda;
    void *own;
    *taken = f->taken = f->has_begun = false;
    /* the first numbers of a factor come from the host, and make the memory for later ones */
    if (!f->planned || tree->n == 0 || tree->nnz > INT32_MAX || given->count > INT32_MAX ||
        given->sweeps > MPKI_CUDA_SCALE_ASKED)
        return MPK_OK;
    if (f->taking && (f->taking->place != given->place || f->taking->scale != given->scale))
        mpki_cuda_direct_drop_taking(f);
    const mpki_cuda_by_rows *rows = mpki_cuda_direct_rows(f);
    if (rows && !f->taking) f->taking = make(f, given, rows->longs);
    if (!rows || !f->taking) return MPK_OK;
    struct mpki_cuda_taking *z = f->taking;
    const void *values = values_there(f, given, &own);
    const mpki_cuda_given a = {.given = given->count,
                               .nnz = tree->nnz,
                               .n = tree->n,
                               .hermitian = tree->symmetry == MPK_HERMITIAN,
                               .values = values,
                               .lower = z->lower,
                               .upper = z->upper,
                               .diagonal = z->diagonal};
    z->turn = z->turn == INT32_MAX ? 1 : z->turn + 1;
    const mpki_cuda_scaling how = {.a = *rows,
                                   .sweeps = given->sweeps,
                                   .extra = z->extra,
                                   .turn = z->turn,
                                   .flags = z->flags,
                                   .from = z->matched,
                                   .rows = z->rows,
                                   .other = z->other,
                                   .perm = f->perm,
                                   .scale = f->given_scale,
                                   .by_position = (double *)(uintptr_t)f->on.scale};
    const mpki_cuda_values_kind *kind = f->device->table->direct->values[tree->scalar];
    int32_t odd = 1, more = 0, took = 0, ticket = 0;
    /* a copy may lie where the next factorization's contributions go, and more sweeps read it again */
    if (values != given->values) next = NULL;
    const bool did =
        values && MPKI_CUDA_DID(f, kind->bring(cuda, &a, &how, f->ax, next, &ticket)) &&
        (!next || !mpk_failed(tasks(f))) &&
        MPKI_CUDA_DID(f, kind->brought(cuda, &a, &how, f->ax, ticket, &odd, &more, &took));
    if (own) f->device->table->give(cuda, own);
    if (!did) {
        f->valid = f->valid && !next;
        return mpki_failed(f->ctx);
    }
    if (z->more && took > z->extra) z->extra = took;
    z->more = more;
    if (odd) return MPK_OK;
    *taken = f->taken = true;
    f->first = true;
    f->has_begun = next && !more;
    f->valid = f->valid && !f->has_begun;
    return MPK_OK;
}

mpk_status mpki_cuda_direct_give(const mpki_direct *f, void *ax, double *scale) {
    const mpki_cuda_direct_table *to = f->device->table->direct;
    mpki_cuda *cuda = f->device->cuda;
    const int64_t n = f->tree.n, size = (int64_t)mpk_scalar_size(f->tree.scalar);
    if ((ax && !MPKI_CUDA_DID(f, to->copy(cuda, ax, f->ax, f->tree.nnz * size, 0))) ||
        (scale && !MPKI_CUDA_DID(f, to->copy(cuda, scale, f->given_scale, n * 8, 0))) ||
        !MPKI_CUDA_DID(f, to->wait(cuda)))
        return mpki_failed(f->ctx);
    return MPK_OK;
}
