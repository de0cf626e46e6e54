/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_VECTOR_LIVES_H
#define SIM_VECTOR_LIVES_H
/** Which registers are read later. A write under a guard ends no life; a write while lanes wait
 *  elsewhere does: these are at another place, where that value is alive or not, and writes leave
 *  their lanes alone. */
#include "sim/vector/vrptx.h"

typedef struct vr_lives {
    const vr_program *p;
    int32_t words, nblocks;
    int32_t *first; /* instruction of each block; one more: the end */
    int32_t *block; /* of each instruction that begins one, else -1 */
    uint64_t *in;   /* [nblocks][words]: read there or later */
    uint64_t *now;  /* [words] */
    bool guarded;   /* a guarded write ends a life, too */
} vr_lives;

vr_lives vr_find_lives(const vr_program *program, borg_arena *arena, bool guarded);
/** now := what is alive behind the block; then, from behind an instruction to before it. */
void vr_enter_block(vr_lives *k, int32_t block);
void vr_step_back(vr_lives *k, const vr_inst *inst);
static inline bool vr_alive(const vr_lives *k, int32_t r) {
    return k->now[r / 64] >> r % 64 & 1;
}
/** The registers that an instruction reads, its guard among them; how many. */
int vr_readers(const vr_inst *inst, int32_t list[6]);
bool vr_falls_through(const vr_inst *inst);

#endif
