/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_INSPECTOR_H
#define MPKI_INSPECTOR_H
/** The inspector: finds level sets and makes the lists of the next portions of a stage while the
 *  executor runs the present one (Thuerck 2021, sec. 8.3.4 and fig. 8.4). In a later stage these
 *  are at first delayed updates, by the columns of earlier ones; the level sets of what was pushed
 *  back are found meanwhile. It reads the index, which does not change within a stage. It does not
 *  see which frames are rejected meanwhile: as in the thesis, all operations of the stage are
 *  listed, and the executor skips those that need a block which a rejected frame has left without
 *  values. */
#include "schedule.h"

/** What is to be listed. Index and levels are read until the inspector is stopped, and must not
 *  change until then; `final` and `want` are copied, for the executor writes them. */
typedef struct mpki_inspection {
    const mpki_ibcsr *index;
    const mpki_levels *levels; /* of frames whose columns are due, in order */
    int32_t due; /* place of the first of the frames that are due after these, and whose level sets
                    are still to be found; m: none */
    const int32_t *bptr;        /* m + 1: rows of the frames, as in mpki_blocking */
    const unsigned char *final; /* pull: frames that are, or may become, final; NULL: all */
    const unsigned char *want;  /* by block: targets; NULL: all */
    mpk_schedule schedule;      /* pull, subsets or atomic */
    int64_t budget; /* entries of target blocks in a portion; it ends with the frame that
                       reaches this, or an equal number of updates */
    int threads;    /* of the executor; 1: no thread of its own */
    struct mpki_portions
        *kept;         /* NULL, or where portions are copied to; if it is complete, they are
                                   handed out from there, and nothing is listed or found */
    int64_t most_kept; /* bytes of these; beyond it none are kept */
} mpki_inspection;

typedef enum mpki_portion_kind {
    MPKI_PORTION_COLUMNS,  /* targets of some frames' columns; pull: with their updates */
    MPKI_PORTION_DOWNDATES /* subsets, atomic: what some frames push; without conflict for subsets
                            */
} mpki_portion_kind;

/** Some frames of one level. Pull: COLUMNS alone. The push schedules: for each level first COLUMNS,
 *  then DOWNDATES, of which one subset may fill several. No portion is empty; order within as in
 *  mpki_updates_pull and _push. */
typedef struct mpki_portion {
    mpki_portion_kind kind;
    int32_t level;  /* in inspection.levels and those found, one after the other */
    int32_t subset; /* DOWNDATES: number over all levels; else -1 */
    int32_t count;
    int32_t *frame; /* count; those with nothing to do are left out */
    mpki_updates batch;
    double share;       /* of all frames: those listed up to here */
    int64_t entries;    /* of the targets of COLUMNS */
    int32_t frame_room; /* of frame */
} mpki_portion;

/** The portions of a stage, copied while they are handed out, for a later stage with the same
 *  index, levels, schedule and budget, in which everything is wanted. All zero at first. */
typedef struct mpki_portions {
    mpki_portion *portion;
    int64_t count, room, bytes;
    bool complete; /* they can be handed out again */
    bool given_up; /* there were too many */
} mpki_portions;

void mpki_portions_free(mpk_context *ctx, mpki_portions *portions);

typedef struct mpki_inspector mpki_inspector;

/** Seconds. */
typedef struct mpki_inspector_times {
    double work_s;   /* spent on level sets and lists */
    double waited_s; /* of these the executor waited for; the rest was hidden */
} mpki_inspector_times;

/** Begin. When the system gives no thread, lists are made in mpki_inspector_next, as with threads
 *  = 1; they are the same. *inspector NULL on entry. MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_inspector_start(mpk_context *ctx, const mpki_inspection *what,
                                mpki_inspector **inspector);
/** The next portion, borrowed until the next call; NULL: there is none. A failure of the inspector
 *  comes when the portions before it have been taken, and again in every later call. */
mpk_status mpki_inspector_next(mpki_inspector *inspector, const mpki_portion **portion);
/** The level sets that were found, the caller's from now on; once there is no more portion. */
void mpki_inspector_take_levels(mpki_inspector *inspector, mpki_levels *found);
/** Stop it at any point; it ends after at most one more frame, or with the level sets. times [out]
 *  or NULL. *inspector may be NULL. */
void mpki_inspector_stop(mpki_inspector **inspector, mpki_inspector_times *times);

#endif
