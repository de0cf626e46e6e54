/* SPDX-License-Identifier: BSD-3-Clause */
/* The name of a net, in whatever format. */
#include "borg/emit/pipe/pipe.h"
#include <inttypes.h>
#include <string.h>

const char *pipe_net(const borg_pipeline *p, int32_t net, borg_arena *arena) {
    const borg_net *n = &p->net[net];
    double x;
    float y;
    const uint32_t low = (uint32_t)n->bits;
    memcpy(&x, &n->bits, sizeof x);
    memcpy(&y, &low, sizeof y);
    if (n->kind == BORG_NET_CONST && n->inst->type == BORG_F64) return borg_format(arena, "%g", x);
    if (n->kind == BORG_NET_CONST && n->inst->type == BORG_F32)
        return borg_format(arena, "%g", (double)y);
    if (n->kind == BORG_NET_CONST) return borg_format(arena, "%" PRId64, (int64_t)n->bits);
    if (n->inst->op == BORG_PARAM) return p->module->params[n->inst->index].name;
    return borg_format(arena, "%c%d", n->kind == BORG_NET_CONTROL ? 'c' : 'n', net);
}
