/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows that come and go: the object, and S's row and column for each. */
#include "bordered.h"
#include "../core/floats.h"

#include <stdlib.h>
#include <string.h>

static const char STAGE[] = "bordered";

enum { MOST_PLACES = 32768 };

/* ---- the object ------------------------------------------------------------------------------ */

static mpk_status check_factor(mpk_context *ctx, const mpk_factor *fac) {
    if (!fac || !fac->valid)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "the factor holds no factorization");
    if (mpk_failed(mpki_factor_usable(ctx, STAGE, fac))) return mpki_failed(ctx);
    if (mpk_failed(mpki_factor_whole(ctx, STAGE, fac))) return mpki_failed(ctx);
    if (mpk_failed(mpki_factor_wide(ctx, STAGE, fac))) return mpki_failed(ctx);
    if (mpk_failed(mpki_factor_symmetric(ctx, STAGE, fac, "bordered matrices")))
        return mpki_failed(ctx);
    if (!fac->direct)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "rows are added to a factor of method ldlt, not %s",
                          mpk_method_name(fac->an->options.method));
    if (fac->info.inertia.zero > 0)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, STAGE, fac->info.inertia.zero,
                          "the factor has %lld zero pivots: what a border makes of a singular "
                          "matrix is not seen through its factor. Factorize a matrix with that "
                          "border",
                          (long long)fac->info.inertia.zero);
    return MPK_OK;
}

mpk_status mpk_bordered_create(mpk_context *ctx, const mpk_factor *fac, int32_t capacity,
                               const mpk_options *options, mpk_bordered **out) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!out || *out)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "a place for the new object is needed, which holds NULL");
    if (mpk_failed(check_factor(ctx, fac))) return mpki_failed(ctx);
    if (capacity < 1 || capacity > MOST_PLACES || fac->an->n > INT32_MAX - 8 - capacity)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, capacity,
                          "%d rows that may be added or removed: from 1 to %d", capacity,
                          MOST_PLACES);
    mpk_options full;
    if (mpk_failed(mpki_options_resolve(ctx, options, &full))) return mpki_failed(ctx);
    mpk_bordered *w = MPKI_ZNEW(ctx, STAGE, 1, mpk_bordered);
    if (!w) return mpki_failed(ctx);
    const int64_t square = (int64_t)capacity * capacity;
    w->ctx = ctx;
    w->fac = fac;
    w->made = fac->made;
    w->options = full;
    w->n = fac->an->n;
    w->capacity = capacity;
    w->scalar = fac->an->scalar;
    w->size = mpk_scalar_size(w->scalar);
    w->hermitian = fac->an->symmetry == MPK_HERMITIAN;
    w->place = MPKI_ZNEW(ctx, STAGE, capacity, mpki_change);
    w->place_of = MPKI_NEW(ctx, STAGE, w->n, int32_t);
    w->order = MPKI_NEW(ctx, STAGE, capacity, int32_t);
    w->scale = MPKI_NEW(ctx, STAGE, capacity, double);
    w->c = mpki_calloc(ctx, STAGE, square, w->size);
    w->s = mpki_calloc(ctx, STAGE, square, w->size);
    mpk_dense_init(&w->dense);
    w->dense.scalar = w->scalar;
    w->dense.symmetry = fac->an->symmetry;
    w->dense.threads = 1;
    w->factor.struct_size = sizeof w->factor;
    if (mpk_failed(mpki_failed(ctx))) {
        mpk_bordered_destroy(&w);
        return mpki_failed(ctx);
    }
    for (int32_t i = 0; i < w->n; i++) w->place_of[i] = -1;
    *out = w;
    return MPK_OK;
}

static void clear_place(mpk_bordered *w, int32_t p) {
    mpki_change *b = &w->place[p];
    mpki_release(w->ctx, b->row);
    mpki_release(w->ctx, b->value);
    mpki_release(w->ctx, b->x);
    *b = (mpki_change){0};
}

static void drop_factor(mpk_bordered *w) {
    mpki_release(w->ctx, w->factor.f);
    mpki_release(w->ctx, w->factor.pivots);
    mpki_release(w->ctx, w->factor.extra);
    mpki_release(w->ctx, w->matrix);
    w->factor = (mpk_dense_factor){.struct_size = sizeof w->factor};
    w->matrix = NULL;
    w->factored = false;
}

void mpki_bordered_stale(mpk_bordered *w) {
    drop_factor(w);
    mpki_changed_free(w->ctx, &w->changed);
    mpki_changed_free(w->ctx, &w->whole);
    w->inaccurate = w->examined = false;
    w->certificate = (mpk_certificate){0};
    int32_t k = 0;
    for (int32_t p = 0; p < w->capacity; p++)
        if (w->place[p].kind != MPKI_FREE) w->order[k++] = p;
}

void mpk_bordered_destroy(mpk_bordered **handle) {
    if (!handle || !*handle) return;
    mpk_bordered *w = *handle;
    mpk_context *ctx = w->ctx;
    *handle = NULL;
    for (int32_t p = 0; w->place && p < w->capacity; p++) clear_place(w, p);
    drop_factor(w);
    mpki_changed_free(ctx, &w->changed);
    mpki_changed_free(ctx, &w->whole);
    mpki_release(ctx, w->place);
    mpki_release(ctx, w->place_of);
    mpki_release(ctx, w->order);
    mpki_release(ctx, w->scale);
    mpki_release(ctx, w->c);
    mpki_release(ctx, w->s);
    mpki_release(ctx, w);
}

mpk_status mpki_bordered_check(mpk_context *ctx, const mpk_bordered *w) {
    if (!w) return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "the bordered matrix is NULL");
    if (w->ctx != ctx)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "the bordered matrix was made with another context");
    if (mpk_failed(mpki_factor_usable(ctx, STAGE, w->fac))) return mpki_failed(ctx);
    if (w->fac->made != w->made || !w->fac->valid)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "the factor was factorized anew: begin again with mpk_bordered_create");
    return MPK_OK;
}

void mpk_bordered_info_get(const mpk_bordered *w, mpk_bordered_info *info) {
    if (!info) return;
    *info = (mpk_bordered_info){0};
    if (!w) return;
    const int64_t k = mpki_changes(w), capacity = w->capacity;
    const double read = (double)k * w->n, factor = 2.0 * (double)w->fac->info.nnz; /* by a solve */
    info->added = w->added;
    info->removed = w->removed;
    info->capacity = w->capacity;
    info->refactorize = k == capacity || read > factor || w->inaccurate;
    const int64_t matrices =
        (w->changed.made ? w->changed.a.nnz : 0) + (w->whole.made ? w->whole.a.nnz : 0);
    info->bytes =
        (k * w->n + 2 * capacity * capacity + (w->factored ? 2 * k * k : 0)) * (int64_t)w->size +
        matrices * (int64_t)(w->size + sizeof(int32_t));
    if (!w->factored) return;
    info->inertia = w->fac->info.inertia;
    info->inertia.zero = w->factor.inertia.zero;
    info->inertia.examined = w->examined;
    info->inertia.certified = 0;
    if (w->scalar >= MPK_C && !w->hermitian) return; /* no inertia but the zeros */
    info->inertia.certified = w->examined && w->certificate.certified;
    info->inertia.positive += w->factor.inertia.positive - w->removed;
    info->inertia.negative += w->factor.inertia.negative - w->removed;
}

/* ---- changes --------------------------------------------------------------------------------- */

static int32_t free_place(const mpk_bordered *w) {
    for (int32_t p = 0; p < w->capacity; p++)
        if (w->place[p].kind == MPKI_FREE) return p;
    return -1;
}

static mpk_status no_place(const mpk_bordered *w) {
    return mpki_error(w->ctx, MPK_ERR_SIZE, STAGE, w->capacity,
                      "%d rows are added or removed, and there is place for no more: factorize the "
                      "changed matrix",
                      w->capacity);
}

static bool is_row(const mpk_bordered *w, int32_t index) {
    if (index < 0 || index >= mpki_all_rows(w)) return false;
    return index < w->n || w->place[index - w->n].kind == MPKI_ADDED;
}

/* A^-1 of the column at this place, which becomes part of S. */
static mpk_status take_in(mpk_bordered *w, int32_t p) {
    mpki_change *b = &w->place[p];
    mpki_application m;
    mpk_status status = mpki_apply_make(w->ctx, w->fac, mpki_factor_threads(w->fac), 1, &m);
    if (mpk_failed(status)) return status;
    status = mpki_apply(&m, MPK_PART_ALL, 1, b->x, w->n, b->x, w->n);
    mpki_apply_free(&m);
    if (!mpk_failed(status) && mpki_first_nonfinite(w->scalar, w->n, b->x) >= 0)
        status = mpki_error(w->ctx, MPK_ERR_NUMERIC, STAGE, -1,
                            "the factor's solution with the new column overflows");
    if (mpk_failed(status)) return status;
    MPKI_DISPATCH(w->scalar, bordered_corner)(w, p);
    return MPK_OK;
}

static char *entry_of(const mpk_bordered *w, void *square, int32_t i, int32_t j) {
    return (char *)square + (i + (int64_t)j * w->capacity) * (int64_t)w->size;
}

/* The conjugate of what stands at x, where A is Hermitian. */
static void mirror(const mpk_bordered *w, void *x) {
    if (!w->hermitian) return;
    if (w->scalar == MPK_C) ((float *)x)[1] = -((float *)x)[1];
    if (w->scalar == MPK_Z) ((double *)x)[1] = -((double *)x)[1];
}

static void clear_corner(mpk_bordered *w, int32_t p) {
    for (int32_t q = 0; q < w->capacity; q++) {
        memset(entry_of(w, w->c, p, q), 0, w->size);
        memset(entry_of(w, w->c, q, p), 0, w->size);
        memset(entry_of(w, w->s, p, q), 0, w->size);
        memset(entry_of(w, w->s, q, p), 0, w->size);
    }
}

/* Something failed on the way: the place is free, as it was. */
static mpk_status undo(mpk_bordered *w, int32_t p, mpk_status status) {
    clear_corner(w, p);
    clear_place(w, p);
    return status;
}

static mpk_status check_entries(const mpk_bordered *w, int32_t count, const int32_t *row,
                                const void *value, const void *diagonal) {
    mpk_context *ctx = w->ctx;
    if (count < 0 || (count > 0 && (!row || !value)))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, count,
                          "%d entries: rows and values must not be NULL, nor their number negative",
                          count);
    for (int32_t k = 0; k < count; k++)
        if (!is_row(w, row[k]))
            return mpki_error(ctx, MPK_ERR_INPUT, STAGE, k, "entry %d: %d is no row", k, row[k]);
    const int64_t bad = mpki_first_nonfinite(w->scalar, count, value);
    if (bad >= 0)
        return mpki_error(ctx, MPK_ERR_INPUT, STAGE, bad, "entry %lld is NaN or infinite",
                          (long long)bad);
    if (diagonal && mpki_first_nonfinite(w->scalar, 1, diagonal) >= 0)
        return mpki_error(ctx, MPK_ERR_INPUT, STAGE, -1, "the diagonal entry is NaN or infinite");
    return MPK_OK;
}

/* An entry of the list, to be sorted. */
typedef struct listed {
    int32_t row, from;
} listed;

static int by_row(const void *x, const void *y) {
    const int32_t a = ((const listed *)x)->row, b = ((const listed *)y)->row;
    return (a > b) - (a < b);
}

/* The entries into place p, those in rows of A sorted, others into the corner. */
static mpk_status put_entries(mpk_bordered *w, int32_t p, int32_t count, const int32_t *row,
                              const char *value) {
    mpk_context *ctx = w->ctx;
    mpki_change *b = &w->place[p];
    listed *list = MPKI_NEW(ctx, STAGE, count + 1, listed);
    b->row = MPKI_NEW(ctx, STAGE, count + 1, int32_t);
    b->value = mpki_alloc(ctx, STAGE, count + 1, w->size);
    b->x = mpki_calloc(ctx, STAGE, w->n, w->size);
    mpk_status status = mpki_failed(ctx);
    for (int32_t k = 0; list && k < count; k++) list[k] = (listed){row[k], k};
    if (!mpk_failed(status)) qsort(list, (size_t)count, sizeof *list, by_row);
    for (int32_t k = 0; k < count && !mpk_failed(status); k++) {
        const int32_t i = list[k].row;
        const char *from = value + list[k].from * (int64_t)w->size;
        if (k > 0 && i == list[k - 1].row) {
            status = mpki_error(ctx, MPK_ERR_INPUT, STAGE, list[k].from,
                                "entry %d: row %d stands twice", list[k].from, i);
        } else if (i < w->n) {
            b->row[b->count] = i;
            memcpy((char *)b->value + b->count++ * (int64_t)w->size, from, w->size);
            memcpy((char *)b->x + i * (int64_t)w->size, from, w->size);
        } else {
            char *below = entry_of(w, w->c, p, i - w->n);
            memcpy(entry_of(w, w->c, i - w->n, p), from, w->size);
            memcpy(below, from, w->size);
            mirror(w, below);
        }
    }
    mpki_release(ctx, list);
    return status;
}

mpk_status mpk_bordered_add(mpk_context *ctx, mpk_bordered *w, int32_t count, const int32_t *row,
                            const void *value, const void *diagonal, int32_t *index) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (mpk_failed(mpki_bordered_check(ctx, w))) return mpki_failed(ctx);
    if (!index) return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "where is the index to go?");
    mpk_status status = check_entries(w, count, row, value, diagonal);
    if (mpk_failed(status)) return status;
    const int32_t p = free_place(w);
    if (p < 0) return no_place(w);
    status = put_entries(w, p, count, row, value);
    if (!mpk_failed(status)) {
        w->place[p].kind = MPKI_ADDED;
        if (diagonal) memcpy(entry_of(w, w->c, p, p), diagonal, w->size);
        if (w->hermitian) memset(entry_of(w, w->c, p, p) + w->size / 2, 0, w->size / 2);
        status = take_in(w, p);
    }
    if (mpk_failed(status)) return undo(w, p, status);
    w->added++;
    mpki_bordered_stale(w);
    *index = w->n + p;
    return MPK_OK;
}

/* 1, of the factor's scalar type */
static void put_one(mpk_scalar scalar, void *x) {
    if (scalar == MPK_S || scalar == MPK_C)
        *(float *)x = 1;
    else
        *(double *)x = 1;
}

static mpk_status remove_row(mpk_bordered *w, int32_t row) {
    const int32_t p = free_place(w);
    if (p < 0) return no_place(w);
    mpki_change *b = &w->place[p];
    b->x = mpki_calloc(w->ctx, STAGE, w->n, w->size);
    if (!b->x) return mpki_failed(w->ctx);
    put_one(w->scalar, (char *)b->x + row * (int64_t)w->size);
    b->kind = MPKI_REMOVED;
    b->removed = row;
    const mpk_status status = take_in(w, p);
    if (mpk_failed(status)) return undo(w, p, status);
    w->place_of[row] = p;
    w->removed++;
    mpki_bordered_stale(w);
    return MPK_OK;
}

static void empty(mpk_bordered *w, int32_t p) {
    clear_corner(w, p);
    clear_place(w, p);
    mpki_bordered_stale(w);
}

mpk_status mpk_bordered_remove(mpk_context *ctx, mpk_bordered *w, int32_t index) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (mpk_failed(mpki_bordered_check(ctx, w))) return mpki_failed(ctx);
    if (!is_row(w, index) || (index < w->n && w->place_of[index] >= 0))
        return mpki_error(ctx, MPK_ERR_INPUT, STAGE, index, "%d is no row now", index);
    if (index < w->n) return remove_row(w, index);
    w->added--;
    empty(w, index - w->n);
    return MPK_OK;
}

mpk_status mpk_bordered_restore(mpk_context *ctx, mpk_bordered *w, int32_t index) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (mpk_failed(mpki_bordered_check(ctx, w))) return mpki_failed(ctx);
    if (index < 0 || index >= w->n || w->place_of[index] < 0)
        return mpki_error(ctx, MPK_ERR_INPUT, STAGE, index, "%d is no removed row", index);
    const int32_t p = w->place_of[index];
    w->place_of[index] = -1;
    w->removed--;
    empty(w, p);
    return MPK_OK;
}
