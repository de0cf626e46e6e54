/* SPDX-License-Identifier: BSD-3-Clause */
/* A systolic array for people, for programs, and as the picture of fig. 8.7. */
#include "sim/systolic/array.h"
#include <inttypes.h>
#include <stdlib.h>

static int by_link(const void *x, const void *y) {
    const sim_use *a = x, *b = y;
    if (a->link != b->link) return a->link < b->link ? -1 : 1;
    return a->cycle < b->cycle ? -1 : a->cycle > b->cycle;
}

/* Uses sorted by link, and where each link's begin. */
static const sim_use *sorted(const sim_array *a, borg_arena *arena, int64_t **first) {
    const int64_t links = 2 * (int64_t)a->rows * a->columns;
    sim_use *list = BORG_NEW(arena, a->nuses + 1, sim_use);
    for (int64_t k = 0; k < a->nuses; ++k) list[k] = a->use[k];
    if (a->nuses) qsort(list, (size_t)a->nuses, sizeof *list, by_link);
    *first = BORG_NEW(arena, links + 1, int64_t);
    for (int64_t l = 0, k = 0; l <= links; ++l) {
        while (k < a->nuses && list[k].link < l) ++k;
        (*first)[l] = k;
    }
    return list;
}

static double utilisation(const sim_array *a) {
    return (double)a->beats / ((double)a->rows * a->columns * (double)a->cycles);
}

static void put_uses(const sim_use *list, int64_t from, int64_t to, const char *between,
                     borg_sink *out) {
    for (int64_t k = from; k < to; ++k)
        borg_put(out, "%s%d", k > from ? between : "", list[k].cycle);
}

void sim_array_text(const sim_array *a, int32_t interval, borg_sink *out) {
    int64_t *first;
    const sim_use *list = sorted(a, out->arena, &first);
    borg_put(out, "%s, n = %d: %d x %d cells\n", a->program->name, a->n, a->rows, a->columns);
    borg_put(out, "  latency       %" PRId64 " cycles, the last link in cycle %" PRId64 "\n",
             a->cycles, a->last_link);
    borg_put(out, "  interval      %d cycles\n", interval);
    borg_put(out, "  utilisation   %.1f %% of the cells' cycles\n", 100 * utilisation(a));
    borg_put(out, "  registers     %" PRId64 ", %" PRId64 " of them loaded before\n", a->registers,
             a->loaded);
    borg_put(out, "  operations    %" PRId64 "\n", a->operations);
    for (int32_t l = 0; l < 2 * a->rows * a->columns; ++l) {
        if (first[l] == first[l + 1]) continue;
        const int32_t w = l % (a->rows * a->columns), i = w / a->columns + 1,
                      j = w % a->columns + 1;
        borg_put(out, "  into (%d, %d) from %s: cycle ", i, j,
                 l < a->rows * a->columns ? "the left" : "above");
        put_uses(list, first[l], first[l + 1], ", ", out);
        borg_put(out, "\n");
    }
}

void sim_array_json(const sim_array *a, int32_t interval, borg_sink *out) {
    int64_t *first;
    const sim_use *list = sorted(a, out->arena, &first);
    borg_put(out,
             "{\"program\": \"%s\", \"n\": %d, \"rows\": %d, \"columns\": %d, \"cycles\": %" PRId64
             ", \"last_link\": %" PRId64
             ", \"interval\": %d, \"utilisation\": %.6g, \"registers\": %" PRId64
             ", \"loaded\": %" PRId64 ", \"operations\": %" PRId64 ", \"links\": [",
             a->program->name, a->n, a->rows, a->columns, a->cycles, a->last_link, interval,
             utilisation(a), a->registers, a->loaded, a->operations);
    const char *comma = "";
    for (int32_t l = 0; l < 2 * a->rows * a->columns; ++l) {
        if (first[l] == first[l + 1]) continue;
        const int32_t w = l % (a->rows * a->columns);
        borg_put(out, "%s\n  {\"into\": [%d, %d], \"from\": \"%s\", \"cycles\": [", comma,
                 w / a->columns + 1, w % a->columns + 1,
                 l < a->rows * a->columns ? "left" : "above");
        put_uses(list, first[l], first[l + 1], ", ", out);
        borg_put(out, "]}");
        comma = ",";
    }
    borg_put(out, "]}\n");
}

/* ---- the picture ----------------------------------------------------------------------------- */

enum { PITCH = 104, SIDE = 50, EDGE = 70, HEAD = 40, MOST = 16 };

static int32_t at(int32_t k) {
    return EDGE + (k - 1) * PITCH;
}

/* What a cell is called: the entry that it holds. */
static const char *label(const sim_array *a, int32_t i, int32_t j, borg_arena *arena) {
    /* the k-th load that applies to it is found by asking the program again */
    const int32_t names[CELLS_MOST_NAMES] = {a->n, a->m, i, j};
    for (const cells_load *l = a->program->load; l; l = l->next) {
        if (l->when && !sim_integer(l->when, names)) continue;
        const int32_t r = sim_integer(l->from.index[0], names);
        const int32_t c = l->from.index[1] ? sim_integer(l->from.index[1], names) : 0;
        const char *array = a->program->array[l->from.array].name;
        if (!c) return borg_format(arena, "%s%d", array, r);
        return borg_format(arena, a->n > 9 ? "%s%d,%d" : "%s%d%d", array, r, c);
    }
    return borg_format(arena, "%d,%d", i, j);
}

static void draw_link(const sim_use *list, int64_t from, int64_t to, int32_t i, int32_t j,
                      bool down, bool outside, borg_sink *out) {
    const int32_t x = at(j), y = at(i) + HEAD - EDGE / 2;
    if (down)
        borg_put(out, "<path d=\"M%d %dV%d\" marker-end=\"url(#a)\"/>\n", x + SIDE / 2,
                 outside ? y - 34 : y - PITCH + SIDE, y - 3);
    else
        borg_put(out, "<path d=\"M%d %dH%d\" marker-end=\"url(#a)\"/>\n",
                 outside ? x - 40 : x - PITCH + SIDE, y + SIDE / 2, x - 3);
    borg_put(out, "<text x=\"%d\" y=\"%d\" class=\"c\">", down ? x + SIDE / 2 + 5 : x - 46,
             down ? y - 20 : y + SIDE / 2 - 6);
    put_uses(list, from, to - from > 4 ? from + 3 : to, " ", out);
    borg_put(out, "%s</text>\n", to - from > 4 ? " .." : "");
}

void sim_array_svg(const sim_array *a, borg_sink *out) {
    int64_t *first;
    const sim_use *list = sorted(a, out->arena, &first);
    const int32_t width = at(a->columns) + PITCH, height = at(a->rows) + PITCH + HEAD;
    const bool small = a->rows <= MOST && a->columns <= MOST;
    borg_put(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family="
             "\"sans-serif\" font-size=\"14\">\n<defs><marker id=\"a\" markerWidth=\"7\" "
             "markerHeight=\"7\" "
             "refX=\"6\" refY=\"3\" orient=\"auto\"><path d=\"M0 0L6 3L0 6Z\" "
             "style=\"fill:#36c;stroke:none\"/>"
             "</marker></"
             "defs>\n<style>rect{fill:#eef;stroke:#333}path{fill:none;stroke:#36c}text{text-anchor:"
             "middle}.c{text-anchor:start;fill:#666;font-size:11px}.t{text-anchor:start}</style>\n"
             "<rect width=\"100%%\" height=\"100%%\" style=\"fill:#fff;stroke:none\"/>\n"
             "<text x=\"12\" y=\"20\" class=\"t\">%s, n = %d: %" PRId64
             " cycles, the last link in cycle %" PRId64 "</text>\n",
             small ? width : 480, small ? height : 60, a->program->name, a->n, a->cycles,
             a->last_link);
    if (!small)
        borg_put(out,
                 "<text x=\"12\" y=\"44\" class=\"t\">%d x %d cells are too many to draw</text>\n",
                 a->rows, a->columns);
    for (int32_t i = 1; i <= a->rows && small; ++i) {
        for (int32_t j = 1; j <= a->columns; ++j) {
            const int32_t x = at(j), y = at(i) + HEAD - EDGE / 2;
            borg_put(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", x, y,
                     SIDE, SIDE);
            borg_put(out, "<text x=\"%d\" y=\"%d\">%s</text>\n", x + SIDE / 2, y + SIDE / 2 + 5,
                     label(a, i, j, out->arena));
            for (int down = 0; down < 2; ++down) {
                const int32_t l = down ? sim_link_down(a, i, j) : sim_link_right(a, i, j);
                if (first[l] < first[l + 1])
                    draw_link(list, first[l], first[l + 1], i, j, down, down ? i == 1 : j == 1,
                              out);
            }
        }
    }
    borg_put(out, "</svg>\n");
}
