/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_SIMD_ACCESS_H
#define BORG_EMIT_SIMD_ACCESS_H
/** access.c: where the lanes of a register that is loaded or stored lie in memory. */
#include "borg/emit/simd/core.h"

/* One register of an access. */
typedef struct simd_access {
    const borg_inst *v, *value; /* the instruction, what has its lanes */
    borg_type type;
    const char *mask; /* of the register, or NULL */
    simd_mask known;
    uint64_t lanes; /* those that a constant mask lets through */
    bool store;
    int32_t reg, row, used;
    int32_t wi[BORG_MAX_VECTOR], wg[BORG_MAX_VECTOR];
    uint64_t element[BORG_MAX_VECTOR]; /* LOADA, STOREA: c + b*wi + a*wg; near: behind base */
    bool near; /* a group's array, by an index that is one scalar and a constant for each lane */
    const borg_inst *base; /* near: that scalar, or NULL */
} simd_access;

/** Is this an access to a group's array by a scalar, *base or NULL for 0, and a constant for each
 * lane, *part or NULL for 0? */
bool simd_near(const simd *e, const borg_inst *v, const borg_inst **base, const borg_inst **part);

/** A lane of a value that has one lane for each group, or one for all. */
const char *simd_access_of_group(simd *e, const borg_inst *x, int32_t g);
bool simd_access_interleaved(const simd *e);
const char *simd_access_pointer(simd *e, const simd_access *k, int32_t g);
bool simd_access_affine(const simd_access *k);
/** The address of a lane, `less` elements before it. */
const char *simd_access_place(simd *e, const simd_access *k, int32_t lane, int32_t less);
/** Are the lanes addressed by one scalar pointer for each group? */
bool simd_access_by_group(const simd *e, const simd_access *k);
/** Fill in what register `reg` of the access touches. */
void simd_access_prepare(simd *e, simd_access *k, int32_t reg);
/** Is the mask constant? Then k->lanes holds it. */
bool simd_access_constant_mask(const simd_access *k);

/* ---- blocks.c: interleaved groups, consecutive work-items: blocks transposed in registers ---- */
void simd_transposed(simd *e, simd_access *k, borg_inst *v);
void simd_transposed_rows(simd *e, simd_access *k);
bool simd_rows_transposable(const simd *e, const simd_access *k);

#endif
