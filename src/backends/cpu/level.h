/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_LEVEL_H
#define MPKI_LEVEL_H

/** Widest usable instruction set: 0 generic, 1 AVX2, 2 AVX-512; and its name "cpu-..." for reports.
 */
int mpki_cpu_level(void);
const char *mpki_cpu_name(void);

#endif
