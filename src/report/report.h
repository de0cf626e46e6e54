/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_REPORT_H
#define MPKI_REPORT_H
/** Inside of mpk_report: numbers -> text, JSON, pictures. */
#include "../analysis/analysis.h"
#include "../factor/factor.h"
#include "../core/core.h"
#include "../problem/problem.h"
#include <metapack/report.h>
#include <stdarg.h>

/* ---- a growing text ------------------------------------------------------------------------ */

/** Text that grows; after a failed allocation further writes do nothing and `status` tells. */
typedef struct mpki_buffer {
    mpk_context *ctx;
    char *data; /* zero-terminated once anything was written; NULL before */
    int64_t size, capacity;
    mpk_status status;
} mpki_buffer;

/** vsnprintf and snprintf, but with a decimal point whatever the caller's locale has. */
int mpki_print_list(char *out, size_t size, const char *format, va_list args);
int mpki_print(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void mpki_buffer_init(mpki_buffer *buf, mpk_context *ctx);
void mpki_buffer_printf(mpki_buffer *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void mpki_buffer_bytes(mpki_buffer *buf, const void *bytes, int64_t count);
void mpki_buffer_free(mpki_buffer *buf);
/** As a string of JSON; bytes that are no UTF-8 become U+FFFD. */
void mpki_buffer_json(mpki_buffer *buf, const char *text);
enum { MPKI_WIDTH = 100, MPKI_LABEL = 14 }; /* columns of a line and of its label */
/** One paragraph: the label, then the text, broken between words. */
void mpki_line(mpki_buffer *out, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Bytes of the well-formed UTF-8 sequence at s (zero-terminated text), 0 if there is none. */
int mpki_utf8_length(const unsigned char *s);
/** Why a factor is not in single precision: the word of JSON, and what the text says. NULL, NULL
 *  of MPK_FIT, and of a number that is none of the enumeration. */
typedef struct mpki_unfit_text {
    const char *word, *why;
} mpki_unfit_text;
mpki_unfit_text mpki_unfit(mpk_unfit unfit);

/* ---- numbers for people -------------------------------------------------------------------- */

enum { MPKI_UNIT_MAX = 48 };
/** Each writes into out (MPKI_UNIT_MAX bytes) and returns it. */
const char *mpki_show_count(char *out, int64_t count);            /* 1 062 400 */
const char *mpki_show_si(char *out, double x, const char *unit);  /* 28.2 M, 1.27 Gflop */
const char *mpki_show_bytes(char *out, double bytes);             /* 12.5 MB (10^6) */
const char *mpki_show_time(char *out, double time_s);             /* 1.23 s, 45.1 ms, 2 min 05 s */
const char *mpki_show_error(char *out, double error);             /* 1.2e-16, 0, "not finite" */
const char *mpki_show_ordering(char *out, mpk_ordering ordering); /* AMD, METIS, natural */
const char *mpki_show_krylov(mpk_krylov method);                  /* SQMR, IDR(s); "" for none */
const char *mpki_scalar_name(mpk_scalar scalar);                  /* "s", "d", "c", "z" */
const char *mpki_symmetry_name(mpk_symmetry symmetry);            /* "symmetric", ... */

/* ---- a trace (trace.c) ---------------------------------------------------------------------- */

/** Write what the context recorded (core/trace.h): to *.svg a picture, else Chrome's trace format.
 *  MPK_OK (also where nothing was recorded: no file) | MPK_ERR_MEMORY, _FILE. */
mpk_status mpki_trace_write(mpk_context *ctx, const char *path);

/* ---- options in force ---------------------------------------------------------------------- */

/** *options := those of a run as they were in force. */
void mpki_options_in_force(const mpk_run *run, mpk_options *options);
/** Did the run read it? run->options are those in force. */
bool mpki_option_in_force(const mpk_option *option, const mpk_run *run);
/** A line of options as the command takes them, from row *at of the table on, which moves behind
 *  it; NULL: there are no more. out [out] size bytes, at most width are written if a word fits */
const mpk_option *mpki_options_by_hand(const mpk_run *run, int *at, int width, char *out,
                                       size_t size);

/* ---- a look at the matrix ------------------------------------------------------------------ */

typedef struct mpki_stats {
    int64_t diagonal;       /* stored diagonal entries */
    int64_t diagonal_zero;  /* of these, explicit zeros */
    int64_t explicit_zeros; /* stored entries that are zero, diagonal included */
    int64_t empty_rows;     /* without any stored entry */
    int32_t longest_row;    /* entries in the longest row of the whole matrix */
    int32_t bandwidth;      /* max |i - j| */
    double least, most;     /* moduli of the nonzero entries; 0, 0 if there are none */
} mpki_stats;

/** Statistics of the stored pattern and values. counts [work] n. */
void mpki_stats_get(const mpk_problem_view *a, int32_t *counts, mpki_stats *stats);

/* ---- the report ---------------------------------------------------------------------------- */

struct mpk_report {
    mpk_context *ctx;
    mpk_run run; /* strings are owned copies; problem has no arrays */
    int have_problem, have_stats;
    mpki_stats stats; /* only of runs that went no further than reading */
    char *text, *json;
};

void mpki_report_write_text(const mpk_report *report, mpki_buffer *out);
void mpki_report_write_json(const mpk_report *report, mpki_buffer *out);
/** Joules, where they were asked for: lines of text; the value of the key energy_j. */
void mpki_report_energy(const mpk_run *run, mpki_buffer *out);
void mpki_report_energy_json(const mpk_run *run, mpki_buffer *out);
/** Of a run that solved one dense matrix. */
void mpki_report_dense_text(const mpk_run *run, mpki_buffer *out);
void mpki_report_dense_json(const mpk_run *run, mpki_buffer *out);

/* ---- pictures ------------------------------------------------------------------------------ */

/** Density of a pattern on a square grid. count[r * cells + c] = stored positions that fall into
 *  cell (r, c); a cell stands for `n / cells` rows and columns (not always a whole number). */
typedef struct mpki_raster {
    int32_t n, cells;
    double *count; /* cells * cells */
} mpki_raster;

enum { MPKI_RASTER_MAX = 400 };

mpk_status mpki_raster_create(mpk_context *ctx, int32_t n, mpki_raster *raster);
void mpki_raster_free(mpk_context *ctx, mpki_raster *raster);
/** Add A, both triangles; iperm [in] n: new position of each index, NULL: the file's order; rows
 *  [in] n: index that each row stands for, where a general matrix has its rows permuted, or
 *  NULL. */
void mpki_raster_add_matrix(mpki_raster *raster, const mpk_problem_view *a, const int32_t *iperm,
                            const int32_t *rows);
/** Add the lower triangle of L as the supernodes have it. */
void mpki_raster_add_factor(mpki_raster *raster, const mpk_analysis *an);
/** Add `entries`, spread evenly over rows r0 .. r1-1 and columns c0 .. c1-1: an mpki_tile_fn. */
void mpki_raster_add_tile(void *raster, int64_t entries, int32_t r0, int32_t r1, int32_t c0,
                          int32_t c1);

/** A PNG of width x height palette indices (one byte each) with `colours` RGB triplets. */
mpk_status mpki_png_write(mpk_context *ctx, int32_t width, int32_t height, const uint8_t *pixels,
                          const uint8_t (*palette)[3], int32_t colours, mpki_buffer *out);
/** The same of RGB triplets. */
mpk_status mpki_png_write_rgb(mpk_context *ctx, int32_t width, int32_t height,
                              const uint8_t *pixels, mpki_buffer *out);

#endif
