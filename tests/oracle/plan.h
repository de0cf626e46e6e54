/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ORACLE_PLAN_H
#define ORACLE_PLAN_H
/** Which trials there are, and running them in processes of their own: a trial that crashes or
 *  never ends is a finding like any other. */
#include "families.h"
#include "paths.h"

typedef struct plan {
    uint64_t seed;
    int64_t first, cases; /* random ones: their numbers from first on */
    int family, path;     /* of all random ones; -1: any */
    int device;           /* mpk_device: where factorizations and solves of all random ones are */
    const char *named;    /* cases with names: NULL none, "" all, or one of them */
    int jobs;             /* processes */
    double seconds;       /* then no more are begun; 0: no limit */
    double patience;      /* seconds of one trial */
    int except;           /* a kind that is told and counted, and is no failure; -1: none */
    int64_t most;         /* lines printed for each kind of finding and path; 0: all */
} plan;

/** Trials of a plan, and the k-th of them. */
int64_t plan_count(const plan *p);
void plan_trial(const plan *p, int64_t k, trial *t);

/** How many trials were run, by family and path, and what was found. */
typedef struct tally {
    int64_t trials[FAMILIES + 1][PATHS]; /* the last row: cases with names */
    int64_t wrong[WRONGS][PATHS];
    int64_t by_family[FAMILIES + 1][WRONGS];
    int64_t counted[COUNTS][PATHS];
} tally;

/** Run the plan and print findings as they come; *out [out] the sum. */
void plan_run(const plan *p, tally *out);

/** Findings of one trial, in a process of its own: bits by enum wrong. */
uint32_t trial_findings(const trial *t, double patience);

/** Make a failing trial smaller as long as the finding stays; print it as a case for cases.c. */
void trial_shrink(trial *t, double patience);
void trial_print(const trial *t);

/** Cases with names, cases.c. */
int cases_count(void);
const char *case_name(int k);
void case_trial(int k, trial *t);

#endif
