/* SPDX-License-Identifier: BSD-3-Clause */
/* The five functions that Ipopt's option linear_solver = ma57 calls, and the one that HiOp calls beside. */
#include "arrays.h"
#include "flags.h"
#include "fortran.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ICNTL = 20, CNTL = 5, INFO = 40, RINFO = 20 };

static int flag_of(mpk_status status) {
    static const ip_flags flags = {MA57_WARN_SINGULAR, MA57_N,     MA57_OTHER,
                                   MA57_OTHER,         MA57_OTHER, MA57_OTHER};
    return status == MPK_SINGULAR ? MA57_WARN_SINGULAR : ip_flag(&flags, status);
}

/* INFO(1) and (2). */
static void say(int *info, int flag, int detail) {
    info[0] = flag;
    info[1] = detail;
}

/* Are n, ne and lkeep in range? If not, info says so. */
static bool sizes(int n, int ne, int lkeep, int *info) {
    if (n < 1) {
        say(info, MA57_N, n);
    } else if (ne < 0) {
        say(info, MA57_NE, ne);
    } else if (lkeep < 5 * (int64_t)n + ne + (n > ne ? n : ne) + 42) {
        say(info, MA57_KEEP, lkeep);
    } else {
        return true;
    }
    return false;
}

static int fact_size(int ne) {
    return ne > 1 ? ne : 1;
}

void ma57id_(double *cntl, int *icntl) {
    static const int ints[ICNTL] = {6, 6, 6, -1, 2, 5, 1, 0, 10, 0, 16, 16, 10, 100, 1};
    static const double reals[CNTL] = {0.01, 1e-20, 0.5};
    memcpy(icntl, ints, sizeof ints);
    memcpy(cntl, reals, sizeof reals);
}

static mpk_ordering ordering_of(const int *icntl) {
    const int order = icntl[5];
    return order == 0 || order == 2 || order == 3 ? MPK_ORDERING_AMD
           : order == 4                           ? MPK_ORDERING_ND
                                                  : MPK_ORDERING_AUTO;
}

void ma57ad_(const int *n, const int *ne, const int *irn, const int *jcn, const int *lkeep,
             int *keep, int *iwork, const int *icntl, int *info, double *rinfo) {
    (void)iwork;
    ip_triplet *t = NULL;
    memset(info, 0, INFO * sizeof *info);
    memset(rinfo, 0, RINFO * sizeof *rinfo);
    if (!sizes(*n, *ne, *lkeep, info)) return;
    const mpk_status status =
        ip_array_analyse(keep, *lkeep, true, *n, *ne, irn, jcn, ordering_of(icntl), &t);
    say(info, flag_of(status), 0);
    if (mpk_failed(status)) return;
    ip_triplet_faults(t, &info[2], &info[3]);
    info[0] = (info[2] ? MA57_WARN_RANGE : 0) + (info[3] ? MA57_WARN_DUPLICATE : 0);
    info[4] = info[8] = info[10] = fact_size(*ne); /* no more is known without values */
    info[5] = info[9] = info[11] = ip_count(ip_record_size(*ne));
    ip_triplet_release(t);
}

/* INFO(14) and what follows, and RINFO. */
static void report(const ip_outcome *o, int n, int *info, double *rinfo) {
    info[7] = o->analysis.supernodes;
    info[13] = info[14] = ip_count(o->factor.nnz);
    info[15] = info[17];
    info[20] = o->factor.max_front;
    info[21] = ip_count(o->factor.two_by_two);
    info[22] = ip_count(o->factor.rejected);
    info[23] = (int)o->factor.inertia.negative;
    info[24] = n - (int)o->factor.inertia.zero;
    rinfo[3] = o->factor.flops;
}

void ma57bd_(const int *n, const int *ne, const double *a, double *fact, const int *lfact,
             int *ifact, const int *lifact, const int *lkeep, int *keep, int *iwork,
             const int *icntl, const double *cntl, int *info, double *rinfo) {
    (void)iwork;
    const int64_t needed = ip_record_size(*ne);
    const int lengths[2] = {*lfact, *lifact}; /* Ipopt may have them in info itself */
    ip_triplet *t = NULL;
    ip_outcome o;
    memset(info, 0, INFO * sizeof *info);
    memset(rinfo, 0, RINFO * sizeof *rinfo);
    if (!sizes(*n, *ne, *lkeep, info)) return;
    info[16] = fact_size(*ne);
    info[17] = ip_count(needed);
    if (icntl[6] != 1)
        say(info, MA57_PIVOTING, icntl[6]);
    else if (lengths[0] < *ne)
        say(info, MA57_FACT, lengths[0]);
    else if (lengths[1] < needed)
        say(info, MA57_IFACT, lengths[1]);
    if (info[0]) return;
    mpk_status status = ip_array_recall(keep, *lkeep, *n, *ne, &t);
    if (status == MPK_ERR_ARGUMENT) {
        say(info, MA57_KEEP, *lkeep);
        return;
    }
    const ip_request request = {cntl[0], cntl[1], 0};
    if (!mpk_failed(status)) {
        if (*ne) memcpy(fact, a, (size_t)*ne * sizeof *a);
        status = ip_array_factorize(ifact, lengths[1], t, a, &request, &o);
    }
    ip_triplet_release(t);
    say(info, flag_of(status), 0);
    if (!mpk_failed(status)) report(&o, *n, info, rinfo);
}

void ma57cd_(const int *job, const int *n, const double *fact, const int *lfact, int *ifact,
             const int *lifact, const int *nrhs, double *rhs, const int *lrhs, double *work,
             const int *lwork, int *iwork, const int *icntl, int *info) {
    (void)work, (void)iwork, (void)icntl;
    say(info, 0, 0);
    if (*n < 1)
        say(info, MA57_N, *n);
    else if (*nrhs < 1)
        say(info, MA57_NRHS, *nrhs);
    else if (*lrhs < *n)
        say(info, MA57_LRHS, *lrhs);
    else if (*lwork < *n * (int64_t)*nrhs)
        say(info, MA57_WORK, ip_count(*n * (int64_t)*nrhs));
    if (info[0]) return;
    const int part = *job >= 2 && *job <= 4 ? *job - 1 : 0;
    const mpk_status status =
        ip_array_solve(ifact, *lifact, *n, fact, *lfact, part, *nrhs, rhs, *lrhs);
    if (!mpk_failed(status)) return;
    say(info, MA57_OTHER, 0);
    for (int j = 0; j < *nrhs; j++)
        for (int i = 0; i < *n; i++) rhs[(int64_t)j * *lrhs + i] = NAN;
}

/* r = b - A x, and the componentwise backward error max |r| / (|A| |x| + |b|); work[n]. */
static double residual(int n, int ne, const double *a, const int *irn, const int *jcn,
                       const double *b, const double *x, double *r, double *work) {
    double worst = 0;
    for (int i = 0; i < n; i++) {
        r[i] = b[i];
        work[i] = fabs(b[i]);
    }
    for (int k = 0; k < ne; k++) {
        const int i = irn[k] - 1, j = jcn[k] - 1;
        if (i < 0 || i >= n || j < 0 || j >= n) continue;
        r[i] -= a[k] * x[j];
        work[i] += fabs(a[k] * x[j]);
        if (i == j) continue;
        r[j] -= a[k] * x[i];
        work[j] += fabs(a[k] * x[i]);
    }
    for (int i = 0; i < n; i++) {
        const double share = r[i] == 0 ? 0 : fabs(r[i]) / work[i];
        if (!(share <= worst)) worst = share; /* NaN, too */
    }
    return worst;
}

void ma57dd_(const int *job, const int *n, const int *ne, const double *a, const int *irn,
             const int *jcn, const double *fact, const int *lfact, int *ifact, const int *lifact,
             const double *rhs, double *x, double *resid, double *work, int *iwork,
             const int *icntl, const double *cntl, int *info, double *rinfo) {
    (void)iwork, (void)cntl, (void)rinfo;
    const int rows = *n, steps = icntl[8] > 1 ? icntl[8] : 1;
    const size_t bytes = rows > 0 ? (size_t)rows * sizeof *x : 0;
    say(info, 0, 0);
    if (rows < 1)
        say(info, MA57_N, rows);
    else if (*ne < 0)
        say(info, MA57_NE, *ne);
    if (info[0]) return;
    double *before = malloc(bytes);
    mpk_status status = before ? MPK_OK : MPK_ERR_MEMORY;
    if (!mpk_failed(status) && (*job <= 0 || (*job == 1 && steps == 1))) {
        memcpy(x, rhs, bytes);
        status = ip_array_solve(ifact, *lifact, rows, fact, *lfact, 0, 1, x, rows);
    }
    double last = 0;
    if (!mpk_failed(status)) last = residual(rows, *ne, a, irn, jcn, rhs, x, resid, work);
    for (int step = 0; !mpk_failed(status) && step < steps && last > 4 * DBL_EPSILON; step++) {
        memcpy(before, x, bytes);
        status = ip_array_solve(ifact, *lifact, rows, fact, *lfact, 0, 1, resid, rows);
        if (mpk_failed(status)) break;
        for (int i = 0; i < rows; i++) x[i] += resid[i];
        const double now = residual(rows, *ne, a, irn, jcn, rhs, x, resid, work);
        if (!(now < last)) { /* it was no step */
            memcpy(x, before, bytes);
            residual(rows, *ne, a, irn, jcn, rhs, x, resid, work);
            break;
        }
        last = now;
    }
    free(before);
    if (!mpk_failed(status)) return;
    say(info, MA57_OTHER, 0);
    for (int i = 0; i < rows; i++) x[i] = resid[i] = NAN;
}

void ma57ed_(const int *n, const int *ic, int *keep, const double *fact, const int *lfact,
             double *newfac, const int *lnew, const int *ifact, const int *lifact, int *newifc,
             const int *linew, int *info) {
    (void)n, (void)keep;
    const bool reals = *ic <= 0;
    const int from = reals ? *lfact : *lifact, to = reals ? *lnew : *linew;
    say(info, 0, 0); /* the lengths may stand in it */
    if (to <= from)
        say(info, MA57_COPY, to);
    else if (from > 0 && reals)
        memcpy(newfac, fact, (size_t)from * sizeof *fact);
    else if (from > 0)
        memcpy(newifc, ifact, (size_t)from * sizeof *ifact);
}
