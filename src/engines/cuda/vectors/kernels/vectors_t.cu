/* SPDX-License-Identifier: BSD-3-Clause */
/* Launches of the kernels on vectors, for one kind of entries. */
#include "arnoldi.cuh"
#include "bicgstab.cuh"
#include "minres.cuh"
#include "mirror.cuh"

using namespace mpki;

/* A pass that gives K sums to the host. */
template <int K, class OP>
static mpk_status gather(mpki_cuda *cuda, mpki_cuda_space *s, OP op, double *sums) {
    op.publish = next_host_report(cuda, s);
    MPKI_PASS(sweep(cuda, s, op));
    MPKI_PASS(await_report(cuda, s, op.publish.sequence));
    for (int k = 0; k < K; ++k) sums[k] = s->report->sums[k];
    return MPK_OK;
}

static int product(mpki_cuda *cuda, mpki_cuda_space *s, int hermitian, const void *x, const void *y,
                   double sums[4]) {
    product_pass<T> op = {};
    op.hermitian = hermitian, op.x = (const T *)x, op.y = (const T *)y;
    return gather<4>(cuda, s, op, sums);
}

template <int KEEP>
static mpk_status axpby_keeping(mpki_cuda *cuda, mpki_cuda_space *s, T a, const T *x, T b, T *y,
                                double *square) {
    if (square) {
        axpby_pass<T, KEEP, 1> op = {};
        op.a = a, op.b = b, op.x = x, op.y = y;
        return gather<1>(cuda, s, op, square);
    }
    axpby_pass<T, KEEP, 0> op = {};
    op.a = a, op.b = b, op.x = x, op.y = y;
    return sweep(cuda, s, op);
}

static int axpby(mpki_cuda *cuda, mpki_cuda_space *s, const double a[2], const void *x,
                 const double b[2], void *y, double *square) {
    const T ta = to_entry<T>(a[0], a[1]), tb = to_entry<T>(b[0], b[1]);
    const T *vx = (const T *)x;
    T *vy = (T *)y;
    if (b[0] == 0 && b[1] == 0) return axpby_keeping<0>(cuda, s, ta, vx, tb, vy, square);
    if (b[0] == 1 && b[1] == 0) return axpby_keeping<1>(cuda, s, ta, vx, tb, vy, square);
    return axpby_keeping<2>(cuda, s, ta, vx, tb, vy, square);
}

static mpk_status fill(mpki_cuda *cuda, mpki_cuda_space *s, int kind, uint64_t state, void *x) {
    fill_pass<T> op = {};
    op.kind = kind, op.state = state, op.x = (T *)x;
    return sweep(cuda, s, op);
}
static int zero(mpki_cuda *cuda, mpki_cuda_space *s, void *x) {
    return fill(cuda, s, FILL_ZERO, 0, x);
}
static int signs(mpki_cuda *cuda, mpki_cuda_space *s, void *x) {
    return fill(cuda, s, FILL_SIGNS, 0, x);
}
static int random(mpki_cuda *cuda, mpki_cuda_space *s, uint64_t state, void *x) {
    return fill(cuda, s, FILL_RANDOM, state, x);
}

static int finite(mpki_cuda *cuda, mpki_cuda_space *s, const void *x, double *bad) {
    finite_pass<T> op = {};
    op.x = (const T *)x;
    return gather<1>(cuda, s, op, bad);
}
static int largest(mpki_cuda *cuda, mpki_cuda_space *s, const void *x, double *most) {
    largest_pass<T> op = {};
    op.x = (const T *)x;
    return gather<1>(cuda, s, op, most);
}
static int differ(mpki_cuda *cuda, mpki_cuda_space *s, const void *x, const void *y,
                  double *count) {
    differ_pass<T> op = {};
    op.x = (const T *)x, op.y = (const T *)y;
    return gather<1>(cuda, s, op, count);
}

static int shift(mpki_cuda *cuda, mpki_cuda_space *s, int exponent, const void *x, void *y) {
    shift_pass<T> op = {};
    op.exponent = exponent, op.x = (const T *)x, op.y = (T *)y;
    return sweep(cuda, s, op);
}

static int norms(mpki_cuda *cuda, mpki_cuda_space *s, const void *x, const void *y, double out[2]) {
    norms_pass<T> op = {};
    double sums[4];
    op.x = (const T *)x, op.y = (const T *)y;
    MPKI_PASS(gather<4>(cuda, s, op, sums));
    out[0] = norm_of(sums[0], sums[1]), out[1] = norm_of(sums[2], sums[3]);
    return MPK_OK;
}

static int scales(mpki_cuda *cuda, mpki_cuda_space *s, const double *rows, const double *columns,
                  const int32_t *from, const void *b, void *x) {
    scales_pass<T> op = {};
    op.rows = rows, op.columns = columns, op.from = from, op.b = (const T *)b, op.x = (T *)x;
    return sweep(cuda, s, op);
}

static int mirror(mpki_cuda *cuda, mpki_cuda_space *s, const mpki_cuda_rows *a, const int64_t *ap,
                  const int32_t *ai, int hermitian, const void *ax) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    if (a->chunks == 0) return MPK_OK;
    MPKI_LAUNCH(mirror_kernel<T>, a->chunks, VECTOR_THREADS, 0, s->stream, a->chunk, a->ptr, a->col,
                ap, ai, hermitian, (const T *)ax, (T *)(uintptr_t)a->val);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

#if MPKI_PRECISION < 2
static int row_sums(mpki_cuda *cuda, mpki_cuda_space *s, const mpki_cuda_rows *a, const int64_t *ap,
                    double *sums) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_LAUNCH(row_sums_kernel<T>, vector_blocks(s->n), vector_threads(s->n), 0, s->stream, s->n,
                a->ptr, ap, (const T *)a->val, sums);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int maxima(mpki_cuda *cuda, mpki_cuda_space *s, const mpki_cuda_rows *a, const double *scale,
                  double *largest, double *uneven) {
    const host_report publish = next_host_report(cuda, s);
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_LAUNCH(maxima_kernel<T>, vector_blocks(s->n), vector_threads(s->n), 0, s->stream, s->n,
                a->ptr, a->col, (const T *)a->val, scale, largest, s->partial, s->ticket, publish);
    MPKI_TRY(cudaGetLastError());
    MPKI_PASS(await_report(cuda, s, publish.sequence));
    *uneven = s->report->sums[0];
    return MPK_OK;
}

static int judge(mpki_cuda *cuda, mpki_cuda_space *s, const mpki_cuda_judging *rows,
                 double most[4]) {
    judge_pass<T> op = {};
    op.rows = *rows;
    return gather<4>(cuda, s, op, most);
}

static int rescale(mpki_cuda *cuda, mpki_cuda_space *s, const double *largest, double *scale) {
    rescale_pass op = {};
    op.largest = largest, op.scale = scale;
    return sweep(cuda, s, op);
}
#else
static int (*const row_sums)(mpki_cuda *, mpki_cuda_space *, const mpki_cuda_rows *,
                             const int64_t *, double *) = NULL;
static int (*const maxima)(mpki_cuda *, mpki_cuda_space *, const mpki_cuda_rows *, const double *,
                           double *, double *) = NULL;
static int (*const rescale)(mpki_cuda *, mpki_cuda_space *, const double *, double *) = NULL;
static int (*const judge)(mpki_cuda *, mpki_cuda_space *, const mpki_cuda_judging *,
                          double *) = NULL;
#endif

static int project(mpki_cuda *cuda, mpki_cuda_space *s, int32_t count, void *const *v, void *w,
                   double *h, double squares[2]) {
    enum { GROUP = group_of<T>::value };
    const host_report publish = next_host_report(cuda, s);
    square_pass<T> first = {};
    first.w = (const T *)w, first.report = &s->report->square;
    MPKI_PASS(sweep(cuda, s, first));
    for (int32_t k = 0; k < count; k += GROUP) {
        products_pass<T> form = {};
        subtract_pass<T> take = {};
        form.count = take.count = count - k < GROUP ? count - k : GROUP;
        for (int i = 0; i < form.count; ++i) form.v[i] = take.v[i] = (const T *)v[k + i];
        form.w = take.w = (T *)w;
        form.h = s->h + 2 * k, take.h = form.h, form.report = s->report->h + 2 * k;
        take.last = k + GROUP >= count, take.publish = publish;
        MPKI_PASS(sweep(cuda, s, form));
        MPKI_PASS(sweep(cuda, s, take));
    }
    MPKI_PASS(await_report(cuda, s, publish.sequence));
    for (int32_t k = 0; k < 2 * count; ++k) h[k] = s->report->h[k];
    squares[0] = s->report->square, squares[1] = s->report->sums[0];
    return MPK_OK;
}

/* ---- products ---- */

static rows_of<T> rows(const mpki_cuda_rows *a) {
    return {a->ptr, a->col, (const T *)a->val, a->chunk, a->chunks, a->split, a->piece, a->done};
}

/* As many as run at once on 132 multiprocessors: each takes as many chunks as any other. */
static int product_blocks(const mpki_cuda_rows *a) {
    const int most = MPKI_CUDA_PRODUCT_BLOCKS(sizeof(T));
    return a->chunks < most ? a->chunks : most;
}

/* Where one more on each takes all chunks in one round, not two, that gains more than its
 * registers, which are too few, cost. */
static int product_resident(const mpki_cuda_rows *a) {
    const int resident = MPKI_CUDA_PRODUCT_RESIDENT(sizeof(T)),
              most = MPKI_CUDA_PRODUCT_BLOCKS(sizeof(T));
    return a->chunks > most && a->chunks <= most / resident * (resident + 1) ? resident + 1
                                                                             : resident;
}

template <class PUT>
static mpk_status multiply_to(mpki_cuda *cuda, const mpki_cuda_space *s, const mpki_cuda_rows *a,
                              const void *x, const PUT &put) {
    enum { RESIDENT = MPKI_CUDA_PRODUCT_RESIDENT(sizeof(T)) };
    const bool more = product_resident(a) > RESIDENT;
    void (*const kernel)(const rows_of<T>, const T *, const PUT, double *, unsigned *) =
        more ? multiply_kernel<T, PUT, RESIDENT + 1> : multiply_kernel<T, PUT, RESIDENT>;
    const size_t bytes =
        chunk_size<T>::value * sizeof(T) + (MPKI_CUDA_CHUNK_ROWS + 1) * sizeof(int32_t);
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_LAUNCH(kernel, more ? a->chunks : product_blocks(a), VECTOR_THREADS, bytes, s->stream,
                rows(a), (const T *)x, put, s->partial, s->ticket);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int multiply(mpki_cuda *cuda, mpki_cuda_space *s, const mpki_cuda_rows *a, const void *x,
                    const void *b, void *y) {
    if (!b) return multiply_to(cuda, s, a, x, put_plain<T>{(T *)y});
    return multiply_to(cuda, s, a, x, put_residual<T>{(const T *)b, (T *)y});
}

static int residual(mpki_cuda *cuda, mpki_cuda_space *s, const mpki_cuda_rows *a, const void *x,
                    const void *b, void *r, double *w, double out[2]) {
    const host_report publish = next_host_report(cuda, s);
    const residual_end<T> put = {(const T *)b, (T *)r, w};
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_LAUNCH(residual_kernel<T>, product_blocks(a), VECTOR_THREADS, 0, s->stream, rows(a),
                (const T *)x, put, s->partial, s->ticket, publish);
    MPKI_TRY(cudaGetLastError());
    MPKI_PASS(await_report(cuda, s, publish.sequence));
    const double *sums = s->report->sums;
    out[0] = norm_of(sums[0], sums[1]), out[1] = norm_of(sums[2], sums[3]);
    return MPK_OK;
}

/* ---- iterations without the host ---- */

template <class OP> static OP part_of(const mpki_cuda_space *s, int last) {
    OP op = {};
    op.state = s->state, op.reporter = s->report, op.last = last;
    return op;
}

template <bool CG>
static mpk_status alpha(mpki_cuda *cuda, mpki_cuda_space *s, const mpki_cuda_batch_vectors *v) {
    alpha_pass<T, CG> op = part_of<alpha_pass<T, CG>>(s, 0);
    op.hermitian = v->hermitian, op.q = (const T *)v->q, op.t = (const T *)v->t;
    return sweep(cuda, s, op);
}

static mpk_status direction(mpki_cuda *cuda, mpki_cuda_space *s, const mpki_cuda_batch_vectors *v) {
    direction_pass<T> op = part_of<direction_pass<T>>(s, 0);
    op.u = (const T *)v->u, op.q = (T *)v->q;
    return sweep(cuda, s, op);
}

static mpk_status sqmr_residual(mpki_cuda *cuda, mpki_cuda_space *s,
                                const mpki_cuda_batch_vectors *v) {
    residual_pass<T> op = part_of<residual_pass<T>>(s, 0);
    op.t = (const T *)v->t, op.r = (T *)v->r;
    return sweep(cuda, s, op);
}

static mpk_status sqmr_iterate(mpki_cuda *cuda, mpki_cuda_space *s,
                               const mpki_cuda_batch_vectors *v, int last) {
    iterate_pass<T> op = part_of<iterate_pass<T>>(s, last);
    op.hermitian = v->hermitian;
    op.q = (const T *)v->q, op.r = (const T *)v->r, op.u = (const T *)v->u;
    op.d = (T *)v->d, op.x = (T *)v->x, op.s = (T *)v->s;
    return sweep(cuda, s, op);
}

static mpk_status cg_beta(mpki_cuda *cuda, mpki_cuda_space *s, const mpki_cuda_batch_vectors *v) {
    beta_pass<T> op = part_of<beta_pass<T>>(s, 0);
    op.r = (const T *)v->r, op.z = (const T *)v->u;
    return sweep(cuda, s, op);
}

static mpk_status cg_iterate(mpki_cuda *cuda, mpki_cuda_space *s, const mpki_cuda_batch_vectors *v,
                             int last) {
    cg_pass<T> op = part_of<cg_pass<T>>(s, last);
    op.q = (const T *)v->q, op.t = (const T *)v->t, op.x = (T *)v->x, op.r = (T *)v->r;
    return sweep(cuda, s, op);
}

static mpk_status minres_alpha_step(mpki_cuda *cuda, mpki_cuda_space *s,
                                    const mpki_cuda_batch_vectors *v) {
    minres_alpha_pass<T> op = part_of<minres_alpha_pass<T>>(s, 0);
    op.v = (const T *)v->q, op.r1 = (const T *)v->r1, op.y = (T *)v->t;
    return sweep(cuda, s, op);
}

static mpk_status minres_direction(mpki_cuda *cuda, mpki_cuda_space *s,
                                   const mpki_cuda_batch_vectors *v) {
    minres_direction_pass<T> op = part_of<minres_direction_pass<T>>(s, 0);
    op.u = (const T *)v->u, op.v = (T *)v->q;
    return sweep(cuda, s, op);
}

static mpk_status minres_lanczos(mpki_cuda *cuda, mpki_cuda_space *s,
                                 const mpki_cuda_batch_vectors *v) {
    minres_lanczos_pass<T> op = part_of<minres_lanczos_pass<T>>(s, 0);
    op.y = (const T *)v->t, op.r1 = (T *)v->r1, op.r2 = (T *)v->r2;
    return sweep(cuda, s, op);
}

static mpk_status minres_beta(mpki_cuda *cuda, mpki_cuda_space *s,
                              const mpki_cuda_batch_vectors *v) {
    minres_beta_pass<T> op = part_of<minres_beta_pass<T>>(s, 0);
    op.r = (const T *)v->r2, op.z = (const T *)v->u;
    return sweep(cuda, s, op);
}

static mpk_status minres_iterate(mpki_cuda *cuda, mpki_cuda_space *s,
                                 const mpki_cuda_batch_vectors *v, int last) {
    minres_iterate_pass<T> op = part_of<minres_iterate_pass<T>>(s, last);
    op.v = (const T *)v->q, op.r2 = (const T *)v->r2;
    op.w1 = (T *)v->w1, op.w2 = (T *)v->w2, op.x = (T *)v->x, op.r = (T *)v->r;
    return sweep(cuda, s, op);
}

static mpk_status bicg_direction(mpki_cuda *cuda, mpki_cuda_space *s,
                                 const mpki_cuda_batch_vectors *v) {
    bicg_direction_pass<T> op = part_of<bicg_direction_pass<T>>(s, 0);
    op.r = (const T *)v->r, op.v = (const T *)v->t, op.p = (T *)v->q;
    return sweep(cuda, s, op);
}

template <bool OMEGA>
static mpk_status bicg_product(mpki_cuda *cuda, mpki_cuda_space *s,
                               const mpki_cuda_batch_vectors *v) {
    bicg_product_pass<T, OMEGA> op = part_of<bicg_product_pass<T, OMEGA>>(s, 0);
    op.u = (const T *)(OMEGA ? v->u2 : v->u), op.t = (const T *)(OMEGA ? v->t2 : v->t);
    op.x = (const T *)(OMEGA ? v->r : v->shadow);
    return sweep(cuda, s, op);
}

static mpk_status bicg_half(mpki_cuda *cuda, mpki_cuda_space *s, const mpki_cuda_batch_vectors *v) {
    bicg_half_pass<T> op = part_of<bicg_half_pass<T>>(s, 0);
    op.z = (const T *)v->u, op.v = (const T *)v->t, op.x = (T *)v->x, op.r = (T *)v->r;
    return sweep(cuda, s, op);
}

static mpk_status bicg_iterate(mpki_cuda *cuda, mpki_cuda_space *s,
                               const mpki_cuda_batch_vectors *v, int last) {
    bicg_iterate_pass<T> op = part_of<bicg_iterate_pass<T>>(s, last);
    op.zs = (const T *)v->u2, op.t = (const T *)v->t2, op.shadow = (const T *)v->shadow;
    op.x = (T *)v->x, op.r = (T *)v->r;
    return sweep(cuda, s, op);
}

static mpk_status cycle_product(mpki_cuda *cuda, mpki_cuda_space *s,
                                const mpki_cuda_batch_vectors *v) {
    cycle_product_pass<T> op = part_of<cycle_product_pass<T>>(s, 0);
    op.m = v->u != v->q, op.z = (const T *)v->u, op.t = (const T *)v->t;
    op.kept = (T *)v->kept, op.stride = v->stride;
    return sweep(cuda, s, op);
}

static mpk_status cycle_project(mpki_cuda *cuda, mpki_cuda_space *s,
                                const mpki_cuda_batch_vectors *v) {
    enum { GROUP = group_of<T>::value };
    void (*const products[])(const basis_of<T>) = {cycle_products_kernel<T, 1>,
                                                   cycle_products_kernel<T, 2>};
    void (*const subtract[])(const basis_of<T>) = {cycle_subtract_kernel<T, 1>,
                                                   cycle_subtract_kernel<T, 2>};
    const int whole = vector_blocks(s->n), threads = vector_threads(s->n);
    const int blocks = whole < CYCLE_BLOCKS ? whole : (int)CYCLE_BLOCKS;
    const int groups = (s->cycle.m + GROUP - 1) / GROUP;
    const basis_of<T> a = {(T *)v->basis, v->stride, s->n,      (T *)v->t, (T *)v->q,
                           s->state,      s->cycle,  s->ticket, blocks};
    MPKI_TRY(cudaSetDevice(cuda->device));
    for (int pass = 0; pass < 2; ++pass) {
        MPKI_LAUNCH(products[pass], blocks * groups, threads, 0, s->stream, a);
        MPKI_LAUNCH(subtract[pass], whole, threads, 0, s->stream, a);
    }
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static mpk_status cycle_report(mpki_cuda *cuda, mpki_cuda_space *s) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_LAUNCH(report_kernel<T>, 1, 32, 0, s->stream, s->state, s->report);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int combine(mpki_cuda *cuda, mpki_cuda_space *s, int32_t count, const void *v,
                   int64_t stride, const double *c, const void *x, void *y) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_TRY(cudaMemcpyAsync(s->h, c, (size_t)(2 * count) * sizeof(double), cudaMemcpyHostToDevice,
                             (cudaStream_t)s->stream));
    MPKI_LAUNCH(combine_kernel<T>, vector_blocks(s->n), vector_threads(s->n), 0, s->stream, s->n,
                count, (const T *)v, stride, s->h, (const T *)x, (T *)y);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int step(mpki_cuda *cuda, mpki_cuda_space *s, mpki_cuda_part part,
                const mpki_cuda_batch_vectors *v, int last) {
    switch (part) {
    case MPKI_CUDA_SQMR_DIRECTION:
    case MPKI_CUDA_CG_DIRECTION:
        return direction(cuda, s, v);
    case MPKI_CUDA_SQMR_ALPHA:
        return alpha<false>(cuda, s, v);
    case MPKI_CUDA_CG_ALPHA:
        return alpha<true>(cuda, s, v);
    case MPKI_CUDA_SQMR_RESIDUAL:
        return sqmr_residual(cuda, s, v);
    case MPKI_CUDA_SQMR_ITERATE:
        return sqmr_iterate(cuda, s, v, last);
    case MPKI_CUDA_CG_BETA:
        return cg_beta(cuda, s, v);
    case MPKI_CUDA_CG_ITERATE:
        return cg_iterate(cuda, s, v, last);
    case MPKI_CUDA_MINRES_DIRECTION:
        return minres_direction(cuda, s, v);
    case MPKI_CUDA_MINRES_ALPHA:
        return minres_alpha_step(cuda, s, v);
    case MPKI_CUDA_MINRES_LANCZOS:
        return minres_lanczos(cuda, s, v);
    case MPKI_CUDA_MINRES_BETA:
        return minres_beta(cuda, s, v);
    case MPKI_CUDA_MINRES_ITERATE:
        return minres_iterate(cuda, s, v, last);
    case MPKI_CUDA_BICG_DIRECTION:
        return bicg_direction(cuda, s, v);
    case MPKI_CUDA_BICG_ALPHA:
        return bicg_product<false>(cuda, s, v);
    case MPKI_CUDA_BICG_HALF:
        return bicg_half(cuda, s, v);
    case MPKI_CUDA_BICG_OMEGA:
        return bicg_product<true>(cuda, s, v);
    case MPKI_CUDA_BICG_ITERATE:
        return bicg_iterate(cuda, s, v, last);
    case MPKI_CUDA_CYCLE_PRODUCT:
        return cycle_product(cuda, s, v);
    case MPKI_CUDA_CYCLE_PROJECT:
        return cycle_project(cuda, s, v);
    case MPKI_CUDA_CYCLE_REPORT:
        return cycle_report(cuda, s);
    }
    return refuse(cuda, MPK_ERR_UNSUPPORTED, "no such part of an iteration: %d", (int)part);
}

static int multiply_step(mpki_cuda *cuda, mpki_cuda_space *s, mpki_cuda_part part,
                         const mpki_cuda_rows *a, const mpki_cuda_batch_vectors *v) {
    const T *q = (const T *)v->q;
    if (part == MPKI_CUDA_BICG_ALPHA)
        return multiply_to(
            cuda, s, a, v->u,
            put_bicg<T, false>{s->state, (const T *)v->u, (const T *)v->shadow, (T *)v->t});
    if (part == MPKI_CUDA_BICG_OMEGA)
        return multiply_to(
            cuda, s, a, v->u2,
            put_bicg<T, true>{s->state, (const T *)v->u2, (const T *)v->r, (T *)v->t2});
    if (part == MPKI_CUDA_CYCLE_PRODUCT)
        return multiply_to(cuda, s, a, v->u,
                           put_cycle<T>{s->state, v->u != v->q, (const T *)v->u, (T *)v->t,
                                        (T *)v->kept, v->stride});
    if (part == MPKI_CUDA_MINRES_ALPHA)
        return multiply_to(cuda, s, a, q, put_minres<T>{s->state, q, (const T *)v->r1, (T *)v->t});
    if (part == MPKI_CUDA_CG_ALPHA)
        return multiply_to(cuda, s, a, q, put_alpha<T, true>{s->state, v->hermitian, q, (T *)v->t});
    return multiply_to(cuda, s, a, q, put_alpha<T, false>{s->state, v->hermitian, q, (T *)v->t});
}

extern "C" const mpki_cuda_vector_kernels FN(cuda_vectors) = {
    product,  axpby,  zero,    signs,    random,   finite, largest,       differ,
    shift,    norms,  scales,  multiply, residual, step,   multiply_step, mirror,
    row_sums, maxima, rescale, project,  combine,  judge};
