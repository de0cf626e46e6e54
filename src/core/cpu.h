/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CORE_CPU_H
#define MPKI_CORE_CPU_H
/** Which vector instructions may be used, by level: 0 none beyond the compiler's own, then wider
 *  ones: AVX2 and AVX-512, or on 64-bit Arm NEON and SVE of 256 bits. */
#include <metapack/status.h>

/** X(word) for each level, the narrowest first: what METAPACK_CPU and METAPACK_ISAS call them. */
#if defined(__aarch64__)
#define MPKI_LEVELS(X) X(generic) X(neon) X(sve256)
#else
#define MPKI_LEVELS(X) X(generic) X(avx2) X(avx512)
#endif
enum { MPKI_LEVEL_COUNT = 3 };

/** The words. */
extern const char *const mpki_cpu_words[MPKI_LEVEL_COUNT];

/** The widest that this processor has and the system saves. */
int mpki_cpu_widest(void);

/** The level that the word `wish` asks for; NULL or empty: the widest that can be used.
 *  widest [in]  level of the processor
 *  built  [in]  levels that there are kernels for: bits 1 << level, at least one
 *  level  [out] the level; if the wish is refused, the widest that can be used; always one that was
 *               built; may be NULL
 *  text   [out] what is wrong with METAPACK_CPU = wish, "" if nothing is; static; may be NULL
 *  Returns MPK_OK | MPK_ERR_ARGUMENT (no such word)
 *          | MPK_ERR_UNSUPPORTED (more than the processor has, or not built). */
mpk_status mpki_cpu_choose(const char *wish, int widest, int built, int *level, const char **text);
/** The same of METAPACK_CPU in the environment and this processor. */
mpk_status mpki_cpu_wish(int *level, const char **text);

#endif
