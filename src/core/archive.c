/* SPDX-License-Identifier: BSD-3-Clause */
/* Binary files of our own, written whole or not at all, read with suspicion. */
#define _GNU_SOURCE
#include "archive.h"
#include "random.h"
#include <metapack/status.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 1 << 18, BLOCK = 32, FORMAT = 4, SUM = sizeof(uint64_t) };

/* How every such file begins. */
typedef struct head {
    char magic[8];
    uint32_t order;   /* as this machine writes it */
    uint32_t format;  /* of what follows */
    char version[16]; /* of the library */
    uint8_t size[8];  /* of int, a pointer, size_t, float, double, long double, an enum, bool */
} head;

static head own_head(void) {
    head h = {.magic = {'M', 'E', 'T', 'A', 'P', 'A', 'C', 'K'},
              .order = 0x01020304,
              .format = FORMAT,
              .size = {sizeof(int), sizeof(void *), sizeof(size_t), sizeof(float), sizeof(double),
                       sizeof(long double), sizeof(mpk_status), sizeof(bool)}};
    snprintf(h.version, sizeof h.version, "%s", mpk_version());
    return h;
}

/* ---- the checksum ---------------------------------------------------------------------------- */

mpki_digest mpki_digest_begin(void) {
    mpki_digest d = {{0}, 0};
    for (int k = 0; k < 4; k++) d.lane[k] = mpki_random_at((uint64_t)k);
    return d;
}

/* Each step is a permutation of the lane for any word, so that no other word gives the same. */
void mpki_digest_add(mpki_digest *d, const void *data, size_t count) {
    const unsigned char *from = data;
    uint64_t lane[4];
    memcpy(lane, d->lane, sizeof lane);
    for (size_t at = 0; at < count; at += BLOCK) {
        uint64_t word[4] = {0};
        memcpy(word, from + at, count - at < BLOCK ? count - at : BLOCK);
        for (int k = 0; k < 4; k++) {
            const uint64_t mixed = (lane[k] ^ word[k]) * UINT64_C(0x9E3779B97F4A7C15);
            lane[k] = mixed << 29 | mixed >> 35;
        }
    }
    memcpy(d->lane, lane, sizeof lane);
    d->bytes += count;
}

uint64_t mpki_digest_end(const mpki_digest *d) {
    uint64_t sum = mpki_random_mix(d->bytes + MPKI_GOLDEN);
    for (int k = 0; k < 4; k++) sum = mpki_random_mix(sum ^ d->lane[k]) + MPKI_GOLDEN;
    return sum;
}

/* ---- begin ----------------------------------------------------------------------------------- */

static bool fails(mpki_archive *a, mpk_status status) {
    if (!mpk_failed(a->status)) a->status = status;
    return false;
}

static bool file_fails(mpki_archive *a, const char *what, int error) {
    char text[128];
    return fails(a, mpki_error(a->ctx, MPK_ERR_FILE, a->stage, -1, "%.300s: %s: %s", a->path, what,
                               strerror_r(error, text, sizeof text)));
}

bool mpki_archive_damaged(mpki_archive *a, const char *what) {
    return fails(a, mpki_error(a->ctx, MPK_ERR_FORMAT, a->stage, -1,
                               "%.300s: the file is damaged: %s", a->path, what));
}

static mpk_status begin(mpk_context *ctx, const char *stage, const char *path, mpki_archive *a) {
    *a = (mpki_archive){.ctx = ctx, .stage = stage, .path = path, .fd = -1};
    a->digest = mpki_digest_begin();
    a->buffer = MPKI_NEW(ctx, stage, BUFFER, char);
    return a->buffer ? MPK_OK : (a->status = mpki_failed(ctx));
}

static void end(mpki_archive *a) {
    if (a->fd >= 0) close(a->fd);
    a->fd = -1;
    mpki_release(a->ctx, a->buffer);
    a->buffer = NULL;
}

mpk_status mpki_archive_count(mpk_context *ctx, const char *stage, mpki_archive *a) {
    return begin(ctx, stage, "", a);
}

mpk_status mpki_archive_create(mpk_context *ctx, const char *stage, const char *path,
                               mpki_archive *a) {
    char why[512];
    const head h = own_head();
    if (!strcmp(path, "-"))
        return mpki_error(ctx, MPK_ERR_FILE, stage, -1,
                          "-: a binary file is not written to standard output");
    if (mpki_output_look(path, why, sizeof why))
        return mpki_error(ctx, MPK_ERR_FILE, stage, -1, "%.300s: %s", path, why);
    if (mpk_failed(begin(ctx, stage, path, a))) return a->status;
    const int error = mpki_output_open(&a->output, path);
    if (error) {
        file_fails(a, "cannot be written", error);
        end(a);
        return a->status;
    }
    a->mode = MPKI_ARCHIVE_WRITES;
    mpki_archive_put(a, &h, 1, sizeof h);
    return MPK_OK;
}

/* Is it of this library and this kind of machine? */
static bool check_head(mpki_archive *a) {
    const head own = own_head();
    head h;
    if (a->left < (int64_t)sizeof h || !mpki_archive_get(a, &h, 1, sizeof h) ||
        memcmp(h.magic, own.magic, sizeof h.magic)) {
        if (mpk_failed(a->status)) return false;
        return fails(a, mpki_error(a->ctx, MPK_ERR_FORMAT, a->stage, -1,
                                   "%.300s: not a file that METAPACK has saved", a->path));
    }
    const char *why = NULL;
    if (h.order != own.order || memcmp(h.size, own.size, sizeof h.size))
        why = "a machine with other numbers, or other sizes of them,";
    if (why)
        return fails(a, mpki_error(a->ctx, MPK_ERR_UNSUPPORTED, a->stage, -1,
                                   "%.300s: written on %s than this one: save it anew here",
                                   a->path, why));
    if (h.format == own.format && !memcmp(h.version, own.version, sizeof h.version)) return true;
    char version[sizeof h.version + 1] = "";
    for (size_t k = 0; k < sizeof h.version && h.version[k] >= ' ' && h.version[k] <= '~'; k++)
        version[k] = h.version[k];
    return fails(a, mpki_error(a->ctx, MPK_ERR_UNSUPPORTED, a->stage, h.format,
                               "%.300s: written by METAPACK %s, format %u; this is %s, format %u: "
                               "save it anew",
                               a->path, version, h.format, own.version, own.format));
}

mpk_status mpki_archive_open(mpk_context *ctx, const char *stage, const char *path,
                             mpki_archive *a) {
    struct stat info;
    if (mpk_failed(begin(ctx, stage, path, a))) return a->status;
    a->mode = MPKI_ARCHIVE_READS;
    a->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (a->fd < 0 || fstat(a->fd, &info))
        file_fails(a, "cannot be read", errno);
    else if (!S_ISREG(info.st_mode))
        fails(a, mpki_error(ctx, MPK_ERR_FILE, stage, -1,
                            "%.300s: not a regular file, of which the length is known", path));
    else if ((a->left = (int64_t)info.st_size - SUM) < 0)
        fails(a, mpki_error(ctx, MPK_ERR_FORMAT, stage, -1,
                            "%.300s: not a file that METAPACK has saved", path));
    else
        check_head(a);
    if (mpk_failed(a->status)) end(a);
    return a->status;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* The buffer into the checksum, and out. */
static bool drain(mpki_archive *a) {
    mpki_digest_add(&a->digest, a->buffer, a->used);
    if (a->mode == MPKI_ARCHIVE_WRITES) {
        const int error = mpki_output_write(&a->output, a->buffer, a->used);
        if (error) return file_fails(a, "cannot be written", error);
    }
    a->used = 0;
    return !mpki_stop_wanted(a->ctx, a->stage) || fails(a, mpki_stopped(a->ctx, a->stage));
}

/* Some of what is left into the buffer, which is used up. */
static bool fill(mpki_archive *a) {
    const int64_t most = a->left < BUFFER ? a->left : BUFFER;
    if (mpki_stop_wanted(a->ctx, a->stage)) return fails(a, mpki_stopped(a->ctx, a->stage));
    a->used = a->filled = 0;
    while (a->filled < (size_t)most) {
        const ssize_t got = read(a->fd, a->buffer + a->filled, (size_t)most - a->filled);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return file_fails(a, "cannot be read", errno);
        if (got == 0) return mpki_archive_damaged(a, "it ends too soon");
        a->filled += (size_t)got;
    }
    mpki_digest_add(&a->digest, a->buffer, a->filled);
    return true;
}

bool mpki_archive_put(mpki_archive *a, const void *data, int64_t count, size_t size) {
    const char *from = data;
    for (size_t rest = (size_t)count * size; rest > 0;) {
        if (mpk_failed(a->status)) return false;
        const size_t some = BUFFER - a->used < rest ? BUFFER - a->used : rest;
        memcpy(a->buffer + a->used, from, some);
        a->used += some, from += some, rest -= some;
        if (a->used == BUFFER) drain(a);
    }
    return !mpk_failed(a->status);
}

/* data NULL: to nowhere */
static bool get(mpki_archive *a, char *data, int64_t count, size_t size) {
    int64_t bytes;
    if (mpk_failed(a->status)) return false;
    if (count < 0 || __builtin_mul_overflow(count, (int64_t)size, &bytes) || bytes > a->left)
        return mpki_archive_damaged(a, "it is shorter than what it tells of");
    while (bytes > 0) {
        if (a->used == a->filled && !fill(a)) return false;
        const size_t there = a->filled - a->used;
        const size_t some = (int64_t)there < bytes ? there : (size_t)bytes;
        if (data) memcpy(data, a->buffer + a->used, some), data += some;
        a->used += some;
        a->left -= (int64_t)some;
        bytes -= (int64_t)some;
    }
    return true;
}

bool mpki_archive_get(mpki_archive *a, void *data, int64_t count, size_t size) {
    return get(a, data, count, size);
}

bool mpki_archive_skip(mpki_archive *a, int64_t bytes) {
    return get(a, NULL, bytes, 1);
}

void *mpki_archive_array(mpki_archive *a, int64_t count, size_t size) {
    int64_t bytes;
    if (mpk_failed(a->status)) return NULL;
    if (count < 0 || __builtin_mul_overflow(count, (int64_t)size, &bytes) || bytes > a->left) {
        mpki_archive_damaged(a, "it is shorter than what it tells of");
        return NULL;
    }
    void *out = mpki_alloc(a->ctx, a->stage, count, size);
    if (!out) {
        fails(a, mpki_failed(a->ctx));
        return NULL;
    }
    if (get(a, out, count, size)) return out;
    mpki_release(a->ctx, out);
    return NULL;
}

/* ---- the end --------------------------------------------------------------------------------- */

uint64_t mpki_archive_sum(mpki_archive *a, int64_t *bytes) {
    drain(a);
    if (bytes) *bytes = (int64_t)a->digest.bytes;
    return mpki_digest_end(&a->digest);
}

static void finish_writing(mpki_archive *a) {
    drain(a);
    const uint64_t sum = mpki_digest_end(&a->digest);
    int error = 0;
    if (!mpk_failed(a->status) && (error = mpki_output_write(&a->output, &sum, sizeof sum)))
        file_fails(a, "cannot be written", error);
    error = mpki_output_close(&a->output, !mpk_failed(a->status));
    if (error) file_fails(a, "cannot be written", error);
}

/* What failed may have been told by a byte that was changed: then that is what there is to say. */
static void blame_damage(mpki_archive *a) {
    const mpk_status status = a->status;
    uint64_t sum;
    if (status == MPK_ERR_FILE || status == MPK_ERR_CANCELLED) return;
    a->status = MPK_OK;
    const bool all = get(a, NULL, a->left, 1) && read(a->fd, &sum, sizeof sum) == sizeof sum;
    a->status = status;
    if (!all || sum == mpki_digest_end(&a->digest)) return;
    mpki_clear_error(a->ctx);
    a->status = MPK_OK;
    mpki_archive_damaged(a, "its checksum is another");
}

static void finish_reading(mpki_archive *a) {
    uint64_t sum;
    char more;
    if (mpk_failed(a->status)) {
        blame_damage(a);
        return;
    }
    if (a->left > 0) {
        mpki_archive_damaged(a, "it is longer than what it tells of");
        return;
    }
    const ssize_t got = read(a->fd, &sum, sizeof sum);
    if (got != sizeof sum || read(a->fd, &more, 1) != 0)
        mpki_archive_damaged(a, "its length has changed");
    else if (sum != mpki_digest_end(&a->digest))
        mpki_archive_damaged(a, "its checksum is another");
}

mpk_status mpki_archive_finish(mpki_archive *a) {
    if (a->mode == MPKI_ARCHIVE_WRITES) finish_writing(a);
    if (a->mode == MPKI_ARCHIVE_READS) finish_reading(a);
    end(a);
    return a->status;
}

mpk_status mpki_archive_give_up(mpki_archive *a) {
    if (a->mode == MPKI_ARCHIVE_WRITES && a->buffer) mpki_output_close(&a->output, false);
    end(a);
    return mpk_failed(a->status) ? a->status : mpki_failed(a->ctx);
}

/* ---- options --------------------------------------------------------------------------------- */

void mpki_archive_put_options(mpki_archive *a, const mpk_options *options) {
    const mpk_option *o;
    for (int k = 0; (o = mpk_option_at(k)); k++) {
        const int64_t whole = mpk_option_integer(o, options);
        const double real = mpk_option_value(o, options);
        if (o->kind == MPK_OPTION_REAL)
            mpki_archive_put(a, &real, 1, sizeof real);
        else
            mpki_archive_put(a, &whole, 1, sizeof whole);
    }
}

bool mpki_archive_get_options(mpki_archive *a, mpk_options *options) {
    const mpk_option *o;
    mpk_options read;
    mpk_options_init(&read);
    for (int k = 0; (o = mpk_option_at(k)); k++) {
        char *field = (char *)&read + o->offset;
        int64_t whole = 0;
        int32_t small = 0;
        double real = 0;
        if (o->kind == MPK_OPTION_REAL) {
            if (!mpki_archive_get(a, &real, 1, sizeof real)) return false;
            if (!(real >= o->least && real <= o->most))
                return mpki_archive_damaged(a, "an option is out of its range");
            memcpy(field, &real, sizeof real);
            continue;
        }
        if (!mpki_archive_get(a, &whole, 1, sizeof whole)) return false;
        if (!((double)whole >= o->least && (double)whole <= o->most))
            return mpki_archive_damaged(a, "an option is out of its range");
        small = (int32_t)whole;
        if (o->kind == MPK_OPTION_INT64)
            memcpy(field, &whole, sizeof whole);
        else
            memcpy(field, &small, sizeof small);
    }
    *options = read;
    return true;
}
