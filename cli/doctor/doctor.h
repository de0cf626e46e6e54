/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPK_CLI_DOCTOR_H
#define MPK_CLI_DOCTOR_H
/** metapack doctor: what a matrix is, what makes it hard, what METAPACK does with it, and what the
 *  answer is worth. Data flow one way: facts, which are measured numbers; findings, which are
 *  sentences made of them; writers of text, JSON and a page. */
#include "../cli.h"

#include <stdint.h>

enum {
    DOCTOR_NAME = 64,
    DOCTOR_TEXT = 640,
    DOCTOR_FINDINGS = 64,
    DOCTOR_TRIALS = 8,
    DOCTOR_PHASES = 12,
    DOCTOR_STEPS = 64, /* most of Lanczos */
    DOCTOR_GRID = 96,  /* cells of a side of a picture of a pattern */
    DOCTOR_BINS = 240, /* columns of a picture along the order */
    DOCTOR_SIZES = 4   /* components whose sizes are told */
};

/** The nonzero entries by rows, both triangles. */
typedef struct doctor_rows {
    int32_t n;
    int64_t *ptr;    /* n + 1 */
    int32_t *col;    /* increasing within a row */
    double *re, *im; /* im NULL: real */
} doctor_rows;

/** What the entries show, without any elimination. */
typedef struct doctor_look {
    int64_t nonzeros;                /* of the whole matrix */
    int64_t explicit_zeros;          /* stored entries that are zero */
    int32_t zero_rows, zero_columns; /* without a nonzero entry */
    int32_t first_zero_row;          /* -1: none */
    int32_t longest, longest_row, median_row;
    int32_t dense_rows; /* longer than 10 sqrt(n) and 16 */
    int32_t bandwidth;
    int32_t diagonal_zero, diagonal_positive, diagonal_negative; /* real parts */
    double least, most;                                          /* moduli of nonzero entries */
    double least_row, most_row_norm; /* largest moduli of nonzero rows: least, most */
    int32_t least_row_at, most_row_at;
    double spread;          /* log10 of their ratio */
    double spread_balanced; /* the same after symmetric equilibration */
    int32_t dominant_rows;  /* |a_ii| >= sum of the others */
    int32_t repeated;       /* rows that are multiples of an earlier one; -1: not looked */
    int32_t repeated_row, repeated_of;              /* the first such pair */
    int32_t components, size[DOCTOR_SIZES], single; /* of the graph; single: of one row */
} doctor_look;

/** How far a matrix that was given whole is from its mirror image. */
typedef struct doctor_mirror {
    int64_t pairs, differ;  /* pairs of places off the diagonal with an entry; those that differ */
    int64_t alone;          /* entries whose mirror image is not stored or zero */
    double largest;         /* |a_ij - a_ji|, largest */
    int32_t row, column;    /* where */
    double there, mirrored; /* moduli of the two */
    double tolerance;       /* --symmetry-tolerance that takes it for symmetric */
    double relative;        /* ||A - A'||_F / ||A||_F */
    double skew;            /* ||A + A'||_F / ||A||_F */
    double hermitian;       /* ||A - A^H||_F / ||A||_F; -1: real */
} doctor_mirror;

typedef enum doctor_shape {
    SHAPE_NONE = 0,
    SHAPE_SADDLE,   /* [H B'; B 0]: rows with zero diagonal, no two of them coupled */
    SHAPE_BORDERED, /* the same with a diagonal block D of the other sign in place of 0 */
    SHAPE_PAIR      /* [0 B'; B 0] */
} doctor_shape;

typedef enum doctor_graph {
    GRAPH_NONE = 0,
    GRAPH_LAPLACIAN, /* entries off the diagonal <= 0, sums of rows 0 within rounding */
    GRAPH_GROUNDED,  /* likewise, sums of rows >= 0 */
    GRAPH_SHIFTED,   /* the same minus a positive multiple of I */
    GRAPH_ONES       /* all nonzero entries are one number */
} doctor_graph;

/** Structure in blocks and signs. */
typedef struct doctor_form {
    doctor_shape shape;
    int32_t m, variables; /* rows of B, of H */
    int32_t either;       /* of the m: those that could as well be variables */
    int32_t coupled;      /* rows with zero diagonal that are no constraints */
    bool h_indefinite;    /* a variable with H_ii = 0 is coupled to another one */
    bool tied;            /* which rows are constraints depends on where they stand */
    bool h_diagonal, h_constant;
    int sign;                /* of H's diagonal: 1, -1; 0: both */
    double h_alpha;          /* h_constant: H = alpha I */
    double h_least, h_most;  /* moduli of H's nonzero diagonal */
    int32_t h_parts, h_part; /* components of H with more than one row; rows of each where alike */
    double gradient; /* share of the rows of B' that sum to 0; -1: B has fewer than two rows */
    doctor_graph graph;
    double shift; /* of GRAPH_SHIFTED */
    bool is_diagonal;
} doctor_form;

typedef struct doctor_phase {
    char name[DOCTOR_NAME];
    double time_s;
} doctor_phase;

/** Options that were tried beside those of auto, and what came of them. */
typedef struct doctor_trial {
    char name[DOCTOR_NAME]; /* "--ordering amd"; "" for those of auto */
    mpk_status status;
    double flops, bytes, factorize_s, solve_s, backward, forward;
    bool better;
} doctor_trial;

/** A generated matrix that was factorized to know what this machine does. */
typedef struct doctor_reference {
    char spec[DOCTOR_NAME];
    double flops, time_s;
    int32_t fronts;
} doctor_reference;

/** What METAPACK's method auto did, and what it is worth. */
typedef struct doctor_work {
    mpk_adaptive run;
    mpk_status status;
    char message[512];
    bool solved, out_of_time;
    char stopped_in[16];                    /* the stage where the time was over */
    double stopped_at;                      /* how far that was, 0 to 1 */
    double analyse_s, factorize_s, solve_s; /* as the objects tell them */
    mpk_analysis_info analysis;             /* of the last attempt; n = 0: none */
    mpk_factor_info factor;
    bool have_factor, direct;
    mpk_estimate estimate; /* engine NULL: no device was asked for */
    char engine[DOCTOR_NAME];
    mpk_certificate certificate;
    mpk_null_info null;
    bool have_null;
    int32_t structural_rank;       /* -1: not known */
    double forward;                /* ||x - x*||_inf / ||x*||_inf; -1: not measured */
    doctor_reference space, plane; /* by which seconds are predicted */
    doctor_reference tiny;         /* what takes least: its time is that of any factorization */
    double front_s;     /* of a front, beside its flops; 0: the rate of `space` has it in it */
    double predicted_s; /* -1: none */
    bool have_dense;    /* the file is an array, which solve takes as one dense matrix */
    mpk_dense_info dense_info;
    doctor_trial trial[DOCTOR_TRIALS];
    int trials;
} doctor_work;

/** Ritz values, with the share of the spectrum that each stands for. */
typedef struct doctor_spectrum {
    int count, starts, steps;
    double value[DOCTOR_STEPS * 4], weight[DOCTOR_STEPS * 4]; /* weights sum to 1 */
    bool balanced;                                            /* of the equilibrated matrix */
    bool exact; /* all eigenvalues that a random vector meets */
} doctor_spectrum;

/** What the pictures are drawn from. */
typedef struct doctor_pictures {
    double before[DOCTOR_GRID][DOCTOR_GRID], after[DOCTOR_GRID][DOCTOR_GRID];
    int32_t cells;
    bool have_after;
    int bins;                  /* columns along the order, each a range of positions */
    double front[DOCTOR_BINS]; /* rows of the largest front there */
    double pivot_least[DOCTOR_BINS], pivot_most[DOCTOR_BINS]; /* moduli; 0: none */
    bool pivot_negative[DOCTOR_BINS];
    bool have_tree, have_pivots;
    double norm[DOCTOR_BINS]; /* of rows, sorted; moduli */
    int norms;
} doctor_pictures;

typedef struct doctor_facts {
    const char *source;
    mpk_problem_view a;
    mpk_asymmetry asymmetry;
    doctor_look look;
    doctor_mirror mirror; /* of MPK_GENERAL */
    doctor_form form;
    doctor_work work;
    doctor_spectrum spectrum;
    doctor_pictures pictures;
    doctor_phase phase[DOCTOR_PHASES];
    int phases;
    double seconds; /* the budget */
    char left_out[DOCTOR_PHASES][DOCTOR_TEXT];
    int left;
} doctor_facts;

/** A run: the facts, and what they are measured with. */
typedef struct doctor {
    cli_args *args;
    mpk_context *ctx;
    mpk_problem *problem;
    doctor_rows rows;
    doctor_facts facts;
    cli_progress *progress;
    double start_s, deadline_s; /* of cli_now_s() */
} doctor;

typedef enum doctor_section {
    SECTION_WHAT = 0,
    SECTION_HARD,
    SECTION_WAY,
    SECTION_COST,
    SECTION_TRIED,
    SECTION_WORTH,
    SECTION_LEFT,
    SECTIONS
} doctor_section;
typedef enum doctor_severity {
    FINDING_NOTE = 0,
    FINDING_GOOD,
    FINDING_CARE,
    FINDING_BAD
} doctor_severity;

typedef struct doctor_finding {
    doctor_section section;
    doctor_severity severity;
    const char *key; /* for programs */
    char text[DOCTOR_TEXT];
} doctor_finding;

typedef struct doctor_findings {
    const char *kind;        /* for programs: "saddle-point", "unknown", ... */
    char title[DOCTOR_TEXT]; /* what it is, in a line */
    doctor_finding list[DOCTOR_FINDINGS];
    int count;
} doctor_findings;

/* ---- facts ----------------------------------------------------------------------------------- */

/** The rows of the problem. Returns MPK_OK | MPK_ERR_MEMORY. */
mpk_status doctor_rows_make(const mpk_problem_view *a, doctor_rows *rows);
void doctor_rows_free(doctor_rows *rows);
static inline double doctor_modulus(const doctor_rows *r, int64_t e) {
    return r->im ? __builtin_hypot(r->re[e], r->im[e]) : __builtin_fabs(r->re[e]);
}
mpk_status doctor_look_at(const mpk_problem_view *a, const doctor_rows *rows, doctor_look *look);
/** Rows that are multiples of others, and components: parts of the look. */
mpk_status doctor_find_repeated(const doctor_rows *rows, doctor_look *look);
mpk_status doctor_find_components(const doctor_rows *rows, doctor_look *look);
mpk_status doctor_mirror_get(const mpk_problem_view *a, const doctor_rows *rows,
                             doctor_mirror *mirror);
mpk_status doctor_form_find(const mpk_problem_view *a, const doctor_rows *rows, doctor_form *form);
/** scale [out] n: A scaled by it on both sides has rows whose largest moduli are near 1. */
void doctor_balance(const doctor_rows *rows, double *scale);

/** Analyse, factorize, solve as method auto does, certify, and try other options. */
mpk_status doctor_work_do(doctor *d);
/** known [out] n: entries of modulus 0.5 to 1.5. */
void doctor_known_fill(const doctor *d, void *known);
/** ||x - known||_inf / ||known||_inf. */
double doctor_forward(const doctor *d, const void *known, const void *x);
/** known, b [in] n: A known = b; x [work] n. Returns MPK_OK, or why the run is to end. */
mpk_status doctor_try(doctor *d, const void *known, const void *b, void *x);
/** Eigenvalues of a symmetric real or a Hermitian matrix, estimated. */
mpk_status doctor_spectrum_find(doctor *d);
mpk_status doctor_pictures_take(doctor *d);

/** Is there time for so many seconds more? */
bool doctor_has_time(const doctor *d, double wanted_s);
void doctor_phase_add(doctor *d, const char *name, double time_s);
/** Note what was not done, and why; no_time: for want of --seconds. ended: so where a call
 *  ended because the time is over; returns MPK_ERR_CANCELLED where a signal ended it. */
void doctor_leave_out(doctor *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
mpk_status doctor_ended(doctor *d, mpk_status status, const char *what);
void doctor_no_time(doctor *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- findings and writers -------------------------------------------------------------------- */

void doctor_say(doctor_findings *f, doctor_section section, doctor_severity severity,
                const char *key, const char *format, ...) __attribute__((format(printf, 5, 6)));
/** Is A its own adjoint, so that its eigenvalues are real and have signs? */
static inline bool doctor_is_hermitian(const mpk_problem_view *a) {
    return a->symmetry == MPK_HERMITIAN || (a->symmetry == MPK_SYMMETRIC && a->scalar < MPK_C);
}
/** Is there a factor whose signs count eigenvalues? */
bool doctor_has_inertia(const doctor_facts *facts);
/** What it is: the kind, and the first section. */
void doctor_find_kind(const doctor_facts *facts, doctor_findings *f);
void doctor_find_rest(const doctor_facts *facts, doctor_findings *f);
extern const char *const doctor_section_titles[SECTIONS];

void doctor_write_text(const doctor_facts *facts, const doctor_findings *f, FILE *out);
void doctor_write_json(const doctor_facts *facts, const doctor_findings *f, FILE *out);
void doctor_write_page(const doctor_facts *facts, const doctor_findings *f, FILE *out);
/** The pictures of a page, as SVG with the page's classes. */
void doctor_draw(const doctor_facts *facts, FILE *out);

/** Numbers for people, each into out (DOCTOR_NAME bytes), which is returned. */
const char *doctor_count(char *out, double count);            /* 12 500 */
const char *doctor_si(char *out, double x, const char *unit); /* 1.27 Gflop */
const char *doctor_time(char *out, double time_s);            /* 45.1 ms */

#endif
