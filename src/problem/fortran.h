/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PROBLEM_FORTRAN_H
#define MPKI_PROBLEM_FORTRAN_H
/** Numbers in columns of fixed width, as Fortran formats lay them out. */
#include "text.h"

/** (kP,rEw.d) and the like: r numbers to a line, each w characters wide. */
typedef struct mpki_fortran {
    int scale;    /* k */
    int per_line; /* r >= 1 */
    char letter;  /* I, or E for E, D, F and G */
    int width;    /* w >= 1 */
    int decimals; /* d, for numbers written without a point */
} mpki_fortran;

/** Read a format: "(10I8)", "(1P,4E20.12)", "(1P4D20.12)", "(5(E16.8))"; *text is left after its
 * ')'. */
bool mpki_fortran_parse(const char **text, mpki_fortran *format);

/** Where a run of numbers stands. */
typedef struct mpki_fields {
    mpki_text *text;
    const mpki_fortran *format;
    const char *what; /* for messages: "column pointers" */
    const char *line; /* present line, NULL: begin the next */
    int field;        /* numbers taken from it */
} mpki_fields;

/** The next number. Errors name the line. */
mpk_status mpki_fields_integer(mpki_fields *fields, int64_t *value);
mpk_status mpki_fields_real(mpki_fields *fields, double *value);
/** Leave the present line. */
void mpki_fields_end(mpki_fields *fields);

#endif
