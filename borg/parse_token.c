/* SPDX-License-Identifier: BSD-3-Clause */
/* Tokens and types for the parser. */
#include "borg/parse.h"
#include <string.h>

void borg_parse_complain(borg_parser *p, borg_loc loc, const char *format, const char *text) {
    if (!p->panic) borg_report(p->diags, BORG_ERROR, loc, format, text);
    p->panic = true;
}

bool borg_parse_is(const borg_parser *p, const char *text) {
    return (p->at->kind == BORG_TOKEN_PUNCT || p->at->kind == BORG_TOKEN_NAME) &&
           strcmp(p->at->text, text) == 0;
}

void borg_parse_advance(borg_parser *p) {
    if (p->at->kind != BORG_TOKEN_END) ++p->at;
}

bool borg_parse_accept(borg_parser *p, const char *text) {
    if (!borg_parse_is(p, text)) return false;
    borg_parse_advance(p);
    return true;
}

bool borg_parse_expect(borg_parser *p, const char *text) {
    if (borg_parse_accept(p, text)) return true;
    borg_sink found = {.arena = p->arena};
    if (p->at->kind == BORG_TOKEN_END) {
        borg_put(&found, "expected '%s', found the end of the file", text);
    } else {
        borg_put(&found, "expected '%s' before '%s'", text, p->at->text ? p->at->text : "");
    }
    borg_parse_complain(p, p->at->loc, "%s", found.text);
    return false;
}

void *borg_parse_too_deep(borg_parser *p) {
    borg_parse_complain(p, p->at->loc, "%s", "nested too deeply");
    while (p->at->kind != BORG_TOKEN_END) borg_parse_advance(p);
    return NULL;
}

/* ---- types ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    borg_ctype type;
} type_names[] = {{"void", BORG_C_VOID},      {"bool", BORG_C_BOOL},     {"_Bool", BORG_C_BOOL},
                  {"int", BORG_C_INT},        {"uint", BORG_C_UINT},     {"unsigned", BORG_C_UINT},
                  {"signed", BORG_C_INT},     {"long", BORG_C_LONG},     {"ulong", BORG_C_ULONG},
                  {"float", BORG_C_FLOAT},    {"double", BORG_C_DOUBLE}, {"size_t", BORG_C_ULONG},
                  {"int32_t", BORG_C_INT},    {"uint32_t", BORG_C_UINT}, {"int64_t", BORG_C_LONG},
                  {"uint64_t", BORG_C_ULONG}, {"char", BORG_C_CHAR},     {"uchar", BORG_C_UCHAR},
                  {"short", BORG_C_SHORT},    {"ushort", BORG_C_USHORT}, {"half", BORG_C_HALF},
                  {"int8_t", BORG_C_CHAR},    {"uint8_t", BORG_C_UCHAR}, {"int16_t", BORG_C_SHORT},
                  {"uint16_t", BORG_C_USHORT}};

static int type_index(const borg_token *t) {
    if (t->kind != BORG_TOKEN_NAME) return -1;
    for (size_t i = 0; i < sizeof type_names / sizeof *type_names; ++i)
        if (strcmp(type_names[i].name, t->text) == 0) return (int)i;
    return -1;
}

/* Words of other types: a better message than "undeclared". */
static bool foreign_type(const borg_token *t) {
    static const char *const names[] = {"float2",  "float4",  "float8",  "float16", "double2",
                                        "double4", "double8", "int2",    "int4",    "struct",
                                        "union",   "enum",    "typedef", NULL};
    for (int i = 0; t->kind == BORG_TOKEN_NAME && names[i]; ++i)
        if (strcmp(names[i], t->text) == 0) return true;
    return false;
}

static bool is_complex(const borg_token *t) {
    return t->kind == BORG_TOKEN_NAME &&
           (strcmp(t->text, "complex") == 0 || strcmp(t->text, "_Complex") == 0);
}

bool borg_parse_is_type(const borg_token *t) {
    return type_index(t) >= 0 || is_complex(t) || foreign_type(t);
}

static void skip_attribute(borg_parser *p) {
    int depth = 0;
    do {
        if (borg_parse_is(p, "(")) ++depth;
        if (borg_parse_is(p, ")")) --depth;
        borg_parse_advance(p);
    } while (depth > 0 && p->at->kind != BORG_TOKEN_END);
}

/* specifier ::= {"const" | "volatile" | "static" | "inline" | "__global" | "__local" | ...} type */
borg_specifier borg_parse_specifiers(borg_parser *p) {
    borg_specifier s = {.loc = p->at->loc};
    bool complex = false;
    int sign = 0; /* the first word */
    for (;;) {
        int index = type_index(p->at);
        if (index >= 0) {
            borg_ctype type = type_names[index].type;
            if (s.found && s.type == BORG_C_UINT && type == BORG_C_LONG) {
                type = BORG_C_ULONG; /* unsigned long */
            } else if (s.found && s.type == BORG_C_UINT &&
                       (type == BORG_C_CHAR || type == BORG_C_SHORT)) {
                type = (borg_ctype)(type + 1); /* unsigned char, unsigned short */
            } else if (s.found && strcmp(type_names[sign].name, "signed") == 0 &&
                       (type == BORG_C_CHAR || type == BORG_C_SHORT || type == BORG_C_LONG)) {
                sign = index; /* signed char */
            } else if (s.found && type == BORG_C_INT) {
                type = s.type; /* unsigned int, long int */
            } else if (s.found) {
                borg_parse_complain(p, p->at->loc, "two types in one declaration: '%s'",
                                    p->at->text);
            }
            s.type = type;
            if (!s.found) sign = index;
            s.found = true;
        } else if (is_complex(p->at)) {
            complex = true;
        } else if (foreign_type(p->at) && !s.found) {
            borg_parse_complain(
                p, p->at->loc,
                "'%s' is not in the language: the types are float double half int uint long "
                "ulong char uchar short ushort bool complex",
                p->at->text);
            s.found = true;
            s.type = BORG_C_INT;
        } else if (borg_parse_is(p, "const") || borg_parse_is(p, "__constant") ||
                   borg_parse_is(p, "constant")) {
            s.constant = true;
        } else if (borg_parse_is(p, "__local") || borg_parse_is(p, "local")) {
            s.local = true;
        } else if (borg_parse_is(p, "__kernel") || borg_parse_is(p, "kernel")) {
            s.kernel = true;
        } else if (borg_parse_is(p, "__global") || borg_parse_is(p, "global")) {
            s.global = true;
        } else if (borg_parse_is(p, "restrict") || borg_parse_is(p, "__restrict") ||
                   borg_parse_is(p, "__restrict__")) {
            s.restricted = true;
        } else if (borg_parse_is(p, "__attribute__")) {
            borg_parse_advance(p);
            if (borg_parse_is(p, "(")) skip_attribute(p);
            continue;
        } else if (borg_parse_is(p, "volatile")) {
            s.in_memory = true;
            s.volatile_loc = p->at->loc;
        } else if (!borg_parse_is(p, "static") && !borg_parse_is(p, "inline") &&
                   !borg_parse_is(p, "__private") && !borg_parse_is(p, "private")) {
            if (!complex) return s;
            if (s.found && s.type < BORG_C_FLOAT)
                borg_parse_complain(p, s.loc, "%s", "complex is of float or double");
            s.type = s.found && s.type == BORG_C_FLOAT ? BORG_C_CFLOAT : BORG_C_CDOUBLE;
            s.found = true;
            return s;
        }
        borg_parse_advance(p);
    }
}
