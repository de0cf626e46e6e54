/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PROBLEM_NUMBER_H
#define MPKI_PROBLEM_NUMBER_H
/** Numbers from text, fast and correctly rounded. The text ends with '\n', after which at least
 *  MPKI_NUMBER_SLACK further bytes can be read (their content does not matter). */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { MPKI_NUMBER_SLACK = 16 };

/** The double nearest to w 10^q, ties to even; false where this quick way cannot tell. */
bool mpki_decimal(uint64_t w, int q, double *x);
/** By the C library: [start, end) is a well-formed decimal number; exponent letters E and D. */
bool mpki_number_slow(const char *start, const char *end, double *x);
/** "inf", "infinity", "nan" with an optional sign, in any case. */
bool mpki_number_word(const char **cursor, double *x);

extern const double mpki_powers_of_ten[23];

static inline bool mpki_is_digit(char c) {
    return (unsigned char)(c - '0') < 10;
}
static inline bool mpki_is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}
static inline bool mpki_ends_token(char c) {
    return c == '\n' || mpki_is_blank(c);
}

static inline const char *mpki_skip_blanks(const char *p) {
    while (mpki_is_blank(*p)) p++;
    return p;
}

/** A count or index: decimal digits, at most 18. Leaves *cursor after it; false: not one. */
static inline bool mpki_read_integer(const char **cursor, int64_t *value) {
    const char *p = *cursor;
    if (*p == '+') p++;
    const char *first = p;
    int64_t x = 0;
    while (mpki_is_digit(*p) && p - first < 18) x = 10 * x + (*p++ - '0');
    if (p == first || !mpki_ends_token(*p)) return false;
    *value = x;
    *cursor = p;
    return true;
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* Eight characters as a word, the first in the lowest byte. */
static inline bool mpki_eight_digits(const char *p, uint64_t *w) {
    uint64_t v;
    memcpy(&v, p, 8);
    const uint64_t low = v - 0x3030303030303030u; /* each byte 0..9, or a high nibble shows it */
    if (((v + 0x4646464646464646u) | low) & 0x8080808080808080u) return false;
    v = low * 10 + (low >> 8); /* pairs in every other byte */
    v = (((v & 0x000000ff000000ffu) * 0x000f424000000064u) +
         (((v >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u)) >>
        32;
    *w = *w * 100000000u + v;
    return true;
}
#else
static inline bool mpki_eight_digits(const char *p, uint64_t *w) {
    (void)p, (void)w;
    return false;
}
#endif

/* More than 19 digits: do those that count fit? */
static inline bool mpki_few_digits(const char *p, const char *end) {
    while (p < end && (*p == '0' || *p == '.')) p++;
    int digits = 0;
    for (; p < end; p++) digits += mpki_is_digit(*p);
    return digits <= 19;
}

/** A real number: sign, digits with a point, exponent after E or D; or inf, nan. Leaves *cursor
 * after it; false: not a number. Too large a number gives an infinity. */
static inline bool mpki_read_real(const char **cursor, double *value) {
    const char *start = *cursor, *p = start;
    bool negative = *p == '-';
    if (*p == '-' || *p == '+') p++;
    const char *digits = p;
    uint64_t w = 0;
    int64_t q = 0;
    while (mpki_is_digit(*p)) w = 10 * w + (uint64_t)(*p++ - '0');
    int64_t count = p - digits;
    if (*p == '.') {
        const char *fraction = ++p;
        while (mpki_eight_digits(p, &w)) p += 8;
        while (mpki_is_digit(*p)) w = 10 * w + (uint64_t)(*p++ - '0');
        q = fraction - p;
        count += p - fraction;
    }
    if (count == 0) return mpki_number_word(cursor, value);
    const char *mantissa_end = p;
    if ((*p | 32) == 'e' || (*p | 32) == 'd') {
        p++;
        bool below = *p == '-';
        if (*p == '-' || *p == '+') p++;
        if (!mpki_is_digit(*p)) return false;
        int64_t e = 0;
        for (; mpki_is_digit(*p); p++)
            if (e < 1000000000) e = 10 * e + (*p - '0');
        q += below ? -e : e;
    }
    if (!mpki_ends_token(*p)) return false;
    *cursor = p;
    double x;
    if (count > 19 && !mpki_few_digits(digits, mantissa_end))
        return mpki_number_slow(start, p, value);
#if FLT_EVAL_METHOD == 0
    if (w <= (uint64_t)1 << 53 && q >= -22 && q <= 22) /* both operands are exact */
        x = q < 0 ? (double)w / mpki_powers_of_ten[-q] : (double)w * mpki_powers_of_ten[q];
    else
#endif
        if (q < -400 || q > 400 || !mpki_decimal(w, (int)q, &x))
        return mpki_number_slow(start, p, value);
    *value = negative ? -x : x;
    return true;
}

#endif
