/* SPDX-License-Identifier: BSD-3-Clause */
/* For measurements (--disable; thesis of 2021, figure 7.8): moves of lanes of a kind that is left
 * out go through memory, stored by registers and gathered lane by lane. */
#include "borg/emit/simd/leave.h"

bool simd_left_out(const simd *e, const borg_inst *v, const borg_move *k) {
    if (!e->options->disable || v->type == BORG_I1 || simd_scalar(e, v->args[k->operand]))
        return false;
    return e->options->disable & (simd_scalar(e, v) ? BORG_NO_SCALAR : borg_move_option(k->kind));
}

void simd_through_memory(simd *e, borg_inst *v, int32_t i, const borg_move *k) {
    const borg_inst *x = v->args[k->operand];
    const char *name = borg_format(e->arena, "m%d", e->c.temps++), *suffix = simd_suffix(v->type);
    const bool scalar = simd_scalar(e, v);
    int32_t list[BORG_MAX_VECTOR], count = 0;
    uint64_t at[BORG_MAX_VECTOR];
    for (int32_t l = 0; l < k->used; ++l) {
        int32_t s = 0;
        while (s < count && list[s] != k->from[l]) ++s;
        if (s == count) list[count++] = k->from[l];
        at[l] = (uint64_t)(s * e->lanes + k->index[l] % e->lanes);
    }
    ctext_line(&e->c, "%s %s[%d];", simd_type(v->type, true), name, count * e->lanes);
    for (int32_t s = 0; s < count; ++s)
        ctext_line(&e->c, "b_put_%s(%s + %d, %s);", suffix, name, s * e->lanes,
                   simd_reg(e, x, list[s]));
    ctext_line(&e->c, "__asm__(\"\" : \"+m\"(%s));", name); /* what was stored is loaded */
    for (int32_t l = k->used; l < e->lanes; ++l) at[l] = at[0];
    const char *text = e->target->masked
                           ? borg_format(e->arena, "b_gather_%s((vm)-1, %s, %s)", suffix, name,
                                         simd_literals(e, BORG_I64, at, e->lanes))
                           : borg_format(e->arena, "b_take_%s(%s, %s, %d)", suffix, name,
                                         simd_literals(e, BORG_I32, at, e->lanes), e->lanes);
    if (scalar) text = simd_lane(e, v->type, simd_temp(e, v->type, false, text), 0);
    simd_let(e, v, i, text);
}
