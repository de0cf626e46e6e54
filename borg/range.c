/* SPDX-License-Identifier: BSD-3-Clause */
/* What integers an instruction can be. */
#include "borg/passes.h"

static bool const_range(const borg_inst *v, uint64_t *low, uint64_t *high) {
    *low = UINT64_MAX;
    *high = 0;
    for (int32_t i = 0; i < v->ntable; ++i) {
        if (v->bits[i] < *low) *low = v->bits[i];
        if (v->bits[i] > *high) *high = v->bits[i];
    }
    return true;
}

/* left: values that are still looked at. */
static bool range(const borg_module *m, const borg_inst *v, uint64_t *low, uint64_t *high,
                  int *left) {
    uint64_t l2, h2;
    *low = 0;
    if (--*left < 0) return false;
    switch (v->op) {
    case BORG_CONST:
        return const_range(v, low, high);
    case BORG_LID:
    case BORG_RMAXIDX:
        *high = (uint64_t)m->size - 1;
        return true;
    case BORG_WGID:
        *high = (uint64_t)m->pack - 1;
        return true;
    case BORG_BCAST:
    case BORG_PERM:
    case BORG_LANE:
    case BORG_SHUFV:
    case BORG_PICKV:
        return range(m, v->args[0], low, high, left);
    case BORG_ROWS:
    case BORG_SELECT:
    case BORG_SMIN:
    case BORG_SMAX:
    case BORG_UMAX:
        *high = 0;
        *low = UINT64_MAX;
        for (int32_t i = v->op == BORG_SELECT; i < v->nargs; ++i) {
            if (!range(m, v->args[i], &l2, &h2, left)) return false;
            if (v->type == BORG_I32 ? h2 > INT32_MAX : h2 > INT64_MAX) return false;
            if (l2 < *low) *low = l2;
            if (h2 > *high) *high = h2;
        }
        return true;
    case BORG_RESULT: {
        const borg_inst *from = v->args[0];
        if (from->op != BORG_IF) return false;
        for (int i = 0; i < 2; ++i) {
            const borg_inst *yield = from->block[i]->last;
            if (!yield || yield->op != BORG_YIELD || yield->nargs <= v->index ||
                !range(m, yield->args[v->index], &l2, &h2, left))
                return false;
            *low = i == 0 || l2 < *low ? l2 : *low;
            *high = i == 0 || h2 > *high ? h2 : *high;
        }
        return true;
    }
    case BORG_UMIN:
    case BORG_AND:
        if (range(m, v->args[0], &l2, high, left)) {
            if (range(m, v->args[1], &l2, &h2, left) && h2 < *high) *high = h2;
            return true;
        }
        return range(m, v->args[1], &l2, high, left);
    case BORG_OR: /* no bit above the highest of both */
        if (!range(m, v->args[0], &l2, high, left)) return false;
        if (!range(m, v->args[1], &l2, &h2, left)) return false;
        for (*high |= h2; *high & (*high + 1);) *high |= *high >> 1;
        return true;
    case BORG_UREM:
        if (!borg_is_splat(v->args[1]) || !v->args[1]->bits[0]) return false;
        *high = v->args[1]->bits[0] - 1;
        return true;
    case BORG_SDIV:
    case BORG_UDIV:
    case BORG_ASHR:
    case BORG_LSHR: { /* of what has no sign, by a constant */
        const borg_inst *y = v->args[1];
        bool shift = v->op == BORG_ASHR || v->op == BORG_LSHR;
        uint64_t by = borg_is_splat(y) ? y->bits[0] : 0;
        if (!borg_is_splat(y) || !range(m, v->args[0], low, high, left)) return false;
        if (*high > INT32_MAX || by > (shift ? 31 : INT32_MAX) || (by == 0 && !shift)) return false;
        *low = shift ? *low >> by : *low / by;
        *high = shift ? *high >> by : *high / by;
        return true;
    }
    case BORG_ADD:
    case BORG_MUL: /* as long as nothing wraps */
        if (!range(m, v->args[0], &l2, high, left)) return false;
        if (!range(m, v->args[1], &l2, &h2, left)) return false;
        if (*high > INT16_MAX || h2 > INT16_MAX) return false;
        *high = v->op == BORG_ADD ? *high + h2 : *high * h2;
        return true;
    case BORG_ZEXT:
    case BORG_SEXT:
        if (v->args[0]->type == BORG_I1) {
            *high = 1;
            return true;
        }
        return range(m, v->args[0], low, high, left) && *high <= INT32_MAX;
    default:
        return false;
    }
}

bool borg_known_range(const borg_module *m, const borg_inst *v, uint64_t *low, uint64_t *high) {
    int left = 100;
    return range(m, v, low, high, &left);
}
