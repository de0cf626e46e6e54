/* SPDX-License-Identifier: BSD-3-Clause */
/** Any numbers and strings as a run: the JSON is JSON, the text has lines of at most 100 characters
 *  and none that a terminal would obey. A byte for each word of the struct, then the strings. */
#include "fuzz.h"

#include "report/json.h"

#include <float.h>

/* What an unlucky computation leaves behind; 8 bytes whatever they mean. */
static uint64_t report_word(fuzz_input *in) {
    static const double reals[] = {0.0,     -0.0,     1.0,     -1.0,   0.5,   1e-17,
                                   1e300,   DBL_MAX,  DBL_MIN, 5e-324, 999.5, 119.499,
                                   7199.49, 9.995e-4, 1e21,    -1e300};
    static const int64_t wholes[] = {0,         1,         2,         5,  -1,
                                     INT64_MAX, INT64_MIN, INT32_MAX, 12, (int64_t)1 << 53};
    enum { REALS = sizeof reals / sizeof *reals, WHOLES = sizeof wholes / sizeof *wholes };
    const int byte = fuzz_byte(in);
    uint64_t word;
    double x = 0;
    if (byte < REALS) {
        x = reals[byte];
    } else if (byte < REALS + WHOLES) {
        return (uint64_t)wholes[byte - REALS];
    } else if (byte < 64) { /* two small integers, as enumerators and flags are */
        return (uint64_t)(byte % 7) | (uint64_t)(byte % 5) << 32;
    } else if (byte < 68) {
        x = byte == 64 ? NAN : byte == 65 ? INFINITY : byte == 66 ? -INFINITY : -NAN;
    } else if (byte < 200) {
        return 0;
    } else {
        fuzz_take(in, &word, sizeof word);
        return word;
    }
    memcpy(&word, &x, sizeof word);
    return word;
}

/* Up to the next byte 0 or `most` characters; NULL where the first is 1. */
static const char *report_string(fuzz_input *in, char *to, size_t most) {
    size_t length = 0;
    while (in->left && length < most && *in->data) to[length++] = (char)fuzz_byte(in);
    (void)fuzz_byte(in);
    to[length] = '\0';
    return to[0] == 1 ? NULL : to;
}

static void report_check_text(const char *text) {
    int column = 0;
    for (const char *s = text; *s;) {
        const int length = json_character(s);
        FUZZ_ASSERT(length > 0);
        if (*s == '\n') {
            column = -1;
        } else {
            FUZZ_ASSERT((unsigned char)*s >= 0x20 && *s != 0x7f);
            FUZZ_ASSERT(!((unsigned char)*s == 0xc2 && (unsigned char)s[1] < 0xa0));
        }
        FUZZ_ASSERT(++column <= 100);
        s += length;
    }
    FUZZ_ASSERT(!*text || text[strlen(text) - 1] == '\n');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    /* 3 x 3: 4 . . / 1 0 . / . 2 5 */
    static const int64_t ap[] = {0, 2, 4, 5};
    static const int32_t ai[] = {0, 1, 1, 2, 2};
    static const double ax[] = {4, -1, 0, 2, 5};
    static char strings[3][3000];
    static double history[2100];
    fuzz_input in = {data, size};
    fuzz_purse purse = {.limit = (size_t)16 << 20, .strict = 1};
    mpk_context *ctx = fuzz_context(&purse);
    mpk_report *report = NULL;
    mpk_run run;
    const int how = fuzz_byte(&in);
    for (size_t at = 0; at + sizeof(uint64_t) <= sizeof run; at += sizeof(uint64_t)) {
        const uint64_t word = report_word(&in);
        memcpy((char *)&run + at, &word, sizeof word);
    }
    run.source = report_string(&in, strings[0], sizeof strings[0] - 1);
    run.message = report_string(&in, strings[1], sizeof strings[1] - 1);
    run.backend = report_string(&in, strings[2], sizeof strings[2] - 1);
    run.history_count = how & 1 ? fuzz_byte(&in) * fuzz_byte(&in) % 2100 : -(how / 64);
    for (int32_t k = 0; k < run.history_count; k++) {
        const uint64_t word = report_word(&in);
        memcpy(&history[k], &word, sizeof word);
    }
    run.history = how & 2 ? history : NULL;
    run.problem.ap = how & 4 ? ap : NULL;
    run.problem.ai = ai;
    run.problem.ax = ax;
    if (run.problem.ap && !run.have_analysis) /* the arrays will be looked at */
        run.problem = (mpk_problem_view){3, 5, MPK_D, MPK_SYMMETRIC, ap, ai, ax};
    if (how & 8) run.attempts = (int32_t)((uint32_t)run.attempts % (MPK_ATTEMPTS + 1));
    run.options.given_perm = run.options.given_blocks = run.options.given_pivots = NULL;
    const mpk_status status = mpk_report_create(ctx, &run, &report);
    FUZZ_ASSERT(status == MPK_OK || status == MPK_ERR_ARGUMENT);
    FUZZ_ASSERT((status == MPK_OK) == (report != NULL));
    if (run.attempts >= 0 && run.attempts <= MPK_ATTEMPTS) FUZZ_ASSERT(report);
    if (report) {
        FUZZ_ASSERT(json_valid(mpk_report_json(report)));
        report_check_text(mpk_report_text(report));
        FUZZ_ASSERT(mpk_exit_code(run.status) >= 0);
    }
    mpk_report_destroy(&report);
    fuzz_end(ctx, &purse);
    return 0;
}
