/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of an instruction set: what was built, what the processor has, what METAPACK_CPU says.
 */
#include "cpu.h"
#include "config.h"

#include <stdlib.h>
#include <string.h>

#define WORD(word) #word,
const char *const mpki_cpu_words[MPKI_LEVEL_COUNT] = {MPKI_LEVELS(WORD)};

#if defined(__aarch64__)
#define W1 "neon"
#define W2 "sve256"
#define NAME1 "NEON"
#define NAME2 "SVE of 256 bits"
#else
#define W1 "avx2"
#define W2 "avx512"
#define NAME1 "AVX2"
#define NAME2 "AVX-512"
#endif

mpk_status mpki_cpu_choose(const char *wish, int widest, int built, int *level, const char **text) {
    /* static, for callers without a context: [level asked for][widest of the processor] */
    static const char *const too_wide[3][2] = {
        {"", ""},
        {"METAPACK_CPU = " W1 ": this processor has no " NAME1 "; it can do: generic", ""},
        {"METAPACK_CPU = " W2 ": this processor has no " NAME2 "; it can do: generic",
         "METAPACK_CPU = " W2 ": this processor has no " NAME2 "; it can do: generic | " W1}};
    static const char *const not_built[] = {
        "METAPACK_CPU = generic: this library was built without it (METAPACK_ISAS)",
        "METAPACK_CPU = " W1 ": this library was built without it (METAPACK_ISAS)",
        "METAPACK_CPU = " W2 ": this library was built without it (METAPACK_ISAS)"};
    int asked = -1, least = 0, most = -1; /* the least that was built; the most that can be used */
    while (!(built >> least & 1)) least++;
    for (int k = 0; k <= widest; k++)
        if (built >> k & 1) most = k;
    for (int k = 0; wish && k < MPKI_LEVEL_COUNT; k++)
        if (!strcmp(wish, mpki_cpu_words[k])) asked = k;
    mpk_status status = MPK_OK;
    const char *wrong = "";
    if (wish && *wish && asked < 0) {
        status = MPK_ERR_ARGUMENT;
        wrong = "METAPACK_CPU in the environment: expected generic | " W1 " | " W2;
    } else if (asked > widest) {
        status = MPK_ERR_UNSUPPORTED;
        wrong = too_wide[asked][widest];
    } else if (asked >= 0 && !(built >> asked & 1)) {
        status = MPK_ERR_UNSUPPORTED;
        wrong = not_built[asked];
    } else if (most < 0) {
        status = MPK_ERR_UNSUPPORTED;
        wrong = "this library was built for wider vectors than this processor has (METAPACK_ISAS)";
    }
    if (level) *level = !status && asked >= 0 ? asked : most < 0 ? least : most;
    if (text) *text = wrong;
    return status;
}

mpk_status mpki_cpu_wish(int *level, const char **text) {
    return mpki_cpu_choose(getenv("METAPACK_CPU"), mpki_cpu_widest(), MPKI_ISAS, level, text);
}
