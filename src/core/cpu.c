/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of an instruction set: what was built, what the processor has, what METAPACK_CPU says.
 */
#include "cpu.h"
#include "config.h"

#include <stdlib.h>
#include <string.h>

mpk_status mpki_cpu_choose(const char *wish, int widest, int built, int *level, const char **text) {
    static const char *const words[] = {"generic", "avx2", "avx512"};
    /* static, for callers without a context: [level asked for][widest of the processor] */
    static const char *const too_wide[3][2] = {
        {"", ""},
        {"METAPACK_CPU = avx2: this processor has no AVX2; it can do: generic", ""},
        {"METAPACK_CPU = avx512: this processor has no AVX-512; it can do: generic",
         "METAPACK_CPU = avx512: this processor has no AVX-512; it can do: generic | avx2"}};
    static const char *const not_built[] = {
        "METAPACK_CPU = generic: this library was built without it (METAPACK_ISAS)",
        "METAPACK_CPU = avx2: this library was built without it (METAPACK_ISAS)",
        "METAPACK_CPU = avx512: this library was built without it (METAPACK_ISAS)"};
    int asked = -1, least = 0, most = -1; /* the least that was built; the most that can be used */
    while (!(built >> least & 1)) least++;
    for (int k = 0; k <= widest; k++)
        if (built >> k & 1) most = k;
    for (int k = 0; wish && k < 3; k++)
        if (!strcmp(wish, words[k])) asked = k;
    mpk_status status = MPK_OK;
    const char *wrong = "";
    if (wish && *wish && asked < 0) {
        status = MPK_ERR_ARGUMENT;
        wrong = "METAPACK_CPU in the environment: expected generic | avx2 | avx512";
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
