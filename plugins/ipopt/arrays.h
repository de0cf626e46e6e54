/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_IPOPT_ARRAYS_H
#define MPKI_IPOPT_ARRAYS_H
/** What ma27 and ma57 leave in their caller's arrays. These interfaces have no call that frees: the
 *  caller deletes, moves or copies its arrays, and tells nobody. So the arrays hold the truth, the
 *  triplets and the values, and a number; the objects of that number, analysis and factor, are a
 *  cache of this process. What the cache has lost is made again from the arrays. It loses the
 *  objects whose number no longer stands where it was written, or whose place is in an array that
 *  was handed over since; and the one not used for longest, where there are more than IP_MOST.
 *
 *  Thread-safe, and whole in a forked child. */
#include "triplet.h"

enum { IP_MOST = 256, IP_NUMBER = 3 /**< ints of the number alone */ };

/** Ints of a record: the number and nz triplets. */
int64_t ip_record_size(int nz);

/** The analysis of these triplets: the one whose number stands in array, else a new one, of which
 *  array gets the number alone, or the whole record.
 *  array   [inout] length ints, at least IP_NUMBER, or ip_record_size(nz) if whole
 *  triplet [out]   to be released
 *  Returns what ip_triplet_create does. */
mpk_status ip_array_analyse(int *array, int64_t length, bool whole, int n, int nz, const int *irn,
                            const int *jcn, mpk_ordering ordering, ip_triplet **triplet);
/** The analysis of the record in array, made again if need be.
 *  Returns ip_array_analyse's, or MPK_ERR_ARGUMENT: there is no record of n and nz in it. */
mpk_status ip_array_recall(int *array, int64_t length, int n, int nz, ip_triplet **triplet);

/** What is known of a factor. */
typedef struct ip_outcome {
    mpk_factor_info factor;
    mpk_analysis_info analysis;
} ip_outcome;

/** Factorize, and write a record to array[length]; where this fails, no record stands there.
 *  Returns what mpk_factorize does; outcome is set if that is no failure. */
mpk_status ip_array_factorize(int *array, int64_t length, ip_triplet *triplet, const double *a,
                              const ip_request *request, ip_outcome *outcome);
/** ip_solve by the factor whose record stands in array; a[la] begins with the values, from which it
 *  is made again if need be.
 *  Returns what these do, or MPK_ERR_ARGUMENT: no record of order n. */
mpk_status ip_array_solve(int *array, int64_t length, int n, const double *a, int64_t la, int job,
                          int nrhs, double *x, int ldx);

/** Objects in the cache, and the end of all that no call is using: for tests. */
int ip_array_count(void);
void ip_array_clear(void);

#endif
