/* SPDX-License-Identifier: BSD-3-Clause */
/* The command on files that cannot be taken or written: exit codes, reasons, nothing
 * overwritten. */
#include "support.h"

#include <sys/sysmacros.h>

#define COORDINATE "%%MatrixMarket matrix coordinate real "
#define ARRAY "%%MatrixMarket matrix array real general\n"

static outcome o;

/* A file that cannot be taken: exit code 2, the reason with the place, valid JSON, and an output
 * that was there before is untouched. */
static void refused(const char *name, const char *said) {
    write_text("x.mtx", "precious");
    RUN(&o, NULL, "solve", name, "-o", "x.mtx", "--json");
    assert_code(&o, 2);
    if (!json_valid(o.out)) fail_msg("not JSON: %s", o.out);
    assert_has(o.out, "\"message\": \"");
    assert_has(o.err, "metapack solve: ");
    assert_has(o.err, said);
    char text[64];
    read_text("x.mtx", text, sizeof text);
    assert_string_equal(text, "precious");
    unlink("x.mtx");
}

static void bad_matrices(void **state) {
    (void)state;
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"", "bad.mtx"},
        {"hello\n", "bad.mtx:1"},
        {COORDINATE "symmetric\n", "bad.mtx"},
        {COORDINATE "symmetric\n2 2\n", "bad.mtx:2"},
        {COORDINATE "symmetric\n2 2 2\n1 1 1\n", "bad.mtx"}, /* truncated */
        {COORDINATE "symmetric\n2 2 1\n1 1 1\n2 2 1\n", "bad.mtx:4"},
        {COORDINATE "symmetric\n2 2 1\n1 1 nan\n", "bad.mtx:3"},
        {COORDINATE "symmetric\n2 2 1\n1 1 inf\n", "bad.mtx:3"},
        {COORDINATE "symmetric\n2 2 1\n1 1 1e999\n", "bad.mtx:3"},
        {COORDINATE "symmetric\n2 2 1\n3 1 1\n", "bad.mtx:3"},
        {COORDINATE "symmetric\n2 2 1\n0 1 1\n", "bad.mtx:3"},
        {COORDINATE "symmetric\n2 2 1\n1 1 one\n", "bad.mtx:3"},
        {COORDINATE "symmetric\n2 2 1\n1 1\n", "bad.mtx:3"},
        {COORDINATE "symmetric\n2 3 1\n1 1 1\n", "not square"},
        {COORDINATE "general\n2 3 2\n1 2 1\n2 1 2\n", "not square"},
        {COORDINATE "skew-symmetric\n2 2 1\n1 2 1\n", "skew"},
        {COORDINATE "symmetric\n0 0 0\n", "bad.mtx"},
        {COORDINATE "symmetric\n-2 -2 1\n1 1 1\n", "bad.mtx:2"},
        {COORDINATE "symmetric\n99999999999999999999 99999999999999999999 1\n1 1 1\n", "bad.mtx:2"},
        {COORDINATE "symmetric\n3000000000 3000000000 1\n1 1 1\n", "bad.mtx:2"},
        {COORDINATE "symmetric\n2 2 9223372036854775807\n1 1 1\n", "bad.mtx"},
        {ARRAY "2 2\n1\n2\n", "bad.mtx"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        write_text("bad.mtx", cases[k].text);
        refused("bad.mtx", cases[k].said);
    }
    refused("none.mtx", "none.mtx");
    refused(".", "."); /* a folder */
    assert_files(1);
}

static void bad_bytes(void **state) {
    (void)state;
    static char gzip[1 << 14], noise[1 << 12];
    for (size_t k = 0; k < sizeof noise; k++) noise[k] = (char)(k * 2654435761u >> 13);
    write_bytes("bad.mtx", noise, sizeof noise);
    refused("bad.mtx", "bad.mtx");
    RUN(&o, NULL, "generate", "nlpkkt", "4", "-o", "good.mtx.gz", "-q");
    assert_code(&o, 0);
    FILE *file = fopen("good.mtx.gz", "rb");
    size_t size = fread(gzip, 1, sizeof gzip, file);
    fclose(file);
    write_bytes("bad.mtx.gz", gzip, size / 2); /* cut off */
    refused("bad.mtx.gz", "bad.mtx.gz");
    for (size_t k = size / 2; k < size / 2 + 40; k++) gzip[k] ^= 0x55;
    write_bytes("bad.mtx.gz", gzip, size);
    refused("bad.mtx.gz", "bad.mtx.gz");
    write_bytes("bad.mtx.xz",
                "\xfd"
                "7zXZ\0more",
                10);
    refused("bad.mtx.xz", "bad.mtx.xz");
}

static void bad_right_hand_sides(void **state) {
    (void)state;
    static const struct {
        const char *text, *said;
    } cases[] = {
        {ARRAY "4 1\n1\n1\n1\n1\n", "b.mtx"},
        {ARRAY "5 1\n1\n1\n1\n1\n", "b.mtx"},
        {ARRAY "5 1\n1\n1\nnan\n1\n1\n", "b.mtx:5"},
        {ARRAY "5 1\n1\n1\nx\n1\n1\n", "b.mtx:5"},
        {"%%MatrixMarket matrix array complex general\n5 1\n1 0\n1 0\n1 0\n1 0\n1 0\n", "complex"},
        {"", "b.mtx"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        write_text("b.mtx", cases[k].text);
        RUN(&o, NULL, "solve", TINY "kkt.mtx", "-b", "b.mtx", "-o", "x.mtx", "--json");
        assert_code(&o, 2);
        assert_true(json_valid(o.out));
        assert_has(o.err, cases[k].said);
        assert_files(1);
    }
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "-b", "none.mtx");
    assert_code(&o, 2);
    assert_has(o.err, "none.mtx");
}

/* Where nothing can be written: said before the work, and nothing is left. */
static void bad_outputs(void **state) {
    (void)state;
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "-o", "none/x.mtx", "--json");
    assert_code(&o, 2);
    assert_has(o.err, "none");
    assert_true(json_valid(o.out));
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "-o", ".");
    assert_code(&o, 2);
    assert_has(o.err, "a folder");
    RUN(&o, NULL, "generate", "nlpkkt", "3", "-o", "/nowhere/a.mtx");
    assert_code(&o, 2);
    RUN(&o, NULL, "convert", TINY "kkt.mtx", "a.unknown");
    assert_true(o.code == 1 || o.code == 2);
    assert_has(o.err, "a.unknown");
    assert_files(0);
}

/* A pipe is written into, not replaced by a file. */
static void pipes_stay_pipes(void **state) {
    (void)state;
    static char text[1 << 16];
    struct stat was;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    int fd = open("pipe", O_RDWR | O_NONBLOCK);
    assert_true(fd >= 0);
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "-o", "pipe", "-q");
    assert_code(&o, 0);
    assert_int_equal(stat("pipe", &was), 0);
    assert_true(S_ISFIFO(was.st_mode));
    assert_true(read(fd, text, sizeof text - 1) > 20);
    assert_int_equal(strncmp(text, "%%MatrixMarket", 14), 0);
    RUN(&o, NULL, "info", TINY "kkt.mtx", "--plot", "pipe", "-q");
    assert_code(&o, 0);
    assert_int_equal(stat("pipe", &was), 0);
    assert_true(S_ISFIFO(was.st_mode));
    while (read(fd, text, sizeof text - 1) > 0) {}
    RUN(&o, NULL, "stats", TINY "kkt.mtx", "--plot", "pipe", "-q");
    assert_code(&o, 0);
    assert_int_equal(stat("pipe", &was), 0);
    assert_true(S_ISFIFO(was.st_mode));
    assert_true(read(fd, text, sizeof text - 1) > 20);
    close(fd);
}

static mode_t kind(const char *path) {
    struct stat info;
    return lstat(path, &info) ? 0 : info.st_mode & S_IFMT;
}

/* A link stays one, whether or not there is a file at its end. */
static void links_stay_links(void **state) {
    (void)state;
    static const char *const verbs[] = {"info", "stats"};
    static char text[1 << 16];
    for (int k = 0; k < 4; k++) {
        if (k < 2) {
            unlink("link.svg");
            unlink("target.svg");
            assert_int_equal(symlink("target.svg", "link.svg"), 0);
        } else {
            write_text("target.svg", "old");
        }
        RUN(&o, NULL, verbs[k % 2], TINY "kkt.mtx", "--plot", "link.svg", "-q");
        assert_code(&o, 0);
        assert_int_equal(kind("link.svg"), S_IFLNK);
        assert_int_equal(kind("target.svg"), S_IFREG);
        read_text("target.svg", text, sizeof text);
        assert_non_null(strstr(text, "<svg"));
    }
    assert_int_equal(mkdir("below", 0700), 0); /* relative to where the link is */
    assert_int_equal(symlink("../x.mtx", "below/one.mtx"), 0);
    assert_int_equal(symlink("below/one.mtx", "two.mtx"), 0);
    RUN(&o, NULL, "generate", "nlpkkt", "3", "-o", "two.mtx", "-q");
    assert_code(&o, 0);
    assert_int_equal(kind("below/one.mtx"), S_IFLNK);
    assert_int_equal(kind("two.mtx"), S_IFLNK);
    assert_int_equal(kind("x.mtx"), S_IFREG);
    assert_int_equal(symlink("round.mtx", "round.mtx"), 0);
    RUN(&o, NULL, "generate", "nlpkkt", "3", "-o", "round.mtx", "-q");
    assert_code(&o, 2);
    assert_has(o.err, "round.mtx");
    assert_int_equal(kind("round.mtx"), S_IFLNK);
    unlink("below/one.mtx");
    rmdir("below");
    unlink("link.svg");
    unlink("two.mtx");
    unlink("round.mtx");
    assert_files(2);
    /* standard output by its other name goes where it is, after what is there already */
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "-o", "/dev/stdout", "-q");
    assert_code(&o, 0);
    assert_int_equal(strncmp(o.out, "%%MatrixMarket", 14), 0);
    assert_files(2);
}

/* A device with no room is an error that names it; it stays a device, and nothing is left. Root
 * could replace it, and tries with a copy. */
static void full_devices(void **state) {
    (void)state;
    const char *path = "/dev/full";
    if (geteuid() == 0) {
        path = "full";
        assert_int_equal(mknod(path, S_IFCHR | 0600, makedev(1, 7)), 0);
        const int fd = open(path, O_WRONLY);
        unlink(fd < 0 ? path : "");
        if (fd < 0) skip(); /* a file system without devices */
        close(fd);
    }
    for (int k = 0; k < 3; k++) {
        if (k == 0) RUN(&o, NULL, "solve", TINY "kkt.mtx", "-o", path, "-q");
        if (k == 1) RUN(&o, NULL, "info", TINY "kkt.mtx", "--plot", path, "-q");
        if (k == 2) RUN(&o, NULL, "stats", TINY "kkt.mtx", "--plot", path, "-q");
        assert_code(&o, 2);
        assert_has(o.err, path);
        assert_has(o.err, "No space left on device");
        assert_int_equal(kind(path), S_IFCHR);
    }
    if (geteuid() == 0) unlink(path);
    assert_files(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(bad_matrices, empty_folder),
        cmocka_unit_test_teardown(bad_bytes, empty_folder),
        cmocka_unit_test_teardown(bad_right_hand_sides, empty_folder),
        cmocka_unit_test_teardown(bad_outputs, empty_folder),
        cmocka_unit_test_teardown(pipes_stay_pipes, empty_folder),
        cmocka_unit_test_teardown(links_stay_links, empty_folder),
        cmocka_unit_test_teardown(full_devices, empty_folder)};
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
