/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_SIMT_WALK_H
#define BORG_EMIT_SIMT_WALK_H
/** walk.c: a block with the loops and branches in it; the functions that ctext calls. */
#include "borg/emit/simt/core.h"

void simt_block(ctext *c, borg_block *block);
void simt_loop(ctext *c, borg_inst *v);
void simt_if(ctext *c, borg_inst *v);

#endif
