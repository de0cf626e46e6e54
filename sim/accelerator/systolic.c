/* SPDX-License-Identifier: BSD-3-Clause */
/* A systolic array as an accelerator: blocks go through its programs ldlt, trsv (or forward, one
 * triangle of it, where the mesh has no column for two) and gemm. Cycles: a matrix is loaded into
 * the cells in n cycles, row by row from above; the items of a batch follow each other at the
 * program's interval. */
#include "sim/accelerator/accelerator.h"
#include "sim/systolic/array.h"
#include "sim/systolic/programs.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { F, S, D, T, Z, MOST = 128 };

typedef struct systolic {
    sim_machine machine;
    borg_arena arena;
    int32_t rows, columns;
    /* for blocks of n rows; made when the first ones come */
    int32_t n, interval;
    bool two; /* triangles at once */
    const sim_array *ldlt, *solve, *gemm;
    double *in, *out, *work;
} systolic;

static const sim_array *array_of(systolic *s, const char *text, int32_t n, bool search) {
    borg_diags diags = {.arena = &s->arena, .source = {"array", text, strlen(text)}};
    const cells_program *p = cells_parse(&s->arena, text, strlen(text), &diags);
    const sim_setup setup = {.n = n, .m = n, .most_rows = s->rows, .most_columns = s->columns};
    const sim_array *a = p ? sim_array_new(&s->arena, p, &setup, &diags) : NULL;
    if (a && search) s->interval = sim_array_interval(p, &setup);
    return a && (!search || s->interval > 0) ? a : NULL;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* The arrays for blocks of this size. */
static mpk_status prepare(systolic *s, int32_t n) {
    if (s->n == n) return MPK_OK;
    borg_arena_free(&s->arena);
    borg_arena_init(&s->arena, NULL, 0);
    s->n = 0;
    if (setjmp(s->arena.oom)) return MPK_ERR_MEMORY;
    s->two = s->columns > n;
    s->ldlt = array_of(s, sim_cells_ldlt, n, true);
    s->solve = array_of(s, s->two ? sim_cells_trsv : sim_cells_forward, n, false);
    s->gemm = array_of(s, sim_cells_gemm, n, false);
    if (!s->ldlt || !s->solve || !s->gemm) return MPK_ERR_DEVICE;
    int64_t in = 0, out = 0, work = 0;
    const sim_array *const all[] = {s->ldlt, s->solve, s->gemm};
    for (int k = 0; k < 3; ++k) {
        in = larger(in, all[k]->ninputs);
        out = larger(out, all[k]->noutputs);
        work = larger(work, sim_array_work(all[k]));
    }
    s->in = BORG_NEW(&s->arena, in + 1, double);
    s->out = BORG_NEW(&s->arena, out + 1, double);
    s->work = BORG_NEW(&s->arena, work + 1, double);
    s->n = n;
    return MPK_OK;
}

static void count(systolic *s, int kernel, int64_t cycles, double busy) {
    s->machine.count.cycles[kernel] += cycles;
    s->machine.count.busy[kernel] += busy;
}

static double stay_nan(double most, double x) {
    const double size = fabs(x);
    return most != most || size <= most ? most : size;
}

static mpk_status factorize(void *self, const mpk_accelerator_batch *b) {
    systolic *s = self;
    const int32_t n = b->n;
    const mpk_status status = prepare(s, n);
    if (mpk_failed(status)) return status;
    for (int64_t i = 0; i < b->count; ++i) {
        double *c = b->block[0][i];
        sim_array_run(s->ldlt, c, s->out, s->work, b->small);
        b->trouble[i] = 0;
        b->largest[i] = 0;
        for (int32_t k = n - 1; k >= 0;
             --k) { /* pivots leave the array; the first bad one counts */
            const double d = s->out[k * n + k];
            if (!(fabs(d) > b->small && isfinite(d))) b->trouble[i] = k + 1;
            for (int32_t j = 0; j < k; ++j)
                b->largest[i] = stay_nan(b->largest[i], s->out[k * n + j]);
        }
        if (!b->trouble[i]) memcpy(c, s->out, (size_t)n * (size_t)n * sizeof *c);
    }
    /* the next matrix is loaded by the links that the present one uses */
    count(s, F, s->ldlt->cycles + b->count * n + (b->count - 1) * s->interval,
          (double)b->count * (double)s->ldlt->beats);
    return MPK_OK;
}

/* Rows of the block are right-hand sides, one or two at a time. */
static void solve_rows(systolic *s, double *c, double *largest) {
    const int32_t n = s->n;
    double *const l = s->in, *const right = l + (s->two ? 2 : 1) * n * n;
    for (int32_t r = 0; r < n; r += s->two ? 2 : 1) {
        const int32_t other = r + 1 < n ? r + 1 : r;
        memcpy(right, c + r * n, (size_t)n * sizeof *c);
        if (s->two) memcpy(right + n, c + other * n, (size_t)n * sizeof *c);
        sim_array_run(s->solve, s->in, s->out, s->work, 0);
        if (s->two) memcpy(c + other * n, s->out + n, (size_t)n * sizeof *c);
        memcpy(c + r * n, s->out, (size_t)n * sizeof *c);
    }
    *largest = 0;
    for (int32_t k = 0; k < n * n; ++k) *largest = stay_nan(*largest, c[k]);
}

static mpk_status solve(void *self, const mpk_accelerator_batch *b) {
    systolic *s = self;
    const int32_t n = b->n;
    const mpk_status status = prepare(s, n);
    if (mpk_failed(status)) return status;
    const void *loaded = NULL;
    int64_t loads = 0;
    for (int64_t i = 0; i < b->count; ++i) {
        const double *f = b->pivot[i];
        if (f != loaded) { /* L D is formed on the way into the cells */
            for (int32_t r = 0; r < n; ++r)
                for (int32_t k = 0; k < n; ++k)
                    s->in[r * n + k] = k > r    ? 0
                                       : k == r ? f[r * n + r]
                                                : f[r * n + k] * f[k * n + k];
            if (s->two) memcpy(s->in + n * n, s->in, (size_t)n * (size_t)n * sizeof *s->in);
            loaded = f;
            ++loads;
        }
        solve_rows(s, b->block[0][i], &b->largest[i]);
    }
    const int64_t vectors = b->count * (s->two ? (n + 1) / 2 : n);
    /* a vector each cycle; with new pivots the array runs empty first */
    count(s, S, loads * (n + s->solve->cycles) + vectors - loads,
          (double)vectors * (double)s->solve->beats);
    return MPK_OK;
}

static mpk_status downdate(void *self, const mpk_accelerator_batch *b) {
    systolic *s = self;
    const int32_t n = b->n;
    const size_t bytes = (size_t)n * (size_t)n * sizeof(double);
    const mpk_status status = prepare(s, n);
    if (mpk_failed(status)) return status;
    for (int64_t i = 0; i < b->count; ++i) {
        const double *y = b->block[2][i], *f = b->pivot[i];
        double *w = s->in + n * n;
        memcpy(s->in, b->block[1][i], bytes);
        for (int32_t k = 0; k < n; ++k)
            for (int32_t j = 0; j < n; ++j) w[k * n + j] = f[k * n + k] * y[j * n + k];
        memcpy(w + n * n, b->block[0][i], bytes);
        sim_array_run(s->gemm, s->in, s->out, s->work, 0);
        memcpy(b->block[0][i], s->out, bytes);
    }
    count(s, D, s->gemm->cycles + b->count * n + (b->count - 1) * n,
          (double)b->count * (double)s->gemm->beats);
    return MPK_OK;
}

/* Moves at the border: rows in, columns or zeros out. */
static mpk_status transpose(void *self, const mpk_accelerator_batch *b) {
    count(self, T, b->count * b->n, 0);
    return mpk_accelerator_cpu()->transpose(self, b);
}

static mpk_status zero_out(void *self, const mpk_accelerator_batch *b) {
    count(self, Z, b->count * b->n, 0);
    return mpk_accelerator_cpu()->zero_out(self, b);
}

static void free_machine(sim_machine *machine) {
    systolic *s = (systolic *)machine;
    borg_arena_free(&s->arena);
    free(s);
}

sim_machine *sim_systolic_new(int32_t rows, int32_t columns, char *text) {
    *text = 0;
    if (rows < 1 || columns < 1 || rows > 1024 || columns > 1024) {
        strcpy(text, "a systolic array has 1 x 1 to 1024 x 1024 cells");
        return NULL;
    }
    systolic *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    borg_arena_init(&s->arena, NULL, 0);
    s->rows = rows, s->columns = columns;
    sim_machine *m = &s->machine;
    int32_t most = rows < columns ? rows : columns;
    if (most > MOST) most = MOST;
    snprintf(m->name, sizeof m->name, "systolic array, %d x %d cells", rows, columns);
    m->free = free_machine;
    for (int k = 0; k < SIM_KERNELS; ++k) m->count.units[k] = (double)rows * columns;
    m->table = (mpk_accelerator){.struct_size = sizeof m->table,
                                 .name = m->name,
                                 .self = s,
                                 .precisions = 1u << MPK_D,
                                 .largest_block = most,
                                 .allocate = sim_allocate,
                                 .release = sim_release,
                                 .upload = sim_copy,
                                 .download = sim_copy,
                                 .factorize = factorize,
                                 .solve = solve,
                                 .downdate = downdate,
                                 .transpose = transpose,
                                 .zero_out = zero_out};
    return m;
}
