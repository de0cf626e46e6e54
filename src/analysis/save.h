/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ANALYSIS_SAVE_H
#define MPKI_ANALYSIS_SAVE_H
/** An analysis in a file: as all of it, or as the first part of a factor's. */
#include "../core/archive.h"
#include "analysis.h"

/** What a file holds; before everything else. */
typedef struct mpki_saved {
    int64_t factor;  /* 1: a factor follows the analysis */
    int64_t threads; /* of the analysis */
    int64_t bytes;   /* of the analysis */
    uint64_t sum;    /* and of these: it tells analyses apart */
} mpki_saved;

/** Can it be saved? MPK_OK | MPK_ERR_UNSUPPORTED, recorded. */
mpk_status mpki_analysis_savable(mpk_context *ctx, const char *stage, const mpk_analysis *an);
/** What a file of this analysis begins with, without a factor. MPK_OK | MPK_ERR_MEMORY,
 *  _CANCELLED */
mpk_status mpki_saved_of(mpk_context *ctx, const char *stage, const mpk_analysis *an,
                         mpki_saved *saved);
/** The analysis; failures are the archive's. */
void mpki_analysis_put(mpki_archive *a, const mpk_analysis *an);
/** problem [in] the values are borrowed for the call where it does not own them.
 *  Returns MPK_OK, and an analysis that can be used | a failure, recorded, and *an stays NULL. */
mpk_status mpki_analysis_get(mpki_archive *a, const mpk_problem *problem, int threads,
                             mpk_analysis **an);
/** Threads of a file, at most as many as there are here. */
int mpki_saved_threads(int64_t threads);

#endif
