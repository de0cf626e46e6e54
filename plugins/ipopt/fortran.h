/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_IPOPT_FORTRAN_H
#define MPKI_IPOPT_FORTRAN_H
/** The older of Ipopt's calling interfaces: ma27 (4 functions), ma57 (6) and mc19 (1), as Fortran
 *  calls them: every argument by reference, a trailing underscore, default integers of 32 bits. The
 *  declarations are our own, from the calls that Ipopt 3.11 and 3.14 and HiOp make; what is behind them is
 *  METAPACK alone. It is neither HSL nor endorsed by anybody who makes HSL.
 *
 *  Matrices are triplets: nz entries (irn, jcn) of either triangle, 1-based, in any order; those of
 *  one place are added up, those out of range are left out. Comments count INFO, ICNTL and CNTL
 *  from 1. Nothing is printed, whatever the controls say. */
#include "abi.h"

/* ---- ma27: icntl[30], cntl[5], info[20]; ikeep[3 n], iw1 and w unused ------------------------ */

/** INFO(1). Ipopt takes SINGULAR and WARN_SINGULAR as a matrix that it has to perturb, gives more
 *  workspace at IW and A, and ends the run at any other. */
enum ip_flag27 {
    MA27_WARN_RANGE = 1,    /**< AD: INFO(2) entries were out of range */
    MA27_WARN_SINGULAR = 3, /**< BD: rank INFO(2); CD solves consistent systems */
    MA27_N = -1,
    MA27_NZ = -2,
    MA27_IW = -3,       /**< BD: liw is less than INFO(2) */
    MA27_A = -4,        /**< BD: la is less than INFO(2) */
    MA27_SINGULAR = -5, /**< BD: it overflowed; there is no factor */
    MA27_OTHER = -99    /**< no memory, NaN or Inf among the values, or CD without a factor */
};

/** CNTL(1) is u, CNTL(3) small of an ip_request (system.h); ICNTL is not read. */
IP_EXPORT void ma27id_(int *icntl, double *cntl);
/** INFO(5) and (6): what BD needs of a and iw. */
IP_EXPORT void ma27ad_(const int *n, const int *nz, const int *irn, const int *icn, int *iw,
                       const int *liw, int *ikeep, int *iw1, int *nsteps, const int *iflag,
                       const int *icntl, const double *cntl, int *info, double *ops);
/** a[la]: the values, and as they were afterwards; iw[liw] is for CD. INFO(14): pivots of two rows,
 *  INFO(15): negative eigenvalues. */
IP_EXPORT void ma27bd_(const int *n, const int *nz, const int *irn, const int *icn, double *a,
                       const int *la, int *iw, const int *liw, int *ikeep, const int *nsteps,
                       int *maxfrt, int *iw1, const int *icntl, const double *cntl, int *info);
/** rhs[n] becomes the solution, NaN where there is none: no caller of ma27 asks INFO(1) here. */
IP_EXPORT void ma27cd_(const int *n, const double *a, const int *la, int *iw, const int *liw,
                       double *w, const int *maxfrt, double *rhs, int *iw1, const int *nsteps,
                       const int *icntl, int *info);

/* ---- ma57: icntl[20], cntl[5], info[40], rinfo[20]; keep[5 n + ne + max(n, ne) + 42] ---------- */

/** INFO(1). Ipopt takes WARN_SINGULAR as a matrix that it has to perturb, gives more workspace at
 *  FACT and IFACT, and ends the run at any other; it has words for -17 to -1 alone. */
enum ip_flag57 {
    MA57_WARN_RANGE = 1,     /**< AD: INFO(3) entries were out of range */
    MA57_WARN_DUPLICATE = 2, /**< AD: INFO(4) entries stand where another does; 3: both */
    MA57_WARN_SINGULAR = 4,  /**< BD: rank INFO(25), 0 if it overflowed and there is no factor */
    MA57_N = -1,
    MA57_NE = -2,
    MA57_FACT = -3,      /**< BD: lfact is less than INFO(17) */
    MA57_IFACT = -4,     /**< BD: lifact is less than INFO(18) */
    MA57_COPY = -7,      /**< ED: the new array is no longer than the old */
    MA57_PIVOTING = -10, /**< BD: ICNTL(7) is not 1, threshold pivoting */
    MA57_LRHS = -11,
    MA57_OTHER = -14, /**< no memory, NaN or Inf among the values, or CD without a factor */
    MA57_KEEP = -15,  /**< lkeep is too small, or keep is not that of AD */
    MA57_NRHS = -16,
    MA57_WORK = -17
};

/** CNTL(1) is u, CNTL(2) small of an ip_request; ICNTL(6) 0, 2, 3: minimum degree, 4: nested
 *  dissection, else METAPACK's choice; ICNTL(7) has to be 1. Other controls are not read. */
IP_EXPORT void ma57id_(double *cntl, int *icntl);
/** INFO(9) and (10): what BD needs of fact and ifact. */
IP_EXPORT void ma57ad_(const int *n, const int *ne, const int *irn, const int *jcn,
                       const int *lkeep, int *keep, int *iwork, const int *icntl, int *info,
                       double *rinfo);
/** INFO(22): pivots of two rows, (23): delayed ones, (24): negative eigenvalues, (25): rank. */
IP_EXPORT void ma57bd_(const int *n, const int *ne, const double *a, double *fact, const int *lfact,
                       int *ifact, const int *lifact, const int *lkeep, int *keep, int *iwork,
                       const int *icntl, const double *cntl, int *info, double *rinfo);
/** job 2: L, 3: D, 4: L^T, else all of A; rhs[lrhs x nrhs] becomes the solution, NaN where there
 *  is none. */
IP_EXPORT void ma57cd_(const int *job, const int *n, const double *fact, const int *lfact,
                       int *ifact, const int *lifact, const int *nrhs, double *rhs, const int *lrhs,
                       double *work, const int *lwork, int *iwork, const int *icntl, int *info);
/** rhs[n] stays, x[n] becomes the solution and resid[n] its residual, NaN where there is none. job 0,
 *  and 1 if ICNTL(9) is at most 1, begin with a solve, all others with the x that is there; then
 *  ICNTL(9) steps of refinement with the triplets, 1 at least, fewer where these gain nothing.
 *  work[n]. HiOp calls it, Ipopt does not. */
IP_EXPORT void ma57dd_(const int *job, const int *n, const int *ne, const double *a, const int *irn,
                       const int *jcn, const double *fact, const int *lfact, int *ifact,
                       const int *lifact, const double *rhs, double *x, double *resid, double *work,
                       int *iwork, const int *icntl, const double *cntl, int *info, double *rinfo);
/** ic <= 0: fact to newfac, else ifact to newifc. */
IP_EXPORT void ma57ed_(const int *n, const int *ic, int *keep, const double *fact, const int *lfact,
                       double *newfac, const int *lnew, const int *ifact, const int *lifact,
                       int *newifc, const int *linew, int *info);

/* ---- mc19: scaling of a matrix given whole --------------------------------------------------- */

/** r[n], c[n]: logarithms, so that exp(r_i) |a_ij| exp(c_j) is near 1 in the sense of least
 *  squares; 0 for a row or column without entries. w[5 n] is scratch. */
IP_EXPORT void mc19ad_(const int *n, const int *nz, const double *a, const int *irn, const int *icn,
                       float *r, float *c, float *w);

#endif
