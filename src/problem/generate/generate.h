/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PROBLEM_GENERATE_H
#define MPKI_PROBLEM_GENERATE_H
/** Inside of the generators: a family fills entries from its parameters and a stream of random
 *  bits.
 *
 *  Equal bits on every machine: only +, -, *, / and sqrt on doubles, compiled without contraction;
 *  random numbers of our own; no other function of the C library. Formulas:
 *  docs/reference/generators.md. */
#include "../../core/random.h"
#include "../assemble.h"

enum { MPKI_MAX_PARAMETERS = 12, MPKI_MAX_WORD = 4096 };

/** A parameter: positional or name=value. */
typedef struct mpki_parameter {
    const char *name;
    const char *const *words; /* a choice: the words, NULL at the end; the value is the position */
    bool integer, required;
    bool text;          /* the name of a file, to mpki_generator.text; a family has one at most */
    double initial;     /* unless given */
    double least, most; /* numbers: the range */
} mpki_parameter;

/** A generator at work. */
typedef struct mpki_generator {
    mpk_context *ctx;
    const char *family;
    double value[MPKI_MAX_PARAMETERS]; /* of the parameters, in the order of the table */
    char text[MPKI_MAX_WORD];          /* of the one that is a text */
    uint64_t random;                   /* state */
    mpki_asking asking; /* of the loops over rows: they end where the caller wants to stop */
    /* what the family makes */
    int32_t n;
    mpk_scalar scalar;
    mpk_symmetry symmetry;
    double *sizes; /* 2, or NULL: n and a bound of the entries, and nothing more is made */
    mpki_entries
        entries; /* lower triangle, of MPK_GENERAL all, 0-based; best sorted by column, then
                             row */
} mpki_generator;

typedef struct mpki_family {
    const char *name;
    const mpki_parameter *parameters; /* ends with name == NULL */
    mpk_status (*make)(mpki_generator *g);
} mpki_family;

/** Say how large it becomes: n rows and room for nnz entries. MPK_ERR_SIZE when n does not fit; n
 * is a double so that no product overflows on its way here (exact up to 2^53). */
mpk_status mpki_generator_size(mpki_generator *g, double n, double nnz);

/** What mpk_problem_generate would make of `spec`, in closed form: n and at least its stored
 *  entries; 0 and 0 where a file tells, which is not read for it.
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _SIZE */
mpk_status mpki_generate_sizes(mpk_context *ctx, const char *spec, double *n, double *nnz);

/** Does `spec` read a file? path [out] its name, MPKI_MAX_WORD bytes. */
bool mpki_generate_reads(const char *spec, char *path);

/** Add an entry of the lower triangle, or any of a general matrix. Room was made by
 *  mpki_generator_size(). */
static inline void mpki_emit(mpki_generator *g, int64_t row, int64_t col, double value) {
    int64_t k = g->entries.count++;
    g->entries.row[k] = (int32_t)row;
    g->entries.col[k] = (int32_t)col;
    ((double *)g->entries.value)[k] = value;
}

static inline void mpki_emit_complex(mpki_generator *g, int64_t row, int64_t col, double re,
                                     double im) {
    int64_t k = g->entries.count++;
    g->entries.row[k] = (int32_t)row;
    g->entries.col[k] = (int32_t)col;
    ((double *)g->entries.value)[2 * k] = re;
    ((double *)g->entries.value)[2 * k + 1] = im;
}

/** Uniform in [0, 1), a multiple of 2^-53. */
static inline double mpki_draw_unit(mpki_generator *g) {
    return mpki_random_unit(mpki_random_next(&g->random));
}

/** Uniform in [-1, 1). */
static inline double mpki_draw_signed(mpki_generator *g) {
    return 2 * mpki_draw_unit(g) - 1;
}

/** Uniform in 0 .. count - 1. */
static inline int64_t mpki_draw_index(mpki_generator *g, int64_t count) {
    return (int64_t)(mpki_draw_unit(g) *
                     (double)count); /* count <= 2^31: the product rounds below it */
}

/** 2^k (1 + u), k uniform over the powers of two of `decades` decades around 1, u in [0, 1). */
double mpki_draw_magnitude(mpki_generator *g, double decades);

extern const mpki_family mpki_family_nlpkkt, mpki_family_control_distributed, mpki_family_lin,
    mpki_family_helmholtz, mpki_family_stokes, mpki_family_lp_kkt, mpki_family_optimal_control,
    mpki_family_quasi_definite, mpki_family_random, mpki_family_convection, mpki_family_elements,
    mpki_family_mycielskian, mpki_family_lp_published;

#endif
