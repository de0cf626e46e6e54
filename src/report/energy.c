/* SPDX-License-Identifier: BSD-3-Clause */
/* What a report tells of energy. */
#include "report.h"

#include <math.h>

static bool is_known(double joules) {
    return joules >= 0 && isfinite(joules);
}

/* Short runs take less than a joule. */
static const char *show(char *out, double joules) {
    const bool little = joules > 0 && joules < 0.9995;
    return mpki_show_si(out, little ? 1e3 * joules : joules, little ? "mJ" : "J");
}

/* Of the processor's packages or of the GPU: what it took, or why that is not known. */
static void write_joules(const char *title, const char *whose, const char *why, double factorize,
                         double solve, bool solved, mpki_buffer *out) {
    char x[MPKI_UNIT_MAX], y[MPKI_UNIT_MAX];
    if (*why)
        mpki_line(out, title, "of the %s not available: %s", whose, why);
    else if (is_known(factorize) && is_known(solve))
        mpki_line(out, title, "of the %s: factorization %s, solve %s", whose, show(x, factorize),
                  show(y, solve));
    else if (is_known(factorize))
        mpki_line(out, title, "of the %s: factorization %s%s", whose, show(x, factorize),
                  solved ? ", solve not measured" : "");
    else if (is_known(solve)) /* all of it is there */
        mpki_line(out, title, "of the %s: %s", whose, show(x, solve));
    else
        mpki_line(out, title, "of the %s: not measured", whose);
}

void mpki_report_energy(const mpk_run *run, mpki_buffer *out) {
    const mpk_energy *e = &run->energy;
    const bool solved = run->have_solve;
    if (!e->asked) return;
    write_joules("Energy", "processor", e->no_cpu, e->factorize_cpu_j, e->solve_cpu_j, solved, out);
    write_joules("", "GPU", e->no_gpu, e->factorize_gpu_j, e->solve_gpu_j, solved, out);
    if (run->energy_factorizations > 0 && run->energy_solves > 0)
        mpki_line(out, "", "means of %lld factorizations and %lld solves more",
                  (long long)run->energy_factorizations, (long long)run->energy_solves);
    else if (run->energy_factorizations > 0)
        mpki_line(out, "", "factorization: mean of %lld more",
                  (long long)run->energy_factorizations);
    else if (run->energy_solves > 0)
        mpki_line(out, "", "solve: mean of %lld more", (long long)run->energy_solves);
}

void mpki_report_energy_json(const mpk_run *run, mpki_buffer *out) {
    const mpk_energy *e = &run->energy;
    const struct {
        const char *name;
        double joules;
    } parts[] = {{"factorize_cpu", e->factorize_cpu_j},
                 {"solve_cpu", e->solve_cpu_j},
                 {"factorize_gpu", e->factorize_gpu_j},
                 {"solve_gpu", e->solve_gpu_j}};
    const struct {
        const char *name, *why;
    } none[] = {{"no_cpu", e->no_cpu}, {"no_gpu", e->no_gpu}};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        mpki_buffer_printf(out, "%s \"%s\": ", k ? "," : "{", parts[k].name);
        if (is_known(parts[k].joules))
            mpki_buffer_printf(out, "%.6g", parts[k].joules);
        else
            mpki_buffer_printf(out, "null");
    }
    if (run->energy_factorizations > 0)
        mpki_buffer_printf(out, ", \"factorizations\": %lld",
                           (long long)run->energy_factorizations);
    if (run->energy_solves > 0)
        mpki_buffer_printf(out, ", \"solves\": %lld", (long long)run->energy_solves);
    for (size_t k = 0; k < sizeof none / sizeof *none; k++) {
        if (!*none[k].why) continue;
        mpki_buffer_printf(out, ", \"%s\": ", none[k].name);
        mpki_buffer_json(out, none[k].why);
    }
    mpki_buffer_printf(out, " }");
}
