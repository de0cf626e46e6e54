/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_SIMT_SIMT_H
#define BORG_EMIT_SIMT_SIMT_H
/** What the backends for SIMT machines share (thesis of 2021, section 7.3.2): a work-group is held
 * by `lanes` threads, each of which has `rows` of its work-items; work-item w lies with thread
 * w % lanes as its number w / lanes. Every lane of an InfReg is a scalar variable:
 *      lanes >= size, rows = 1       a work-item in each thread: the sub-warps of the thesis
 *      lanes = 1, rows = size        a work-group in each thread: lane order "wg", nothing is moved
 *      else                          several work-items in each thread
 *  In lane order "wi" the threads of a group follow each other, in "wg" groups do: thread t of a
 *  warp of `step` = 32 / lanes groups is thread t / step of group t % step. Such groups exchange by
 *  shuffles alone.
 *  WG and UNI values are computed by every thread alike. Threads beyond the last work-item do what
 *  the last one does, and store nothing; so do threads beyond the last group of a pack.
 *
 *  What moves between threads goes by shuffles, or by a slot of shared memory: written once by all
 *  work-items when the value is made, read as often as it is asked for. */
#include "borg/borg.h"

/** What a target does in its own way. */
typedef struct simt_target {
    const char *header;       /* text: types and functions */
    const char *const *types; /* of a scalar: [borg_type] */
    bool opencl;              /* no shuffles: all that moves goes by slots; a block is a pack */
} simt_target;

/** The body of a backend's emit. */
borg_status simt_emit(const simt_target *target, const borg_unit *units, int32_t nunits,
                      const borg_options *options, borg_sink *sink, borg_diags *diags);

#endif
