/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of metapack vsim: the kernel, the machine, the matrix or the arrays. */
#include "vsim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 30 };

/* A whole file in the arena; NULL after a message. */
static const char *read_all(vsim *v, const char *path, size_t *length) {
    FILE *file = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    char *text = NULL;
    size_t capacity = 0;
    *length = 0;
    v->status = MPK_ERR_FILE;
    while (file && !ferror(file) && !feof(file) && *length < MOST_BYTES) {
        text = borg_grow(&v->arena, text, *length + (1 << 16), &capacity, 1);
        *length += fread(text + *length, 1, capacity - *length, file);
    }
    const bool bad = !file || ferror(file) || !feof(file);
    const int error = errno;
    if (file && file != stdin) fclose(file);
    v->diags.source = (borg_text){.file = path};
    if (!bad) return text ? text : "";
    borg_report(&v->diags, BORG_ERROR, (borg_loc){0}, "cannot be read: %s",
                *length >= MOST_BYTES ? "more than 1 GiB" : strerror(error ? error : EIO));
    return NULL;
}

static bool read_kernel(vsim *v) {
    size_t length;
    const char *path = v->args->words[0], *text = read_all(v, path, &length);
    if (!text) return false;
    v->status = MPK_ERR_FORMAT;
    v->program = vr_assemble(path, text, length, &v->diags);
    return v->program != NULL;
}

/* "name=value,name=value" over the file. */
static bool read_settings(vsim *v) {
    const char *list = v->args->vsim.set;
    v->diags.source = (borg_text){.file = "--set"};
    while (list && *list) {
        size_t length = strcspn(list, ",");
        char *word = borg_copy_text(&v->arena, list, length), *equal = strchr(word, '=');
        const char *why = "expected name=value";
        if (equal) {
            *equal = '\0';
            why = vs_machine_set(&v->o.machine, word, equal + 1, &v->arena);
        }
        if (why) borg_report(&v->diags, BORG_ERROR, (borg_loc){0}, "%s: %s", word, why);
        list += length + (list[length] == ',');
    }
    v->status = MPK_ERR_ARGUMENT;
    return v->diags.errors == 0;
}

static bool read_machine(vsim *v) {
    size_t length;
    vs_machine_init(&v->o.machine);
    if (v->args->vsim.machine) {
        const char *text = read_all(v, v->args->vsim.machine, &length);
        if (!text) return false;
        v->status = MPK_ERR_FORMAT;
        if (!vs_machine_read(&v->o.machine, v->args->vsim.machine, text, length, &v->diags))
            return false;
    }
    return read_settings(v);
}

/* ---- matrices -------------------------------------------------------------------------------- */

/* Columns, of one triangle or of all, to rows of the whole matrix. */
static bool from_view(vsim *v, const mpk_problem_view *p) {
    vs_matrix *a = &v->matrix;
    const double *ax = p->ax;
    const bool both = p->symmetry != MPK_GENERAL;
    int64_t nnz = 0;
    if (p->scalar != MPK_D) {
        borg_report(&v->diags, BORG_ERROR, (borg_loc){0}, "the matrix is complex");
        return false;
    }
    a->nrows = a->ncols = p->n;
    a->row = BORG_NEW(&v->arena, p->n + 2, int64_t);
    for (int32_t j = 0; j < p->n; j++)
        for (int64_t k = p->ap[j]; k < p->ap[j + 1]; k++) {
            ++a->row[p->ai[k] + 1];
            if (both && p->ai[k] != j) ++a->row[j + 1];
        }
    for (int32_t i = 0; i < p->n; i++) a->row[i + 1] += a->row[i];
    nnz = a->row[p->n];
    if (nnz > INT32_MAX) {
        borg_report(&v->diags, BORG_ERROR, (borg_loc){0}, "more than 2147483647 entries");
        return false;
    }
    int64_t *next = BORG_NEW(&v->arena, p->n + 1, int64_t);
    memcpy(next, a->row, (size_t)p->n * sizeof *next);
    a->col = BORG_NEW(&v->arena, nnz + 1, int32_t);
    a->val = BORG_NEW(&v->arena, nnz + 1, double);
    for (int upper = both ? 0 : 1; upper < 2; upper++) /* columns rise in each row */
        for (int32_t j = 0; j < p->n; j++)
            for (int64_t k = p->ap[j]; k < p->ap[j + 1]; k++) {
                int32_t i = p->ai[k];
                if (both && upper && i == j) continue;
                int64_t at = both && upper ? next[j]++ : next[i]++;
                a->col[at] = both && upper ? i : j;
                a->val[at] = ax[k];
            }
    return true;
}

static bool read_square(vsim *v) {
    mpk_problem *problem = NULL;
    mpk_problem_view view;
    cli_args *a = v->args;
    v->status = a->vsim.matrix
                    ? mpk_problem_read(a->ctx, a->vsim.matrix, &problem)
                    : mpk_problem_generate(a->ctx, a->generate, a->options.seed, &problem);
    if (mpk_failed(v->status)) {
        const char *text = NULL;
        mpk_last_error(a->ctx, NULL, NULL, &text);
        v->diags.source = (borg_text){.file = v->input};
        borg_report(&v->diags, BORG_ERROR, (borg_loc){0}, "%s",
                    text && *text ? text : mpk_status_text(v->status));
        return false;
    }
    mpk_problem_view_get(problem, &view);
    v->status = MPK_ERR_INPUT;
    volatile bool good = false; /* a jump for want of memory must not lose the problem */
    jmp_buf outer;
    memcpy(&outer, &v->arena.oom, sizeof outer);
    const bool lost = setjmp(v->arena.oom) != 0;
    if (!lost) good = from_view(v, &view);
    memcpy(&v->arena.oom, &outer, sizeof outer);
    mpk_problem_destroy(&problem);
    if (lost) longjmp(v->arena.oom, 1);
    return good;
}

/* "FROM:TO", either may be left out; TO is behind the last. */
static bool read_range(const char *text, int32_t n, int64_t range[2]) {
    char *rest;
    range[0] = 0;
    range[1] = n;
    if (!text) return true;
    if (*text != ':') {
        range[0] = strtoll(text, &rest, 10);
        if (rest == text || *rest != ':') return false;
        text = rest;
    }
    if (text[1]) {
        range[1] = strtoll(text + 1, &rest, 10);
        if (rest == text + 1 || *rest) return false;
    }
    return range[0] >= 0 && range[0] < range[1] && range[1] <= n;
}

static bool read_matrix(vsim *v) {
    const cli_args *a = v->args;
    int64_t rows[2], cols[2];
    bool rectangular = false;
    if (a->vsim.matrix && strcmp(a->vsim.matrix, "-")) {
        size_t length;
        const char *text = read_all(v, a->vsim.matrix, &length);
        if (!text) return false;
        rectangular = vs_is_rectangular(text, length);
        v->status = MPK_ERR_FORMAT;
        if (rectangular && !vs_matrix_read(&v->matrix, a->vsim.matrix, text, length, &v->diags))
            return false;
    }
    if (!rectangular && !read_square(v)) return false;
    v->status = MPK_ERR_ARGUMENT;
    v->diags.source = (borg_text){.file = v->input};
    if (!read_range(a->vsim.rows, v->matrix.nrows, rows) ||
        !read_range(a->vsim.cols, v->matrix.ncols, cols)) {
        borg_report(&v->diags, BORG_ERROR, (borg_loc){0},
                    "--rows, --cols: expected FROM:TO within %d x %d, 0 the first and TO behind "
                    "the last",
                    v->matrix.nrows, v->matrix.ncols);
        return false;
    }
    if (a->vsim.rows || a->vsim.cols) v->matrix = vs_matrix_part(&v->matrix, rows, cols, &v->arena);
    v->source = vs_source_matrix(&v->matrix, v->source.rows);
    return true;
}

static bool read_input(vsim *v) {
    size_t length;
    const cli_args *a = v->args;
    v->input = a->vsim.input ? a->vsim.input : a->vsim.matrix ? a->vsim.matrix : a->generate;
    if (!v->input) return true;
    if (!a->vsim.input) return read_matrix(v);
    const char *text = read_all(v, a->vsim.input, &length);
    if (!text) return false;
    v->status = MPK_ERR_FORMAT;
    return vs_source_read(&v->source, a->vsim.input, text, length, &v->diags);
}

bool vsim_read_files(vsim *v) {
    return read_kernel(v) && read_machine(v) && read_input(v);
}
