/* SPDX-License-Identifier: BSD-3-Clause */
/* The object: an approximate inverse of a matrix given by columns, made and brought up to date. */
#include "../core/floats.h"
#include "../core/lock.h"
#include "config.h"
#include "object.h"

#include <string.h>

static const char STAGE[] = "isai";

void mpk_isai_options_init(mpk_isai_options *options) {
    if (!options) return;
    *options = (mpk_isai_options){.struct_size = sizeof *options, .power = 1, .block = 1};
}

mpk_status mpki_isai_usable(mpk_context *ctx, const mpk_isai *s, bool own) {
    if (s->forks != mpki_forks() && s->there)
        return mpki_error(ctx, MPK_ERR_DEVICE, STAGE, -1,
                          "the approximate inverse is on a device of the process that this one was "
                          "forked from, and no device follows a fork");
    if (s->forks != mpki_forks() && s->at_work)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "another thread was changing the approximate inverse when the process "
                          "forked: there are no numbers here");
    if (s->ctx != ctx && (own || s->there))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "the approximate inverse was made with another context");
    return MPK_OK;
}

void mpk_isai_destroy(mpk_isai **handle) {
    mpk_isai *s = handle ? *handle : NULL;
    if (!s) return;
    mpk_context *ctx = s->ctx;
    *handle = NULL;
    if (mpk_failed(mpki_isai_usable(NULL, s, false)) && s->forks != mpki_forks()) return;
    if (s->engine) s->engine->free(ctx, &s->there);
    mpki_sparse_free(ctx, &s->given);
    mpki_sparse_free(ctx, &s->a);
    mpki_sparse_free(ctx, &s->a_rows);
    mpki_sparse_free(ctx, &s->m);
    mpki_sparse_free(ctx, &s->m_rows);
    mpki_release(ctx, s->cut);
    mpki_release(ctx, s->dinv);
    mpki_release(ctx, s->failed);
    mpki_release(ctx, s->work);
    mpki_release(ctx, s);
}

/* NULL: threads are not woken for so few entries. */
static mpki_pool *pool_for(mpk_context *ctx, int threads, int64_t entries) {
    enum { WORTH = 1 << 14 };
    return threads < 2 || entries < WORTH ? NULL : mpki_context_pool(ctx, threads, 16);
}

mpki_pool *mpki_isai_pool(mpk_context *ctx, const mpk_isai *s) {
    return pool_for(ctx, s->options.threads, s->given.ptr ? s->given.ptr[s->n] : 0);
}

/* ---- what is given --------------------------------------------------------------------------- */

static mpk_status bad_option(mpk_context *ctx, const char *text) {
    return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "%s", text);
}

static mpk_status check_options(mpk_context *ctx, const mpk_isai_options *given,
                                mpk_isai_options *o) {
    mpk_isai_options_init(o);
    if (given) {
        if (given->struct_size < sizeof given->struct_size || given->struct_size > 4096)
            return bad_option(ctx, "options were not set up by mpk_isai_options_init()");
        memcpy(o, given, given->struct_size < sizeof *o ? given->struct_size : sizeof *o);
        o->struct_size = sizeof *o;
    }
    if ((unsigned)o->kind > MPK_ISAI_DEFINITE) return bad_option(ctx, "there is no such kind");
    if ((unsigned)o->source > MPK_ISAI_GIVEN) return bad_option(ctx, "there is no such source");
    if ((unsigned)o->over > MPK_ISAI_LARGEST) return bad_option(ctx, "over has no such value");
    if ((unsigned)o->precision > MPK_PRECISION_SINGLE)
        return bad_option(ctx, "there is no such precision");
    if (o->power < 0 || o->block < 1 || o->limit < 0 || o->relax < 0 || o->threads < 0 ||
        o->threads > MPKI_THREADS_MOST)
        return bad_option(ctx,
                          "power, limit, relax or threads is below 0, block below 1, or threads "
                          "above 1024");
    if ((unsigned)o->memory > MPK_DEVICE || o->device < 0)
        return bad_option(ctx, "there is no such memory, or device is below 0");
    if (!o->ptr != !o->row) return bad_option(ctx, "a pattern needs both ptr and row");
    if (o->source == MPK_ISAI_GIVEN && !o->ptr) return bad_option(ctx, "no pattern is given");
    if (o->threads == 0) o->threads = mpki_threads_default();
    return MPK_OK;
}

/* ---- M --------------------------------------------------------------------------------------- */

static mpk_status compute(mpk_context *ctx, mpki_pool *pool, const void *val, mpk_isai *s) {
    /* the caller's values are only read */
    const mpki_sparse a = {s->given.ptr, s->given.index, (void *)(uintptr_t)val};
    if (mpki_isai_is_triangle(s)) {
        const bool upper = s->options.kind == MPK_ISAI_UPPER;
        const mpki_isai_columns c = {.ctx = ctx,
                                     .scalar = s->scalar,
                                     .n = s->n,
                                     .upper = upper,
                                     .a = &a,
                                     .begin = upper ? NULL : s->cut,
                                     .end = upper ? s->cut : NULL,
                                     .dinv = s->dinv,
                                     .m = &s->m};
        return mpki_isai_invert(pool, &c);
    }
    const size_t size = mpk_scalar_size(s->scalar);
    if (!s->m.val) s->m.val = mpki_alloc(ctx, STAGE, s->m.ptr[s->n], size);
    if (!s->failed) s->failed = MPKI_ZNEW(ctx, STAGE, s->n, unsigned char);
    if (!s->m.val || !s->failed) return mpki_failed(ctx);
    const mpki_isai_small c = {.ctx = ctx,
                               .scalar = s->scalar,
                               .n = s->n,
                               .definite = s->options.kind == MPK_ISAI_DEFINITE,
                               .a = &a,
                               .s = &s->m,
                               .diagonal = s->dinv,
                               .val = s->m.val,
                               .failed = s->failed};
    return mpki_isai_solve_small(pool, &c);
}

/* Small systems that had no solution. */
static mpk_status count_failures(mpk_context *ctx, mpk_isai *s) {
    s->info.fallbacks = 0;
    s->info.first_fallback = -1;
    for (int32_t j = 0; s->failed && j < s->n; j++) {
        if (s->failed[j] == 2)
            return mpki_error(ctx, MPK_ERR_NUMERIC, STAGE, j,
                              "column %d of the approximate inverse is not finite", j + 1);
        if (!s->failed[j]) continue;
        if (s->info.fallbacks++ == 0) s->info.first_fallback = j;
    }
    return MPK_OK;
}

static int64_t sparse_bytes(const mpk_isai *s, const mpki_sparse *a, bool single) {
    const int64_t size = (int64_t)mpk_scalar_size(s->scalar) / (single ? 2 : 1);
    if (!a->ptr) return 0;
    return ((int64_t)s->n + 1) * (int64_t)sizeof *a->ptr +
           a->ptr[s->n] * ((int64_t)sizeof *a->index + (a->val ? size : 0));
}

/* Both orders of M, in the precision wanted; what relaxation needs of A; nothing else. With other
 * values of the same pattern the transposes keep theirs. */
static mpk_status settle(mpk_context *ctx, mpki_pool *pool, const void *val, mpk_isai *s) {
    const size_t size = mpk_scalar_size(s->scalar);
    if (s->single) { /* those values have another size */
        mpki_release(ctx, s->m_rows.val);
        s->m_rows.val = NULL;
    }
    mpk_status status = mpki_sparse_turn(ctx, pool, s->n, size, &s->m, &s->m_rows);
    for (int k = 0; k < 2 && s->single && !mpk_failed(status); k++) {
        mpki_sparse *m = k ? &s->m_rows : &s->m;
        void *single = NULL;
        status = mpki_isai_to_single(ctx, s->scalar, m->ptr[s->n], m->val, &single);
        if (mpk_failed(status)) break;
        mpki_release(ctx, m->val);
        m->val = single;
    }
    if (!mpk_failed(status) && s->options.relax > 0)
        status = mpki_isai_keep_matrix(ctx, pool, val, s);
    if (!mpk_failed(status) && s->options.relax > 0)
        status = mpki_sparse_turn(ctx, pool, s->n, size, &s->a, &s->a_rows);
    mpki_release(ctx, s->cut);
    s->cut = NULL;
    if (!mpk_failed(status))
        s->info.bytes = sparse_bytes(s, &s->m, s->single) + sparse_bytes(s, &s->m_rows, s->single) +
                        sparse_bytes(s, &s->a, false) + sparse_bytes(s, &s->a_rows, false) +
                        sparse_bytes(s, &s->given, false) + s->n * (int64_t)size;
    return status;
}

/* The pattern, unless there is one. */
static mpk_status make_pattern(mpk_context *ctx, mpki_pool *pool, mpk_isai *s) {
    const mpk_isai_options *o = &s->options;
    const mpki_isai_rule rule = {.kind = o->kind,
                                 .source = o->source,
                                 .power = o->power,
                                 .block = o->block,
                                 .limit = o->limit,
                                 .over = o->over};
    /* the caller's arrays are only read */
    const mpki_sparse theirs = {.ptr = (int64_t *)(uintptr_t)o->ptr,
                                .index = (int32_t *)(uintptr_t)o->row};
    return mpki_isai_make_pattern(ctx, pool, s->n, o->ptr ? &theirs : &s->given, &rule, &s->m,
                                  &s->info);
}

static mpk_status make_values(mpk_context *ctx, mpki_pool *pool, const void *val, mpk_isai *s,
                              bool fresh) {
    const mpk_isai_options *o = &s->options;
    int64_t over = 0;
    if (s->single) { /* those were of other values */
        mpki_release(ctx, s->m.val);
        s->m.val = NULL;
    }
    mpk_status status = compute(ctx, pool, val, s);
    if (!mpk_failed(status) && fresh && o->limit > 0 && o->over == MPK_ISAI_LARGEST) {
        status = mpki_isai_cut(ctx, s->scalar, s->n, o->limit, &s->m, &over);
        s->info.over += over;
        if (!mpk_failed(status) && over > 0) status = compute(ctx, pool, val, s);
    }
    if (!mpk_failed(status)) status = count_failures(ctx, s);
    if (!mpk_failed(status)) status = settle(ctx, pool, val, s);
    if (mpk_failed(status)) return status;
    memset(s->info.columns, 0, sizeof s->info.columns);
    s->info.longest = 0, s->info.entries = 0;
    mpki_isai_count(pool, s->n, &s->m, &s->info);
    s->ready = true;
    if (s->info.fallbacks == 0) return MPK_OK;
    return mpki_error(
        ctx, MPK_SINGULAR, STAGE, s->info.first_fallback,
        "%lld small systems are %s; the first is that of column %d", (long long)s->info.fallbacks,
        o->kind == MPK_ISAI_DEFINITE ? "not definite" : "singular", s->info.first_fallback + 1);
}

/* ptr: checked. */
static mpk_status fill(mpk_context *ctx, mpki_pool *pool, const int64_t *ptr, const int32_t *row,
                       const void *val, mpk_isai *s) {
    double start = mpki_now_s();
    s->given.ptr = MPKI_NEW(ctx, STAGE, (int64_t)s->n + 1, int64_t);
    s->given.index = MPKI_NEW(ctx, STAGE, ptr[s->n], int32_t);
    if (!s->given.ptr || !s->given.index) return mpki_failed(ctx);
    mpk_status status = mpki_isai_take(ctx, pool, ptr, row, val, s);
    if (!mpk_failed(status)) status = make_pattern(ctx, pool, s);
    s->info.time_pattern_s = mpki_now_s() - start;
    start = mpki_now_s();
    if (!mpk_failed(status)) status = make_values(ctx, pool, val, s, true);
    s->info.time_values_s = mpki_now_s() - start;
    return status;
}

/* All of it on a device. */
static mpk_status create_there(mpk_context *ctx, const int64_t *ptr, const int32_t *row,
                               const void *val, mpk_isai *s) {
#if MPKI_HAVE_CUDA
    s->engine = mpki_cuda_inverse_engine(ctx, s->options.device);
    if (!s->engine) return mpki_failed(ctx);
    return s->engine->make(ctx, s->scalar, s->n, ptr, row, val, &s->options, &s->there);
#else
    (void)ptr, (void)row, (void)val;
    return mpki_error(ctx, MPK_ERR_DEVICE, STAGE, s->options.device,
                      "METAPACK was built without CUDA");
#endif
}

mpk_status mpk_isai_create(mpk_context *ctx, mpk_scalar scalar, int32_t n, const int64_t *ptr,
                           const int32_t *row, const void *val, const mpk_isai_options *options,
                           mpk_isai **isai) {
    MPKI_CALM;
    mpk_isai_options o;
    mpki_clear_error(ctx);
    if (!isai || *isai || n < 0 || (unsigned)scalar > MPK_Z || !ptr)
        return bad_option(ctx, "isai must point to NULL, n be at least 0, ptr not be NULL");
    mpk_status status = check_options(ctx, options, &o);
    const bool here = o.memory == MPK_HOST;
    if (!mpk_failed(status) && here && ptr[n] > 0 && (!row || !val))
        status = bad_option(ctx, "row or val is NULL");
    mpki_pool *pool = !mpk_failed(status) && here ? pool_for(ctx, o.threads, ptr[n]) : NULL;
    if (!mpk_failed(status) && here)
        status = mpki_isai_check_pattern(ctx, pool, n, ptr, NULL, "the matrix");
    if (!mpk_failed(status) && here && o.ptr)
        status = mpki_isai_check_pattern(ctx, pool, n, o.ptr, o.row, "the pattern");
    if (mpk_failed(status)) return status;
    mpk_isai *s = MPKI_ZNEW(ctx, STAGE, 1, mpk_isai);
    if (!s) return mpki_failed(ctx);
    s->ctx = ctx, s->scalar = scalar, s->n = n, s->options = o, s->forks = mpki_forks();
    s->single = o.precision == MPK_PRECISION_SINGLE && (scalar == MPK_D || scalar == MPK_Z);
    s->info.first_fallback = -1;
    status = here ? fill(ctx, pool, ptr, row, val, s) : create_there(ctx, ptr, row, val, s);
    s->options.ptr = NULL, s->options.row = NULL;
    if (mpk_failed(status))
        mpk_isai_destroy(&s);
    else
        *isai = s;
    return status;
}

mpk_status mpk_isai_update(mpk_context *ctx, const void *val, mpk_isai *s) {
    MPKI_CALM;
    mpki_clear_error(ctx);
    if (!s || (!val && (s->there || s->given.ptr[s->n] > 0)))
        return bad_option(ctx, "there is nothing to update, or no values");
    if (mpk_failed(mpki_isai_usable(ctx, s, true))) return mpki_failed(ctx);
    if (s->there) return s->engine->update(ctx, val, s->there);
    const double start = mpki_now_s();
    mpki_pool *pool = mpki_isai_pool(ctx, s);
    s->forks = mpki_forks();
    s->at_work = true;
    s->ready = false;
    mpk_status status = mpki_isai_take(ctx, pool, NULL, NULL, val, s);
    s->info.time_pattern_s = 0;
    if (!mpk_failed(status)) status = make_values(ctx, pool, val, s, false);
    s->info.time_values_s = mpki_now_s() - start;
    s->at_work = false;
    return status;
}

void mpk_isai_info_get(const mpk_isai *s, mpk_isai_info *info) {
    if (!info) return;
    *info = !s ? (mpk_isai_info){0} : s->there ? *s->engine->info(s->there) : s->info;
}
