/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_FILES_H
#define BORG_FILES_H
/** Sources from the file system, for the command and the tests; the compiler itself reads none. */
#include "borg/borg.h"
#include <stdio.h>

/** All that is left of a file, at most 1 GiB, and a NUL behind it; the caller frees it. NULL: errno
 *  tells why. */
char *borg_read_all(FILE *file, size_t *length);

/** Reads what #include names as a path of this machine. */
extern const borg_reader borg_file_reader;

#endif
