/* SPDX-License-Identifier: BSD-3-Clause */
/* A shared object around one kernel of borgc's: SOURCE the file, NAME the kernel, THREADS of a
 * block and GROUPS of the batch that a block does, all from the compiler's command line. */
#include SOURCE

extern "C" int bench_launch(void **arguments, long long groups) {
    const unsigned blocks = (unsigned)((groups + GROUPS - 1) / GROUPS);
    return (int)cudaLaunchKernel((const void *)NAME, dim3(blocks), dim3(THREADS), arguments, 0, 0);
}
