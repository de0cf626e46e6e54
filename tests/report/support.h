/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_REPORT_SUPPORT_H
#define TEST_REPORT_SUPPORT_H
/** A run to report, and a judge of JSON. */
#include "problem/support.h"

#include "report/report.h"
#include <ctype.h>
#include <math.h>

/* 3 x 3: 4 . . / 1 0 . / . 2 5, with a stored zero on the diagonal. */
static const int64_t small_ap[] = {0, 2, 4, 5};
static const int32_t small_ai[] = {0, 1, 1, 2, 2};
static const double small_ax[] = {4, -1, 0, 2, 5};

static inline mpk_run small_run(void) {
    return (mpk_run){.source = "small.mtx",
                     .problem = {3, 5, MPK_D, MPK_SYMMETRIC, small_ap, small_ai, small_ax},
                     .time_read_s = 0.25,
                     .have_analysis = 1,
                     .have_factor = 1,
                     .have_solve = 1,
                     .analysis = {.n = 3,
                                  .nnz = 5,
                                  .ordering = MPK_ORDERING_METIS,
                                  .matching = 1,
                                  .scaling = 2,
                                  .structural_rank = 3,
                                  .supernodes = 1234,
                                  .tree_height = 2,
                                  .max_front = 3,
                                  .factor_nnz = 6,
                                  .factor_flops = 14,
                                  .factor_bytes = 48,
                                  .peak_bytes = 96,
                                  .time_s = 0.5,
                                  .time_match_s = 0.125,
                                  .time_order_s = 0.25},
                     .factor = {.inertia = {2, 1, 0, 1},
                                .nnz = 7,
                                .flops = 2e9,
                                .bytes = 56,
                                .peak_bytes = 112,
                                .rejected = 4,
                                .stages = 1,
                                .two_by_two = 1,
                                .growth = 1.5,
                                .min_pivot = 0.5,
                                .max_front = 3,
                                .threads = 2,
                                .time_s = 0.5},
                     .solve = {.iterations = 1,
                               .normwise = 1e-17,
                               .componentwise = 1.2e-16,
                               .unrefined = 3e-12,
                               .relative_residual = 2e-16,
                               .time_s = 0.125},
                     .nrhs = 1,
                     .status = MPK_OK,
                     .backend = "cpu-test",
                     .peak_bytes = 4096};
}

/* A copy in which lines that were broken are whole again. */
static inline char *unbroken(const char *text) {
    char *copy = calloc(1, strlen(text) + 1), *out = copy;
    for (; *text; text++) {
        if (!strncmp(text, "\n              ", 15)) {
            *out++ = ' ';
            text += 14;
        } else
            *out++ = *text;
    }
    return copy;
}

/* ---- JSON (RFC 8259), as strict as a parser of others would be ------------------------------- */

static inline const char *json_value(const char *s, int depth);

static inline const char *json_blank(const char *s) {
    return s + strspn(s, " \t\r\n");
}

static inline const char *json_string(const char *s) {
    if (*s++ != '"') return NULL;
    while (*s != '"') {
        int length = mpki_utf8_length((const unsigned char *)s);
        if (length == 0 || (unsigned char)*s < 0x20) return NULL;
        if (*s == '\\') {
            s++;
            if (*s == 'u')
                for (int k = 1; k <= 4; k++)
                    if (!isxdigit((unsigned char)s[k])) return NULL;
            if (!*s || !strchr("\"\\/bfnrtu", *s)) return NULL;
            s += *s == 'u' ? 5 : 1;
        } else
            s += length;
    }
    return s + 1;
}

static inline const char *json_number(const char *s) {
    if (*s == '-') s++;
    if (*s == '0')
        s++;
    else if (isdigit((unsigned char)*s))
        s += strspn(s, "0123456789");
    else
        return NULL;
    if (*s == '.') {
        size_t digits = strspn(s + 1, "0123456789");
        if (digits == 0) return NULL;
        s += 1 + digits;
    }
    if (*s == 'e' || *s == 'E') {
        s += s[1] == '+' || s[1] == '-' ? 2 : 1;
        size_t digits = strspn(s, "0123456789");
        if (digits == 0) return NULL;
        s += digits;
    }
    return s;
}

/* After the value that begins at s, or NULL if it is none. */
static inline const char *json_value(const char *s, int depth) {
    static const char *const words[] = {"true", "false", "null"};
    if (depth > 20) return NULL;
    if (*s == '"') return json_string(s);
    for (int k = 0; k < 3; k++)
        if (!strncmp(s, words[k], strlen(words[k]))) return s + strlen(words[k]);
    if (*s == '[') {
        s = json_blank(s + 1);
        if (*s == ']') return s + 1;
        for (;;) {
            s = json_value(json_blank(s), depth + 1);
            if (!s) return NULL;
            s = json_blank(s);
            if (*s == ']') return s + 1;
            if (*s++ != ',') return NULL;
        }
    }
    if (*s != '{') return json_number(s);
    s = json_blank(s + 1);
    if (*s == '}') return s + 1;
    for (;;) {
        s = json_string(json_blank(s));
        if (!s) return NULL;
        s = json_blank(s);
        if (*s++ != ':') return NULL;
        s = json_value(json_blank(s), depth + 1);
        if (!s) return NULL;
        s = json_blank(s);
        if (*s == '}') return s + 1;
        if (*s++ != ',') return NULL;
    }
}

/* One object and nothing else. */
static inline bool json_valid(const char *text) {
    const char *s = json_blank(text);
    if (*s != '{') return false;
    s = json_value(s, 0);
    return s && *json_blank(s) == '\0';
}

/* The keys of all objects in order, "a b{c d} e": what a reader of the schema relies on. */
static inline void json_keys(const char *text, char *out, size_t size) {
    size_t used = 0;
    out[0] = '\0';
    for (const char *s = text; *s; s++) {
        if (*s == '"') {
            const char *end = json_string(s);
            assert_non_null(end);
            bool is_key = *json_blank(end) == ':';
            if (is_key)
                used += (size_t)snprintf(out + used, size - used, "%s%.*s",
                                         used && out[used - 1] != '{' ? " " : "",
                                         (int)(end - s - 2), s + 1);
            s = end - 1;
        } else if ((*s == '{' || *s == '}') && used) {
            used += (size_t)snprintf(out + used, size - used, "%c", *s);
        }
        assert_true(used < size);
    }
}

#endif
