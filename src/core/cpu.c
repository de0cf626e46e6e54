/* SPDX-License-Identifier: BSD-3-Clause */
#include "cpu.h"

#include <stdlib.h>
#include <string.h>

int mpki_cpu_widest(void) {
    int level = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) level = 1;
    if (level == 1 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        level = 2;
#endif
    return level;
}

mpk_status mpki_cpu_choose(const char *wish, int widest, int *level, const char **text) {
    static const char *const words[] = {"generic", "avx2", "avx512"};
    /* static, for whoever has no context yet: asked level, widest there is */
    static const char *const too_wide[3][2] = {
        {"", ""},
        {"METAPACK_CPU = avx2: this processor has no AVX2; it can do: generic", ""},
        {"METAPACK_CPU = avx512: this processor has no AVX-512; it can do: generic",
         "METAPACK_CPU = avx512: this processor has no AVX-512; it can do: generic | avx2"}};
    int asked = -1;
    for (int k = 0; wish && k < 3; k++)
        if (!strcmp(wish, words[k])) asked = k;
    if (!wish || !*wish) asked = widest;
    if (level) *level = asked < 0 || asked > widest ? widest : asked;
    if (text)
        *text = asked < 0 ? "METAPACK_CPU in the environment: expected generic | avx2 | avx512"
                : asked > widest ? too_wide[asked][widest]
                                 : "";
    return asked < 0 ? MPK_ERR_ARGUMENT : asked > widest ? MPK_ERR_UNSUPPORTED : MPK_OK;
}

mpk_status mpki_cpu_wish(int *level, const char **text) {
    return mpki_cpu_choose(getenv("METAPACK_CPU"), mpki_cpu_widest(), level, text);
}
