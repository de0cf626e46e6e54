/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines of a report that tell of energy. */
#include "report.h"

#include <math.h>

/* Of the processor's packages or of the GPU: what it took, or why that is not known. */
static void write_joules(const char *title, const char *whose, const char *why, double factorize,
                         double solve, mpki_buffer *out) {
    char x[MPKI_UNIT_MAX], y[MPKI_UNIT_MAX];
    if (*why)
        mpki_line(out, title, "of the %s not available: %s", whose, why);
    else if (factorize >= 0)
        mpki_line(out, title, "of the %s: factorization %s, solve %s", whose,
                  mpki_show_si(x, factorize, "J"), mpki_show_si(y, fmax(solve, 0), "J"));
    else
        mpki_line(out, title, "of the %s: %s", whose, mpki_show_si(x, fmax(solve, 0), "J"));
}

void mpki_report_energy(const mpk_energy *e, mpki_buffer *out) {
    if (!e->asked) return;
    write_joules("Energy", "processor", e->no_cpu, e->factorize_cpu_j, e->solve_cpu_j, out);
    write_joules("", "GPU", e->no_gpu, e->factorize_gpu_j, e->solve_gpu_j, out);
}
