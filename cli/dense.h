/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPK_CLI_DENSE_H
#define MPK_CLI_DENSE_H
/** Dense matrices in the command. */
#include "cli.h"

/** The mpk_dense_method of a word ("on": auto), -1: none. */
int cli_dense_method(const char *word);
/** Is it a Matrix Market array, uncompressed? */
bool cli_is_array(const char *path);
/** Of the options that dense methods read, does this one? key: as in the table of options */
bool cli_dense_reads(const cli_args *args, int method, const char *key);
/** metapack solve by metapack/dense.h; returns the exit code. */
int cli_solve_dense(cli_args *args, const mpk_job *job, int method);

#endif
