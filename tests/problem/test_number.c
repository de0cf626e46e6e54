/* SPDX-License-Identifier: BSD-3-Clause */
/* Decimal numbers, hard and random ones, against the C library. */
#include "support.h"

#include "core/random.h"
#include "problem/number.h"
#include <locale.h>

/* Read one token; the rest of the buffer is poisoned with digits. */
static int read_token(const char *token, double *x) {
    char text[1200];
    memset(text, '7', sizeof text);
    size_t size = strlen(token);
    memcpy(text, token, size);
    text[size] = '\n';
    const char *p = text;
    return mpki_read_real(&p, x) && p == text + size;
}

static void assert_bits(const char *token, double want) {
    double x = 12345;
    if (!read_token(token, &x)) fail_msg("'%s' is not read", token);
    if (memcmp(&x, &want, sizeof x)) fail_msg("'%s': %.17g, not %.17g", token, x, want);
}

static void hard_numbers(void **state) {
    (void)state;
    static const char *const tokens[] = {
        "0",
        "-0",
        "+0.0",
        "0e999999999",
        "1",
        "-1",
        ".5",
        "5.",
        "1e5",
        "1E+5",
        "1e-5",
        "9007199254740992",
        "9007199254740993",
        "9007199254740994",
        "9007199254740993.0000000001",
        "9007199254740992.5",
        "9007199254740991.5",
        "18446744073709551615",
        "9999999999999999999",
        "1e22",
        "1e23",
        "1e-22",
        "1e-23",
        "8.5e22",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "2.2250738585072014e-308",
        "2.2250738585072011e-308",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "0.1",
        "0.2",
        "0.3",
        "123456789012345678901234567890",
        "0.000000000000000000000000000001",
        "1.00000000000000011102230246251565404236316680908203125",
        "1.00000000000000011102230246251565404236316680908203124",
        "1.00000000000000011102230246251565404236316680908203126",
        "6.631236846766477e-316",
        "3.237883913302901289588352412501532174863037669423108059901297e-319",
        "7.2057594037927933e16",
        "000000000000000000000000000000000000123.5",
        "0.00000000000000000000000000000000000000123",
        "1.0000000000000000000000000000000",
        "1e-400",
        "1234567812345678.12345678",
        "99999999.99999999",
        "12345678",
        "123456781234567",
    };
    for (size_t k = 0; k < sizeof tokens / sizeof *tokens; k++)
        assert_bits(tokens[k], strtod(tokens[k], NULL));
    char longest[900] = "1.";
    memset(longest + 2, '0', 800);
    strcpy(longest + 802, "1e2");
    assert_bits(longest, strtod(longest, NULL));
    memset(longest, '0', 850);
    strcpy(longest + 850, "1D-845");
    double tiny = 0;
    assert_true(read_token(longest, &tiny) && tiny == 0); /* 10^-845 */
    strcpy(longest + 850, "123D+5");
    assert_bits(longest, 12300000);
    assert_bits("1.5D+3", 1500);
    assert_bits("-2d-1", -.2);
    assert_bits("123456789012345678901234567890D-5", 123456789012345678901234567890e-5);
    assert_bits("1e400", INFINITY);
    assert_bits("-inf", -INFINITY);
    assert_bits("Infinity", INFINITY);
    double x;
    assert_true(read_token("NaN", &x) && isnan(x));
}

static void not_numbers(void **state) {
    (void)state;
    static const char *const tokens[] = {"",     "-",     ".",     "e5",  "1e",  "1e+",
                                         "1x",   "--1",   "1.2.3", "0x1", "1,5", "infx",
                                         "nana", "1e5.0", "+-1",   "1_0", "i"};
    for (size_t k = 0; k < sizeof tokens / sizeof *tokens; k++) {
        double x;
        if (read_token(tokens[k], &x)) fail_msg("'%s' is read as %g", tokens[k], x);
    }
}

/* Random doubles, printed with few and many digits: as the C library reads them. */
static void random_numbers(void **state) {
    (void)state;
    static const char *const formats[] = {"%.17g", "%.16g", "%.15g", "%.6g",
                                          "%.19g", "%.25e", "%.3f"};
    uint64_t s = 1;
    long quick = 0, total = 0;
    for (int k = 0; k < 300000; k++) {
        uint64_t bits = mpki_random_next(&s);
        if (k % 2)
            bits = (bits & 0x800fffffffffffffu) | ((960 + bits % 128) << 52); /* common sizes */
        double x;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x)) continue;
        char text[400];
        const char *format = formats[k % 7];
        if (k % 7 == 6 && fabs(x) > 1e30) format = formats[0];
        snprintf(text, sizeof text, format, x);
        assert_bits(text, strtod(text, NULL));
        /* and by the exact path alone */
        uint64_t w = (s >> 20) * 3 + 1;
        int q = (int)(s % 660) - 345;
        double y;
        snprintf(text, sizeof text, "%llue%d", (unsigned long long)w, q);
        total++;
        if (!mpki_decimal(w, q, &y)) continue;
        quick++;
        double want = strtod(text, NULL);
        if (memcmp(&y, &want, sizeof y)) fail_msg("%s: %.17g, not %.17g", text, y, want);
    }
    assert_true(quick > total * 9 / 10);
}

static void integers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int good;
        int64_t value;
    } cases[] = {{"0\n", 1, 0},
                 {"+17 ", 1, 17},
                 {"999999999999999999\t", 1, 999999999999999999},
                 {"1000000000000000000\n", 0, 0},
                 {"-1\n", 0, 0},
                 {"1.\n", 0, 0},
                 {"\n", 0, 0},
                 {"+\n", 0, 0}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const char *p = cases[k].text;
        int64_t x = -7;
        assert_int_equal(mpki_read_integer(&p, &x), cases[k].good);
        assert_int_equal(x, cases[k].good ? cases[k].value : -7);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hard_numbers),
        cmocka_unit_test(not_numbers),
        cmocka_unit_test(random_numbers),
        cmocka_unit_test(integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
