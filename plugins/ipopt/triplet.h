/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_IPOPT_TRIPLET_H
#define MPKI_IPOPT_TRIPLET_H
/** Matrices as triplets (fortran.h) over a pattern by columns (system.h). */
#include "system.h"

/** A pattern, with where each entry goes; shared, freed with the last reference. */
typedef struct ip_triplet ip_triplet;

/** Make one; irn and jcn are copied.
 *  Returns MPK_OK | MPK_ERR_ARGUMENT (n < 1, nz < 0, NULL) | MPK_ERR_MEMORY. */
mpk_status ip_triplet_create(int n, int nz, const int *irn, const int *jcn, mpk_ordering ordering,
                             ip_triplet **triplet);
ip_triplet *ip_triplet_share(ip_triplet *triplet);
/** NULL is fine. */
void ip_triplet_release(ip_triplet *triplet);
bool ip_triplet_equal(const ip_triplet *triplet, int n, int nz, const int *irn, const int *jcn,
                      mpk_ordering ordering);
/** What it was made of; the arrays are its own. */
void ip_triplet_get(const ip_triplet *triplet, int *n, int *nz, const int **irn, const int **jcn,
                    mpk_ordering *ordering);
/** Entries out of range, and entries beside another of the same place. */
void ip_triplet_faults(const ip_triplet *triplet, int *outside, int *twice);
/** ip_factorize with the values a[nz]. */
mpk_status ip_triplet_factorize(ip_triplet *triplet, const double *a, const ip_request *request,
                                ip_factor **fac);

#endif
