/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_HLS_H
#define BORG_EMIT_HLS_H
/** C for high-level synthesis (Thuerck 2021, sec. 8.4.1): a pipeline's nets as scalars of one loop
 *  over packs, with pragmas; gcc and clang compile it as it is, and get the interpreter's bits. */
#include "borg/spatial/pipeline.h"

extern const char hls_prelude[];

#endif
