/* SPDX-License-Identifier: BSD-3-Clause */
/* Time: what there is of it, where it went, and what was left out for want of it. */
#include "doctor.h"

#include <stdarg.h>

bool doctor_has_time(const doctor *d, double wanted_s) {
    return cli_now_s() + wanted_s < d->deadline_s;
}

void doctor_phase_add(doctor *d, const char *name, double time_s) {
    doctor_facts *f = &d->facts;
    if (f->phases == DOCTOR_PHASES) return;
    snprintf(f->phase[f->phases].name, sizeof f->phase[0].name, "%s", name);
    f->phase[f->phases++].time_s = time_s;
}

void doctor_leave_out(doctor *d, const char *format, ...) {
    doctor_facts *f = &d->facts;
    va_list list;
    if (f->left == DOCTOR_PHASES) return;
    va_start(list, format);
    vsnprintf(f->left_out[f->left++], sizeof f->left_out[0], format, list);
    va_end(list);
}
