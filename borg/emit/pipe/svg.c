/* SPDX-License-Identifier: BSD-3-Clause */
/* A pipeline in the layout of fig. 8.6. */
#include "borg/emit/pipe/pipe.h"
#include <inttypes.h>
#include <string.h>

enum { LANE = 26, BOX = 18, ROW = 96, LEFT = 150, TOP = 56, MOST_STAGES = 40, MOST_LANES = 64 };

/* Columns of the state: InfRegs of one shape side by side, values put into the first that is
 * free. */
typedef struct layout {
    const borg_pipeline *p;
    int32_t columns;
    int32_t *of;      /* by net: its column; -1: none */
    bool *used;       /* boundary * columns + column */
    int32_t *pattern; /* type * 4096 + lanes of the InfReg that begins at a column; 0: none */
} layout;

static bool is_free(const layout *l, const borg_inst *v, int32_t lanes, int32_t column) {
    const int32_t *nets = v->aux;
    for (int32_t i = 0; i < lanes; ++i) {
        const borg_net *n = &l->p->net[nets[i]];
        for (int32_t b = n->born; b <= n->dies; ++b)
            if (l->used[b * MOST_LANES + column + i]) return false;
    }
    return true;
}

/* False: there are too many. */
static bool put(layout *l, const borg_inst *v) {
    const int32_t *nets = v->aux, lanes = borg_lanes(l->p->module, v);
    const int32_t pattern = (int32_t)v->type * 4096 + lanes;
    bool needed = false;
    for (int32_t i = 0; i < lanes; ++i) {
        const borg_net *n = &l->p->net[nets[i]];
        needed |= n->dies >= 0 && n->inst == v && n->kind == BORG_NET_DATA;
    }
    if (!needed) return true;
    int32_t column = 0;
    while (column < l->columns && !(l->pattern[column] == pattern && is_free(l, v, lanes, column)))
        ++column;
    if (column + lanes > MOST_LANES) return false;
    if (column == l->columns) l->columns += lanes, l->pattern[column] = pattern;
    for (int32_t i = 0; i < lanes; ++i) {
        const borg_net *n = &l->p->net[nets[i]];
        l->of[nets[i]] = column + i;
        for (int32_t b = n->born; b <= n->dies; ++b) l->used[b * MOST_LANES + column + i] = true;
    }
    return true;
}

static bool lay_out(layout *l, borg_arena *arena) {
    const borg_pipeline *p = l->p;
    l->of = BORG_NEW(arena, p->nnets + 1, int32_t);
    l->used = BORG_NEW(arena, (int64_t)(p->nstages + 1) * MOST_LANES, bool);
    l->pattern = BORG_NEW(arena, MOST_LANES + 1, int32_t);
    for (int32_t k = 0; k < p->nnets; ++k) l->of[k] = -1;
    if (p->nstages > MOST_STAGES) return false;
    for (const borg_inst *v = p->module->body->first; v; v = v->next) {
        const borg_class class = borg_op_table[v->op].class;
        if (v->type == BORG_VOID || class == BORG_LEAF || class == BORG_LAYOUT) continue;
        if (borg_lanes(p->module, v) > MOST_LANES || !put(l, v)) return false;
    }
    return true;
}

static int32_t x_of(int32_t column) {
    return LEFT + column * LANE + BOX / 2;
}

static void draw_stage(const layout *l, int32_t s, borg_sink *out) {
    const borg_step *step = &l->p->stage[s];
    const int32_t top = TOP + s * ROW + BOX, middle = top + (ROW - BOX) / 2, end = top + ROW - BOX;
    borg_put(out, "<text x=\"12\" y=\"%d\" class=\"op\">%s</text>\n", middle + 4,
             borg_op_table[step->inst->op].text);
    for (int32_t i = 0; i < step->nout; ++i) {
        const int32_t net = step->out[i], to = l->of[net];
        if (to < 0 || l->p->net[net].dies < 0) continue;
        for (int32_t k = 0; k < step->nin; ++k) {
            const int32_t from = l->of[step->in[(int64_t)i * step->nin + k]];
            if (from >= 0)
                borg_put(out, "<path d=\"M%d %d C%d %d %d %d %d %d\"/>\n", x_of(from), top,
                         x_of(from), middle - 12, x_of(to), middle - 26, x_of(to), middle - 8);
        }
        borg_put(out, "<path d=\"M%d %dV%d\"/><circle cx=\"%d\" cy=\"%d\" r=\"8\"/>\n", x_of(to),
                 middle + 8, end, x_of(to), middle);
        borg_put(out, "<text x=\"%d\" y=\"%d\" class=\"u\">%s</text>\n", x_of(to), middle + 4,
                 step->kind <= BORG_UNIT_cmp_f32 &&
                         strncmp(borg_unit_names[step->kind], "add", 3) == 0
                     ? "+"
                 : strncmp(borg_unit_names[step->kind], "mul", 3) == 0 ? "\303\227"
                 : strncmp(borg_unit_names[step->kind], "div", 3) == 0 ? "/"
                                                                       : "f");
    }
    for (int32_t k = 0; k < l->p->nnets; ++k) { /* what goes by */
        const borg_net *n = &l->p->net[k];
        if (l->of[k] >= 0 && n->born <= s && n->dies > s)
            borg_put(out, "<path d=\"M%d %dV%d\" class=\"by\"/>\n", x_of(l->of[k]), top, end);
    }
}

static void draw_state(const layout *l, int32_t b, borg_sink *out) {
    const int32_t y = TOP + b * ROW;
    borg_put(out, "<text x=\"12\" y=\"%d\">cycle %d</text>\n", y + 13,
             borg_boundary_cycle(l->p, b));
    for (int32_t c = 0; c < l->columns; ++c)
        borg_put(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"%s/>\n", LEFT + c * LANE,
                 y, BOX, BOX, l->used[b * MOST_LANES + c] ? "" : " class=\"off\"");
}

static void draw_bars(const borg_pipeline *p, borg_sink *out) {
    int64_t most = 1;
    int64_t *live = BORG_NEW(out->arena, p->nstages + 2, int64_t);
    for (int32_t k = 0; k < p->nnets; ++k) {
        const borg_net *n = &p->net[k];
        if (n->kind != BORG_NET_DATA || n->dies < 0) continue;
        ++live[n->born];
        --live[n->dies + 1];
    }
    for (int32_t b = 1; b <= p->nstages; ++b) live[b] += live[b - 1];
    for (int32_t b = 0; b <= p->nstages; ++b) most = live[b] > most ? live[b] : most;
    borg_put(out,
             "<text x=\"12\" y=\"44\">registers of one lane at each of %d boundaries, most %" PRId64
             "</text>\n<path class=\"area\" d=\"M60 360",
             p->nstages + 1, most);
    for (int32_t b = 0; b <= p->nstages; ++b)
        borg_put(out, "L%.2f %.2f", 60 + 800.0 * b / (p->nstages + 1),
                 360 - 290.0 * (double)live[b] / (double)most);
    borg_put(out,
             "L860 360Z\"/>\n<text x=\"12\" y=\"75\">%" PRId64
             "</text><text x=\"40\" y=\"364\">0</text>\n<text x=\"60\" y=\"378\">stage 1</text>"
             "<text x=\"860\" y=\"378\" text-anchor=\"end\">stage %d</text>\n",
             most, p->nstages);
}

void pipe_svg(const borg_pipeline *p, const char *name, borg_sink *out) {
    layout l = {.p = p};
    const bool small = lay_out(&l, out->arena);
    const int32_t width = small ? LEFT + l.columns * LANE + 40 : 900;
    const int32_t height = small ? TOP + p->nstages * ROW + BOX + 40 : 400;
    borg_put(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\""
        "sans-serif\" font-size=\"12\">\n<style>rect{fill:#fff;stroke:#333}.off{fill:#bbb;"
        "stroke:#999}path{fill:none;stroke:#36c}.by{stroke:#888;stroke-dasharray:3 3}circle{fill:"
        "#fc6;stroke:#333}.u{text-anchor:middle}.op{font-weight:bold}.area{fill:#9bd;stroke:none}"
        "</style>\n<rect width=\"100%%\" height=\"100%%\" style=\"stroke:none\"/>\n",
        width < 420 ? 420 : width, height);
    borg_put(out,
             "<text x=\"12\" y=\"20\">%s: %d stages, %d cycles, registers of %" PRId64
             " lanes, %" PRId64 " of them needed</text>\n",
             name, p->nstages, p->depth, p->counts.lanes_before, p->counts.lanes_after);
    for (int32_t s = 0; small && s < p->nstages; ++s) draw_stage(&l, s, out);
    for (int32_t b = 0; small && b <= p->nstages; ++b) draw_state(&l, b, out);
    if (!small) draw_bars(p, out);
    borg_put(out, "</svg>\n");
}
