/* SPDX-License-Identifier: BSD-3-Clause */
/* The three machines side by side. */
#include "sim/models/models.h"
#include <inttypes.h>
#include <math.h>

static bool has(const sim_models *m, sim_model which) {
    return which != SIM_ARRAY || m->cells > 0;
}

void sim_models_text(const sim_models *m, borg_sink *out) {
    borg_put(out, "%s, n = %d\n", m->kernel, m->n);
    borg_put(out,
             "pipeline  %" PRId64 " units, %" PRId64 " cycles deep, a job every %" PRId64
             "; registers of %" PRId64 " bits\n",
             m->pipeline_units, m->depth, m->interval, m->pipeline_bits);
    if (m->cells)
        borg_put(out,
                 "array     %" PRId64 " cells, %" PRId64 " beats of %" PRId64
                 " cycles and %d to load, a job every %" PRId64 "; registers of %" PRId64 " bits\n",
                 m->cells, m->latency, m->beat, m->n, m->array_interval, m->array_bits);
    else
        borg_put(out, "array     there is no program of cells for it (--cells FILE)\n");
    borg_put(out,
             "gpu       %d warps, %" PRId64 " instructions, %" PRId64
             " cycles for all warps; registers of %" PRId64 " bits\n\n",
             m->warps, m->instructions, sim_model_cycles(m, SIM_GPU, m->warps),
             sim_model_bits(m, SIM_GPU));
    borg_put(out, "%12s %14s %6s %14s %6s %14s %6s\n", "jobs", "pipeline", "used", "array", "used",
             "gpu", "used");
    for (int64_t t = 1;; t = t * 4 < m->jobs ? t * 4 : m->jobs) {
        borg_put(out, "%12" PRId64, t);
        for (int k = 0; k < SIM_MODELS; ++k) {
            if (!has(m, (sim_model)k)) {
                borg_put(out, " %14s %6s", "-", "-");
                continue;
            }
            borg_put(out, " %14" PRId64 " %5.1f%%", sim_model_cycles(m, (sim_model)k, t),
                     100 * sim_model_utilisation(m, (sim_model)k, t));
        }
        borg_put(out, "\n");
        if (t == m->jobs) break;
    }
    borg_put(out, "\n");
    for (int a = 0; a < SIM_MODELS; ++a)
        for (int b = a + 1; b < SIM_MODELS; ++b) {
            if (!has(m, (sim_model)a) || !has(m, (sim_model)b)) continue;
            const int64_t t = sim_model_crossing(m, (sim_model)a, (sim_model)b);
            if (t)
                borg_put(out, "from %" PRId64 " job%s on: %s before %s\n", t, t == 1 ? "" : "s",
                         sim_model_names[a], sim_model_names[b]);
            else
                borg_put(out, "never: %s before %s\n", sim_model_names[a], sim_model_names[b]);
        }
    if (m->state_bits) {
        borg_put(out, "registers: a warp has %" PRId64 " bits", m->state_bits);
        if (m->cells)
            borg_put(out, "; the gpu has more than the array from %" PRId64 " warps on",
                     m->array_bits / m->state_bits + 1);
        borg_put(out, ", more than the pipeline from %" PRId64 " on\n",
                 m->pipeline_bits / m->state_bits + 1);
    }
}

void sim_models_json(const sim_models *m, borg_sink *out) {
    borg_put(out, "{\"kernel\": \"%s\", \"n\": %d, \"jobs\": %" PRId64 ", \"warps\": %d", m->kernel,
             m->n, m->jobs, m->warps);
    const int64_t intervals[] = {m->interval, m->array_interval * m->beat, 0};
    for (int k = 0; k < SIM_MODELS; ++k) {
        if (!has(m, (sim_model)k)) continue;
        borg_put(out,
                 ", \"%s\": {\"cycles\": %" PRId64 ", \"first\": %" PRId64
                 ", \"interval\": %" PRId64 ", \"register_bits\": %" PRId64
                 ", \"utilisation\": %.6g}",
                 sim_model_names[k], sim_model_cycles(m, (sim_model)k, m->jobs),
                 sim_model_cycles(m, (sim_model)k, 1), intervals[k],
                 sim_model_bits(m, (sim_model)k), sim_model_utilisation(m, (sim_model)k, m->jobs));
    }
    borg_put(out, ", \"state_bits\": %" PRId64 ", \"crossings\": {", m->state_bits);
    const char *comma = "";
    for (int a = 0; a < SIM_MODELS; ++a)
        for (int b = a + 1; b < SIM_MODELS; ++b) {
            if (!has(m, (sim_model)a) || !has(m, (sim_model)b)) continue;
            borg_put(out, "%s\"%s before %s\": %" PRId64, comma, sim_model_names[a],
                     sim_model_names[b], sim_model_crossing(m, (sim_model)a, (sim_model)b));
            comma = ", ";
        }
    borg_put(out, "}}\n");
}

/* ---- the plot -------------------------------------------------------------------------------- */

enum { WIDTH = 720, HEIGHT = 460, LEFT = 78, RIGHT = 24, TOP = 44, BOTTOM = 52 };

typedef struct axes {
    double x1, y0, y1; /* decades: jobs 0 .. x1, cycles y0 .. y1 */
} axes;

static double place_x(const axes *a, double jobs) {
    return LEFT + (WIDTH - LEFT - RIGHT) * log10(jobs) / a->x1;
}

static double place_y(const axes *a, double cycles) {
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (log10(cycles) - a->y0) / (a->y1 - a->y0);
}

/* 1, 10, 100, 1 k, ... 100 G */
static const char *decade(int d, borg_arena *arena) {
    static const char *const units[] = {"", " k", " M", " G", " T"};
    const int number = d % 3 == 0 ? 1 : d % 3 == 1 ? 10 : 100;
    return d < 15 ? borg_format(arena, "%d%s", number, units[d / 3])
                  : borg_format(arena, "1e%d", d);
}

static void draw_axes(const axes *a, borg_sink *out) {
    for (int d = 0; d <= (int)a->x1; ++d)
        borg_put(out,
                 "<path class=\"g\" d=\"M%.1f %dV%d\"/><text x=\"%.1f\" y=\"%d\" class=\"m\">%s"
                 "</text>\n",
                 place_x(a, pow(10, d)), TOP, HEIGHT - BOTTOM, place_x(a, pow(10, d)),
                 HEIGHT - BOTTOM + 18, decade(d, out->arena));
    for (int d = (int)ceil(a->y0); d <= (int)floor(a->y1); ++d)
        borg_put(out,
                 "<path class=\"g\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" class=\"e\">%s"
                 "</text>\n",
                 LEFT, place_y(a, pow(10, d)), WIDTH - RIGHT, LEFT - 8, place_y(a, pow(10, d)) + 4,
                 decade(d, out->arena));
    borg_put(out,
             "<text x=\"%d\" y=\"%d\" class=\"m\">jobs</text><text x=\"16\" y=\"%d\" class=\"m\" "
             "transform=\"rotate(-90 16 %d)\">cycles</text>\n",
             (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, (TOP + HEIGHT - BOTTOM) / 2,
             (TOP + HEIGHT - BOTTOM) / 2);
}

void sim_models_svg(const sim_models *m, borg_sink *out) {
    static const char *const colours[] = {"#2b6cb0", "#c05621", "#2f855a"};
    double least = INFINITY, most = 1;
    const double jobs = m->jobs > 10 ? (double)m->jobs : 10;
    for (int k = 0; k < SIM_MODELS; ++k) {
        if (!has(m, (sim_model)k)) continue;
        least = fmin(least, (double)sim_model_cycles(m, (sim_model)k, 1));
        most = fmax(most, (double)sim_model_cycles(m, (sim_model)k, (int64_t)jobs));
    }
    const axes a = {ceil(log10(jobs)), floor(log10(least)), ceil(log10(most * 1.2))};
    borg_put(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family="
        "\"sans-serif\" font-size=\"12\">\n<style>path{fill:none;stroke-width:2}.g{stroke:#ddd;"
        "stroke-width:1}.m{text-anchor:middle}.e{text-anchor:end}</style>\n<rect width=\"100%%\" "
        "height=\"100%%\" fill=\"#fff\"/>\n<text x=\"%d\" y=\"24\">%s, n = %d: cycles of a "
        "pipeline, "
        "an array and %d warps of a GPU</text>\n",
        WIDTH, HEIGHT, LEFT, m->kernel, m->n, m->warps);
    draw_axes(&a, out);
    for (int k = 0, row = 0; k < SIM_MODELS; ++k) {
        if (!has(m, (sim_model)k)) continue;
        borg_put(out, "<path stroke=\"%s\" d=\"", colours[k]);
        for (int s = 0; s <= 200; ++s) {
            const int64_t t = (int64_t)llround(pow(10, log10(jobs) * s / 200));
            borg_put(out, "%s%.1f %.1f", s ? "L" : "M", place_x(&a, (double)t),
                     place_y(&a, (double)sim_model_cycles(m, (sim_model)k, t)));
        }
        borg_put(out,
                 "\"/>\n<path stroke=\"%s\" d=\"M%d %dh26\"/><text x=\"%d\" y=\"%d\">%s</text>\n",
                 colours[k], LEFT + 14, TOP + 18 + 18 * row, LEFT + 46, TOP + 22 + 18 * row,
                 sim_model_names[k]);
        ++row;
    }
    for (int p = 0; p < SIM_MODELS; ++p)
        for (int q = 0; q < SIM_MODELS; ++q) {
            if (p == q || !has(m, (sim_model)p) || !has(m, (sim_model)q)) continue;
            const int64_t t = sim_model_crossing(m, (sim_model)p, (sim_model)q);
            if (t <= 1 || (double)t > jobs) continue;
            const double y = place_y(&a, (double)sim_model_cycles(m, (sim_model)p, t));
            borg_put(out,
                     "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/><text x=\"%.1f\" "
                     "y=\"%.1f\">%" PRId64 "</text>\n",
                     place_x(&a, (double)t), y, colours[p], place_x(&a, (double)t) + 7, y + 14, t);
        }
    borg_put(out, "</svg>\n");
}
