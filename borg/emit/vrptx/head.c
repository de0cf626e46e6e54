/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands around a kernel's body, of a known size or of any. */
#include "borg/emit/vrptx/core.h"

const char *vx_group(vx *e) {
    if (e->group) return e->group;
    e->group = vx_new(e, BORG_I64);
    vx_once(e, "cvt.u64.u32 %s, $wid", e->group);
    return e->group;
}

static void put_head(vx *e, const char *name, borg_sink *out) {
    static const char *const scalars[] = {"?", "s32", "s32", "s64", "f32", "f64"};
    static const borg_type kinds[] = {BORG_I1, BORG_I32, BORG_I64, BORG_F32, BORG_F64};
    borg_put(out, ".entry %s (", name);
    for (int32_t i = 0; i < e->m->nparams; ++i) {
        const borg_param *p = &e->m->params[i];
        borg_put(out, "%s.param ", i ? ", " : "");
        if (p->type == BORG_PTR)
            borg_put(out, ".ptr.%s %s", p->depth > 1 ? "b64" : vx_type(p->elem), p->name);
        else
            borg_put(out, ".%s %s", scalars[p->type], p->name);
    }
    if (e->m->size) /* 0: any */
        borg_put(out, ") .ntids %d\n{\n", e->m->size);
    else
        borg_put(out, ")\n{\n");
    for (int32_t i = 0; i < e->m->nlocals; ++i)
        borg_put(out, "    .shared .%s b_s%d[%d]; // %s\n", vx_type(e->m->locals[i].elem), i,
                 e->m->locals[i].count, e->m->locals[i].name);
    borg_put_text(out, e->tables.text, e->tables.length);
    for (int k = 0; k < 5; ++k)
        if (e->registers[kinds[k]])
            borg_put(out, "    .reg .%s %%%c<%d>;\n", vx_type(kinds[k]), vx_letter(kinds[k]),
                     e->registers[kinds[k]]);
}

void vx_put_kernel(vx *e, const char *name, const borg_sink *body, borg_sink *out) {
    put_head(e, name, out);
    borg_put_text(out, e->first.text, e->first.length);
    borg_put_text(out, body->text, body->length);
    borg_put(out, "    exit;\n}\n");
}
