/* SPDX-License-Identifier: BSD-3-Clause */
/** The backends, in the order of --help: X(name) for each folder borg/emit/<name>/, which defines
 *  `const borg_backend borg_backend_<name>`. Included by list.c alone. */
#define BORG_BACKENDS(X) X(c) X(avx512) X(cuda) X(opencl) X(llvm) X(ve) X(hls) X(pipe) X(vrptx)
