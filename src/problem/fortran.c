/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran's format strings and the fields of fixed width that they describe. */
#include "fortran.h"
#include "number.h"

#include <ctype.h>
#include <stdio.h>

enum { MAX_WIDTH = 255 };

/* ---- formats ------------------------------------------------------------------------------ */

/* A small number at *p; `otherwise` where there is none; -1 when it is too large. */
static int small_number(const char **p, int otherwise) {
    if (!mpki_is_digit(**p)) return otherwise;
    int x = 0;
    for (; mpki_is_digit(**p); ++*p)
        if (x >= 0) x = x > 9999 ? -1 : 10 * x + (**p - '0');
    return x;
}

static void skip(const char **p, const char *set) {
    *p += strspn(*p, set);
}

/* The edit descriptor: letter, width, decimals, exponent width. */
static bool parse_descriptor(const char **p, mpki_fortran *f) {
    char letter = (char)toupper((unsigned char)**p);
    if (!letter || !strchr("IEDFG", letter)) return false;
    ++*p;
    if (letter == 'E' && **p && strchr("NSns", **p)) ++*p;
    f->letter = letter == 'I' ? 'I' : 'E';
    if (letter == 'I') f->scale = 0;
    f->width = small_number(p, -1);
    f->decimals = 0;
    if (**p == '.') {
        ++*p;
        f->decimals = small_number(p, -1);
    }
    if (toupper((unsigned char)**p) == 'E') { /* digits of the exponent: they show in the text */
        ++*p;
        if (small_number(p, -1) < 0) return false;
    }
    return f->width >= 1 && f->width <= MAX_WIDTH && f->decimals >= 0;
}

bool mpki_fortran_parse(const char **text, mpki_fortran *f) {
    *f = (mpki_fortran){.per_line = 1};
    const char *p = *text;
    int depth = 0;
    skip(&p, " ");
    if (*p != '(') return false;
    for (;;) {
        skip(&p, " ,");
        bool minus = *p == '-';
        if (minus) p++;
        int count = small_number(&p, 1);
        skip(&p, " ");
        bool scale = *p == 'P' || *p == 'p';
        if (count < 0 || (!scale && (minus || count < 1))) return false;
        if (scale) {
            f->scale = minus ? -count : count;
            p++;
        } else if (*p == '(' && depth < 3) {
            f->per_line *= count;
            depth++;
            p++;
        } else {
            f->per_line *= count;
            break;
        }
        if (f->per_line > MAX_WIDTH) return false;
    }
    if (depth == 0 || f->per_line < 1 || f->per_line > MAX_WIDTH || !parse_descriptor(&p, f))
        return false;
    for (; depth > 0; depth--) {
        skip(&p, " ");
        if (*p++ != ')') return false;
    }
    *text = p;
    return true;
}

/* ---- fields ------------------------------------------------------------------------------- */

void mpki_fields_end(mpki_fields *f) {
    if (f->line) mpki_text_skip(f->text, f->line);
    f->line = NULL;
    f->field = 0;
}

/* The next field without blanks around: at *field, *size characters; never empty. */
static mpk_status next_field(mpki_fields *f, const char **field, int *size) {
    if (f->field == f->format->per_line) mpki_fields_end(f);
    if (!f->line) {
        mpk_status status = mpki_text_next(f->text, &f->line);
        if (mpk_failed(status)) return status;
        if (!f->line)
            return mpki_text_error(f->text, MPK_ERR_FORMAT,
                                   "the file ends in the %s: is it cut off?", f->what);
    }
    const char *p = f->line, *end = p;
    while (end - p < f->format->width && *end != '\n') end++;
    f->line = end;
    f->field++;
    while (p < end && mpki_is_blank(*p)) p++;
    while (end > p && mpki_is_blank(end[-1])) end--;
    if (p == end)
        return mpki_text_error(f->text, MPK_ERR_FORMAT,
                               "expected %d numbers in this line of the %s", f->format->per_line,
                               f->what);
    *field = p;
    *size = (int)(end - p);
    return MPK_OK;
}

static mpk_status bad_field(const mpki_fields *f, const char *field, int size) {
    return mpki_text_error(f->text, MPK_ERR_FORMAT, "'%.*s' is not a number (%s)",
                           size < 40 ? size : 40, field, f->what);
}

mpk_status mpki_fields_integer(mpki_fields *f, int64_t *value) {
    const char *p;
    int size;
    mpk_status status = next_field(f, &p, &size);
    if (mpk_failed(status)) return status;
    int64_t x = 0;
    for (int k = 0; k < size; k++) {
        if (!mpki_is_digit(p[k]) || k >= 18) return bad_field(f, p, size);
        x = 10 * x + (p[k] - '0');
    }
    *value = x;
    return MPK_OK;
}

/* Sign and digits, blanks between; clipped to what decides. */
static bool read_exponent(const char *field, int size, int *exponent) {
    bool minus = false, begun = false, any = false;
    int e = 0;
    for (int k = 0; k < size; k++) {
        char c = field[k];
        if (mpki_is_blank(c)) continue;
        if (mpki_is_digit(c)) {
            if (e < 100000) e = 10 * e + (c - '0');
            any = true;
        } else if (!begun && (c == '+' || c == '-')) {
            minus = c == '-';
        } else {
            return false;
        }
        begun = true;
    }
    *exponent = minus ? -e : e;
    return any;
}

/* A number as Fortran reads it: blanks inside do not count, the exponent may lack its letter,
 * without a point the last `decimals` digits follow it, without an exponent the scale factor
 * divides. */
static bool fortran_number(const mpki_fortran *format, const char *field, int size, double *value) {
    char text[MAX_WIDTH + 24 + MPKI_NUMBER_SLACK] = "";
    int length = 0, exponent = 0, k = 0;
    bool point = false, letter = false;
    for (; k < size; k++) {
        char c = field[k];
        if (mpki_is_blank(c)) continue;
        letter = strchr("EeDdQq", c) && c;
        if (letter || (length > 0 && (c == '+' || c == '-'))) break;
        point |= c == '.';
        text[length++] = c;
    }
    bool has_exponent = k < size;
    if (has_exponent && !read_exponent(field + k + letter, size - k - letter, &exponent))
        return false;
    if (!point) exponent -= format->decimals;
    if (!has_exponent) exponent -= format->scale;
    length += snprintf(text + length, 16, "e%d\n", exponent);
    const char *cursor = text;
    return mpki_read_real(&cursor, value) && *cursor == '\n';
}

mpk_status mpki_fields_real(mpki_fields *f, double *value) {
    const char *p;
    int size;
    mpk_status status = next_field(f, &p, &size);
    if (mpk_failed(status)) return status;
    char text[MAX_WIDTH + 1 + MPKI_NUMBER_SLACK];
    memcpy(text, p, (size_t)size);
    text[size] = '\n';
    memset(text + size + 1, 0, MPKI_NUMBER_SLACK);
    const char *cursor = text;
    /* the usual case: nothing for Fortran's rules to change */
    bool plain = memchr(p, '.', (size_t)size) &&
                 (f->format->scale == 0 || memchr(p, 'E', (size_t)size) ||
                  memchr(p, 'e', (size_t)size) || memchr(p, 'D', (size_t)size));
    if (plain && mpki_read_real(&cursor, value) && *cursor == '\n') return MPK_OK;
    cursor = text;
    if (mpki_number_word(&cursor, value) && *cursor == '\n') return MPK_OK;
    if (!fortran_number(f->format, p, size, value)) return bad_field(f, p, size);
    return MPK_OK;
}
