/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_PERM_H
#define BORG_PERM_H
/** Moves between registers of a SIMD machine: BCAST, ROWS, PERM and LANE, register by register,
 *  classified as the specialised reorderings of the thesis (2021, section 7.3.3 and figure 7.4).
 *  For backends.
 *
 *  A value lies in registers of `lanes` lanes; each row begins in a new register, and its last
 *  register may be filled in part. Register number: row * borg_row_registers + (lane within the
 *  row) / lanes. */
#include "borg/ir.h"

enum { BORG_MAX_VECTOR = 256 }; /* lanes of a register */

typedef enum borg_move_kind {
    BORG_MOVE_COPY,      /* source[0] as it is: a renaming */
    BORG_MOVE_SPLAT,     /* every lane = lane index[0] of source[0]: scalar broadcast */
    BORG_MOVE_SEGMENTED, /* runs of `segment` lanes (a power of two), each one lane of source[0] */
    BORG_MOVE_VECTOR,    /* the first `segment` lanes' sources (consecutive, from a multiple of
                            `segment`) repeated: vector broadcast of a part of source[0] */
    BORG_MOVE_ROTATE,    /* consecutive lanes of source[0], source[1]: a shift by index[0] */
    BORG_MOVE_ONE,       /* any lanes of source[0]: index */
    BORG_MOVE_TWO,       /* any lanes of source[0], source[1]: index + lanes for the second */
    BORG_MOVE_BLEND,     /* each lane stays in its place, from source[0] or source[1] */
    BORG_MOVE_GATHER     /* more than two sources: from[] and index[] for each lane */
} borg_move_kind;

typedef struct borg_move {
    borg_move_kind kind;
    int32_t used;      /* lanes that matter: the first `used` */
    int32_t operand;   /* of the instruction (ROWS has several); of source[] */
    int32_t source[2]; /* register numbers within that operand's value */
    int32_t segment;
    uint16_t index[BORG_MAX_VECTOR]; /* lane within its source; of the second + lanes (TWO) */
    int32_t from[BORG_MAX_VECTOR];   /* register number of each lane */
} borg_move;

/** Registers of one row. */
int32_t borg_row_registers(const borg_module *m, const borg_inst *v, int32_t lanes);
/** How register `which` of v (BCAST, ROWS, PERM, LANE) is made of registers of its operand. */
void borg_classify_move(const borg_module *m, const borg_inst *v, int32_t lanes, int32_t which,
                        borg_move *move);
/** The option of --disable (BORG_NO_...) that leaves moves of a kind out. */
int32_t borg_move_option(borg_move_kind kind);
/** The inverse of borg_lane_number within a row: work-item and group of lane `in` (0 where the
 * spread has none). */
void borg_lane_place(const borg_module *m, const borg_inst *v, int32_t in, int32_t *wi,
                     int32_t *wg);
/** Is it an integer constant of one row that is a*wi + b, like get_local_id() and what follows from
 * it? */
bool borg_const_affine(const borg_module *m, const borg_inst *v, int64_t *a, int64_t *b);
/** Is it an i1 constant of one row that is 1 for low <= wi <= high and 0 elsewhere (low > high:
 * everywhere)? */
bool borg_const_range(const borg_module *m, const borg_inst *v, int32_t *low, int32_t *high);

#endif
