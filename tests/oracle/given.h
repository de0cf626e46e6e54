/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ORACLE_GIVEN_H
#define ORACLE_GIVEN_H
/** A matrix as a caller may give it: either triangle, any order, entries in parts that are to be
 *  summed. The parts of a number share its bits, so that their sum is exact in any order. */
#include "setup.h"

typedef struct given {
    int64_t count;
    int32_t *row, *col;
    int64_t *ap; /* n + 1, when given by columns */
    void *value; /* of the library's type */
} given;

/** entry [in] eq->count values for the pattern of eq: eq->entry or others. The order of what is
 *  given depends on the pattern alone. */
given given_make(const equations *eq, const quad_entry *entry, const setup *s);
void given_free(given *g);

/** Other values for the same pattern, by a seed. */
quad_entry *given_before(const equations *eq, enum other kind, int64_t seed);

/** Spoil a value: a NaN or an infinity; spoil = imaginary: an imaginary part on the diagonal.
 *  False: there is nothing to spoil. */
int given_spoil(const equations *eq, const setup *s, given *g);
double spoil_number(const setup *s);
void number_spoil(const setup *s, mpk_scalar scalar, int64_t count, void *array);

/** A problem made of what is given. */
mpk_status given_problem(mpk_context *ctx, const equations *eq, const setup *s, const given *g,
                         mpk_problem **problem);

#endif
