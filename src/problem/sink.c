/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes text to a file: buffered, compressed if the name ends in .gz or .xz. */
#define _GNU_SOURCE
#include "sink.h"
#include "../core/output.h"

#include <errno.h>
#include <locale.h>
#include <lzma.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <zlib.h>

static const char STAGE[] = "write";

enum { TEXT_SIZE = 256 << 10, LINE_SIZE = 512, PACKED_SIZE = 64 << 10 };

struct mpki_sink {
    mpk_context *ctx;
    mpki_output output;
    bool gz, open_xz;
    char *name; /* as the caller said it, for messages */
    char *text; /* TEXT_SIZE + LINE_SIZE */
    size_t used;
    unsigned char *packed;
    z_stream stream;
    lzma_allocator xz_allocator;
    lzma_stream xz;
    locale_t c;
};

static mpk_status file_error(mpki_sink *s, const char *what) {
    char buffer[128];
    return mpki_error(s->ctx, MPK_ERR_FILE, STAGE, -1, "%s: %s: %s", s->name, what,
                      strerror_r(errno, buffer, sizeof buffer));
}

/* After a part, or a signal: is it to stop? */
static mpk_status ask(mpki_sink *s) {
    if (!mpki_progress(s->ctx, STAGE, 0)) return MPK_OK;
    return mpki_error(s->ctx, MPK_ERR_CANCELLED, STAGE, -1, "%s: stopped on request", s->name);
}

/* ---- bytes out ---------------------------------------------------------------------------- */

static mpk_status write_all(mpki_sink *s, const void *data, size_t size) {
    const char *p = data;
    while (size > 0) {
        ssize_t count = write(s->output.fd, p, size);
        if (count < 0 && errno == EINTR) {
            mpk_status status = ask(s);
            if (mpk_failed(status)) return status;
            continue;
        }
        if (count < 0) return file_error(s, "cannot write");
        p += count;
        size -= (size_t)count;
    }
    return MPK_OK;
}

static mpk_status drain_gz(mpki_sink *s, bool last) {
    mpk_status status = MPK_OK;
    s->stream.next_in = (unsigned char *)s->text;
    s->stream.avail_in = (unsigned)s->used;
    do {
        s->stream.next_out = s->packed;
        s->stream.avail_out = PACKED_SIZE;
        deflate(&s->stream, last ? Z_FINISH : Z_NO_FLUSH);
        status = write_all(s, s->packed, PACKED_SIZE - s->stream.avail_out);
    } while (!mpk_failed(status) && s->stream.avail_out == 0);
    return status;
}

static mpk_status drain_xz(mpki_sink *s, bool last) {
    mpk_status status = MPK_OK;
    lzma_ret code = LZMA_OK;
    s->xz.next_in = (unsigned char *)s->text;
    s->xz.avail_in = s->used;
    while (!mpk_failed(status) && (last ? code != LZMA_STREAM_END : s->xz.avail_in > 0)) {
        s->xz.next_out = s->packed;
        s->xz.avail_out = PACKED_SIZE;
        code = lzma_code(&s->xz, last ? LZMA_FINISH : LZMA_RUN);
        if (code == LZMA_MEM_ERROR) return mpki_failed(s->ctx);
        if (code != LZMA_OK && code != LZMA_STREAM_END)
            return mpki_error(s->ctx, MPK_ERR_INTERNAL, STAGE, code, "liblzma does not go on");
        status = write_all(s, s->packed, PACKED_SIZE - s->xz.avail_out);
    }
    return status;
}

/* Write out the text so far; `last` ends a compressed stream. */
static mpk_status drain(mpki_sink *s, bool last) {
    mpk_status status = ask(s);
    if (!mpk_failed(status))
        status = s->gz        ? drain_gz(s, last)
                 : s->open_xz ? drain_xz(s, last)
                              : write_all(s, s->text, s->used);
    s->used = 0;
    return status;
}

/* ---- open --------------------------------------------------------------------------------- */

static void *gz_alloc(void *opaque, unsigned count, unsigned size) {
    return mpki_alloc(opaque, STAGE, count, size);
}
static void gz_free(void *opaque, void *ptr) {
    mpki_release(opaque, ptr);
}

static void *xz_alloc(void *opaque, size_t count, size_t size) {
    return mpki_alloc(opaque, STAGE, (int64_t)count, size);
}

static mpk_status start_gz(mpki_sink *s) {
    s->stream = (z_stream){.zalloc = gz_alloc, .zfree = gz_free, .opaque = s->ctx};
    /* level 3: the speed of 6 times two, and 5 % more bytes */
    int code = deflateInit2(&s->stream, 3, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    if (code == Z_OK)
        s->gz = true;
    else if (code == Z_MEM_ERROR)
        return mpki_failed(s->ctx);
    else
        return mpki_error(s->ctx, MPK_ERR_INTERNAL, STAGE, code, "zlib does not start");
    return MPK_OK;
}

static mpk_status start_xz(mpki_sink *s) {
    s->xz_allocator = (lzma_allocator){xz_alloc, gz_free, s->ctx};
    s->xz = (lzma_stream)LZMA_STREAM_INIT;
    s->xz.allocator = &s->xz_allocator;
    /* preset 1: a fifth of the time of 6, and 10 % more bytes */
    const lzma_ret code = lzma_easy_encoder(&s->xz, 1, LZMA_CHECK_CRC64);
    s->open_xz = code == LZMA_OK;
    if (code == LZMA_OK) return MPK_OK;
    if (code == LZMA_MEM_ERROR) return mpki_failed(s->ctx);
    return mpki_error(s->ctx, MPK_ERR_INTERNAL, STAGE, code, "liblzma does not start");
}

/* Compression, where the name asks for it. */
static mpk_status start_packing(mpki_sink *s, const char *path) {
    const bool gz = mpki_name_ends(path, ".gz"), xz = mpki_name_ends(path, ".xz");
    if (!gz && !xz) return MPK_OK;
    s->packed = MPKI_NEW(s->ctx, STAGE, PACKED_SIZE, unsigned char);
    if (!s->packed) return mpki_failed(s->ctx);
    return gz ? start_gz(s) : start_xz(s);
}

static mpk_status open_file(mpki_sink *s, const char *path) {
    while ((errno = mpki_output_open(&s->output, path)) == EINTR) {
        mpk_status status = ask(s);
        if (mpk_failed(status)) return status;
    }
    const char *what = s->output.target[0] ? "cannot create" : "cannot open";
    return errno ? file_error(s, what) : MPK_OK;
}

bool mpki_name_ends(const char *path, const char *end) {
    size_t size = strlen(path), tail = strlen(end);
    return size > tail && !strcasecmp(path + size - tail, end);
}

mpk_status mpki_sink_open(mpk_context *ctx, const char *path, mpki_sink **out) {
    const bool output = !strcmp(path, "-");
    const char *name = output ? "standard output" : path;
    mpk_status status = MPK_OK;
    mpki_sink *s = MPKI_ZNEW(ctx, STAGE, 1, mpki_sink);
    if (!s) return mpki_failed(ctx);
    s->ctx = ctx;
    s->output = (mpki_output){.fd = -1, .aside = -1};
    s->name = MPKI_NEW(ctx, STAGE, (int64_t)strlen(name) + 1, char);
    s->text = MPKI_NEW(ctx, STAGE, TEXT_SIZE + LINE_SIZE, char);
    if (!s->name || !s->text) {
        status = mpki_failed(ctx);
        goto done;
    }
    strcpy(s->name, name);
    s->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!s->c) {
        status = mpki_error(ctx, MPK_ERR_MEMORY, STAGE, -1, "the C locale cannot be had");
        goto done;
    }
    status = start_packing(s, path);
    if (mpk_failed(status)) goto done;
    if (output)
        s->output.fd = STDOUT_FILENO;
    else
        status = open_file(s, path);
    if (mpk_failed(status)) goto done;
    *out = s;
    s = NULL;
done:
    return mpki_sink_close(&s, status);
}

/* ---- text --------------------------------------------------------------------------------- */

/* snprintf in the C locale; the calling thread's own locale is restored afterwards. */
static int print(mpki_sink *s, char *to, size_t size, const char *format, va_list args) {
    locale_t before = uselocale(s->c);
    int length = vsnprintf(to, size, format, args);
    uselocale(before);
    return length;
}

static void __attribute__((format(printf, 2, 3))) put(mpki_sink *s, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = print(s, s->text + s->used, LINE_SIZE / 2, format, args);
    va_end(args);
    s->used += length < LINE_SIZE / 2 ? (size_t)length : LINE_SIZE / 2 - 1;
}

mpk_status mpki_sink_print(mpki_sink *s, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = print(s, s->text + s->used, LINE_SIZE, format, args);
    va_end(args);
    s->used += length < LINE_SIZE ? (size_t)length : LINE_SIZE - 1;
    return s->used >= TEXT_SIZE ? drain(s, false) : MPK_OK;
}

mpk_status mpki_sink_bytes(mpki_sink *s, const void *bytes, int64_t count) {
    mpk_status status = MPK_OK;
    for (const char *from = bytes; count > 0 && !mpk_failed(status);) {
        const size_t room = TEXT_SIZE - s->used;
        const size_t size = (size_t)count < room ? (size_t)count : room;
        memcpy(s->text + s->used, from, size);
        s->used += size;
        from += size;
        count -= (int64_t)size;
        if (s->used >= TEXT_SIZE) status = drain(s, false);
    }
    return status;
}

void mpki_sink_text(mpki_sink *s, const char *text) {
    size_t size = strlen(text);
    memcpy(s->text + s->used, text, size);
    s->used += size;
}

void mpki_sink_blank(mpki_sink *s) {
    s->text[s->used++] = ' ';
}

void mpki_sink_integer(mpki_sink *s, int64_t value) {
    char digits[24];
    int count = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do digits[count++] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0) digits[count++] = '-';
    while (count > 0) s->text[s->used++] = digits[--count];
}

/* Whole numbers, which many matrices consist of, need no printf. */
static bool small_integer(double x) {
    return x >= -1e15 && x <= 1e15 && x == (double)(int64_t)x && (x != 0 || !signbit(x));
}

static void real_value(mpki_sink *s, double x, bool single) {
    if (small_integer(x))
        mpki_sink_integer(s, (int64_t)x);
    else
        put(s, single ? "%.9g" : "%.17g", x);
}

void mpki_sink_value(mpki_sink *s, mpk_scalar scalar, const void *values, int64_t k) {
    const bool single = scalar == MPK_S || scalar == MPK_C;
    const int parts = scalar == MPK_C || scalar == MPK_Z ? 2 : 1;
    for (int part = 0; part < parts; part++) {
        if (part) mpki_sink_blank(s);
        real_value(s,
                   single ? ((const float *)values)[parts * k + part]
                          : ((const double *)values)[parts * k + part],
                   single);
    }
}

mpk_status mpki_sink_end_line(mpki_sink *s) {
    s->text[s->used++] = '\n';
    return s->used >= TEXT_SIZE ? drain(s, false) : MPK_OK;
}

/* ---- close -------------------------------------------------------------------------------- */

mpk_status mpki_sink_close(mpki_sink **sink, mpk_status status) {
    if (!sink || !*sink) return status;
    mpki_sink *s = *sink;
    if (!mpk_failed(status)) status = drain(s, true);
    errno = mpki_output_close(&s->output, !mpk_failed(status));
    if (errno && !mpk_failed(status)) status = file_error(s, "cannot write");
    if (s->gz) deflateEnd(&s->stream);
    if (s->open_xz) lzma_end(&s->xz);
    if (s->c) freelocale(s->c);
    mpki_release(s->ctx, s->packed);
    mpki_release(s->ctx, s->text);
    mpki_release(s->ctx, s->name);
    mpki_release(s->ctx, s);
    *sink = NULL;
    return status;
}
