/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_reconstruct FILE|"generate SPEC" key=value,key=value ... : how well does a factor on blocks
 * reproduce its matrix? For each list of options one line of JSON.
 *
 *  error: ||L D L^T - A||_inf / ||A||_inf, A with the scaling and in the order of the factor. The
 *  numerator is estimated: the error is symmetric, so its largest row sum is its 1-norm, and
 * Higham's estimator (1988; LAPACK's xLACN2) finds that from a few products. It is a lower bound,
 * and mostly exact. null: not finite.
 *
 *  dominance: least, mean, largest of (||A_ii||_1 - sum_j ||A_ij||_1) / ||A||_1 over block rows.
 *
 *  factor_s: of the factorization alone.
 *
 * damping=E beside the library's options: pivots not above E ||A||_1 (at most 1) are replaced, as
 * the fixed-point sweeps do; so a level-scheduled factor can be had with the same parameters.
 *
 * What counts as L D L^T is what the triangular solves invert, formed from the stored blocks. */
#include "engines/cpu/isa/cpu.h"
#include "engines/cpu/block_factor/block_factor.h"
#include "factor/stages.h"
#include <math.h>
#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *memory(size_t count, size_t size) {
    void *p = calloc(count ? count : 1, size);
    if (!p) {
        fprintf(stderr, "not enough memory\n");
        exit(1);
    }
    return p;
}

/* ---- L D L^T x ------------------------------------------------------------------------------- */

typedef struct product {
    const mpk_factor *fac;
    const mpki_blocks *bf;
    const FN(block_kernels) * kernels;
    const mpk_problem *problem;
    mpk_context *ctx;
    double **lu;   /* by frame: -M = P L U, column-major */
    int32_t *swap; /* n: LAPACK's ipiv */
    double *y, *u, *v;
} product;

static int rows_of(const mpki_blocks *bf, int32_t f) {
    return bf->stages->blocking->bptr[f + 1] - bf->stages->blocking->bptr[f];
}

static void factor_lu(int w, double *a, int32_t *swap) {
    for (int k = 0; k < w; k++) {
        int best = k;
        for (int r = k + 1; r < w; r++)
            if (fabs(a[r + k * w]) > fabs(a[best + k * w])) best = r;
        swap[k] = best;
        for (int c = 0; c < w && best != k; c++) {
            const double t = a[k + c * w];
            a[k + c * w] = a[best + c * w], a[best + c * w] = t;
        }
        for (int r = k + 1; r < w; r++) {
            const double l = a[r + k * w] /= a[k + k * w];
            for (int c = k + 1; c < w; c++) a[r + c * w] -= l * a[k + c * w];
        }
    }
}

static void solve_lu(int w, const double *a, const int32_t *swap, bool transposed, double *x) {
    if (!transposed) {
        for (int k = 0; k < w; k++) {
            const double t = x[k];
            x[k] = x[swap[k]], x[swap[k]] = t;
        }
        for (int k = 0; k < w; k++)
            for (int r = k + 1; r < w; r++) x[r] -= a[r + k * w] * x[k];
        for (int k = w - 1; k >= 0; k--) {
            x[k] /= a[k + k * w];
            for (int r = 0; r < k; r++) x[r] -= a[r + k * w] * x[k];
        }
        return;
    }
    for (int k = 0; k < w; k++) {
        for (int r = 0; r < k; r++) x[k] -= a[r + k * w] * x[r];
        x[k] /= a[k + k * w];
    }
    for (int k = w - 1; k >= 0; k--)
        for (int r = k + 1; r < w; r++) x[k] -= a[r + k * w] * x[r];
    for (int k = w - 1; k >= 0; k--) {
        const double t = x[k];
        x[k] = x[swap[k]], x[swap[k]] = t;
    }
}

/* to := L from, or L^T from; the blocks hold -M = -L_ii^-1 and L_ji. */
static void multiply_l(const product *p, bool transposed, const double *from, double *to) {
    const mpki_blocks *bf = p->bf;
    const mpki_ibcsr *x = &bf->stages->index;
    for (int32_t f = 0; f < x->m; f++) {
        const int32_t at = bf->stages->blocking->bptr[f], w = rows_of(bf, f);
        const int64_t begin = transposed ? x->diagonal[f] + 1 : x->ptr[f];
        const int64_t end = transposed ? x->ptr[f + 1] : x->diagonal[f];
        double *here = to + at, diagonal[MPKI_BLOCK_MAX];
        memset(here, 0, (size_t)w * sizeof *here);
        memcpy(diagonal, from + at, (size_t)w * sizeof *diagonal);
        for (int64_t e = begin; e < end; e++) {
            const mpki_block *b = &bf->lower[x->entry[e].block];
            const double *v = from + bf->stages->blocking->bptr[x->entry[e].other];
            if (b->format == MPKI_EMPTY) continue;
            if (transposed)
                p->kernels->apply_t(b, v, 1, 0, here);
            else
                p->kernels->apply(b, v, 1, here);
        }
        solve_lu(w, p->lu[f], p->swap + at, transposed, diagonal);
        for (int r = 0; r < w; r++) here[r] = -diagonal[r] - here[r];
    }
}

/* to := (L D L^T - P S A S P^T) x */
static void multiply(const product *p, const double *x, double *to) {
    const mpki_blocks *bf = p->bf;
    const int32_t n = bf->stages->blocking->n, *perm = bf->stages->blocking->perm;
    multiply_l(p, true, x, p->y);
    for (int32_t f = 0; f < bf->stages->index.m; f++)
        p->kernels->diagonal(rows_of(bf, f), bf->frame[f].d, bf->frame[f].d, 0, 0, 1,
                             p->y + bf->stages->blocking->bptr[f]);
    multiply_l(p, false, p->y, to);
    for (int32_t k = 0; k < n; k++) p->u[perm[k]] = x[k] * p->fac->scale[perm[k]];
    mpk_problem_multiply(p->ctx, p->problem, 1, p->u, n, p->v, n);
    for (int32_t k = 0; k < n; k++) to[k] -= p->v[perm[k]] * p->fac->scale[perm[k]];
}

static double norm1(int32_t n, const double *x) {
    double sum = 0;
    for (int32_t k = 0; k < n; k++) sum += fabs(x[k]);
    return sum;
}

/* The 1-norm of the error, a lower bound. */
static double estimate(const product *p) {
    const int32_t n = p->bf->stages->blocking->n;
    double *x = memory((size_t)n, sizeof *x), *y = memory((size_t)n, sizeof *y), best = 0;
    for (int32_t k = 0; k < n; k++) x[k] = 1.0 / n;
    for (int step = 0, last = -1; step < 5; step++) {
        multiply(p, x, y);
        const double norm = norm1(n, y);
        if (!(norm > best)) {
            if (!(norm >= 0)) best = norm;
            break;
        }
        best = norm;
        for (int32_t k = 0; k < n; k++) x[k] = y[k] < 0 ? -1 : 1;
        multiply(p, x, y);
        int32_t largest = 0;
        for (int32_t k = 1; k < n; k++)
            if (fabs(y[k]) > fabs(y[largest])) largest = k;
        if (largest == last) break;
        last = largest;
        memset(x, 0, (size_t)n * sizeof *x);
        x[largest] = 1;
    }
    for (int32_t k = 0; k < n; k++) x[k] = (k & 1 ? -1 : 1) * (1 + k / (n > 1 ? n - 1.0 : 1));
    multiply(p, x, y);
    const double other = 2 * norm1(n, y) / (3.0 * n);
    free(x), free(y);
    return other > best || !(other >= 0) ? other : best;
}

static double reconstruction(mpk_context *ctx, const mpk_problem *problem, const mpk_factor *fac) {
    const mpki_blocks *bf = fac->blocks->numbers;
    const int32_t n = bf->stages->blocking->n;
    const int ld = mpki_block_ld(bf->stages->blocking->largest, sizeof(double));
    product p = {.fac = fac, .bf = bf, .problem = problem, .ctx = ctx};
    p.kernels = FN(cpu_block_kernels)();
    p.lu = memory((size_t)bf->stages->index.m, sizeof *p.lu);
    p.swap = memory((size_t)n, sizeof *p.swap);
    p.y = memory((size_t)n, sizeof *p.y);
    p.u = memory((size_t)n, sizeof *p.u);
    p.v = memory((size_t)n, sizeof *p.v);
    double *dense =
        aligned_alloc(64, (size_t)bf->stages->blocking->largest * (size_t)ld * sizeof *dense);
    if (!dense) exit(1);
    for (int32_t f = 0; f < bf->stages->index.m; f++) {
        const int w = rows_of(bf, f);
        p.lu[f] = memory((size_t)w * (size_t)w, sizeof **p.lu);
        p.kernels->unpack(&bf->frame[f].m, dense, ld);
        for (int r = 0; r < w; r++)
            for (int c = 0; c < w; c++) p.lu[f][r + c * w] = dense[r * ld + c];
        factor_lu(w, p.lu[f], p.swap + bf->stages->blocking->bptr[f]);
    }
    const double error = estimate(&p);
    for (int32_t f = 0; f < bf->stages->index.m; f++) free(p.lu[f]);
    free(p.lu), free(p.swap), free(p.y), free(p.u), free(p.v), free(dense);
    return error;
}

/* ---- the matrix ------------------------------------------------------------------------------ */

typedef struct place {
    int32_t row_block, column; /* both as positions of the factor */
    double value;
} place;

static int by_place(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->row_block != y->row_block) return x->row_block < y->row_block ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

/* The scaled matrix's 1-norm; dominance [out] least, mean, largest over block rows. */
static double measure(const mpk_problem *problem, const mpk_factor *fac, double *dominance) {
    const mpki_blocking *b = fac->blocks->stages.blocking;
    mpk_problem_view a;
    mpk_problem_view_get(problem, &a);
    const double *ax = a.ax, *s = fac->scale;
    place *list = memory((size_t)(2 * a.nnz), sizeof *list);
    double *sums = memory((size_t)a.n, sizeof *sums), norm = 0;
    int64_t count = 0;
    for (int32_t c = 0; c < a.n; c++)
        for (int64_t e = a.ap[c]; e < a.ap[c + 1]; e++) {
            const int32_t i = b->iperm[a.ai[e]], j = b->iperm[c];
            const double v = fabs(ax[e] * s[a.ai[e]] * s[c]);
            list[count++] = (place){b->of[i], j, v};
            sums[i] += v;
            if (i == j) continue;
            list[count++] = (place){b->of[j], i, v};
            sums[j] += v;
        }
    qsort(list, (size_t)count, sizeof *list, by_place);
    for (int32_t k = 0; k < a.n; k++) norm = fmax(norm, sums[k]);
    dominance[0] = INFINITY, dominance[1] = 0, dominance[2] = -INFINITY;
    for (int64_t e = 0; e < count;) {
        const int32_t row = list[e].row_block;
        double degree = 0;
        while (e < count && list[e].row_block == row) { /* a block: its largest column sum */
            const int32_t column_block = b->of[list[e].column];
            double largest = 0;
            while (e < count && list[e].row_block == row && b->of[list[e].column] == column_block) {
                const int32_t column = list[e].column;
                double sum = 0;
                for (; e < count && list[e].row_block == row && list[e].column == column; e++)
                    sum += list[e].value;
                largest = fmax(largest, sum);
            }
            degree += column_block == row ? largest : -largest;
        }
        degree /= norm;
        dominance[0] = fmin(dominance[0], degree);
        dominance[1] += degree / b->nframes;
        dominance[2] = fmax(dominance[2], degree);
    }
    free(list), free(sums);
    return norm;
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void number(const char *key, double x) {
    if (isfinite(x))
        printf(", \"%s\": %.6g", key, x);
    else
        printf(", \"%s\": null", key);
}

static mpk_status set(mpk_context *ctx, mpk_options *o, double *damping, const char *list) {
    char text[1024], *rest = text;
    snprintf(text, sizeof text, "%s", list);
    for (char *word; (word = strsep(&rest, ","));) {
        char *value = strchr(word, '=');
        if (value) *value++ = 0;
        if (value && !strcmp(word, "damping")) {
            *damping = atof(value);
            continue;
        }
        const mpk_status status = mpk_options_set(ctx, o, word, value ? value : "on");
        if (mpk_failed(status)) return status;
    }
    return MPK_OK;
}

static void run(mpk_context *ctx, const mpk_problem *problem, const char *list) {
    mpk_options o;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_factor_info info = {0};
    mpk_block_info blocks = {0};
    mpk_problem_view a;
    double error = INFINITY, dominance[3] = {NAN, NAN, NAN}, damping = 0;
    mpk_problem_view_get(problem, &a);
    mpk_options_init(&o);
    mpk_status status = set(ctx, &o, &damping, list);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, problem, &o, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, &o, &fac);
    if (!mpk_failed(status) && damping > 0 && fac->blocks) { /* its norm is known only now */
        o.static_shift = fmin(damping * measure(problem, fac, dominance), 1);
        status = mpk_factorize(ctx, an, NULL, &o, &fac);
    }
    if (!mpk_failed(status) && fac->blocks && fac->blocks->stages.stored == MPK_D) {
        const double norm = measure(problem, fac, dominance);
        error = reconstruction(ctx, problem, fac) / norm;
        mpk_factor_info_get(fac, &info);
        mpk_factor_block_info_get(fac, &blocks);
    }
    const char *text = NULL;
    mpk_last_error(ctx, NULL, NULL, &text);
    printf("{\"options\": \"%s\", \"n\": %d, \"status\": \"%s\"", list, (int)a.n,
           mpk_failed(status) && text ? mpk_status_text(status) : "ok");
    number("error", error);
    number("factor_s", info.time_s);
    number("blocks", (double)blocks.blocks);
    number("levels", blocks.levels);
    number("perturbed", (double)blocks.perturbed);
    number("rejected", (double)blocks.rejected);
    number("unpushed", (double)blocks.unpushed);
    number("frames", (double)blocks.block_rows);
    number("stages", (double)blocks.stages);
    number("swept", (double)blocks.swept);
    printf(", \"dominance\": [");
    for (int k = 0; k < 3; k++)
        printf(isfinite(dominance[k]) ? "%s%.6g" : "%snull", k ? ", " : "", dominance[k]);
    printf("]}\n");
    fflush(stdout);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
}

/* The processor's engine, but a factor stays in blocks, which are read here. */
static const char *in_blocks(const mpk_context *ctx) {
    (void)ctx;
    return "blocks";
}
static void leave_in_blocks(mpk_context *ctx) {
    static mpki_block_engine blocks;
    static mpki_engine engine = {.name = in_blocks,
                                 .direct = &mpki_cpu_direct,
                                 .blocks = &blocks,
                                 .vectors = &mpki_cpu_vectors};
    blocks = mpki_cpu_blocks;
    blocks.finish = mpki_block_finish_as_blocks;
    mpki_engine_use(ctx, &engine);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: %s FILE|\"generate SPEC\" key=value,... ...\n", argv[0]);
        return 1;
    }
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_status status = mpk_context_create(NULL, &ctx);
    if (!mpk_failed(status))
        status = !strncmp(argv[1], "generate ", 9)
                     ? mpk_problem_generate(ctx, argv[1] + 9, 1, &problem)
                     : mpk_problem_read(ctx, argv[1], &problem);
    if (!mpk_failed(status)) leave_in_blocks(ctx);
    if (!mpk_failed(status))
        for (int k = 2; k < argc; k++) run(ctx, problem, argv[k]);
    else
        fprintf(stderr, "%s: %s\n", argv[1], mpk_status_text(status));
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    return mpk_failed(status) ? 2 : 0;
}
