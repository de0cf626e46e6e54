/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_FACTOR_WALK_H
#define MPKI_CUDA_MULTIFRONTAL_FACTOR_WALK_H
/** What a factorization on the device consists of beside its walk over the steps (walk.c): memory
 *  (memory.c), large fronts (large.c). A status is MPK_OK | MPK_ERR_MEMORY, _DEVICE. */
#include "../state.h"

static inline unsigned long long mpki_cuda_address(const void *p) {
    return (unsigned long long)(uintptr_t)p;
}

/** Bytes of the tickets behind `state`. */
static inline int64_t mpki_cuda_ticket_bytes(const mpki_cuda_plan *plan) {
    return plan->steps * MPKI_CUDA_CLASSES * (int64_t)sizeof(int32_t);
}

/** Bytes that the plan and its numbers take while nothing is delayed; reserve: with memory for as
 *  many delayed columns as are expected. */
int64_t mpki_cuda_direct_memory_bytes(mpki_direct *f, bool reserve);
/** Take them, and bring the plan there. */
mpk_status mpki_cuda_direct_place(mpki_direct *f);
mpk_status mpki_cuda_direct_host_arrays(mpki_direct *f);
void mpki_cuda_direct_drop_device(mpki_direct *f);
void mpki_cuda_direct_drop_host(mpki_direct *f);
/** One further piece of the arena in place of what it has grown by. f->flags is what the device had
 *  last. */
void mpki_cuda_direct_join_chunks(mpki_direct *f);
/** Would it do anything? */
bool mpki_cuda_direct_joins(const mpki_direct *f);
/** More memory for panels that grow, at least `bytes`. f->flags is what the device has. */
mpk_status mpki_cuda_direct_grow_arena(mpki_direct *f, int64_t bytes);
/** f->flags to the device. */
mpk_status mpki_cuda_direct_send_flags(mpki_direct *f);
/** Memory of `bytes` for what large fronts work in: where the plan has it, f->work, or a piece of its
 *  own. */
mpk_status mpki_cuda_direct_work_memory(mpki_direct *f, int64_t bytes, char **at);
/** Bytes of slices of large fronts that are eliminated together, while nothing is delayed. */
int64_t mpki_cuda_direct_slice_bytes(const mpki_direct *f, const int32_t *list, int32_t count);
/** Memory of `bytes` for the slices of large fronts. *at: NULL where there is none and f->emulation
 *  is auto. */
mpk_status mpki_cuda_direct_slice_memory(mpki_direct *f, int64_t bytes, char **at);

/** Wait; f->flags, and f->state of fronts first .. last - 1; where these are the last ones,
 *  flags.sums of all. Those from `first` on are as planned before, or are told anew. Also
 *  MPK_ERR_NUMERIC. */
mpk_status mpki_cuda_direct_read(mpki_direct *f, int32_t first, int32_t last);
/** What the host knows of all fronts: no column of theirs was delayed. */
void mpki_cuda_direct_as_planned(mpki_direct *f);
/** What the host knows of a front. */
void mpki_cuda_direct_note(mpki_direct *f, int32_t front, const mpki_cuda_front_state *state);

/** Columns that the children of a front have left, which are known. */
int32_t mpki_cuda_direct_delayed(const mpki_direct *f, int32_t front);
/** Assemble and eliminate some large fronts of a step, all at once. list [in] `count` fronts, whose
 *                                                                             children
 *  are known; round [in] in which each is assembled, or NULL; depth: what kernels know the step by.
 *  Also MPK_ERR_CANCELLED. */
mpk_status mpki_cuda_direct_eliminate(mpki_direct *f, const int32_t *list, const int32_t *round,
                                      int32_t count, int32_t depth);

#endif
