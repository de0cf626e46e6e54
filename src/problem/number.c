/* SPDX-License-Identifier: BSD-3-Clause */
/* Decimal numbers to doubles, correctly rounded, most of them without the C library. */
#define _GNU_SOURCE
#include "number.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const double mpki_powers_of_ten[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

#ifdef __SIZEOF_INT128__
typedef unsigned __int128 u128;

/* 5^0 .. 5^26, exact */
static const uint64_t small[27] = {1u,
                                   5u,
                                   25u,
                                   125u,
                                   625u,
                                   3125u,
                                   15625u,
                                   78125u,
                                   390625u,
                                   1953125u,
                                   9765625u,
                                   48828125u,
                                   244140625u,
                                   1220703125u,
                                   6103515625ull,
                                   30517578125ull,
                                   152587890625ull,
                                   762939453125ull,
                                   3814697265625ull,
                                   19073486328125ull,
                                   95367431640625ull,
                                   476837158203125ull,
                                   2384185791015625ull,
                                   11920928955078125ull,
                                   59604644775390625ull,
                                   298023223876953125ull,
                                   1490116119384765625ull};

/* 5^(27 i) = (hi 2^64 + lo) 2^(exponent - 127), cut off below: i = -13 .. 11 */
static const struct {
    uint64_t hi, lo;
    int exponent;
} large[25] = {
    {0x8049a4ac0c5811aeu, 0x205b896d777d6278u, -815}, /* -351 */
    {0xcf42894a5dce35eau, 0x52064cac828675b9u, -753}, /* -324 */
    {0xa76c582338ed2621u, 0xaf2af2b80af6f24eu, -690}, /* -297 */
    {0x873e4f75e2224e68u, 0x5a7744a6e804a291u, -627}, /* -270 */
    {0xda7f5bf590966848u, 0xaf39a475506a899eu, -565}, /* -243 */
    {0xb080392cc4349decu, 0xbd8d794d96aacfb3u, -502}, /* -216 */
    {0x8e938662882af53eu, 0x547eb47b7282ee9cu, -439}, /* -189 */
    {0xe65829b3046b0afau, 0x0cb4a5a3112a5112u, -377}, /* -162 */
    {0xba121a4650e4ddebu, 0x92f34d62616ce413u, -314}, /* -135 */
    {0x964e858c91ba2655u, 0x3a6a07f8d510f86fu, -251}, /* -108 */
    {0xf2d56790ab41c2a2u, 0xfae27299423fb9c3u, -189}, /* -81 */
    {0xc428d05aa4751e4cu, 0xaa97e14c3c26b886u, -126}, /* -54 */
    {0x9e74d1b791e07e48u, 0x775ea264cf55347du, -63},  /* -27 */
    {0x8000000000000000u, 0x0000000000000000u, 0},    /* 0 */
    {0xcecb8f27f4200f3au, 0x0000000000000000u, 62},   /* 27 */
    {0xa70c3c40a64e6c51u, 0x999090b65f67d924u, 125},  /* 54 */
    {0x86f0ac99b4e8dafdu, 0x69a028bb3ded71a3u, 188},  /* 81 */
    {0xda01ee641a708de9u, 0xe80e6f4820cc9495u, 250},  /* 108 */
    {0xb01ae745b101e9e4u, 0x5ec05dcff72e7f8fu, 313},  /* 135 */
    {0x8e41ade9fbebc27du, 0x14588f13be847307u, 376},  /* 162 */
    {0xe5d3ef282a242e81u, 0x8f1668c8a86da5fau, 438},  /* 189 */
    {0xb9a74a0637ce2ee1u, 0x6d953e2bd7173692u, 501},  /* 216 */
    {0x95f83d0a1fb69cd9u, 0x4abdaf101564f98eu, 564},  /* 243 */
    {0xf24a01a73cf2dccfu, 0xbc633b39673c8cecu, 626},  /* 270 */
    {0xc3b8358109e84f07u, 0x0a862f80ec4700c8u, 689},  /* 297 */
};

/* The upper half of a 256-bit product, cut off below. */
static u128 multiply_high(u128 a, uint64_t hi, uint64_t lo) {
    uint64_t ahi = (uint64_t)(a >> 64), alo = (uint64_t)a;
    u128 low = (u128)alo * lo, cross1 = (u128)ahi * lo, cross2 = (u128)alo * hi;
    u128 middle = (low >> 64) + (uint64_t)cross1 + (uint64_t)cross2;
    return (u128)ahi * hi + (cross1 >> 64) + (cross2 >> 64) + (middle >> 64);
}

/* w 10^q = w 5^j 5^(27 i) 2^q with q = 27 i + j. The first product is exact, the second is known to
 * 126 bits; so the nearest double is known too unless the 73 bits after it are nearly 1000... */
bool mpki_decimal(uint64_t w, int q, double *x) {
    if (w == 0) {
        *x = 0;
        return true;
    }
    if (q < -351 || q > 323) return false;
    int i = (q + 351) / 27, j = (q + 351) % 27;
    bool exact = i == 13;
    u128 a = (u128)w * small[j];
    int shift = a >> 64 ? __builtin_clzll((uint64_t)(a >> 64)) : 64 + __builtin_clzll((uint64_t)a);
    u128 p = multiply_high(a << shift, large[i].hi, large[i].lo);
    int exponent = 1 - shift + large[i].exponent + q; /* x = p 2^exponent */
    unsigned error = 2;                               /* x < (p + error) 2^exponent */
    if (!(p >> 127)) {
        p <<= 1;
        exponent--;
        error = 4;
    }
    int biased = exponent + 127 + 1023;
    if (biased < 1 || biased > 2045) return false;
    const u128 half = (u128)1 << 74;
    uint64_t mantissa = (uint64_t)(p >> 75);
    u128 rest = p & (2 * half - 1);
    if (exact)
        mantissa += rest > half || (rest == half && (mantissa & 1));
    else if (rest > half)
        mantissa++;
    else if (rest + error > half)
        return false;
    uint64_t bits = ((uint64_t)(biased - 1) << 52) + mantissa; /* the leading bit of the mantissa */
    memcpy(x, &bits, sizeof bits);                             /* makes up for the 1 */
    return true;
}
#else
bool mpki_decimal(uint64_t w, int q, double *x) {
    (void)q;
    *x = 0;
    return w == 0;
}
#endif

/* The digits that count and an exponent. No double, nor the middle of two, has more than 767
 * significant digits: what comes after 800 is told by one digit more. */
enum { MOST_DIGITS = 800 };

static void normalise(const char *start, const char *end, char *out, size_t size) {
    int digits = 0, length = 0;
    int64_t exponent = 0, shift = 0;
    bool point = false, more = false;
    const char *p = start;
    if (*p == '-' || *p == '+') out[length++] = *p++;
    for (; p < end && (mpki_is_digit(*p) || *p == '.'); p++) {
        if (*p == '.') {
            point = true;
        } else if (digits < MOST_DIGITS && (digits > 0 || *p != '0')) {
            out[length++] = *p;
            digits++;
            shift -= point;
        } else {
            more |= *p != '0';
            shift += digits > 0 ? !point : -(int64_t)point;
        }
    }
    if (digits == 0) out[length++] = '0';
    if (more) {
        out[length++] = '1';
        shift--;
    }
    if (p < end) {
        bool below = *++p == '-';
        if (*p == '-' || *p == '+') p++;
        for (; p < end; p++)
            if (exponent < 1000000000) exponent = 10 * exponent + (*p - '0');
        if (below) exponent = -exponent;
    }
    snprintf(out + length, size - (size_t)length, "e%lld", (long long)(exponent + shift));
}

bool mpki_number_slow(const char *start, const char *end, double *x) {
    char text[MOST_DIGITS + 32];
    normalise(start, end, text, sizeof text);
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* costs nothing: it is always there */
    if (!c) return false;
    *x = strtod_l(text, NULL, c);
    freelocale(c);
    return true;
}

bool mpki_number_word(const char **cursor, double *x) {
    static const struct {
        const char *word;
        double value;
    } words[] = {{"infinity", INFINITY}, {"inf", INFINITY}, {"nan", NAN}};
    const char *p = *cursor;
    bool negative = *p == '-';
    if (*p == '-' || *p == '+') p++;
    for (int k = 0; k < 3; k++) {
        size_t size = strlen(words[k].word), same = 0;
        while (same < size && (p[same] | 32) == words[k].word[same]) same++;
        if (same < size || !mpki_ends_token(p[size])) continue;
        *x = negative ? -words[k].value : words[k].value;
        *cursor = p + size;
        return true;
    }
    return false;
}
