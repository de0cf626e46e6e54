/* SPDX-License-Identifier: BSD-3-Clause */
/* Time: what there is of it, where it went, and what was left out for want of it. */
#include "doctor.h"

#include <stdarg.h>
#include <string.h>

bool doctor_has_time(const doctor *d, double wanted_s) {
    return cli_now_s() + wanted_s < d->deadline_s;
}

void doctor_phase_add(doctor *d, const char *name, double time_s) {
    doctor_facts *f = &d->facts;
    if (f->phases == DOCTOR_PHASES) return;
    snprintf(f->phase[f->phases].name, sizeof f->phase[0].name, "%s", name);
    f->phase[f->phases++].time_s = time_s;
}

static void leave_out(doctor *d, const char *why, const char *format, va_list list) {
    doctor_facts *f = &d->facts;
    if (f->left == DOCTOR_PHASES) return;
    char *text = f->left_out[f->left++];
    const int used = vsnprintf(text, sizeof f->left_out[0] - 64, format, list);
    if (used >= 0) snprintf(text + strlen(text), 64, "%s", why);
}

void doctor_leave_out(doctor *d, const char *format, ...) {
    va_list list;
    va_start(list, format);
    leave_out(d, "", format, list);
    va_end(list);
}

void doctor_no_time(doctor *d, const char *format, ...) {
    char why[64];
    va_list list;
    snprintf(why, sizeof why, ": --seconds %g leaves no time for it", d->facts.seconds);
    va_start(list, format);
    leave_out(d, why, format, list);
    va_end(list);
}

mpk_status doctor_ended(doctor *d, mpk_status status, const char *what) {
    if (status != MPK_ERR_CANCELLED) return MPK_OK;
    if (!d->progress->late) return status;
    d->progress->late = false;
    doctor_no_time(d, "%s", what);
    return MPK_OK;
}
