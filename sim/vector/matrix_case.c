/* SPDX-License-Identifier: BSD-3-Clause */
/* A sparse matrix times a vector: its rows, in an order, as warps; what must come out. */
#include "sim/vector/sweep.h"
#include <math.h>
#include <string.h>

typedef struct builder {
    vs_case *k;
    const vr_program *program;
    borg_diags *diags;
} builder;

/* An array for the parameter of that name; NULL: the kernel has none, or another type. */
static void *give_array(builder *b, const char *name, vr_type type, int64_t count) {
    vs_case *k = b->k;
    int32_t at = vr_find_param(b->program, name);
    void *data = borg_alloc(b->diags->arena, (size_t)count + 1, (size_t)vr_bytes(type));
    if (at < 0) return data;
    const vr_param *p = &b->program->params[at];
    if (!p->array || p->type != type) {
        borg_report(b->diags, BORG_ERROR, p->loc, "with a matrix, '%s' is .ptr.%s", name,
                    vr_type_text[type]);
        return NULL;
    }
    k->memory.arrays[k->memory.count] =
        (vs_array){.name = p->name, .type = type, .count = count, .data = data};
    k->args[at].array = k->memory.count++;
    return data;
}

/* width: threads of the warps, where all have as many. */
static bool give_arguments(builder *b, const vs_matrix *a, int32_t width) {
    static const char *const known[] = {"csr_row", "csr_col", "csr_val", "x",
                                        "b",       "nrows",   "ncols",   "width"};
    const vr_program *p = b->program;
    for (int32_t i = 0; i < p->nparams; ++i) {
        const vr_param *q = &p->params[i];
        int j = 0;
        while (j < 8 && strcmp(q->name, known[j]) != 0) ++j;
        if (j == 8) {
            borg_report(
                b->diags, BORG_ERROR, q->loc,
                "a matrix has no '%s': only csr_row, csr_col, csr_val, x, b, nrows, ncols, width",
                q->name);
            return false;
        }
        if (j >= 5 && (q->array || vr_bytes(q->type) != 4 || vr_is_float(q->type))) {
            borg_report(b->diags, BORG_ERROR, q->loc, "with a matrix, '%s' is .s32", q->name);
            return false;
        }
        if (j >= 5) b->k->args[i].bits = (uint32_t)(j == 5 ? a->nrows : j == 6 ? a->ncols : width);
    }
    return true;
}

/* An array of reals, from doubles: of the type that the kernel's `b` has. */
static void *give_reals(builder *b, const char *name, vr_type type, const double *values,
                        int64_t count) {
    void *data = give_array(b, name, type, count);
    for (int64_t i = 0; data && i < count; ++i)
        if (type == VR_F32)
            ((float *)data)[i] = (float)values[i];
        else
            ((double *)data)[i] = values[i];
    return data;
}

/* x is neither constant nor large. */
static double entry_of_x(int32_t j) {
    return 1 + (double)((uint32_t)j * 2654435761u >> 12) / (1 << 20);
}

/* As a value of the type. */
static double rounded(vr_type type, double x) {
    return type == VR_F32 ? (double)(float)x : x;
}

static void fill(const vs_matrix *a, const int32_t *order, vr_type type, int32_t *row, int32_t *col,
                 double *val, double *x, double *want, double *size) {
    int32_t at = 0;
    for (int32_t j = 0; j < a->ncols; ++j) x[j] = rounded(type, entry_of_x(j));
    for (int32_t i = 0; i < a->nrows; ++i) {
        int32_t from = order ? order[i] : i;
        long double sum = 0;
        row[i] = at;
        for (int64_t k = a->row[from]; k < a->row[from + 1]; ++k, ++at) {
            col[at] = a->col[k];
            val[at] = rounded(type, a->val[k]);
            sum += (long double)val[at] * x[col[at]];
            size[i] += fabs(val[at] * x[col[at]]);
        }
        want[i] = (double)sum;
    }
    row[a->nrows] = at;
}

/* A row without entries has no warp, unless all warps have the same size. */
static void make_warps(vs_case *k, const vs_matrix *a, const vs_rows *rows, const int32_t *order,
                       borg_arena *arena) {
    int32_t most = rows->by_lane ? (a->nrows + rows->threads - 1) / rows->threads : a->nrows;
    k->warps = BORG_NEW(arena, most + 1, vs_warp);
    k->stage = BORG_NEW(arena, 2, int32_t);
    for (int32_t i = 0; i < most; ++i) {
        int32_t from = order ? order[i] : i, threads = rows->threads;
        if (rows->by_lane) {
            if (a->nrows - i * threads < threads) threads = a->nrows - i * threads;
        } else if (threads == 0) {
            threads = (int32_t)(a->row[from + 1] - a->row[from]);
            if (rows->most && threads > rows->most) threads = rows->most;
        }
        if (threads > 0) k->warps[k->nwarps++] = (vs_warp){.wid = i, .ntids = threads};
    }
    k->nstages = 1;
    k->stage[1] = k->nwarps;
}

/* The rows themselves change places, so that neighbours in memory are neighbours in the order. */
static vs_case *make(const vs_source *source, const vr_program *program, const int32_t *order,
                     borg_diags *diags) {
    const vs_matrix *a = source->matrix;
    borg_arena *arena = diags->arena;
    builder b = {BORG_NEW(arena, 1, vs_case), program, diags};
    int64_t nnz = a->row[a->nrows];
    b.k->args = BORG_NEW(arena, program->nparams + 1, vs_arg);
    b.k->memory.arrays = BORG_NEW(arena, program->nparams + 1, vs_array);
    if (!give_arguments(&b, a, source->rows.threads)) return NULL;
    int32_t *row = give_array(&b, "csr_row", VR_B32, a->nrows + 1);
    int32_t *col = give_array(&b, "csr_col", VR_B32, nnz);
    int32_t at = vr_find_param(program, "b");
    if (!row || !col) return NULL;
    if (at < 0) {
        borg_report(diags, BORG_ERROR, (borg_loc){0},
                    "the kernel has no parameter 'b' for the product");
        return NULL;
    }
    const vr_type type = program->params[at].type == VR_F32 ? VR_F32 : VR_F64;
    double *val = BORG_NEW(arena, nnz + 1, double), *x = BORG_NEW(arena, a->ncols + 1, double);
    double *out = BORG_NEW(arena, a->nrows + 1, double);
    double *want = BORG_NEW(arena, a->nrows + 1, double),
           *size = BORG_NEW(arena, a->nrows + 1, double);
    fill(a, order, type, row, col, val, x, want, size);
    for (int32_t i = 0; i < a->nrows; ++i) out[i] = row[i] < row[i + 1] ? NAN : 0;
    if (!give_reals(&b, "csr_val", type, val, nnz) || !give_reals(&b, "x", type, x, a->ncols) ||
        !give_reals(&b, "b", type, out, a->nrows))
        return NULL;
    make_warps(b.k, a, &source->rows, order, arena);
    int64_t longest = 1;
    for (int32_t i = 0; i < a->nrows; ++i)
        if (a->row[i + 1] - a->row[i] > longest) longest = a->row[i + 1] - a->row[i];
    b.k->expects = BORG_NEW(arena, 1, struct vs_expect);
    b.k->nexpects = 1;
    b.k->expects[0] = (struct vs_expect){b.k->args[at].array, a->nrows, want, size,
                                         (double)longest * (type == VR_F32 ? 0x1p-23 : 0x1p-52)};
    vs_place_arrays(&b.k->memory);
    return b.k;
}

vs_source vs_source_matrix(const vs_matrix *matrix, vs_rows rows) {
    return (vs_source){.make = make, .nwarps = matrix->nrows, .matrix = matrix, .rows = rows};
}
