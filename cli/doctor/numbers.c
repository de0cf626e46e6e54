/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers for people: 12 500, 1.27 Gflop, 45.1 ms. */
#include "doctor.h"

#include <math.h>
#include <string.h>

const char *doctor_count(char *out, double count) {
    char digits[DOCTOR_NAME / 2];
    const int length = snprintf(digits, sizeof digits, "%.0f", count);
    char *p = out;
    for (int k = 0; k < length && p < out + DOCTOR_NAME - 2; k++) {
        if (k && (length - k) % 3 == 0 && digits[0] != '-') *p++ = ' ';
        *p++ = digits[k];
    }
    *p = '\0';
    return out;
}

const char *doctor_si(char *out, double x, const char *unit) {
    static const char prefix[] = " kMGTPE";
    int p = 0;
    while (fabs(x) >= 999.5 && p < 6) x /= 1000, p++;
    const char mark[2] = {p ? prefix[p] : '\0', '\0'};
    const int decimals = (p == 0 && x == floor(x)) || fabs(x) >= 99.95 ? 0
                         : fabs(x) < 9.995                             ? 2
                                                                       : 1;
    snprintf(out, DOCTOR_NAME, "%.*f %s%s", decimals, x, mark, unit);
    return out;
}

const char *doctor_time(char *out, double time_s) {
    if (time_s < 9.995e-4)
        snprintf(out, DOCTOR_NAME, "%.3g us", time_s * 1e6);
    else if (time_s < 0.9995)
        snprintf(out, DOCTOR_NAME, "%.3g ms", time_s * 1e3);
    else
        snprintf(out, DOCTOR_NAME, time_s < 99.95 ? "%.3g s" : "%.0f s", time_s);
    return out;
}
