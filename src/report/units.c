/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers formatted for people: counts, bytes, times, errors, names. */
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *mpki_show_count(char *out, int64_t count) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu",
                          count < 0 ? 0ULL - (unsigned long long)count : (unsigned long long)count);
    char *p = out;
    if (count < 0) *p++ = '-';
    for (int k = 0; k < length; k++) {
        if (k && (length - k) % 3 == 0) *p++ = ' ';
        *p++ = digits[k];
    }
    *p = '\0';
    return out;
}

const char *mpki_show_si(char *out, double x, const char *unit) {
    static const char prefix[] = " kMGTPE";
    if (!isfinite(x)) {
        mpki_print(out, MPKI_UNIT_MAX, "unknown");
        return out;
    }
    int p = 0;
    while (fabs(x) >= 999.5 && p < 6) {
        x /= 1000;
        p++;
    }
    if (!(fabs(x) < 9.995e5)) { /* beyond all prefixes */
        mpki_print(out, MPKI_UNIT_MAX, "%.3g E%s", x, unit);
        return out;
    }
    /* three significant digits; whole numbers below 1000 without decimals */
    int decimals = p == 0 && x == floor(x) ? 0 : fabs(x) < 9.995 ? 2 : fabs(x) < 99.95 ? 1 : 0;
    char mark[2] = {p ? prefix[p] : '\0', '\0'};
    mpki_print(out, MPKI_UNIT_MAX, "%.*f%s%s%s", decimals, x, p || *unit ? " " : "", mark, unit);
    return out;
}

const char *mpki_show_bytes(char *out, double bytes) {
    return mpki_show_si(out, bytes, "B");
}

const char *mpki_show_time(char *out, double time_s) {
    if (!(time_s >= 0) || !isfinite(time_s))
        mpki_print(out, MPKI_UNIT_MAX, "unknown");
    else if (time_s < 5e-8)
        mpki_print(out, MPKI_UNIT_MAX, "0 s");
    else if (time_s < 9.995e-4)
        mpki_print(out, MPKI_UNIT_MAX, "%.3g us", time_s * 1e6);
    else if (time_s < 0.9995)
        mpki_print(out, MPKI_UNIT_MAX, "%.*f ms",
                   time_s < 9.995e-3   ? 2
                   : time_s < 9.995e-2 ? 1
                                       : 0,
                   time_s * 1e3);
    else if (time_s < 119.5)
        mpki_print(out, MPKI_UNIT_MAX, "%.*f s", time_s < 9.995 ? 2 : 1, time_s);
    else if (time_s < 7199.5)
        mpki_print(out, MPKI_UNIT_MAX, "%d min %02d s", (int)((time_s + 0.5) / 60),
                   (int)(time_s + 0.5) % 60);
    else if (time_s < 3.6e12)
        mpki_print(out, MPKI_UNIT_MAX, "%.1f h", time_s / 3600);
    else
        mpki_print(out, MPKI_UNIT_MAX, "%.3g h", time_s / 3600);
    return out;
}

const char *mpki_show_error(char *out, double error) {
    if (!isfinite(error))
        mpki_print(out, MPKI_UNIT_MAX, "not finite");
    else if (error == 0)
        mpki_print(out, MPKI_UNIT_MAX, "0");
    else
        mpki_print(out, MPKI_UNIT_MAX, "%.1e", error);
    return out;
}

const char *mpki_show_ordering(char *out, mpk_ordering ordering) {
    mpki_print(out, MPKI_UNIT_MAX, "%s", mpk_ordering_name(ordering));
    if ((ordering >= MPK_ORDERING_AMD && ordering <= MPK_ORDERING_RCM) ||
        ordering == MPK_ORDERING_ND || ordering == MPK_ORDERING_GMC) /* acronyms */
        for (char *p = out; *p; p++) *p = (char)(*p - 'a' + 'A');
    return out;
}

const char *mpki_scalar_name(mpk_scalar scalar) {
    static const char *const names[] = {"s", "d", "c", "z"};
    return (unsigned)scalar < 4 ? names[scalar] : "unknown";
}

const char *mpki_symmetry_name(mpk_symmetry symmetry) {
    static const char *const names[] = {"symmetric", "hermitian", "general"};
    return (unsigned)symmetry < 3 ? names[symmetry] : "unknown";
}

const char *mpki_show_krylov(mpk_krylov method) {
    static const char *const words[] = {"",   "",      "SQMR",   "MINRES",   "SYMMLQ",
                                        "CG", "GMRES", "FGMRES", "BiCGStab", "IDR(s)"};
    return (unsigned)method < sizeof words / sizeof *words ? words[method] : "";
}
