/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_VECTOR_RECTANGULAR_H
#define SIM_VECTOR_RECTANGULAR_H
/** Matrices that are not square. */
#include "sim/vector/sweep.h"

/** Is the text a Matrix Market file, by coordinates, of a matrix that is not square? */
bool vs_is_rectangular(const char *text, size_t length);
/** Read it: real, integer or a pattern (ones), general. False after messages with line and
 *  caret. */
bool vs_matrix_read(vs_matrix *matrix, const char *file, const char *text, size_t length,
                    borg_diags *diags);
/** Rows rows[0] .. rows[1]-1 and columns cols[0] .. cols[1]-1 of a matrix. */
vs_matrix vs_matrix_part(const vs_matrix *matrix, const int64_t rows[2], const int64_t cols[2],
                         borg_arena *arena);

#endif
