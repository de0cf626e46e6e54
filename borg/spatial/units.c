/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of costs, and budgets: from text. */
#include "borg/spatial/pipeline.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const borg_unit_names[BORG_UNIT_KINDS] = {
#define UNIT(name, latency, interval, lut, ff, dsp) #name,
#include "borg/spatial/units.def"
#undef UNIT
};

static const borg_unit_cost defaults[BORG_UNIT_KINDS] = {
#define UNIT(name, latency, interval, lut, ff, dsp) {latency, interval, lut, ff, dsp},
#include "borg/spatial/units.def"
#undef UNIT
};

static const char blanks[] = " \t\r\n";

/* A number of a line, and the comma or bracket behind it. */
static bool take_number(const char **at, int32_t least, char behind, int32_t *number) {
    char *rest;
    *at += strspn(*at, blanks);
    const long value = strtol(*at, &rest, 10);
    if (rest == *at || value < least || value > 1000000) return false;
    *number = (int32_t)value;
    *at = rest + strspn(rest, blanks);
    return *(*at)++ == behind;
}

/* UNIT(name, n, n, n, n, n) behind the word UNIT. NULL: fine. */
static const char *take_line(const char **at, borg_unit_cost *costs) {
    *at += strspn(*at, blanks);
    if (*(*at)++ != '(') return "expected UNIT(name, latency, interval, LUT, FF, DSP)";
    *at += strspn(*at, blanks);
    const size_t length = strcspn(*at, ", \t\r\n)");
    int kind = 0;
    while (kind < BORG_UNIT_KINDS && !(strlen(borg_unit_names[kind]) == length &&
                                       memcmp(borg_unit_names[kind], *at, length) == 0))
        ++kind;
    if (kind == BORG_UNIT_KINDS) return "there is no unit of this name";
    *at += length + strspn(*at + length, blanks);
    borg_unit_cost c;
    if (*(*at)++ != ',' || !take_number(at, 1, ',', &c.latency) ||
        !take_number(at, 1, ',', &c.interval) || !take_number(at, 0, ',', &c.lut) ||
        !take_number(at, 0, ',', &c.ff) || !take_number(at, 0, ')', &c.dsp))
        return "expected five numbers: latency and interval >= 1, LUT, FF, DSP >= 0";
    costs[kind] = c;
    return NULL;
}

bool borg_costs_read(const char *text, borg_unit_cost costs[BORG_UNIT_KINDS], borg_diags *diags) {
    memcpy(costs, defaults, sizeof defaults);
    int line = 1;
    for (const char *at = text ? text : "", *wrong; *at;) {
        if (*at == '\n') ++line;
        if (strchr(blanks, *at)) {
            ++at;
        } else if (strncmp(at, "/*", 2) == 0) {
            const char *end = strstr(at, "*/");
            for (; *at && at != end; ++at) line += *at == '\n';
            if (end) at = end + 2;
        } else {
            wrong = strncmp(at, "UNIT", 4) ? "expected UNIT(" : (at += 4, take_line(&at, costs));
            if (!wrong) continue;
            borg_report(diags, BORG_ERROR, (borg_loc){0}, "table of units, line %d: %s", line,
                        wrong);
            return false;
        }
    }
    return true;
}

bool borg_budget_read(const char *text, borg_budget *budget, borg_diags *diags) {
    static const char *const names[] = {"lut", "ff", "dsp"};
    int64_t *const fields[] = {&budget->lut, &budget->ff, &budget->dsp};
    memset(budget, 0, sizeof *budget);
    for (const char *at = text; at && *at;) {
        int k = 0;
        size_t length = strcspn(at, "=");
        while (k < 3 && !(strlen(names[k]) == length && memcmp(names[k], at, length) == 0)) ++k;
        char *rest = NULL;
        const long long value = k < 3 && at[length] ? strtoll(at + length + 1, &rest, 10) : 0;
        if (value < 1 || value > 1000000000000 || (*rest && *rest != ',')) {
            borg_report(diags, BORG_ERROR, (borg_loc){0},
                        "--budget needs lut=N,ff=N,dsp=N or some of them, not '%s'", text);
            return false;
        }
        *fields[k] = value;
        at = *rest ? rest + 1 : rest;
    }
    return true;
}

bool borg_pipeline_fits(const borg_pipeline *p, const borg_budget *budget, const char **what,
                        int64_t *needs, int64_t *has) {
    const struct {
        const char *name;
        int64_t needs, has;
    } list[] = {{"look-up tables", p->counts.lut, budget->lut},
                {"flip-flops", p->counts.ff, budget->ff},
                {"DSP blocks", p->counts.dsp, budget->dsp}};
    for (int k = 0; k < 3; ++k) {
        if (!list[k].has || list[k].needs <= list[k].has) continue;
        *what = list[k].name, *needs = list[k].needs, *has = list[k].has;
        return false;
    }
    return true;
}

bool borg_pipeline_budget(const borg_pipeline *p, const borg_budget *budget, const char *name,
                          borg_diags *diags) {
    const char *what;
    int64_t needs, has;
    if (borg_pipeline_fits(p, budget, &what, &needs, &has)) return true;
    borg_report(diags, BORG_ERROR, (borg_loc){0},
                "%s with WG_SIZE=%d needs %" PRId64 " %s, the budget has %" PRId64, name,
                p->module->size, needs, what, has);
    return false;
}
