/* SPDX-License-Identifier: BSD-3-Clause */
/* A on the device for Krylov methods: products, residuals; and diagonal matrices there. */
#include "core/scaled.h"
#include "engines/cuda/module/transfer.h"
#include "space.h"

#include <math.h>

static const char STAGE[] = "solve";

/* ---- products -------------------------------------------------------------------------------- */

/* Rows cut into chunks; chunk NULL: they are counted. slot: of each long row's first piece. */
static int64_t cut(const mpki_full *a, mpki_cuda_chunk *chunk, unsigned *slot, int32_t *pieces,
                   int32_t *split) {
    const int64_t most = MPKI_CUDA_CHUNK(a->scalar);
    int64_t count = 0;
    *pieces = *split = 0;
    for (int32_t i = 0; i < a->n;) {
        const int64_t length = a->ptr[i + 1] - a->ptr[i];
        if (length > most) {
            const int32_t of = (int32_t)((length + most - 1) / most);
            for (int32_t p = 0; p < of; p++, count++) {
                const int64_t first = a->ptr[i] + p * most, left = a->ptr[i + 1] - first;
                if (!chunk) continue;
                chunk[count] = (mpki_cuda_chunk){.first = first,
                                                 .count = (int32_t)(left < most ? left : most),
                                                 .row = i,
                                                 .slot = *pieces + p,
                                                 .pieces = of,
                                                 .number = p,
                                                 .which = *split};
            }
            if (slot) slot[*split] = (unsigned)*pieces;
            *pieces += of;
            *split += 1;
            i++;
            continue;
        }
        const int32_t begin = i;
        while (i < a->n && i - begin < MPKI_CUDA_CHUNK_ROWS &&
               a->ptr[i + 1] - a->ptr[begin] <= most)
            i++;
        if (chunk)
            chunk[count] = (mpki_cuda_chunk){.first = a->ptr[begin],
                                             .count = (int32_t)(a->ptr[i] - a->ptr[begin]),
                                             .row = begin,
                                             .rows = i - begin};
        count++;
    }
    return count;
}

void mpki_cuda_matrix_free(mpk_context *ctx, mpki_matrix **handle) {
    mpki_matrix *m = *handle;
    if (!m) return;
    if (m->memory) m->d->table->give(m->d->cuda, m->memory);
    if (m->space) mpki_cuda_space_free(ctx, &m->space);
    mpki_release(ctx, m);
    *handle = NULL;
}

int64_t mpki_cuda_matrix_bytes(const mpki_matrix *m) {
    return m->bytes;
}

/* Arrays that go to the device, one after the other; `from` NULL: memory only. */
typedef struct array {
    const void *from;
    int64_t bytes, at;
} array;

static mpk_status send(mpki_matrix *m, mpki_pool *pool, void *to, const void *from, int64_t bytes) {
    enum { MUCH = 1 << 20 };
    const mpki_device *d = m->d;
    if (d->table->blocks && bytes > MUCH)
        return mpki_cuda_send(m->ctx, STAGE, pool, to, from, bytes);
    return mpki_cuda_status(
        m->ctx, STAGE,
        d->table->copy(d->cuda, to, bytes, from, bytes, bytes, 1, 1, m->space->at.stream));
}

static mpk_status wait(const mpki_matrix *m) {
    return mpki_cuda_status(m->ctx, STAGE,
                            m->d->table->synchronize(m->d->cuda, m->space->at.stream));
}

static mpk_status upload(mpki_matrix *m, mpki_pool *pool, array *list, int count) {
    mpk_status status =
        mpki_cuda_status(m->ctx, STAGE, m->d->table->take(m->d->cuda, m->bytes, &m->memory));
    for (int k = 0; k < count && !mpk_failed(status); k++)
        if (list[k].bytes > 0 && list[k].from)
            status = send(m, pool, (char *)m->memory + list[k].at, list[k].from, list[k].bytes);
    return mpk_failed(status) ? status : wait(m); /* what is copied may be released next */
}

static void release_full(mpk_context *ctx, mpki_full *full) {
    mpki_release(ctx, full->ptr);
    mpki_release(ctx, full->col);
    mpki_release(ctx, full->val);
    mpki_release(ctx, full->cut);
    *full = (mpki_full){0};
}

/* lower NULL, or the triangle that a's values will be mirrored from. */
static mpk_status fill(mpki_matrix *m, const mpki_full *a, const mpk_problem_view *lower,
                       mpki_pool *pool, mpki_cuda_chunk *chunk, unsigned *done, int64_t chunks,
                       int32_t pieces, int32_t split, double limit) {
    enum { PTR, COL, VAL, CHUNK, DONE, AP, AI, ARRAYS };
    const int64_t columns = lower ? (int64_t)a->n + 1 : 0, entries = lower ? lower->nnz : 0;
    enum { PIECE = 5 * sizeof(double), ALIGNMENT = 256 };
    array list[ARRAYS] = {{a->ptr, ((int64_t)a->n + 1) * (int64_t)sizeof *a->ptr, 0},
                          {a->col, a->nnz * (int64_t)sizeof *a->col, 0},
                          {a->val, a->nnz * (int64_t)mpk_scalar_size(a->scalar), 0},
                          {chunk, chunks * (int64_t)sizeof *chunk, 0},
                          {done, 2 * split * (int64_t)sizeof *done, 0},
                          {lower ? lower->ap : NULL, columns * (int64_t)sizeof *lower->ap, 0},
                          {lower ? lower->ai : NULL, entries * (int64_t)sizeof *lower->ai, 0}};
    for (int k = 0; k < ARRAYS; k++) {
        list[k].at = m->bytes;
        m->bytes += (list[k].bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    const int64_t piece = m->bytes;
    m->bytes += (int64_t)pieces * PIECE;
    mpk_status status = mpki_cuda_within(m->ctx, "A in both triangles", m->bytes, limit);
    if (!mpk_failed(status)) status = upload(m, pool, list, ARRAYS);
    char *at = m->memory;
    if (!mpk_failed(status))
        m->rows = (mpki_cuda_rows){.n = a->n,
                                   .chunks = (int32_t)chunks,
                                   .split = split,
                                   .ptr = (void *)(at + list[PTR].at),
                                   .col = (void *)(at + list[COL].at),
                                   .val = at + list[VAL].at,
                                   .chunk = (void *)(at + list[CHUNK].at),
                                   .done = (void *)(at + list[DONE].at),
                                   .piece = (void *)(at + piece)};
    if (mpk_failed(status) || !lower) return status;
    m->ap = (void *)(at + list[AP].at);
    m->ai = (void *)(at + list[AI].at);
    m->lower = lower->nnz;
    m->hermitian = lower->symmetry == MPK_HERMITIAN;
    return status;
}

static mpk_status make(mpk_context *ctx, const mpki_full *full, const mpk_problem_view *lower,
                       mpki_pool *pool, double limit, mpki_matrix **out) {
    int32_t pieces, split;
    const int64_t chunks = cut(full, NULL, NULL, &pieces, &split);
    mpki_matrix *m = *out = MPKI_ZNEW(ctx, STAGE, 1, mpki_matrix);
    mpki_cuda_chunk *chunk = MPKI_NEW(ctx, STAGE, chunks, mpki_cuda_chunk);
    unsigned *done = MPKI_ZNEW(ctx, STAGE, 2 * (int64_t)split, unsigned);
    mpk_status status = mpki_failed(ctx);
    if (m) {
        m->ctx = ctx, m->d = mpki_cuda_kept(ctx);
        for (int32_t i = 0; i < full->n; i++)
            if (full->ptr[i + 1] - full->ptr[i] > m->longest)
                m->longest = (int32_t)(full->ptr[i + 1] - full->ptr[i]);
    }
    if (chunks > INT32_MAX)
        status = mpki_error(ctx, MPK_ERR_SIZE, STAGE, full->nnz, "too many entries for a device");
    if (!mpk_failed(status))
        status = mpki_cuda_space_make(ctx, full->scalar, full->n, 0, NULL, limit, &m->space, NULL);
    if (!mpk_failed(status)) {
        cut(full, chunk, done + split, &pieces, &split);
        status = fill(m, full, lower, pool, chunk, done, chunks, pieces, split, limit);
    }
    mpki_release(ctx, chunk);
    mpki_release(ctx, done);
    if (mpk_failed(status)) mpki_cuda_matrix_free(ctx, out);
    return status;
}

mpk_status mpki_cuda_matrix_make(mpk_context *ctx, mpki_full *full, mpki_pool *pool, double limit,
                                 mpki_matrix **m) {
    const mpk_status status = make(ctx, full, NULL, pool, limit, m);
    release_full(ctx, full);
    return status;
}

mpk_status mpki_cuda_matrix_of(mpk_context *ctx, const mpk_problem_view *a, const mpki_full *full,
                               mpki_pool *pool, double limit, mpki_matrix **m) {
    return make(ctx, full, a, pool, limit, m);
}

mpk_status mpki_cuda_matrix_values(mpki_matrix *m, mpki_pool *pool, double limit, const void *ax) {
    mpki_space *s = m->space;
    const mpki_cuda_table *table = m->d->table;
    mpki_cuda *cuda = m->d->cuda;
    const int64_t bytes = m->lower * (int64_t)mpk_scalar_size(s->at.scalar);
    void *there = NULL;
    if (bytes == 0) return MPK_OK;
    mpk_status status = mpki_cuda_within(m->ctx, "A", m->bytes + bytes, limit);
    if (!mpk_failed(status))
        status = mpki_cuda_status(m->ctx, STAGE, table->take(cuda, bytes, &there));
    if (!mpk_failed(status)) status = send(m, pool, there, ax, bytes);
    if (!mpk_failed(status))
        status = mpki_cuda_status(
            m->ctx, STAGE, s->k->mirror(cuda, &s->at, &m->rows, m->ap, m->ai, m->hermitian, there));
    if (!mpk_failed(status)) status = wait(m);
    table->give(cuda, there);
    return status;
}

/* n numbers from the device, or to it. */
static mpk_status move(const mpki_matrix *m, double *host, double *there, bool to_device) {
    const int64_t bytes = m->rows.n * (int64_t)sizeof *host;
    void *const to = to_device ? there : host;
    const mpk_status status =
        mpki_cuda_status(m->ctx, STAGE,
                         m->d->table->copy(m->d->cuda, to, bytes, to_device ? host : there, bytes,
                                           bytes, 1, to_device, m->space->at.stream));
    return mpk_failed(status) || to_device ? status : wait(m);
}

static mpk_status numbers(const mpki_matrix *m, int64_t count, double **there) {
    const int64_t bytes = count * m->rows.n * (int64_t)sizeof **there;
    return mpki_cuda_status(m->ctx, STAGE,
                            m->d->table->take(m->d->cuda, bytes > 0 ? bytes : 1, (void **)there));
}

mpk_status mpki_cuda_row_sums(mpki_matrix *m, double *sums) {
    mpki_space *s = m->space;
    double *there = NULL;
    mpk_status status = numbers(m, 1, &there);
    if (!mpk_failed(status))
        status = mpki_cuda_status(m->ctx, STAGE,
                                  s->k->row_sums(m->d->cuda, &s->at, &m->rows, m->ap, there));
    if (!mpk_failed(status)) status = move(m, sums, there, false);
    m->d->table->give(m->d->cuda, there);
    return status;
}

mpk_status mpki_cuda_equilibrate(mpki_matrix *m, int sweeps, double *scale) {
    mpki_space *s = m->space;
    mpki_cuda *cuda = m->d->cuda;
    double *there = NULL;
    mpk_status status = numbers(m, 2, &there);
    double *largest = there + m->rows.n;
    if (!mpk_failed(status)) status = move(m, scale, there, true);
    for (int sweep = 0; !mpk_failed(status) && sweep < sweeps + MPKI_MORE_SWEEPS; sweep++) {
        double uneven = 0;
        status = mpki_cuda_status(m->ctx, STAGE,
                                  s->k->maxima(cuda, &s->at, &m->rows, there, largest, &uneven));
        if (mpk_failed(status) || (sweep >= sweeps && uneven == 0)) break;
        status = mpki_cuda_status(m->ctx, STAGE, s->k->rescale(cuda, &s->at, largest, there));
        if (sweep + 1 >= sweeps && uneven == 0) break;
    }
    if (!mpk_failed(status)) status = move(m, scale, there, false);
    m->d->table->give(m->d->cuda, there);
    return status;
}

mpki_cuda_arrays mpki_cuda_matrix_arrays(const mpki_matrix *m) {
    return (mpki_cuda_arrays){m->rows.ptr, m->rows.col, m->rows.val};
}

mpk_status mpki_cuda_multiply(mpki_matrix *m, const void *x, void *y) {
    mpki_space *s = m->space;
    return mpki_cuda_status(m->ctx, STAGE,
                            s->k->multiply(m->d->cuda, &s->at, &m->rows, x, NULL, y));
}

mpk_status mpki_cuda_residual(mpki_matrix *m, double norm, const void *x, const void *b,
                              double wanted, void *r, double *error) {
    mpki_space *s = m->space;
    mpki_cuda *cuda = m->d->cuda;
    const bool single = s->at.scalar == MPK_S || s->at.scalar == MPK_C;
    const double unit = single ? 0x1p-24 : 0x1p-53, terms = m->longest + 2.0;
    double norms[2];
    mpk_status status = mpki_cuda_status(m->ctx, STAGE, s->k->norms(cuda, &s->at, x, b, norms));
    if (mpk_failed(status)) return status;
    *error = terms * unit * (norm * norms[0] + norms[1]);
    if (*error <= 0.1 * wanted)
        return mpki_cuda_status(m->ctx, STAGE, s->k->multiply(cuda, &s->at, &m->rows, x, b, r));
    status = mpki_cuda_status(m->ctx, STAGE,
                              s->k->residual(cuda, &s->at, &m->rows, x, b, r, NULL, norms));
    if (mpk_failed(status)) return status;
    /* sums are held in twice the precision of double, whatever the entries are */
    *error = 2 * unit * norms[0] + terms * 0x1p-53 * terms * 0x1p-53 * norms[1];
    return MPK_OK;
}

/* Where numbers are near the ends of the range, and whose squares would be: as
 * problem/measure_t.c. */
static mpk_status judge(mpki_matrix *m, mpki_space *s, void *const *v, const double *w,
                        const double *row_norm, mpki_judged *j) {
    enum { X, B, R };
    const bool single = s->at.scalar == MPK_S;
    const double unit = single ? 0x1p-24 : 0x1p-53, small_square = 1e-140;
    mpki_cuda *cuda = m->d->cuda;
    double most[4] = {0}, two[2] = {0};
    int status = s->k->largest(cuda, &s->at, v[X], &j->x_norm);
    if (!mpk_failed(status)) status = s->k->largest(cuda, &s->at, v[B], &j->b_norm);
    if (!mpk_failed(status)) status = s->k->norms(cuda, &s->at, v[B], v[R], two);
    const mpki_cuda_judging rows = {.b = v[B],
                                    .r = v[R],
                                    .w = w,
                                    .row_norm = row_norm,
                                    .x_norm = j->x_norm,
                                    .tiny = 1000.0 * m->rows.n * unit,
                                    .small = mpki_nearly_zero(single),
                                    .large = mpki_nearly_infinite(single)};
    if (!mpk_failed(status)) status = s->k->judge(cuda, &s->at, &rows, most);
    j->b_two = two[0], j->r_two = two[1];
    j->r_norm = most[0], j->omega1 = most[1], j->omega2 = most[2];
    j->odd = most[3] > 0 || (j->r_norm > 0 && j->r_norm < small_square) ||
             (j->b_norm > 0 && j->b_norm < small_square);
    return mpki_cuda_status(m->ctx, STAGE, status);
}

mpk_status mpki_cuda_measure(mpki_matrix *m, const void *x, const void *b, void *r, double *w,
                             const double *row_norm, mpki_judged *judged) {
    enum { X, B, R, COUNT };
    const mpki_cuda_table *table = m->d->table;
    mpki_cuda *cuda = m->d->cuda;
    const int64_t n = m->rows.n, bytes = n * (int64_t)sizeof *w;
    mpki_space *s = NULL;
    void *v[COUNT], *there = NULL;
    double norms[2];
    mpk_status status =
        mpki_cuda_space_make(m->ctx, m->space->at.scalar, m->rows.n, COUNT, NULL, 0, &s, v);
    if (!mpk_failed(status)) /* w, then norms of rows */
        status =
            mpki_cuda_status(m->ctx, STAGE, table->take(cuda, bytes > 0 ? 2 * bytes : 1, &there));
    double *const w_there = there, *const norms_there = w_there ? w_there + n : NULL;
    const void *const in[] = {x, b};
    for (int k = 0; k < 2 && !mpk_failed(status); k++)
        status = mpki_cuda_status(m->ctx, STAGE, s->f->copy(cuda, &s->at, in[k], v[k], 0));
    if (!mpk_failed(status))
        status = mpki_cuda_status(
            m->ctx, STAGE,
            s->k->residual(cuda, &s->at, &m->rows, v[X], v[B], v[R], w_there, norms));
    if (!mpk_failed(status))
        status = mpki_cuda_status(m->ctx, STAGE, s->f->copy(cuda, &s->at, v[R], r, 1));
    if (!mpk_failed(status) && w)
        status = mpki_cuda_status(
            m->ctx, STAGE, table->copy(cuda, w, bytes, w_there, bytes, bytes, 1, 0, s->at.stream));
    if (!mpk_failed(status) && row_norm)
        status = mpki_cuda_status(
            m->ctx, STAGE,
            table->copy(cuda, norms_there, bytes, row_norm, bytes, bytes, 1, 1, s->at.stream));
    if (!mpk_failed(status) && row_norm) status = judge(m, s, v, w_there, norms_there, judged);
    if (!mpk_failed(status))
        status = mpki_cuda_status(m->ctx, STAGE, table->synchronize(cuda, s->at.stream));
    if (there) table->give(cuda, there);
    mpki_cuda_space_free(m->ctx, &s);
    return status;
}

mpk_status mpki_cuda_shift(mpki_matrix *m, int exponent, const void *x, void *y) {
    mpki_space *s = m->space;
    return mpki_cuda_status(m->ctx, STAGE, s->k->shift(m->d->cuda, &s->at, exponent, x, y));
}

/* ---- scales ---------------------------------------------------------------------------------- */

struct mpki_scaler {
    mpk_context *ctx;
    mpki_space *space;
    void *in, *out;         /* vectors of it: copies of the caller's */
    double *rows, *columns; /* device, in memory */
    int32_t *from;          /* NULL: no permutation */
    void *memory;
};

void mpki_cuda_scales_free(mpk_context *ctx, mpki_scaler **handle) {
    mpki_scaler *s = *handle;
    if (!s) return;
    const mpki_device *d = mpki_cuda_kept(ctx);
    if (s->memory) d->table->give(d->cuda, s->memory);
    if (s->space) mpki_cuda_space_free(ctx, &s->space);
    mpki_release(ctx, s);
    *handle = NULL;
}

mpk_status mpki_cuda_scales_make(mpk_context *ctx, mpk_scalar scalar, int32_t n, const double *rows,
                                 const double *columns, const int32_t *from, mpki_scaler **out) {
    enum { COPIES = 2 };
    const mpki_device *d = mpki_cuda_kept(ctx);
    const int64_t long_bytes = n * (int64_t)sizeof *rows, index_bytes = n * (int64_t)sizeof *from;
    void *v[COPIES];
    mpki_scaler *s = *out = MPKI_ZNEW(ctx, STAGE, 1, mpki_scaler);
    if (!s) return mpki_failed(ctx);
    s->ctx = ctx;
    mpk_status status = mpki_cuda_space_make(ctx, scalar, n, COPIES, NULL, 0, &s->space, v);
    if (!mpk_failed(status))
        status = mpki_cuda_status(
            ctx, STAGE, d->table->take(d->cuda, 2 * long_bytes + index_bytes, &s->memory));
    if (!mpk_failed(status)) {
        void *stream = s->space->at.stream;
        s->in = v[0], s->out = v[1];
        s->rows = s->memory;
        s->columns = s->rows + n;
        s->from = from ? (int32_t *)(s->columns + n) : NULL;
        const array list[] = {{rows, long_bytes, 0},
                              {columns, long_bytes, long_bytes},
                              {from, index_bytes, 2 * long_bytes}};
        for (int k = 0; k < (from ? 3 : 2) && !mpk_failed(status); k++)
            status = mpki_cuda_status(ctx, STAGE,
                                      d->table->copy(d->cuda, (char *)s->memory + list[k].at,
                                                     list[k].bytes, list[k].from, list[k].bytes,
                                                     list[k].bytes, 1, 1, stream));
        if (!mpk_failed(status))
            status = mpki_cuda_status(ctx, STAGE, d->table->synchronize(d->cuda, stream));
    }
    if (mpk_failed(status)) mpki_cuda_scales_free(ctx, out);
    return status;
}

mpk_status mpki_cuda_scales_apply(mpki_scaler *s, bool with_rows, bool with_columns, const void *b,
                                  void *x) {
    mpki_space *at = s->space;
    const mpki_device *d = at->d;
    const int32_t *from = with_rows ? s->from : NULL;
    const bool b_there = d->table->is_device(d->cuda, b), x_there = d->table->is_device(d->cuda, x);
    const void *in = b;
    void *out = x_there ? x : s->out;
    mpk_status status = MPK_OK;
    if (!b_there || (from && b == x)) {
        status = mpki_cuda_status(s->ctx, STAGE, at->f->copy(d->cuda, &at->at, b, s->in, 0));
        in = s->in;
    }
    if (!mpk_failed(status))
        status = mpki_cuda_status(s->ctx, STAGE,
                                  at->k->scales(d->cuda, &at->at, with_rows ? s->rows : NULL,
                                                with_columns ? s->columns : NULL, from, in, out));
    if (!mpk_failed(status) && !x_there)
        status = mpki_cuda_status(s->ctx, STAGE, at->f->copy(d->cuda, &at->at, s->out, x, 1));
    return status;
}
