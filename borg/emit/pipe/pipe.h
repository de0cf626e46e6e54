/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_PIPE_H
#define BORG_EMIT_PIPE_H
/** A pipeline as a netlist: for people, for programs, as a picture. */
#include "borg/spatial/pipeline.h"

void pipe_text(const borg_pipeline *p, const char *name, borg_sink *out);
void pipe_json(const borg_pipeline *p, const char *name, borg_sink *out);
/** In the layout of fig. 8.6: the state at each boundary, a box for each lane of an InfReg,
 *  registers without useful data shaded; wires from boundary to boundary; units between. Larger
 *  ones than 40 stages of 64 lanes: a bar for each stage, what is needed of the state. */
void pipe_svg(const borg_pipeline *p, const char *name, borg_sink *out);

/** "n7", or a constant, or what is read-only. */
const char *pipe_net(const borg_pipeline *p, int32_t net, borg_arena *arena);

#endif
