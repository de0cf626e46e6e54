/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a file, memory or standard input as lines: plain, gzip or xz, told apart by content. */
#define _GNU_SOURCE
#include "stream.h"
#include "number.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static const char STAGE[] = "read";

enum {
    RAW_SIZE = 64 << 10,   /* compressed bytes, or the first ones */
    TEXT_LEAST = 64 << 10, /* text: room for a small file ... */
    TEXT_MOST = 512 << 10, /* ... and for pieces of a large one; also the longest line */
};
static const uint64_t XZ_MEMORY = 512u << 20; /* a few bytes of xz can ask for gigabytes */

enum format { PLAIN, GZIP, XZ };

struct mpki_stream {
    mpk_context *ctx;
    const char *name; /* borrowed */
    int fd;           /* -1: memory */
    bool close_fd;
    const unsigned char *data; /* memory: what is left */
    size_t data_left;
    int64_t size, taken; /* of the source in bytes, -1 unknown; how much of it was read */
    enum format format;
    z_stream gz;
    lzma_allocator xz_allocator;
    lzma_stream xz;
    bool open_gz, open_xz;
    bool source_end, end; /* nothing more from the source; nothing more at all */
    bool member_end;      /* gzip: between members */
    unsigned char *raw;
    size_t raw_at, raw_size; /* unread part of raw */
    size_t text_room;        /* TEXT_LEAST .. TEXT_MOST */
    char *text;              /* text_room + 1 + MPKI_NUMBER_SLACK */
    size_t text_size;        /* filled */
    size_t text_given;       /* handed out as whole lines */
};

static mpk_status file_error(mpki_stream *s, const char *what) {
    char buffer[128];
    const char *reason = strerror_r(errno, buffer, sizeof buffer);
    return mpki_error(s->ctx, MPK_ERR_FILE, STAGE, -1, "%s: %s: %s", s->name, what, reason);
}

static mpk_status bad_data(mpki_stream *s, const char *what) {
    return mpki_error(s->ctx, MPK_ERR_FORMAT, STAGE, s->taken, "%s: %s", s->name, what);
}

/* Report progress; a pipe has no size. */
static mpk_status tell(mpki_stream *s) {
    double fraction = s->size > 0 ? (double)s->taken / (double)s->size : 0;
    if (!mpki_progress(s->ctx, STAGE, fraction)) return MPK_OK;
    return mpki_error(s->ctx, MPK_ERR_CANCELLED, STAGE, -1, "%s: stopped on request", s->name);
}

/* ---- bytes from the source ---------------------------------------------------------------- */

/* Up to size bytes into buffer; 0 at the end. */
static mpk_status source_read(mpki_stream *s, void *buffer, size_t size, size_t *got) {
    *got = 0;
    if (s->fd < 0) {
        *got = s->data_left < size ? s->data_left : size;
        if (*got > 0) memcpy(buffer, s->data, *got);
        s->data += *got;
        s->data_left -= *got;
    } else {
        ssize_t count;
        while ((count = read(s->fd, buffer, size)) < 0 && errno == EINTR) {
            mpk_status status = tell(s); /* the signal may ask to stop */
            if (mpk_failed(status)) return status;
        }
        if (count < 0) return file_error(s, "cannot read");
        *got = (size_t)count;
    }
    s->taken += (int64_t)*got;
    if (*got == 0) s->source_end = true;
    return MPK_OK;
}

/* Refill raw where it is empty. */
static mpk_status raw_fill(mpki_stream *s) {
    if (s->raw_at < s->raw_size || s->source_end) return MPK_OK;
    s->raw_at = s->raw_size = 0;
    return source_read(s, s->raw, RAW_SIZE, &s->raw_size);
}

/* ---- decompression --------------------------------------------------------------------------- */

static void *gz_alloc(void *opaque, unsigned count, unsigned size) {
    return mpki_alloc(opaque, STAGE, count, size);
}
static void gz_free(void *opaque, void *ptr) {
    mpki_release(opaque, ptr);
}
static void *xz_alloc(void *opaque, size_t count, size_t size) {
    return mpki_alloc(opaque, STAGE, (int64_t)count, size);
}
static void xz_free(void *opaque, void *ptr) {
    mpki_release(opaque, ptr);
}

static mpk_status gz_start(mpki_stream *s) {
    s->gz = (z_stream){.zalloc = gz_alloc, .zfree = gz_free, .opaque = s->ctx};
    int code = inflateInit2(&s->gz, 15 + 16);
    if (code == Z_OK)
        s->open_gz = true;
    else if (code == Z_MEM_ERROR)
        return mpki_failed(s->ctx);
    else
        return mpki_error(s->ctx, MPK_ERR_INTERNAL, STAGE, code, "zlib does not start");
    return MPK_OK;
}

static mpk_status xz_start(mpki_stream *s) {
    s->xz_allocator = (lzma_allocator){xz_alloc, xz_free, s->ctx};
    s->xz = (lzma_stream)LZMA_STREAM_INIT;
    s->xz.allocator = &s->xz_allocator;
    lzma_ret code = lzma_stream_decoder(&s->xz, XZ_MEMORY, LZMA_CONCATENATED);
    if (code == LZMA_OK)
        s->open_xz = true;
    else if (code == LZMA_MEM_ERROR)
        return mpki_failed(s->ctx);
    else
        return mpki_error(s->ctx, MPK_ERR_INTERNAL, STAGE, code, "liblzma does not start");
    return MPK_OK;
}

/* Some decompressed bytes into out; 0 with s->end at the end. A gzip file may have several members.
 */
static mpk_status gz_read(mpki_stream *s, void *out, size_t size, size_t *got) {
    *got = 0;
    while (*got == 0) {
        mpk_status status = raw_fill(s);
        if (mpk_failed(status)) return status;
        if (s->raw_at == s->raw_size) {
            s->end = true;
            return s->member_end ? MPK_OK : bad_data(s, "the gzip data is cut off");
        }
        if (s->member_end && inflateReset(&s->gz) != Z_OK)
            return bad_data(s, "the gzip data is damaged");
        s->gz.next_in = s->raw + s->raw_at;
        s->gz.avail_in = (unsigned)(s->raw_size - s->raw_at);
        s->gz.next_out = out;
        s->gz.avail_out = (unsigned)size;
        bool trailing = s->member_end;
        int code = inflate(&s->gz, Z_NO_FLUSH);
        s->raw_at = s->raw_size - s->gz.avail_in;
        *got = size - s->gz.avail_out;
        s->member_end = code == Z_STREAM_END;
        if (code == Z_MEM_ERROR && mpki_failed(s->ctx)) return mpki_failed(s->ctx);
        if (code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR) continue;
        return bad_data(s, trailing ? "there is something else after the gzip data"
                                    : "the gzip data is damaged");
    }
    return MPK_OK;
}

static mpk_status xz_read(mpki_stream *s, void *out, size_t size, size_t *got) {
    *got = 0;
    while (*got == 0 && !s->end) {
        mpk_status status = raw_fill(s);
        if (mpk_failed(status)) return status;
        s->xz.next_in = s->raw + s->raw_at;
        s->xz.avail_in = s->raw_size - s->raw_at;
        s->xz.next_out = out;
        s->xz.avail_out = size;
        lzma_ret code = lzma_code(&s->xz, s->source_end ? LZMA_FINISH : LZMA_RUN);
        s->raw_at = s->raw_size - s->xz.avail_in;
        *got = size - s->xz.avail_out;
        if (code == LZMA_STREAM_END)
            s->end = true;
        else if (code == LZMA_MEM_ERROR)
            return mpki_failed(s->ctx);
        else if (code == LZMA_MEMLIMIT_ERROR)
            return mpki_error(s->ctx, MPK_ERR_MEMORY, STAGE, (int64_t)lzma_memusage(&s->xz),
                              "%s: the xz data asks for %llu MB to decompress; the limit is %llu",
                              s->name, (unsigned long long)lzma_memusage(&s->xz) >> 20,
                              (unsigned long long)XZ_MEMORY >> 20);
        else if (code == LZMA_BUF_ERROR)
            return bad_data(s, "the xz data is cut off");
        else if (code != LZMA_OK)
            return bad_data(s, "the xz data is damaged");
    }
    return MPK_OK;
}

static mpk_status plain_read(mpki_stream *s, void *out, size_t size, size_t *got) {
    if (s->raw_at < s->raw_size) { /* what detect() has read */
        *got = s->raw_size - s->raw_at;
        if (*got > size) *got = size;
        memcpy(out, s->raw + s->raw_at, *got);
        s->raw_at += *got;
        return MPK_OK;
    }
    mpk_status status = source_read(s, out, size, got);
    s->end = s->source_end;
    return status;
}

/* ---- open and close -------------------------------------------------------------------------- */

static bool starts_with(const mpki_stream *s, const char *magic, size_t size) {
    return s->raw_size >= size && !memcmp(s->raw, magic, size);
}

/* Room for the text: as much as a plain source has, within limits. */
static mpk_status text_new(mpki_stream *s) {
    bool small = s->format == PLAIN && s->size >= 0 && s->size <= TEXT_MOST;
    s->text_room = !small ? TEXT_MOST : s->size >= TEXT_LEAST ? (size_t)s->size + 1 : TEXT_LEAST;
    s->text = mpki_alloc(s->ctx, STAGE, (int64_t)s->text_room + 1 + MPKI_NUMBER_SLACK, 1);
    return s->text ? MPK_OK : mpki_failed(s->ctx);
}

/* Look at the first bytes. */
static mpk_status detect(mpki_stream *s) {
    while (s->raw_size < 8 && !s->source_end) {
        size_t got;
        mpk_status status = source_read(s, s->raw + s->raw_size, RAW_SIZE - s->raw_size, &got);
        if (mpk_failed(status)) return status;
        s->raw_size += got;
    }
    if (s->raw_size == 0) return bad_data(s, "the file is empty");
    if (starts_with(s, "\x1f\x8b", 2)) {
        s->format = GZIP;
        return gz_start(s);
    }
    if (starts_with(s,
                    "\xfd"
                    "7zXZ\0",
                    6)) {
        s->format = XZ;
        return xz_start(s);
    }
    const char *other = starts_with(s, "BZh", 3)                 ? "bzip2"
                        : starts_with(s, "\x28\xb5\x2f\xfd", 4)  ? "Zstandard"
                        : starts_with(s, "PK\x03\x04", 4)        ? "zip"
                        : starts_with(s, "\x89HDF\r\n\x1a\n", 8) ? "HDF5"
                        : starts_with(s, "MATLAB", 6)            ? "MATLAB"
                                                                 : NULL;
    if (other)
        return mpki_error(s->ctx, MPK_ERR_FORMAT, STAGE, 0,
                          "%s: this is %s data; text, gzip and xz are read", s->name, other);
    return MPK_OK;
}

static mpk_status stream_new(mpk_context *ctx, const char *name, mpki_stream **out) {
    mpki_stream *s = MPKI_ZNEW(ctx, STAGE, 1, mpki_stream);
    if (!s) return mpki_failed(ctx);
    s->ctx = ctx;
    s->name = name;
    s->fd = -1;
    s->size = -1;
    *out = s;
    s->raw = MPKI_NEW(ctx, STAGE, RAW_SIZE, unsigned char);
    return s->raw ? MPK_OK : mpki_failed(ctx);
}

/* A pipe waits here for its other end. */
static mpk_status source_open(mpki_stream *s, const char *path) {
    while ((s->fd = open(path, O_RDONLY | O_CLOEXEC)) < 0 && errno == EINTR) {
        mpk_status status = tell(s); /* the signal may ask to stop */
        if (mpk_failed(status)) return status;
    }
    return s->fd < 0 ? file_error(s, "cannot open") : MPK_OK;
}

mpk_status mpki_stream_open(mpk_context *ctx, const char *path, mpki_stream **out) {
    bool input = !strcmp(path, "-");
    mpki_stream *s = NULL;
    mpk_status status = stream_new(ctx, input ? "standard input" : path, &s);
    if (mpk_failed(status)) goto done;
    s->close_fd = !input;
    if (input)
        s->fd = STDIN_FILENO;
    else
        status = source_open(s, path);
    if (mpk_failed(status)) goto done;
    struct stat info;
    if (!input && !fstat(s->fd, &info) && S_ISREG(info.st_mode) && info.st_size > 0)
        s->size = info.st_size;
    status = detect(s);
    if (!mpk_failed(status)) status = text_new(s);
    if (mpk_failed(status)) goto done;
    *out = s;
    s = NULL;
done:
    mpki_stream_close(&s);
    return status;
}

mpk_status mpki_stream_memory(mpk_context *ctx, const char *name, const void *data, size_t size,
                              mpki_stream **out) {
    mpki_stream *s = NULL;
    mpk_status status = stream_new(ctx, name, &s);
    if (mpk_failed(status)) goto done;
    s->data = data;
    s->data_left = size;
    s->size = (int64_t)size;
    status = detect(s);
    if (!mpk_failed(status)) status = text_new(s);
    if (mpk_failed(status)) goto done;
    *out = s;
    s = NULL;
done:
    mpki_stream_close(&s);
    return status;
}

void mpki_stream_close(mpki_stream **stream) {
    if (!stream || !*stream) return;
    mpki_stream *s = *stream;
    if (s->open_gz) inflateEnd(&s->gz);
    if (s->open_xz) lzma_end(&s->xz);
    if (s->fd >= 0 && s->close_fd) close(s->fd);
    mpki_release(s->ctx, s->raw);
    mpki_release(s->ctx, s->text);
    mpki_release(s->ctx, s);
    *stream = NULL;
}

/* ---- lines -------------------------------------------------------------------------------- */

static mpk_status text_read(mpki_stream *s, void *out, size_t size, size_t *got) {
    return s->format == GZIP ? gz_read(s, out, size, got)
           : s->format == XZ ? xz_read(s, out, size, got)
                             : plain_read(s, out, size, got);
}

mpk_status mpki_stream_lines(mpki_stream *s, const char **cursor, const char **end) {
    *cursor = *end = s->text;
    s->text_size -= s->text_given;
    memmove(s->text, s->text + s->text_given, s->text_size);
    s->text_given = 0;
    mpk_status told = tell(s);
    if (mpk_failed(told)) return told;
    while (!s->end && s->text_size < s->text_room) {
        size_t got;
        mpk_status status = text_read(s, s->text + s->text_size, s->text_room - s->text_size, &got);
        if (mpk_failed(status)) return status;
        s->text_size += got;
    }
    if (s->end && s->text_size > 0 && s->text[s->text_size - 1] != '\n')
        s->text[s->text_size++] = '\n';
    memset(s->text + s->text_size, 0, MPKI_NUMBER_SLACK);
    const char *last = s->text_size ? memrchr(s->text, '\n', s->text_size) : NULL;
    if (!last && s->text_size > 0)
        return bad_data(s, "a line is longer than 512 KB: is this a text file?");
    s->text_given = last ? (size_t)(last + 1 - s->text) : 0;
    *end = s->text + s->text_given;
    return MPK_OK;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

mpk_status mpki_stream_begins(mpki_stream *s, const char *magic, size_t size, bool *so) {
    while (!s->end && s->text_size < size) {
        size_t got;
        mpk_status status = text_read(s, s->text + s->text_size, s->text_room - s->text_size, &got);
        if (mpk_failed(status)) return status;
        s->text_size += got;
    }
    *so = s->text_size >= size && !memcmp(s->text, magic, size);
    return MPK_OK;
}

mpk_status mpki_stream_bytes(mpki_stream *s, void *to, size_t size, size_t *got) {
    const size_t there = s->text_size - s->text_given;
    *got = there < size ? there : size;
    memcpy(to, s->text + s->text_given, *got);
    s->text_given += *got;
    mpk_status status = tell(s);
    while (!mpk_failed(status) && !s->end && *got < size) {
        size_t more;
        status = text_read(s, (char *)to + *got, size - *got, &more);
        *got += more;
    }
    return status;
}

int64_t mpki_stream_left(const mpki_stream *s) {
    if (s->format != PLAIN || s->size < 0) return -1;
    return s->size - s->taken + (int64_t)(s->raw_size - s->raw_at) +
           (int64_t)(s->text_size - s->text_given);
}

const char *mpki_stream_name(const mpki_stream *s) {
    return s->name;
}
