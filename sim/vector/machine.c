/* SPDX-License-Identifier: BSD-3-Clause */
/* Machine files. */
#include "sim/vector/machine.h"
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct number {
    const char *name;
    size_t offset;
    int32_t value, least, most;
    const char *text;
} number;

typedef struct choice {
    const char *name;
    size_t offset;
    int32_t value;
    const char *words[3];
} choice;

static const number numbers[] = {
#define X(name, value, least, most, text)                                                          \
    {#name, offsetof(vs_machine, name), value, least, most, text},
    VS_MACHINE_NUMBERS(X)
#undef X
};
static const choice choices[] = {
#define X(name, value, ...) {#name, offsetof(vs_machine, name), value, {__VA_ARGS__}},
    VS_MACHINE_WORDS(X)
#undef X
};
static const struct real {
    const char *name;
    size_t offset;
    double value;
    const char *text;
} reals[] = {
    {"bandwidth", offsetof(vs_machine, bandwidth), 96, "bytes of memory in a cycle"},
    {"clock_ghz", offsetof(vs_machine, clock_ghz), 1.6, "cycles in a nanosecond"},
};
enum {
    NUMBERS = sizeof numbers / sizeof *numbers,
    CHOICES = sizeof choices / sizeof *choices,
    REALS = sizeof reals / sizeof *reals
};

static int32_t *field(vs_machine *m, size_t offset) {
    return (int32_t *)(void *)((char *)m + offset);
}

void vs_machine_init(vs_machine *m) {
    memset(m, 0, sizeof *m);
    strcpy(m->name, "aurora");
    for (int k = 0; k < NUMBERS; ++k) *field(m, numbers[k].offset) = numbers[k].value;
    for (int k = 0; k < CHOICES; ++k) *field(m, choices[k].offset) = choices[k].value;
    m->bandwidth = reals[0].value;
    m->clock_ghz = reals[1].value;
}

static const char *set_choice(vs_machine *m, const choice *c, const char *value,
                              borg_arena *arena) {
    for (int k = 0; k < 3 && c->words[k]; ++k)
        if (strcmp(value, c->words[k]) == 0) {
            *field(m, c->offset) = k;
            return NULL;
        }
    return borg_format(arena, "%s is %s or %s%s%s, not '%s'", c->name, c->words[0], c->words[1],
                       c->words[2] ? " or " : "", c->words[2] ? c->words[2] : "", value);
}

static const char *set_real(vs_machine *m, const struct real *r, const char *value,
                            borg_arena *arena) {
    char *rest;
    double x = strtod(value, &rest);
    if (rest == value || *rest || !(x >= 1e-3 && x <= 1e6))
        return borg_format(arena, "%s = '%s': expected a number from 0.001 to 1e6", r->name, value);
    memcpy((char *)m + r->offset, &x, sizeof x);
    return NULL;
}

const char *vs_machine_set(vs_machine *m, const char *key, const char *value, borg_arena *arena) {
    if (strcmp(key, "name") == 0) {
        if (!*value || strlen(value) >= sizeof m->name || strpbrk(value, "\"\\<>&"))
            return "name has 1 to 63 characters, none of \" \\ < > &";
        for (const char *c = value; *c; ++c)
            if ((unsigned char)*c < 32 || (unsigned char)*c > 126) return "name is plain text";
        strcpy(m->name, value);
        return NULL;
    }
    for (int k = 0; k < CHOICES; ++k)
        if (strcmp(key, choices[k].name) == 0) return set_choice(m, &choices[k], value, arena);
    for (int k = 0; k < REALS; ++k)
        if (strcmp(key, reals[k].name) == 0) return set_real(m, &reals[k], value, arena);
    for (int k = 0; k < NUMBERS; ++k) {
        const number *n = &numbers[k];
        char *rest;
        if (strcmp(key, n->name) != 0) continue;
        errno = 0;
        long x = strtol(value, &rest, 10);
        if (rest == value || *rest || errno || x < n->least || x > n->most)
            return borg_format(arena, "%s = '%s': expected %d to %d", key, value, n->least,
                               n->most);
        *field(m, n->offset) = (int32_t)x;
        return NULL;
    }
    return borg_format(arena, "a machine has no '%s'", key);
}

/* [from, to) without blanks at both ends. */
static void trim(const char **from, const char **to) {
    while (*from < *to && (**from == ' ' || **from == '\t')) ++*from;
    while (*to > *from && ((*to)[-1] == ' ' || (*to)[-1] == '\t' || (*to)[-1] == '\r')) --*to;
}

static void read_line(vs_machine *m, const char *line, const char *end, int32_t number,
                      borg_diags *diags) {
    const char *comment = memchr(line, '#', (size_t)(end - line)), *start = line;
    if (comment) end = comment;
    const char *equal = memchr(line, '=', (size_t)(end - line));
    trim(&line, &end);
    borg_loc loc = {
        .line = number, .column = (int32_t)(line - start) + 1, .length = (int32_t)(end - line)};
    if (line == end) return;
    if (!equal) {
        borg_report(diags, BORG_ERROR, loc, "expected name = value");
        return;
    }
    const char *name_end = equal, *value = equal + 1;
    trim(&line, &name_end);
    trim(&value, &end);
    if (memchr(line, 0, (size_t)(end - line))) {
        borg_report(diags, BORG_ERROR, loc, "a byte 0 in the line");
        return;
    }
    const char *key = borg_copy_text(diags->arena, line, (size_t)(name_end - line));
    const char *text = borg_copy_text(diags->arena, value, (size_t)(end - value));
    const char *why = vs_machine_set(m, key, text, diags->arena);
    if (why) borg_report(diags, BORG_ERROR, loc, "%s", why);
}

bool vs_machine_read(vs_machine *m, const char *file, const char *text, size_t length,
                     borg_diags *diags) {
    const char *end = text + length;
    diags->source = (borg_text){file, text, length};
    for (int32_t number = 1; text < end; ++number) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        read_line(m, text, newline ? newline : end, number, diags);
        text = newline ? newline + 1 : end;
    }
    if (m->cache_kib > 0 && (int64_t)m->cache_kib * 1024 < (int64_t)m->line_bytes * m->cache_ways)
        borg_report(diags, BORG_ERROR, (borg_loc){0}, "cache_kib has no room for cache_ways lines");
    return diags->errors == 0;
}

void vs_machine_print(const vs_machine *m, borg_sink *out) {
    borg_put(out, "name = %s\n", m->name);
    for (int k = 0; k < NUMBERS; ++k)
        borg_put(out, "%s = %d # %s\n", numbers[k].name,
                 *field((vs_machine *)(uintptr_t)m, numbers[k].offset), numbers[k].text);
    borg_put(out, "bandwidth = %.17g # %s\n", m->bandwidth, reals[0].text);
    borg_put(out, "clock_ghz = %.17g # %s\n", m->clock_ghz, reals[1].text);
    for (int k = 0; k < CHOICES; ++k)
        borg_put(out, "%s = %s\n", choices[k].name,
                 choices[k].words[*field((vs_machine *)(uintptr_t)m, choices[k].offset)]);
}
