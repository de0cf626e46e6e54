/* SPDX-License-Identifier: BSD-3-Clause */
/* Many batches of small systems, of order 5 to 60, of shared and of random patterns: is any number
 * not finite, any verdict wrong, any bit another than alone? Too long for the tests (which have
 * tests/systems/many.h beside the single engine); here a sample is held against dense LAPACK, and
 * systems of integers against their exact rank.
 *   bench/many_systems [-d DEVICE] [-t THREADS] SEED SYSTEMS
 * A line is printed at the end; status 1 where something was wrong. bench/results/systems.md */
#include <complex.h>
#define lapack_complex_float float _Complex
#define lapack_complex_double double _Complex
#include <lapacke.h>
#include <math.h>
#include <metapack/metapack.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER_LEAST = 5, ORDER_MOST = 60, SAMPLE = 16, PRIME = 2147483647 };

static uint64_t state;
static uint64_t next(void) { /* xorshift64*, Vigna 2016 */
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return state * UINT64_C(0x2545F4914F6CDD1D);
}
static int below(int most) { /* 0 .. most - 1 */
    return (int)((next() >> 33) % (uint64_t)most);
}
static double uniform(void) { /* (-1, 1) */
    return (double)(int64_t)(next() >> 11) * 0x1p-52 - 1;
}

/* ---- systems --------------------------------------------------------------------------------- */

typedef struct pattern {
    int32_t n;
    int64_t nnz, ap[ORDER_MOST + 1];
    int32_t ai[ORDER_MOST * (ORDER_MOST + 1) / 2];
} pattern;

/* A system, its numbers as double complex. */
typedef struct matrix {
    const pattern *p;
    double complex *ax; /* nnz */
    double complex *b, *x;
    bool integers;
    int64_t wild; /* the value that is NaN; -1: none */
    int32_t status, tier, certified;
    int64_t inertia[3];
    double omega;
    bool refused; /* for that value */
} matrix;

typedef struct kind {
    mpk_scalar scalar;
    mpk_symmetry symmetry;
    size_t size;
    double eps;
} kind;
static const kind kinds[] = {
    {MPK_D, MPK_SYMMETRIC, 8, 0x1p-52},  {MPK_Z, MPK_HERMITIAN, 16, 0x1p-52},
    {MPK_D, MPK_SYMMETRIC, 8, 0x1p-52},  {MPK_S, MPK_SYMMETRIC, 4, 0x1p-23},
    {MPK_Z, MPK_SYMMETRIC, 16, 0x1p-52}, {MPK_C, MPK_HERMITIAN, 8, 0x1p-23}};

typedef struct tally {
    int64_t systems, batches, by_tier[4], sampled, singular, integers, wild;
    int64_t not_finite, inexact, wrong_rank, missed_rank, wrong_inertia, unsure, other_bits,
        unrefused;
} tally;

static void store(const kind *q, void *to, int64_t k, double complex x) {
    if (q->scalar == MPK_S)
        ((float *)to)[k] = (float)creal(x);
    else if (q->scalar == MPK_D)
        ((double *)to)[k] = creal(x);
    else if (q->scalar == MPK_C)
        ((float complex *)to)[k] = (float complex)x;
    else
        ((double complex *)to)[k] = x;
}
static double complex load(const kind *q, const void *from, int64_t k) {
    if (q->scalar == MPK_S) return ((const float *)from)[k];
    if (q->scalar == MPK_D) return ((const double *)from)[k];
    if (q->scalar == MPK_C) return ((const float complex *)from)[k];
    return ((const double complex *)from)[k];
}

/* The lower triangle of a sparse matrix, of one with a zero block, or of a band. */
static void make_pattern(pattern *p) {
    static bool full[ORDER_MOST][ORDER_MOST];
    const int shape = below(3), n = ORDER_LEAST + below(ORDER_MOST - ORDER_LEAST + 1);
    const int first = shape == 1 ? n - 1 - below(n / 2) : n, each = 1 + below(4);
    memset(full, 0, sizeof full);
    for (int j = 0; j < n; j++) {
        full[j][j] = j < first && below(8) > 0;
        for (int k = 0; k < each; k++) {
            const int i = shape == 2 ? j + 1 + below(4) : below(n);
            if (i >= n || (i >= first && j >= first)) continue;
            full[i > j ? i : j][i > j ? j : i] = i != j || full[j][j];
        }
    }
    p->n = n, p->nnz = 0;
    for (int j = 0; j < n; j++) {
        p->ap[j] = p->nnz;
        for (int i = j; i < n; i++)
            if (full[i][j]) p->ai[p->nnz++] = i;
    }
    p->ap[n] = p->nnz;
}

static void fill(const kind *q, matrix *m, const pattern *p, bool integers, double decades) {
    *m = (matrix){.p = p, .integers = integers, .wild = -1};
    m->ax = calloc((size_t)p->nnz + 1, sizeof *m->ax);
    m->b = calloc((size_t)p->n, sizeof *m->b);
    m->x = calloc((size_t)p->n, sizeof *m->x);
    for (int j = 0; j < p->n; j++)
        for (int64_t k = p->ap[j]; k < p->ap[j + 1]; k++) {
            const bool real = q->scalar <= MPK_D || (q->symmetry == MPK_HERMITIAN && p->ai[k] == j);
            double complex a = integers ? below(5) - 2 : uniform() * pow(10, decades * uniform());
            if (!real) a += I * (integers ? below(5) - 2 : uniform());
            m->ax[k] = q->eps > 1e-10 ? (double complex)(float complex)a : a;
        }
    for (int i = 0; i < p->n; i++) m->b[i] = integers ? 1 + below(9) : (double)(float)uniform();
    if (p->nnz > 0 && below(200) == 0) m->wild = below((int)p->nnz), m->ax[m->wild] = NAN;
}

static void drop(matrix *m) {
    free(m->ax), free(m->b), free(m->x);
}

/* ---- references ------------------------------------------------------------------------------ */

static double complex entry_above(const kind *q, double complex a) {
    return q->symmetry == MPK_HERMITIAN ? conj(a) : a;
}

/* ||b - A x|| / (||A|| ||x|| + ||b||), maximum norms */
static double error_of(const kind *q, const matrix *m) {
    const pattern *p = m->p;
    double complex r[ORDER_MOST];
    double row[ORDER_MOST] = {0}, of_a = 0, of_x = 0, of_b = 0, worst = 0;
    for (int i = 0; i < p->n; i++)
        r[i] = m->b[i], of_b = fmax(of_b, cabs(r[i])), of_x = fmax(of_x, cabs(m->x[i]));
    for (int j = 0; j < p->n; j++)
        for (int64_t k = p->ap[j]; k < p->ap[j + 1]; k++) {
            const int i = p->ai[k];
            r[i] -= m->ax[k] * m->x[j], row[i] += cabs(m->ax[k]);
            if (i == j) continue;
            r[j] -= entry_above(q, m->ax[k]) * m->x[i], row[j] += cabs(m->ax[k]);
        }
    for (int i = 0; i < p->n; i++) of_a = fmax(of_a, row[i]), worst = fmax(worst, cabs(r[i]));
    return worst > 0 ? worst / (of_a * of_x + of_b) : 0;
}

static int64_t power(int64_t a, int64_t e) {
    int64_t y = 1;
    for (; e > 0; e /= 2, a = a * a % PRIME)
        if (e & 1) y = y * a % PRIME;
    return y;
}

/* The rank of a real matrix of integers modulo a prime: that of the matrix, unless the prime divides
 * a minor. */
static int exact_rank(const matrix *m) {
    static int64_t a[ORDER_MOST][ORDER_MOST];
    const pattern *p = m->p;
    int rank = 0;
    memset(a, 0, sizeof a);
    for (int j = 0; j < p->n; j++)
        for (int64_t k = p->ap[j]; k < p->ap[j + 1]; k++)
            a[p->ai[k]][j] = a[j][p->ai[k]] = ((int64_t)creal(m->ax[k]) + PRIME) % PRIME;
    for (int j = 0; j < p->n; j++) {
        int at = rank;
        while (at < p->n && a[at][j] == 0) at++;
        if (at == p->n) continue;
        for (int k = j; k < p->n; k++) {
            const int64_t t = a[at][k];
            a[at][k] = a[rank][k], a[rank][k] = t;
        }
        const int64_t by = power(a[rank][j], PRIME - 2);
        for (int i = rank + 1; i < p->n; i++) {
            const int64_t f = a[i][j] * by % PRIME;
            for (int k = j; f && k < p->n; k++)
                a[i][k] = (a[i][k] + (PRIME - f) * a[rank][k]) % PRIME;
        }
        rank++;
    }
    return rank;
}

/* Signs of the eigenvalues. False: one is so small that they are not known. */
static bool exact_inertia(const kind *q, const matrix *m, int64_t inertia[3]) {
    static double complex a[ORDER_MOST * ORDER_MOST];
    double w[ORDER_MOST];
    const pattern *p = m->p;
    memset(a, 0, sizeof a);
    for (int j = 0; j < p->n; j++)
        for (int64_t k = p->ap[j]; k < p->ap[j + 1]; k++)
            a[p->ai[k] + p->n * j] = p->ai[k] == j ? creal(m->ax[k]) : m->ax[k];
    if (LAPACKE_zheev(LAPACK_COL_MAJOR, 'N', 'L', p->n, a, p->n, w)) return false;
    const double most = fmax(fabs(w[0]), fabs(w[p->n - 1]));
    bool sure = true;
    inertia[0] = inertia[1] = inertia[2] = 0;
    for (int i = 0; i < p->n; i++) {
        inertia[w[i] < 0]++;
        sure &= fabs(w[i]) > 1e3 * p->n * q->eps * most;
    }
    return sure;
}

/* ---- a batch --------------------------------------------------------------------------------- */

static void check(mpk_context *ctx, mpk_status status, const char *what) {
    const char *text = NULL;
    if (!mpk_failed(status) || status == MPK_PARTIAL) return;
    mpk_last_error(ctx, NULL, NULL, &text);
    fprintf(stderr, "%s: %s\n", what, text);
    exit(1);
}

typedef struct arrays {
    void **ax, **x;
    char *memory;
} arrays;

/* Values, and sides where solutions come: of matrices that lie anywhere. */
static arrays lay_out(const kind *q, const matrix *m, int64_t count) {
    size_t bytes = 0;
    for (int64_t k = 0; k < count; k++)
        bytes += ((size_t)m[k].p->nnz + (size_t)m[k].p->n + 2) * q->size;
    arrays y = {malloc((size_t)count * sizeof *y.ax), malloc((size_t)count * sizeof *y.x),
                malloc(bytes + 16)};
    char *at = y.memory;
    for (int64_t k = 0; k < count; k++) {
        y.ax[k] = at, at += ((size_t)m[k].p->nnz + 1) * q->size;
        y.x[k] = at, at += ((size_t)m[k].p->n + 1) * q->size;
        for (int64_t e = 0; e < m[k].p->nnz; e++) store(q, y.ax[k], e, m[k].ax[e]);
        for (int32_t i = 0; i < m[k].p->n; i++) store(q, y.x[k], i, m[k].b[i]);
    }
    return y;
}

static void run(mpk_context *ctx, mpk_systems *s, const kind *q, matrix *m, int64_t count,
                const arrays *y) {
    int32_t *status = calloc((size_t)count, 4), *tier = calloc((size_t)count, 4),
            *certified = calloc((size_t)count, 4);
    int64_t *inertia = calloc((size_t)count, 24);
    double *omega = calloc((size_t)count, 8);
    const mpk_systems_results r = {
        .status = status, .tier = tier, .certified = certified, .inertia = inertia, .omega = omega};
    const mpk_batch_array ax = {.layout = MPK_BATCH_POINTERS, .data = y->ax, .ld = 1},
                          x = {.layout = MPK_BATCH_POINTERS, .data = y->x, .ld = ORDER_MOST};
    check(ctx, mpk_systems_factorize_solve(ctx, s, &ax, 1, &x, &x, 0, NULL, &r), "systems");
    for (int64_t k = 0; k < count; k++) {
        mpk_systems_refusal why = {0};
        m[k].status = status[k], m[k].tier = tier[k], m[k].certified = certified[k];
        m[k].omega = omega[k];
        memcpy(m[k].inertia, inertia + 3 * k, sizeof m[k].inertia);
        m[k].refused = status[k] == MPK_ERR_INPUT && !mpk_systems_refused(ctx, s, k, &why) &&
                       why.what == MPK_REFUSED_VALUE && why.entry == m[k].wild &&
                       why.row == m[k].p->ai[why.entry];
        if (!mpk_failed((mpk_status)status[k]))
            for (int32_t i = 0; i < m[k].p->n; i++) m[k].x[i] = load(q, y->x[k], i);
    }
    free(status), free(tier), free(certified), free(inertia), free(omega);
}

static void judge(const kind *q, const matrix *m, bool sampled, tally *t) {
    const bool counted = q->scalar <= MPK_D || q->symmetry == MPK_HERMITIAN;
    t->systems++, t->by_tier[m->tier & 3]++;
    if (m->wild >= 0) {
        t->wild++, t->unrefused += !m->refused;
        return;
    }
    bool finite = !mpk_failed((mpk_status)m->status);
    for (int32_t i = 0; i < m->p->n; i++)
        finite &= isfinite(creal(m->x[i])) && isfinite(cimag(m->x[i]));
    t->not_finite += !finite;
    t->singular += m->status == MPK_SINGULAR;
    if (m->status == MPK_OK && !(fmax(m->omega, error_of(q, m)) <= 46 * q->eps)) {
        printf("# inexact: scalar %d, order %d, tier %d, omega %.1e, error %.1e\n", (int)q->scalar,
               m->p->n, m->tier, m->omega, error_of(q, m));
        t->inexact++;
    }
    if (m->integers && q->scalar <= MPK_D) {
        const bool regular = exact_rank(m) == m->p->n;
        t->integers++;
        t->wrong_rank += regular && m->status == MPK_SINGULAR;
        t->missed_rank += !regular && m->status == MPK_OK;
        t->wrong_inertia += !regular && m->certified && m->inertia[2] == 0;
    }
    int64_t inertia[3];
    if (!sampled || !counted) return;
    t->sampled++;
    if (!exact_inertia(q, m, inertia))
        t->unsure++;
    else if (m->certified)
        t->wrong_inertia += memcmp(inertia, m->inertia, sizeof inertia) != 0;
}

/* The bits that a system has in an object of its own. */
static bool alone(mpk_context *ctx, const mpk_analysis *an, const mpk_options *o, const kind *q,
                  const matrix *m) {
    matrix copy = *m;
    mpk_systems *s = NULL;
    copy.x = calloc((size_t)m->p->n, sizeof *copy.x);
    const arrays y = lay_out(q, m, 1);
    check(ctx, mpk_systems_create(ctx, an, o, NULL, 1, &s), "create");
    run(ctx, s, q, &copy, 1, &y);
    const bool same = copy.status == m->status && copy.tier == m->tier &&
                      (mpk_failed((mpk_status)m->status) ||
                       (!memcmp(&copy.omega, &m->omega, sizeof m->omega) &&
                        !memcmp(copy.x, m->x, (size_t)m->p->n * sizeof *m->x)));
    mpk_systems_destroy(&s);
    free(copy.x), free(y.memory), free(y.ax), free(y.x);
    return same;
}

static mpk_problem *problem_of(mpk_context *ctx, const kind *q, const matrix *m) {
    mpk_problem *p = NULL;
    void *ax = malloc(((size_t)m->p->nnz + 1) * q->size);
    for (int64_t e = 0; e < m->p->nnz; e++) /* a template of values that are finite */
        store(q, ax, e, e == m->wild ? 1 : m->ax[e]);
    check(ctx,
          mpk_problem_from_csc(ctx, m->p->n, q->scalar, q->symmetry, MPK_LOWER, m->p->ap, m->p->ai,
                               ax, &p),
          "problem");
    free(ax);
    return p;
}

static void batch(const mpk_options *o, tally *t) {
    const kind *q = &kinds[below(6)];
    const bool mixed = below(3) == 0, integers = below(2) == 0;
    const int64_t count = mixed ? 24 + below(40) : 16 + below(240);
    const int patterns = mixed ? 1 + below(12) : 1;
    const double decades = below(4);
    pattern *p = malloc((size_t)patterns * sizeof *p);
    matrix *m = malloc((size_t)count * sizeof *m);
    mpk_context *ctx = NULL;
    mpk_analysis *an = NULL;
    mpk_systems *s = NULL;
    check(NULL, mpk_context_create(NULL, &ctx), "context");
    for (int k = 0; k < patterns; k++) make_pattern(&p[k]);
    for (int64_t k = 0; k < count; k++) fill(q, &m[k], &p[below(patterns)], integers, decades);
    const mpk_problem **problem = calloc((size_t)count, sizeof *problem);
    for (int64_t k = 0; k < (mixed ? count : 1); k++) problem[k] = problem_of(ctx, q, &m[k]);
    if (mixed) {
        check(ctx, mpk_systems_create_mixed(ctx, count, problem, o, NULL, &s), "create");
    } else {
        mpk_options of_analysis = *o;
        of_analysis.device = MPK_ON_CPU;
        check(ctx, mpk_analyse(ctx, problem[0], &of_analysis, &an), "analyse");
        check(ctx, mpk_systems_create(ctx, an, o, NULL, count, &s), "create");
    }
    const arrays y = lay_out(q, m, count);
    run(ctx, s, q, m, count, &y);
    const int first = below(SAMPLE);
    for (int64_t k = 0; k < count; k++) judge(q, &m[k], k % SAMPLE == first, t);
    for (int64_t k = first; !mixed && k < count; k += 4 * SAMPLE)
        t->other_bits += !alone(ctx, an, o, q, &m[k]);
    t->batches++;
    mpk_systems_destroy(&s);
    mpk_analysis_destroy(&an);
    for (int64_t k = 0; k < count; k++) {
        mpk_problem *gone = (mpk_problem *)(uintptr_t)problem[k];
        mpk_problem_destroy(&gone);
        drop(&m[k]);
    }
    mpk_context_destroy(&ctx);
    free(problem), free(p), free(m), free(y.memory), free(y.ax), free(y.x);
}

int main(int argc, char **argv) {
    mpk_options o;
    int64_t number[2] = {1, 100000};
    int numbers = 0;
    mpk_options_init(&o);
    o.threads = 1;
    o.method = MPK_METHOD_LDLT;
    for (int k = 1; k < argc; k++) {
        if (!strcmp(argv[k], "-d") && k + 1 < argc)
            o.device = strcmp(argv[++k], "cuda") ? MPK_ON_CPU : MPK_ON_CUDA;
        else if (!strcmp(argv[k], "-t") && k + 1 < argc)
            o.threads = atoi(argv[++k]);
        else if (numbers < 2)
            number[numbers++] = atoll(argv[k]);
    }
    tally t = {0};
    state = UINT64_C(0x9E3779B97F4A7C15) * (uint64_t)(number[0] + 1);
    while (t.systems < number[1]) batch(&o, &t);
    printf("seed %lld: %lld systems, %lld batches, template %lld, own %lld, single %lld; singular "
           "%lld, "
           "integers %lld, NaN %lld, beside LAPACK %lld (unsure %lld) | not finite %lld, inexact "
           "%lld, "
           "regular told singular %lld, singular told ok %lld, wrong certified inertia %lld, other "
           "bits "
           "%lld, NaN not found %lld\n",
           (long long)number[0], (long long)t.systems, (long long)t.batches,
           (long long)t.by_tier[MPK_TIER_TEMPLATE], (long long)t.by_tier[MPK_TIER_OWN],
           (long long)t.by_tier[MPK_TIER_SINGLE], (long long)t.singular, (long long)t.integers,
           (long long)t.wild, (long long)t.sampled, (long long)t.unsure, (long long)t.not_finite,
           (long long)t.inexact, (long long)t.wrong_rank, (long long)t.missed_rank,
           (long long)t.wrong_inertia, (long long)t.other_bits, (long long)t.unrefused);
    return t.not_finite + t.inexact + t.wrong_rank + t.wrong_inertia + t.other_bits + t.unrefused >
           0;
}
