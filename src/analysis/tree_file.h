/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_TREE_FILE_H
#define MPKI_TREE_FILE_H
/** An order and its supernodes as text: for each position a line with the row of A, the supernode
 *  and its parent, counted from 1; a root has the parent 0. Lines that begin with % are comments. */
#include "../core/core.h"
#include <metapack/analysis.h>

typedef struct mpki_tree_file {
    int32_t supernodes;
    int32_t *perm, *first, *parent; /* as mpk_analyse_tree() takes them */
} mpki_tree_file;

/** Read a tree of n positions, plain, .gz or .xz; whether it is one is seen when it is used.
 *  t [out] freed with mpki_tree_file_free(), after a failure too
 *  Returns MPK_OK | MPK_ERR_FILE, _INPUT (with the line), _MEMORY */
mpk_status mpki_tree_read(mpk_context *ctx, const char *path, int32_t n, mpki_tree_file *t);
void mpki_tree_file_free(mpk_context *ctx, mpki_tree_file *t);

/** Returns MPK_OK | MPK_ERR_FILE, _MEMORY | MPK_ERR_UNSUPPORTED: it is empty, of an analysis without
 *  a tree */
mpk_status mpki_tree_write(mpk_context *ctx, const char *path, const mpk_tree *tree);

#endif
