/* SPDX-License-Identifier: BSD-3-Clause */
/* Masks in vector registers. A predicate that is chosen has a home of .b32: written behind each
 * write of the predicate, read once in each block that needs it, or, where that is still too much,
 * before each use. What costs least for the crowded places that it frees goes first. */
#include "sim/vector/lives.h"
#include <math.h>
#include <string.h>

/* What a register is: of the program, a copy of a home within a block, one for a single use. */
enum { WHOLE, OF_BLOCK, OF_USE };

typedef struct spilling {
    borg_arena *arena;
    vr_program *p;
    int32_t *home;  /* of each register that is spilled or a copy: its home; -1: see again */
    uint8_t *level; /* of each register */
    vr_inst *again; /* of each register: the compare to make again; op VR_NOPS: there is none */
    size_t room[3]; /* of these */
    vr_inst *out, *spare; /* the instructions while they are written anew; what they were before */
    size_t out_room, spare_room;
    int32_t nout, zero, one; /* constants */
    vr_spills *spills;
} spilling;

static bool is_predicate(const vr_program *p, int32_t r) {
    return p->registers[r].type == VR_PRED;
}

/* ---- a copy ---------------------------------------------------------------------------------- */

static int32_t constant(spilling *s, uint64_t bits) {
    vr_program *p = s->p;
    for (int32_t i = 0; i < p->nconstants; ++i)
        if (p->constants[i] == bits) return i;
    p->constants[p->nconstants] = bits;
    return p->nconstants++;
}

static void *copy(borg_arena *arena, const void *from, int64_t count, int64_t more, size_t size) {
    char *to = borg_alloc(arena, (size_t)(count + more) + 1, size);
    if (count) memcpy(to, from, (size_t)count * size);
    return to;
}

/* The registers that come are the last entry's where there is one; else see sort_registers. */
static void start(spilling *s, const vr_program *p) {
    borg_arena *arena = s->arena;
    vr_program *q = s->p = BORG_NEW(arena, 1, vr_program);
    *q = *p;
    memset(q->room, 0, sizeof q->room);
    q->arena = arena;
    q->insts = copy(arena, p->insts, p->ninsts, 0, sizeof *p->insts);
    q->labels = copy(arena, p->labels, p->nlabels, 0, sizeof *p->labels);
    q->entries = copy(arena, p->entries, p->nentries + 1, 0, sizeof *p->entries);
    q->constants = copy(arena, p->constants, p->nconstants, 2, sizeof *p->constants);
    q->registers = NULL;
    q->registers = borg_grow(arena, q->registers, (size_t)p->nregisters + 1, &q->room[0],
                             sizeof *p->registers);
    memcpy(q->registers, p->registers, (size_t)p->nregisters * sizeof *p->registers);
    s->zero = constant(s, 0);
    s->one = constant(s, 1);
}

static bool is_taken(const vr_program *p, const char *name) {
    for (int32_t r = 0; r < p->nregisters; ++r)
        if (strcmp(p->registers[r].name, name) == 0) return true;
    return false;
}

static void widen(spilling *s) {
    const size_t n = (size_t)s->p->nregisters + 1;
    s->home = borg_grow(s->arena, s->home, n, &s->room[0], sizeof *s->home);
    s->level = borg_grow(s->arena, s->level, n, &s->room[1], sizeof *s->level);
    s->again = borg_grow(s->arena, s->again, n, &s->room[2], sizeof *s->again);
}

static int32_t new_register(spilling *s, vr_type type, const char *of, int level, int32_t home) {
    vr_program *p = s->p;
    const int32_t r = p->nregisters;
    const char *name = borg_format(s->arena, "%s_%c%d", of, type == VR_PRED ? 'm' : 'v', r);
    while (is_taken(p, name)) name = borg_format(s->arena, "%s_", name);
    p->registers =
        borg_grow(s->arena, p->registers, (size_t)r + 1, &p->room[0], sizeof *p->registers);
    p->registers[p->nregisters++] = (vr_register){.name = name, .type = type};
    widen(s);
    s->home[r] = home;
    s->level[r] = (uint8_t)level;
    s->again[r].op = VR_NOPS;
    return r;
}

/* ---- what to spill --------------------------------------------------------------------------- */

/* Loops around each instruction, by the branches that go back. */
static double *weights(const vr_program *p, borg_arena *arena) {
    double *weight = BORG_NEW(arena, p->ninsts + 1, double);
    int32_t *depth = BORG_NEW(arena, p->ninsts + 2, int32_t), around = 0;
    for (int32_t i = 0; i < p->ninsts; ++i)
        if (p->insts[i].target >= 0 && p->insts[i].target <= i) {
            ++depth[p->insts[i].target];
            --depth[i + 1];
        }
    for (int32_t i = 0; i < p->ninsts; ++i) {
        around += depth[i];
        weight[i] = pow(8, around < 6 ? around : 6);
    }
    return weight;
}

typedef struct crowd { /* the place with the most predicates alive */
    int32_t count, inst;
    uint64_t *alive;
} crowd;

/* cost and freed [out]: of each register's reads and writes, and crowded places that it is in. */
static crowd find_crowd(spilling *s, int32_t most, double *cost, double *freed) {
    const vr_program *p = s->p;
    vr_lives k = vr_find_lives(p, s->arena, false);
    const double *weight = weights(p, s->arena);
    uint64_t *predicates = BORG_NEW(s->arena, k.words + 1, uint64_t);
    crowd worst = {most, 0, BORG_NEW(s->arena, k.words + 1, uint64_t)};
    int32_t list[6];
    for (int32_t r = 0; r < p->nregisters; ++r)
        if (is_predicate(p, r)) predicates[r / 64] |= (uint64_t)1 << r % 64;
    for (int32_t b = 0; b < k.nblocks; ++b) {
        vr_enter_block(&k, b);
        for (int32_t i = k.first[b + 1]; i-- > k.first[b];) {
            const vr_inst *v = &p->insts[i];
            for (int side = 0; side < 2; ++side) { /* behind it, with its result; before it */
                int32_t count = 0;
                if (side) vr_step_back(&k, v);
                for (int32_t w = 0; w < k.words; ++w)
                    count += __builtin_popcountll(k.now[w] & predicates[w]);
                const bool unread =
                    !side && v->dst >= 0 && is_predicate(p, v->dst) && !vr_alive(&k, v->dst);
                count += unread;
                for (int32_t w = 0; count > most && w < k.words; ++w)
                    for (uint64_t bits = k.now[w] & predicates[w]; bits; bits &= bits - 1)
                        freed[64 * w + __builtin_ctzll(bits)] += weight[i];
                if (count <= worst.count) continue;
                worst.count = count;
                worst.inst = i;
                for (int32_t w = 0; w < k.words; ++w) worst.alive[w] = k.now[w] & predicates[w];
            }
            int n = vr_readers(v, list);
            for (int j = 0; j < n; ++j) cost[list[j]] += weight[i];
            if (v->dst >= 0) cost[v->dst] += weight[i];
        }
    }
    return worst;
}

/* Those that free the most crowded place at the least cost, as many as it has too many: into list;
 * how many, 0: no place has more than `most`. -1: there is none, *inst is where. */
static int32_t choose(spilling *s, int32_t most, int32_t *list, int32_t *inst) {
    const int32_t n = s->p->nregisters;
    double *cost = BORG_NEW(s->arena, n + 64, double), *freed = BORG_NEW(s->arena, n + 64, double);
    const crowd worst = find_crowd(s, most, cost, freed);
    int32_t count = 0;
    *inst = worst.inst;
    while (count < worst.count - most) {
        int32_t best = -1;
        for (int32_t r = 0; r < n; ++r)
            if (worst.alive[r / 64] >> r % 64 & 1 && s->level[r] != OF_USE && freed[r] > 0 &&
                (best < 0 || cost[r] * freed[best] < cost[best] * freed[r]))
                best = r;
        if (best < 0) return count ? count : -1;
        freed[best] = 0;
        list[count++] = best;
    }
    return count;
}

/* ---- writing anew ---------------------------------------------------------------------------- */

static void put(spilling *s, const vr_inst *v) {
    s->out = borg_grow(s->arena, s->out, (size_t)s->nout + 1, &s->out_room, sizeof *s->out);
    s->out[s->nout++] = *v;
}

/* copy := what the home holds. */
static void load(spilling *s, int32_t from, int32_t to, borg_loc loc) {
    vr_inst v = {
        .op = VR_SETP, .type = VR_S32, .how = VR_NE, .guard = -1, .target = -1, .loc = loc};
    if (s->again[from].op != VR_NOPS)
        v = s->again[from];
    else {
        v.a[0] = (vr_operand){VR_REG, s->home[from]};
        v.a[1] = (vr_operand){VR_IMM, s->zero};
    }
    v.dst = to;
    put(s, &v);
    s->again[to] = s->again[from];
}

static void store(spilling *s, int32_t home, int32_t from, int32_t guard, bool negated,
                  borg_loc loc) {
    vr_inst v = {.op = VR_SELP,
                 .type = VR_B32,
                 .guard = guard,
                 .negated = negated,
                 .dst = home,
                 .target = -1,
                 .loc = loc};
    v.a[0] = (vr_operand){VR_IMM, s->one};
    v.a[1] = (vr_operand){VR_IMM, s->zero};
    v.a[2] = (vr_operand){VR_REG, from};
    put(s, &v);
}

static bool reads(const vr_inst *v, int32_t r) {
    int32_t list[6];
    int n = vr_readers(v, list);
    for (int i = 0; i < n; ++i)
        if (list[i] == r) return true;
    return false;
}

static void replace(vr_inst *v, int32_t from, int32_t to) {
    if (v->guard == from) v->guard = to;
    for (int k = 0; k < 3; ++k)
        if (v->a[k].kind == VR_REG && v->a[k].at == from) v->a[k].at = to;
}

/* Written once, by a compare of what every place has: that is made again. */
static const vr_inst *compare_of(const vr_program *p, int32_t r) {
    const vr_inst *found = NULL;
    for (int32_t i = 0; i < p->ninsts; ++i) {
        const vr_inst *v = &p->insts[i];
        if (v->dst != r) continue;
        if (found || v->op != VR_SETP || v->guard >= 0) return NULL;
        for (int k = 0; k < 2; ++k)
            if (v->a[k].kind == VR_REG) return NULL;
        found = v;
    }
    return found;
}

/* One register leaves the masks. */
static void spill(spilling *s, int32_t r) {
    vr_program *p = s->p;
    const int level = s->level[r] == WHOLE ? OF_BLOCK : OF_USE;
    int32_t *place = BORG_NEW(s->arena, p->ninsts + 1, int32_t), current = -1;
    const char *name = p->registers[r].name;
    bool *begins = BORG_NEW(s->arena, p->ninsts + 1, bool);
    for (int32_t i = 0; i < p->ninsts; ++i)
        if (p->insts[i].target >= 0) begins[p->insts[i].target] = true;
    if (s->level[r] == WHOLE) {
        const vr_inst *compare = compare_of(p, r);
        const int32_t home = compare ? -1 : new_register(s, VR_B32, name, WHOLE, -1);
        s->home[r] = home;
        if (compare) s->again[r] = *compare;
        ++s->spills->predicates;
    }
    const bool again = s->again[r].op != VR_NOPS;
    s->nout = 0;
    for (int32_t i = 0; i < p->ninsts; ++i) {
        vr_inst v = p->insts[i];
        place[i] = s->nout;
        if (begins[i]) current = -1;
        if (reads(&v, r)) {
            if (current < 0) {
                current = new_register(s, VR_PRED, name, level, s->home[r]);
                load(s, r, current, v.loc);
            }
            replace(&v, r, current);
        }
        if (vr_op_table[v.op].class == VR_ON_CONTROL || level == OF_USE) current = -1;
        if (v.dst != r) {
            put(s, &v);
            continue;
        }
        if (again || (s->level[r] == OF_BLOCK && v.op == VR_SETP && v.a[0].kind == VR_REG &&
                      v.a[0].at == s->home[r]))
            continue; /* made where it is read */
        /* all lanes make it, those of the guard keep it */
        const bool kept = v.guard < 0 && level == OF_BLOCK;
        const int32_t made = new_register(s, VR_PRED, name, kept ? OF_BLOCK : OF_USE, s->home[r]),
                      guard = v.guard;
        v.dst = made;
        v.guard = -1;
        put(s, &v);
        if (s->level[r] == WHOLE)
            store(s, s->home[r], made, guard, v.negated, v.loc);
        else { /* its store stands behind it already: it reads the new name */
            put(s, &p->insts[i + 1]);
            replace(&s->out[s->nout - 1], r, made);
            place[++i] = s->nout - 1;
        }
        s->out[s->nout - 2].negated = false;
        current = kept ? made : -1;
    }
    place[p->ninsts] = s->nout;
    for (int32_t i = 0; i < s->nout; ++i)
        if (s->out[i].target >= 0) s->out[i].target = place[s->out[i].target];
    for (int32_t i = 0; i < p->nlabels; ++i) p->labels[i].at = place[p->labels[i].at];
    for (int32_t i = 0; i <= p->nentries; ++i) p->entries[i].first = place[p->entries[i].first];
    vr_inst *old = s->spare; /* two buffers in turn */
    const size_t old_room = s->spare_room;
    s->spare = s->out;
    s->spare_room = s->out_room;
    s->out = old;
    s->out_room = old_room;
    p->insts = s->spare;
    p->ninsts = s->nout;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void number(int32_t *at, const int32_t *map) {
    if (*at >= 0) *at = map[*at];
}

/* Each kernel's registers together: those that came stand behind its own. */
static void sort_registers(spilling *s, int32_t before) {
    vr_program *p = s->p;
    int32_t *owner = BORG_NEW(s->arena, p->nregisters + 1, int32_t), list[6];
    int32_t *map = BORG_NEW(s->arena, p->nregisters + 1, int32_t), next = 0;
    vr_register *sorted = BORG_NEW(s->arena, p->nregisters + 1, vr_register);
    for (int32_t r = 0; r < p->nregisters; ++r) owner[r] = r < before ? 0 : -1;
    for (int32_t e = 0; e < p->nentries; ++e) {
        for (int32_t r = p->entries[e].registers; r < p->entries[e + 1].registers; ++r)
            owner[r] = e;
        for (int32_t i = p->entries[e].first; i < p->entries[e + 1].first; ++i) {
            int n = vr_readers(&p->insts[i], list);
            for (int k = 0; k < n; ++k)
                if (list[k] >= before) owner[list[k]] = e;
            if (p->insts[i].dst >= before) owner[p->insts[i].dst] = e;
        }
    }
    for (int32_t e = 0; e < p->nentries; ++e) {
        p->entries[e].registers = next;
        for (int32_t r = 0; r < p->nregisters; ++r) {
            if (owner[r] != e) continue;
            map[r] = next;
            sorted[next++] = p->registers[r];
        }
    }
    p->entries[p->nentries].registers = next;
    for (int32_t i = 0; i < p->ninsts; ++i) {
        vr_inst *v = &p->insts[i];
        number(&v->guard, map);
        number(&v->dst, map);
        if (v->base.kind == VR_REG) v->base.at = map[v->base.at];
        for (int k = 0; k < 3; ++k)
            if (v->a[k].kind == VR_REG) v->a[k].at = map[v->a[k].at];
    }
    p->registers = sorted;
    p->nregisters = next; /* what nothing names any more is gone */
}

static void count(spilling *s, int32_t before) {
    const vr_program *p = s->p;
    for (int32_t i = 0; i < p->ninsts; ++i) {
        const vr_inst *v = &p->insts[i];
        if (v->dst < before) continue;
        if (v->op == VR_SELP && v->type == VR_B32) {
            ++s->spills->stores;
        } else if (v->op == VR_SETP && v->a[0].kind == VR_REG && v->a[0].at >= before &&
                   !is_predicate(p, v->a[0].at)) {
            ++s->spills->loads;
        } else if (s->again[v->dst].op != VR_NOPS) {
            ++s->spills->again;
        }
    }
}

const vr_program *vr_spill(const vr_program *program, int32_t masks, vr_spills *spills,
                           borg_diags *diags) {
    spilling s = {.arena = diags->arena, .spills = spills};
    const int32_t before = program->nregisters;
    int32_t at = 0;
    memset(spills, 0, sizeof *spills);
    if (vr_registers_needed(program, s.arena).mask_registers <= masks) return program;
    start(&s, program);
    widen(&s);
    for (int32_t r = 0; r < before; ++r) s.again[r].op = VR_NOPS;
    for (;;) {
        int32_t *list = BORG_NEW(s.arena, s.p->nregisters + 1, int32_t);
        const int32_t chosen = choose(&s, masks - 1, list, &at);
        if (chosen == 0) break;
        if (chosen < 0) {
            borg_report(diags, BORG_ERROR, s.p->insts[at].loc,
                        "%d mask registers are too few for this instruction, with predicates in "
                        "vector registers, too",
                        masks);
            return NULL;
        }
        if (s.p->nregisters > VR_MOST_REGISTERS) {
            borg_report(diags, BORG_ERROR, s.p->insts[at].loc,
                        "with predicates in vector registers there are more than %d registers",
                        VR_MOST_REGISTERS);
            return NULL;
        }
        for (int32_t i = 0; i < chosen; ++i) spill(&s, list[i]);
    }
    count(&s, before);
    sort_registers(&s, before);
    return s.p;
}
