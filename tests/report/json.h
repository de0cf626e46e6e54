/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_REPORT_JSON_H
#define TEST_REPORT_JSON_H
/** A judge of JSON (RFC 8259), as strict as a parser of others would be, by code of its own. */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { JSON_DEPTH = 20 };

static inline const char *json_value(const char *s, int depth);

static inline const char *json_blank(const char *s) {
    return s + strspn(s, " \t\r\n");
}

/* Bytes of the UTF-8 character at s, 0: it is none. */
static inline int json_character(const char *s) {
    static const struct {
        unsigned first, last;   /* leading bytes */
        unsigned second, until; /* range of the second byte; later ones are 80 .. bf */
        int length;
    } forms[] = {
        {0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    const unsigned char *u = (const unsigned char *)s;
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        if (u[0] < forms[k].first || u[0] > forms[k].last) continue;
        if (forms[k].length > 1 && (u[1] < forms[k].second || u[1] > forms[k].until)) return 0;
        for (int i = 2; i < forms[k].length; i++)
            if (u[i] < 0x80 || u[i] > 0xbf) return 0;
        return forms[k].length;
    }
    return 0;
}

static inline const char *json_string(const char *s) {
    if (*s++ != '"') return NULL;
    while (*s != '"') {
        const int length = json_character(s);
        if (length == 0 || (unsigned char)*s < 0x20) return NULL;
        if (*s != '\\') {
            s += length;
            continue;
        }
        s++;
        if (!*s || !strchr("\"\\/bfnrtu", *s)) return NULL;
        if (*s == 'u')
            for (int k = 1; k <= 4; k++)
                if (!isxdigit((unsigned char)s[k])) return NULL;
        s += *s == 'u' ? 5 : 1;
    }
    return s + 1;
}

static inline const char *json_digits(const char *s) {
    const size_t count = strspn(s, "0123456789");
    return count ? s + count : NULL;
}

static inline const char *json_number(const char *s) {
    if (*s == '-') s++;
    s = *s == '0' ? s + 1 : json_digits(s);
    if (s && *s == '.') s = json_digits(s + 1);
    if (s && (*s == 'e' || *s == 'E')) s = json_digits(s + (s[1] == '+' || s[1] == '-' ? 2 : 1));
    return s;
}

static inline const char *json_array(const char *s, int depth) {
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

/* Each key once: a reader may keep the first or the last of two. */
static inline const char *json_object(const char *s, int depth) {
    enum { KEYS = 64 };
    const char *key[KEYS];
    size_t length[KEYS];
    int keys = 0;
    s = json_blank(s + 1);
    if (*s == '}') return s + 1;
    for (;;) {
        s = json_blank(s);
        const char *end = json_string(s);
        if (!end || keys == KEYS) return NULL;
        key[keys] = s, length[keys] = (size_t)(end - s);
        for (int k = 0; k < keys; k++)
            if (length[k] == length[keys] && !memcmp(key[k], s, length[k])) return NULL;
        keys++;
        s = json_blank(end);
        if (*s++ != ':') return NULL;
        s = json_value(json_blank(s), depth + 1);
        if (!s) return NULL;
        s = json_blank(s);
        if (*s == '}') return s + 1;
        if (*s++ != ',') return NULL;
    }
}

/* After the value that begins at s, or NULL if it is none. */
static inline const char *json_value(const char *s, int depth) {
    static const char *const words[] = {"true", "false", "null"};
    if (depth > JSON_DEPTH) return NULL;
    if (*s == '"') return json_string(s);
    for (int k = 0; k < 3; k++)
        if (!strncmp(s, words[k], strlen(words[k]))) return s + strlen(words[k]);
    return *s == '[' ? json_array(s, depth) : *s == '{' ? json_object(s, depth) : json_number(s);
}

/* One object and nothing else. */
static inline bool json_valid(const char *text) {
    const char *s = json_blank(text);
    if (*s != '{') return false;
    s = json_value(s, 0);
    return s && *json_blank(s) == '\0';
}

#endif
