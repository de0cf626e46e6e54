/* SPDX-License-Identifier: BSD-3-Clause */
/* The four functions that Ipopt's option linear_solver = ma27 calls. */
#include "arrays.h"
#include "flags.h"
#include "fortran.h"

#include <math.h>
#include <string.h>

enum { ICNTL = 30, CNTL = 5, INFO = 20 };

static int flag_of(mpk_status status) {
    static const ip_flags flags = {MA27_SINGULAR, MA27_N,     MA27_OTHER,
                                   MA27_OTHER,    MA27_OTHER, MA27_OTHER};
    return status == MPK_SINGULAR ? MA27_WARN_SINGULAR : ip_flag(&flags, status);
}

/* INFO(1) and (2). */
static void say(int *info, int flag, int detail) {
    info[0] = flag;
    info[1] = detail;
}

/* Are n and nz in range? If not, info says so. */
static bool sizes(int n, int nz, int *info) {
    memset(info, 0, INFO * sizeof *info);
    if (n < 1)
        say(info, MA27_N, n);
    else if (nz < 0)
        say(info, MA27_NZ, nz);
    return n >= 1 && nz >= 0;
}

void ma27id_(int *icntl, double *cntl) {
    for (int k = 0; k < ICNTL; k++) icntl[k] = 0;
    for (int k = 0; k < CNTL; k++) cntl[k] = 0;
    icntl[0] = icntl[1] = 6;
    cntl[0] = 0.1;
    cntl[1] = 0.5;
}

void ma27ad_(const int *n, const int *nz, const int *irn, const int *icn, int *iw, const int *liw,
             int *ikeep, int *iw1, int *nsteps, const int *iflag, const int *icntl,
             const double *cntl, int *info, double *ops) {
    (void)iw, (void)liw, (void)iw1, (void)iflag, (void)icntl, (void)cntl;
    ip_triplet *t = NULL;
    if (!sizes(*n, *nz, info)) return;
    const mpk_status status =
        ip_array_analyse(ikeep, 3 * (int64_t)*n, false, *n, *nz, irn, icn, MPK_ORDERING_AUTO, &t);
    say(info, flag_of(status), 0);
    if (mpk_failed(status)) return;
    int outside, twice;
    ip_triplet_faults(t, &outside, &twice);
    if (outside) say(info, MA27_WARN_RANGE, outside);
    info[2] = info[4] = info[6] = *nz > 1 ? *nz : 1; /* no more is known without values */
    info[3] = info[5] = info[7] = ip_count(ip_record_size(*nz));
    *nsteps = 1;
    *ops = 0;
    ip_triplet_release(t);
}

void ma27bd_(const int *n, const int *nz, const int *irn, const int *icn, double *a, const int *la,
             int *iw, const int *liw, int *ikeep, const int *nsteps, int *maxfrt, int *iw1,
             const int *icntl, const double *cntl, int *info) {
    (void)nsteps, (void)iw1, (void)icntl;
    ip_triplet *t = NULL;
    ip_outcome o;
    if (!sizes(*n, *nz, info)) return;
    *maxfrt = 1;
    const int64_t needed = ip_record_size(*nz);
    if (*liw < needed)
        say(info, MA27_IW, ip_count(needed));
    else if (*la < *nz)
        say(info, MA27_A, *nz);
    if (info[0]) return;
    /* Those of other triplets than AD had are analysed now. */
    mpk_status status =
        ip_array_analyse(ikeep, 3 * (int64_t)*n, false, *n, *nz, irn, icn, MPK_ORDERING_AUTO, &t);
    const ip_request request = {cntl[0], cntl[2], 0};
    if (!mpk_failed(status)) status = ip_array_factorize(iw, *liw, t, a, &request, &o);
    ip_triplet_release(t);
    say(info, flag_of(status), 0);
    if (mpk_failed(status)) return;
    if (status == MPK_SINGULAR) info[1] = *n - (int)o.factor.inertia.zero;
    *maxfrt = o.factor.max_front > 1 ? o.factor.max_front : 1;
    info[8] = ip_count(o.factor.nnz);
    info[9] = ip_count(needed);
    info[13] = ip_count(o.factor.two_by_two);
    info[14] = (int)o.factor.inertia.negative;
}

void ma27cd_(const int *n, const double *a, const int *la, int *iw, const int *liw, double *w,
             const int *maxfrt, double *rhs, int *iw1, const int *nsteps, const int *icntl,
             int *info) {
    (void)w, (void)maxfrt, (void)iw1, (void)nsteps, (void)icntl;
    info[0] = *n < 1 ? MA27_N : 0; /* and no more: Ipopt 3.11 hands over cntl here */
    if (info[0] || !mpk_failed(ip_array_solve(iw, *liw, *n, a, *la, 0, 1, rhs, *n))) return;
    info[0] = MA27_OTHER;
    for (int i = 0; i < *n; i++) rhs[i] = NAN;
}
