/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ORACLE_VERDICT_H
#define ORACLE_VERDICT_H
/** Compares what the library said with the truth. */
#include "setup.h"
#include "truth.h"

/** A system, the way into the library, the path: all that a run needs. */
typedef struct trial {
    char name[64]; /* of the case, or of the family */
    int family;    /* -1: a case with a name */
    int path;
    equations eq;
    setup setup;
} trial;

void trial_free(trial *t);

/** Wrong verdicts. */
enum wrong {
    WRONG_NOT_FINITE,    /* ok, and x has a NaN or an infinity */
    WRONG_INACCURATE,    /* ok, and the componentwise backward error is above the accuracy */
    WRONG_UNCONVERGED,   /* ok, and the relative residual is above the tolerance */
    WRONG_INCONSISTENT,  /* ok, and no solution exists */
    WRONG_CONSISTENCY,   /* "consistent" or not, of a singular A, and it is the other */
    WRONG_NORMWISE,      /* the normwise error reported is not the true one */
    WRONG_COMPONENTWISE, /* likewise */
    WRONG_RELATIVE,      /* likewise the relative residual */
    WRONG_KRYLOV,        /* likewise the one in krylov.residual */
    WRONG_INERTIA,       /* certified, and not that of A */
    WRONG_INERTIA_SUM,   /* the counts do not sum to n */
    WRONG_SINGULAR,      /* singular, and A has full rank and is not badly conditioned */
    WRONG_STRUCTURAL,    /* a structural rank below the rank */
    WRONG_INDEFINITE,    /* "not definite", and A is positive definite */
    WRONG_REFUSED,       /* a failure on valid input */
    WRONG_ACCEPTED,      /* NaN, infinity or an imaginary diagonal, and no failure that says so */
    WRONG_OVERFLOW,      /* a positive status, x is not finite, and no solution is in the range */
    WRONG_UNUSABLE,      /* likewise, and there is a solution in the range */
    WRONG_SILENT,        /* a status other than ok without a text */
    WRONG_OUTPUTS,       /* a failed call changed outputs, or a call changed something else */
    WRONG_LEAK,          /* memory is held after the end */
    WRONG_CRASH,
    WRONG_HANG,
    WRONGS
};
const char *wrong_name(int wrong);

/** What else is counted. */
enum counted {
    COUNT_OK,        /* solves that said ok */
    COUNT_CERTIFIED, /* certified inertias that could be checked */
    COUNT_UNCHECKED, /* and those that could not */
    COUNT_SINGULAR,  /* matrices that are exactly singular, of those asked about */
    COUNT_REFUSED,   /* rightful failures: overflow, or what the headers say is refused */
    COUNT_INVALID,   /* spoilt inputs that were refused */
    COUNTS
};
const char *counted_name(int counted);

/** Where the findings of one trial go. */
typedef struct verdicts {
    const trial *trial;
    truth truth;
    uint32_t found;    /* bits by enum wrong */
    int said_singular; /* by some call */
    double patience;   /* seconds for a trial */
    void (*tell)(void *self, const trial *t, int wrong, const char *details);
    void (*count)(void *self, const trial *t, int counted);
    void *self;
} verdicts;

void wrong(verdicts *v, int wrong, const char *format, ...) __attribute__((format(printf, 3, 4)));
void counted(verdicts *v, int counted);

/** What a solve reported; NaN where it reported nothing. */
typedef struct reported {
    mpk_status status;
    double accuracy;       /* "ok" promises a componentwise error up to this; < 0: none */
    double tolerance;      /* "ok" promises a relative residual up to this; < 0: none */
    double normwise_bound; /* > 0: "ok" promises a normwise error of at most this */
    int measures;          /* 1: the next two are there */
    double normwise, componentwise;
    int has_relative;
    double relative;
    int plain; /* componentwise is max |r| / (|A||x| + |b|) and nothing else */
    int has_krylov;
    double krylov;          /* of the only right-hand side */
    int consistent;         /* as in mpk_solve_info */
    int has_solved, solved; /* likewise */
} reported;

/** x [in] n x nrhs, of the library's type, leading dimension ldx. */
void judge_solution(verdicts *v, const reported *said, const void *x, int64_t ldx);

void judge_inertia(verdicts *v, const mpk_inertia *inertia, int zeros);

/** Judge a status "singular"; scaled: the thresholds are those of a scaled matrix. */
void judge_singular(verdicts *v, const char *call, int scaled);

/** Any status: has it a text, and may a failure be? Returns mpk_failed(status). */
int judge_status(verdicts *v, mpk_context *ctx, const char *call, mpk_status status);

/** Judge the status that met spoilt input. */
void judge_spoilt(verdicts *v, mpk_context *ctx, const char *call, mpk_status status);

/** The accuracy by which a call is judged by default: 1e-14, 5.4e-6 in single. */
double default_accuracy(mpk_scalar scalar);

#endif
