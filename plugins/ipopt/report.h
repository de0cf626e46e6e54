/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_IPOPT_REPORT_H
#define MPKI_IPOPT_REPORT_H
/** METAPACK_IPOPT_REPORT=FILE: what a whole run of Ipopt asked of the linear solver, one event for each
 *  factorization. Written when a pattern is freed, and when the process ends: a page if FILE ends
 *  in .html, else text. Without the variable nothing is kept. */
#include "system.h"

#include <stdio.h>

typedef struct ip_event {
    int pattern;       /* number of its pattern, from 1 */
    double at_s;       /* since the first event */
    double time_s;     /* of the factorization, without the analysis */
    double analysis_s; /* 0: the old analysis served */
    double solve_s;
    int64_t nnz, delayed;
    int positive, negative, zero, solves, sides;
    mpk_status status;
    double u; /* Ipopt's pivot tolerance */
    double
        shift[2]; /* the diagonal beside the one before, all else equal: most added, most taken */
} ip_event;

typedef struct ip_run {
    ip_event *event;
    int count, capacity;
    int64_t lost; /* events after memory, or the most that is kept, ran out */
    struct ip_shape {
        int n;
        int64_t nnz;
    } * shape; /* of each pattern */
    int patterns;
} ip_run;

/** Is a report asked for? */
bool ip_report_wanted(void);
double ip_report_clock(void);
/** A new pattern. Returns its number, 0 if nothing is kept. */
int ip_report_pattern(int n, int64_t nnz);
/** A factorization. Returns the number of its event, from 1; 0 if it is not kept. */
int ip_report_factorization(const ip_event *event);
void ip_report_solve(int event, int sides, double seconds);
/** Write what there is, once a second at most. Failures are silent, as Ipopt's output is Ipopt's. */
void ip_report_write(void);

/** Sums over a run, for both forms. */
typedef struct ip_sums {
    int analyses, kept, again, singular, failed, shifted, tighter, most_solves;
    int64_t solves;
    double total_s, analysis_s, factor_s, solve_s, most_shift;
} ip_sums;
/** Was the factorization followed by another one without a solve? Then its inertia was not accepted. */
bool ip_report_refused(const ip_run *run, int k);
void ip_report_sum(const ip_run *run, ip_sums *sums);
/** The summary, each line between these two. */
void ip_report_summary(const ip_run *run, FILE *out, const char *begin, const char *end);
void ip_report_text(const ip_run *run, FILE *out);
void ip_report_page(const ip_run *run, FILE *out);

#endif
