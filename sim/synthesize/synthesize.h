/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_SYNTHESIZE_H
#define SIM_SYNTHESIZE_H
/** A solver from a short description: Thuerck 2021, sec. 8.2.2 and 8.6 ("a DSL-like interface that,
 *  when combined with borG-code ..."). The host's half is a template, the kernels on blocks are
 *  made by borgc for the target. What is written needs a compiler and nothing else. */
#include "borg/borg.h"

typedef struct sim_description {
    const char *type;      /* ldlt, llt, ldu */
    const char *fill;      /* full, or level:K */
    const char *pivoting;  /* none, inner, outer, both */
    const char *target;    /* c, hls, cuda */
    int32_t block;         /* 1 .. 64; 1 .. 16 with inner pivoting, 1 .. 8 of it in hls */
    const char *ordering;  /* rcm, amd, nd */
    const char *matching;  /* on, off */
    const char *butterfly; /* on, off */
    const char *krylov;    /* none, sqmr, gmres */
} sim_description;

/** What is chosen where nothing is said, for a type of factorization. */
sim_description sim_description_default(const char *type);

enum { SIM_SYNTHESIZE_TEXT = 2000, SIM_SYNTHESIZE_FILES = 12 };

/** Write a solver into a folder, which is made if there is none; files that are there are not
 *  replaced. All or nothing. Returns 0, 1: the description is wrong, 2: a file, 6: no memory; text
 *  says why. */
int sim_synthesize(const sim_description *d, const char *folder, char *text);

#endif
