/* SPDX-License-Identifier: BSD-3-Clause */
/* Text that grows, and printf that is the same in every locale. */
#define _GNU_SOURCE
#include "report.h"

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int mpki_print_list(char *out, size_t size, const char *format, va_list args) {
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a static object in glibc */
    if (!c) return vsnprintf(out, size, format, args);
    const locale_t before = uselocale(c);
    const int count = vsnprintf(out, size, format, args);
    uselocale(before);
    freelocale(c);
    return count;
}

int mpki_print(char *out, size_t size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int count = mpki_print_list(out, size, format, args);
    va_end(args);
    return count;
}

void mpki_buffer_init(mpki_buffer *buf, mpk_context *ctx) {
    *buf = (mpki_buffer){.ctx = ctx};
}

/* Room for `more` bytes and the closing zero. */
static bool reserve(mpki_buffer *buf, int64_t more) {
    if (mpk_failed(buf->status)) return false;
    int64_t need = buf->size + more + 1;
    if (need <= buf->capacity) return true;
    int64_t capacity = buf->capacity ? buf->capacity : 1024;
    while (capacity < need) capacity *= 2;
    char *data = mpki_resize(buf->ctx, "report", buf->data, capacity, 1);
    if (!data) {
        buf->status = MPK_ERR_MEMORY;
        return false;
    }
    buf->data = data;
    buf->capacity = capacity;
    return true;
}

void mpki_buffer_bytes(mpki_buffer *buf, const void *bytes, int64_t count) {
    if (!reserve(buf, count)) return;
    memcpy(buf->data + buf->size, bytes, (size_t)count);
    buf->size += count;
    buf->data[buf->size] = '\0';
}

void mpki_buffer_printf(mpki_buffer *buf, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int count = mpki_print_list(NULL, 0, format, args);
    va_end(args);
    if (count >= 0 && reserve(buf, count)) {
        mpki_print_list(buf->data + buf->size, (size_t)count + 1, format, again);
        buf->size += count;
    }
    va_end(again);
}

void mpki_buffer_free(mpki_buffer *buf) {
    mpki_release(buf->ctx, buf->data);
    mpki_buffer_init(buf, buf->ctx);
}

int mpki_utf8_length(const unsigned char *s) {
    int length = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : 0;
    if (s[0] >= 0xe0 && s[0] < 0xf0) length = 3;
    if (s[0] >= 0xf0 && s[0] < 0xf5) length = 4;
    for (int k = 1; k < length; k++)
        if ((s[k] & 0xc0) != 0x80) return 0;
    /* no overlong forms, surrogates or codes above U+10FFFF */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0)) return 0;
    if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90)) return 0;
    return length;
}

void mpki_buffer_json(mpki_buffer *out, const char *text) {
    mpki_buffer_bytes(out, "\"", 1);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int length = mpki_utf8_length(s);
        if (length == 0) {
            mpki_buffer_printf(out, "\\ufffd");
            s++;
            continue;
        }
        if (*s == '"' || *s == '\\')
            mpki_buffer_printf(out, "\\%c", *s);
        else if (*s < 0x20 || *s == 0x7f)
            mpki_buffer_printf(out, "\\u%04x", *s);
        else
            mpki_buffer_bytes(out, s, length);
        s += length;
    }
    mpki_buffer_bytes(out, "\"", 1);
}
