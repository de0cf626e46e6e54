/* SPDX-License-Identifier: BSD-3-Clause */
/* Files as lines: plain, gzip, xz, endless, broken, cancelled. */
#include "support.h"

#include "core/random.h"
#include "problem/stream.h"
#include <lzma.h>
#include <unistd.h>
#include <zlib.h>

/* Everything a stream gives, as one string. */
static mpk_status drain(mpki_stream *s, char **all, size_t *size) {
    *all = NULL;
    *size = 0;
    for (;;) {
        const char *p, *end;
        mpk_status status = mpki_stream_lines(s, &p, &end);
        if (mpk_failed(status) || p == end) return status;
        assert_int_equal(end[-1], '\n');
        *all = realloc(*all, *size + (size_t)(end - p));
        assert_non_null(*all);
        memcpy(*all + *size, p, (size_t)(end - p));
        *size += (size_t)(end - p);
    }
}

static mpk_status drain_memory(mpk_context *ctx, const void *data, size_t size, char **all,
                               size_t *got) {
    mpki_stream *s = NULL;
    *all = NULL;
    *got = 0;
    mpki_clear_error(ctx);
    mpk_status status = mpki_stream_memory(ctx, "data", data, size, &s);
    if (!mpk_failed(status)) status = drain(s, all, got);
    mpki_stream_close(&s);
    return status;
}

static size_t pack_gz(const void *data, size_t size, unsigned char *out, size_t room) {
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)data;
    z.avail_in = (unsigned)size;
    z.next_out = out;
    z.avail_out = (unsigned)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t packed = room - z.avail_out;
    deflateEnd(&z);
    return packed;
}

static size_t pack_xz(const void *data, size_t size, unsigned char *out, size_t room) {
    size_t at = 0;
    assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, data, size, out, &at, room),
                     LZMA_OK);
    return at;
}

enum { SIZE = 3000000, ROOM = 4000000 };

/* Lines of different lengths, several buffers long. */
static char *long_text(void) {
    char *text = malloc(SIZE);
    assert_non_null(text);
    uint64_t s = 5;
    for (int k = 0; k < SIZE; k++) {
        const uint64_t bits = mpki_random_next(&s);
        text[k] = bits >> 58 ? (char)('0' + (bits >> 40) % 10) : '\n';
    }
    text[SIZE - 1] = '\n';
    return text;
}

static void three_dresses(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    char *text = long_text(), *got;
    unsigned char *packed = malloc(ROOM);
    size_t size;
    assert_int_equal(drain_memory(ctx, text, SIZE, &got, &size), MPK_OK);
    assert_int_equal(size, SIZE);
    assert_memory_equal(got, text, SIZE);
    free(got);
    size_t (*const pack[])(const void *, size_t, unsigned char *, size_t) = {pack_gz, pack_xz};
    for (int k = 0; k < 2; k++) {
        /* two members, one after the other, as cat makes them */
        size_t first = pack[k](text, SIZE / 2, packed, ROOM);
        size_t both =
            first + pack[k](text + SIZE / 2, SIZE - SIZE / 2, packed + first, ROOM - first);
        assert_int_equal(drain_memory(ctx, packed, both, &got, &size), MPK_OK);
        assert_int_equal(size, SIZE);
        assert_memory_equal(got, text, SIZE);
        free(got);
        assert_int_equal(drain_memory(ctx, packed, both - 5, &got, &size), MPK_ERR_FORMAT);
        assert_said(ctx, "cut off");
        free(got);
        packed[first / 2] ^= 0x55;
        assert_int_equal(drain_memory(ctx, packed, both, &got, &size), MPK_ERR_FORMAT);
        assert_said(ctx, "damaged");
        free(got);
    }
    size_t whole = pack_gz("1\n", 2, packed, ROOM);
    memcpy(packed + whole, "rest", 4);
    assert_int_equal(drain_memory(ctx, packed, whole + 4, &got, &size), MPK_ERR_FORMAT);
    assert_said(ctx, "after the gzip data");
    free(got);
    free(packed);
    free(text);
    mpk_context_destroy(&ctx);
}

static void last_line_without_break(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    char *got;
    size_t size;
    assert_int_equal(drain_memory(ctx, "ab\ncd", 5, &got, &size), MPK_OK);
    assert_int_equal(size, 6);
    assert_memory_equal(got, "ab\ncd\n", 6);
    free(got);
    mpk_context_destroy(&ctx);
}

static void endless_line(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    char *text = malloc(SIZE), *got;
    size_t size;
    memset(text, '1', SIZE);
    assert_int_equal(drain_memory(ctx, text, SIZE, &got, &size), MPK_ERR_FORMAT);
    assert_said(ctx, "a line is longer");
    free(got);
    /* just not too long, whatever the buffer */
    static const size_t sizes[] = {65535, 65536, 65537, 100000, 524287, 524288};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        assert_int_equal(drain_memory(ctx, text, sizes[k], &got, &size), MPK_OK);
        assert_int_equal(size, sizes[k] + 1);
        free(got);
    }
    free(text);
    mpk_context_destroy(&ctx);
}

static void other_formats(void **state) {
    (void)state;
    static const struct {
        const char *data;
        size_t size;
        const char *said;
    } cases[] = {{"", 0, "empty"},
                 {"BZh91AY", 7, "bzip2"},
                 {"\x28\xb5\x2f\xfd....", 8, "Zstandard"},
                 {"PK\x03\x04....", 8, "zip"},
                 {"\x89HDF\r\n\x1a\n", 8, "HDF5"},
                 {"MATLAB 5.0 MAT-file", 19, "MATLAB"}};
    mpk_context *ctx = new_context();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *got;
        size_t size;
        assert_int_equal(drain_memory(ctx, cases[k].data, cases[k].size, &got, &size),
                         MPK_ERR_FORMAT);
        assert_said(ctx, cases[k].said);
    }
    mpk_context_destroy(&ctx);
}

static void files_that_cannot_be_read(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpki_stream *s = NULL;
    assert_int_equal(mpki_stream_open(ctx, "/nonexistent/file.mtx", &s), MPK_ERR_FILE);
    assert_said(ctx, "/nonexistent/file.mtx: cannot open: No such file");
    mpki_clear_error(ctx);
    assert_int_equal(mpki_stream_open(ctx, "/", &s), MPK_ERR_FILE);
    assert_said(ctx, "/: cannot read: Is a directory");
    assert_null(s);
    mpk_context_destroy(&ctx);
}

/* A pipe in the place of standard input gives its bytes in small pieces. */
static void standard_input(void **state) {
    (void)state;
    int ends[2], saved = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    assert_int_equal(write(ends[1], "1 2\n3", 5), 5);
    close(ends[1]);
    close(ends[0]);
    mpk_context *ctx = new_context();
    mpki_stream *s = NULL;
    char *got;
    size_t size;
    assert_int_equal(mpki_stream_open(ctx, "-", &s), MPK_OK);
    assert_int_equal(mpki_stream_left(s), -1);
    assert_string_equal(mpki_stream_name(s), "standard input");
    assert_int_equal(drain(s, &got, &size), MPK_OK);
    assert_int_equal(size, 6);
    assert_memory_equal(got, "1 2\n3\n", 6);
    free(got);
    mpki_stream_close(&s);
    dup2(saved, STDIN_FILENO);
    close(saved);
    mpk_context_destroy(&ctx);
}

static int stop(const char *stage, double fraction, void *user) {
    (void)stage;
    (void)fraction;
    ++*(int *)user;
    return 1;
}

static void cancelled(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    int calls = 0;
    char *got;
    size_t size;
    mpk_context_set_progress(ctx, stop, &calls);
    assert_int_equal(drain_memory(ctx, "1\n2\n", 4, &got, &size), MPK_ERR_CANCELLED);
    assert_true(calls > 0);
    free(got);
    mpk_context_destroy(&ctx);
}

static unsigned char sweep_data[4096];
static size_t sweep_size;

static mpk_status read_sweep_data(mpk_context *ctx) {
    char *got;
    size_t size;
    mpk_status status = drain_memory(ctx, sweep_data, sweep_size, &got, &size);
    if (!mpk_failed(status)) assert_int_equal(size, 8);
    free(got);
    return status;
}

static void memory_runs_out(void **state) {
    (void)state;
    sweep_size = pack_gz("1 1 1.5\n", 8, sweep_data, sizeof sweep_data);
    sweep_allocations(read_sweep_data);
    sweep_size = pack_xz("1 1 1.5\n", 8, sweep_data, sizeof sweep_data);
    sweep_allocations(read_sweep_data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_dresses),
        cmocka_unit_test(last_line_without_break),
        cmocka_unit_test(endless_line),
        cmocka_unit_test(other_formats),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(standard_input),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
