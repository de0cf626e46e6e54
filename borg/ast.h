/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_AST_H
#define BORG_AST_H
/** The source language: tokens, the typed tree, and the three steps that make it.
 *  language.md is what they implement (after table 7.1 of the thesis of 2021). */
#include "borg/borg.h"

/* ---- lex.c: text -> tokens, macros expanded -------------------------------------------------- */

typedef enum borg_token_kind {
    BORG_TOKEN_END,
    BORG_TOKEN_NAME,
    BORG_TOKEN_INT,
    BORG_TOKEN_FLOAT,
    BORG_TOKEN_PUNCT,
    BORG_TOKEN_PRAGMA /* text: the rest of the line */
} borg_token_kind;

typedef struct borg_token {
    borg_token_kind kind;
    borg_loc loc;     /* for a macro's text: where the macro is used */
    const char *text; /* NUL-terminated */
    uint64_t integer; /* INT */
    bool uns, wide;   /* INT: suffix u, l */
    double real;      /* FLOAT */
    bool single;      /* FLOAT: suffix f */
} borg_token;

/** All tokens of diags->source, ended by END; macros, conditionals and #include are processed.
 *  defines: "NAME" or "NAME=text", NULL-terminated, may be NULL. reader: may be NULL. Errors go to
 *  diags; the tokens can be used even then. */
borg_token *borg_lex(borg_arena *arena, const char *const *defines, const borg_reader *reader,
                     borg_diags *diags);

/** condition.c: the value of the tokens after #if, up to END; false: they are no expression. */
bool borg_condition(const borg_token *tokens, int64_t *value);

/* ---- the tree -------------------------------------------------------------------------------- */

typedef enum borg_ctype {
    BORG_C_VOID,
    BORG_C_BOOL,
    BORG_C_CHAR, /* up to USHORT: held as int, narrow in memory */
    BORG_C_UCHAR,
    BORG_C_SHORT,
    BORG_C_USHORT,
    BORG_C_INT,
    BORG_C_UINT,
    BORG_C_LONG,
    BORG_C_ULONG,
    BORG_C_HALF, /* held as float, narrow in memory */
    BORG_C_FLOAT,
    BORG_C_DOUBLE,
    BORG_C_CFLOAT, /* float complex: a value of two rows, real and imaginary part */
    BORG_C_CDOUBLE
} borg_ctype;

typedef enum borg_storage {
    BORG_PRIVATE,
    BORG_LOCAL_REGISTERS, /* __local */
    BORG_LOCAL_MEMORY,    /* __local volatile */
    BORG_PARAMETER
} borg_storage;

/** A variable or parameter. */
typedef struct borg_decl {
    struct borg_decl *next; /* of the same declaration or parameter list */
    const char *name;
    borg_loc loc;
    borg_ctype type;
    borg_storage storage;
    int32_t depth; /* parameter: 0 scalar, 1 pointer, 2 array of pointers */
    bool alias;    /* array parameter of a helper function: another name for the caller's array */
    bool constant, restricted;
    bool array;
    struct borg_expr *length; /* array: as written; NULL: the argument's length */
    int32_t count;            /* elements: 1 of a scalar, 0: as many as the argument's */
    struct borg_expr *init;   /* or NULL; a LIST for arrays */
    int32_t number;           /* unique in the file */
} borg_decl;

typedef enum borg_expr_kind {
    BORG_E_INT,
    BORG_E_FLOAT,
    BORG_E_NAME,    /* decl */
    BORG_E_INDEX,   /* args: index [, second index]; decl */
    BORG_E_UNARY,   /* text: - + ~ ! */
    BORG_E_BINARY,  /* text: the operator */
    BORG_E_LOGICAL, /* && || */
    BORG_E_TERNARY,
    BORG_E_ASSIGN, /* args: place, value; text "=" or "+=" ... */
    BORG_E_STEP,   /* ++ --; post: value before */
    BORG_E_CAST,
    BORG_E_CALL, /* text: name; builtin or function */
    BORG_E_COMMA,
    BORG_E_LIST /* {a, b}: an initialiser */
} borg_expr_kind;

typedef enum borg_builtin {
    BORG_B_NONE,
    BORG_B_LOCAL_ID,
    BORG_B_LOCAL_SIZE,
    BORG_B_GROUP_ID,
    BORG_B_GLOBAL_ID,
    BORG_B_SQRT,
    BORG_B_RCP,
    BORG_B_FABS,
    BORG_B_ABS,
    BORG_B_FMA,
    BORG_B_FLOOR,
    BORG_B_EXP,
    BORG_B_LOG,
    BORG_B_POW,
    BORG_B_MAX,
    BORG_B_MIN,
    BORG_B_ISNAN,
    BORG_B_MAGNITUDE,
    BORG_B_SHUFFLE,
    BORG_B_SHUFFLE_DOWN,
    BORG_B_SHUFFLE_UP,
    BORG_B_SHUFFLE_XOR,
    BORG_B_MMA,
    BORG_B_SUM,
    BORG_B_RMAX,
    BORG_B_RMIN,
    BORG_B_RMAXIDX,
    BORG_B_ANY,
    BORG_B_ALL,
    BORG_B_BARRIER,
    BORG_B_CMPLX,
    BORG_B_CREAL,
    BORG_B_CIMAG,
    BORG_B_CONJ,
    BORG_B_CABS,
    BORG_B_CABS1,
    BORG_B_CONVERT /* convert_T: becomes a cast */
} borg_builtin;

typedef struct borg_expr {
    borg_expr_kind kind;
    borg_loc loc;
    const char *text;
    borg_ctype type; /* set by the checker */
    uint64_t integer;
    double real;
    bool post, wide, uns;
    borg_decl *decl;
    borg_builtin builtin;
    struct borg_function *function;
    int32_t nargs;
    struct borg_expr **args;
} borg_expr;

typedef enum borg_stmt_kind {
    BORG_S_EXPR,
    BORG_S_DECL,
    BORG_S_BLOCK,
    BORG_S_IF,
    BORG_S_FOR,
    BORG_S_WHILE,
    BORG_S_DO,
    BORG_S_BREAK,
    BORG_S_CONTINUE,
    BORG_S_RETURN,
    BORG_S_EMPTY
} borg_stmt_kind;

typedef enum borg_unroll { BORG_UNROLL_AUTO, BORG_UNROLL_YES, BORG_UNROLL_NO } borg_unroll;

typedef struct borg_stmt {
    struct borg_stmt *next;
    borg_stmt_kind kind;
    borg_loc loc;
    borg_expr *expr;                /* EXPR, RETURN (may be NULL); condition */
    borg_expr *step;                /* FOR */
    borg_decl *decls;               /* DECL */
    struct borg_stmt *init;         /* FOR */
    struct borg_stmt *body, *other; /* BLOCK: first; IF: then, else; loops: body */
    borg_unroll unroll;
} borg_stmt;

typedef struct borg_function {
    struct borg_function *next;
    const char *name;
    borg_loc loc;
    bool kernel;
    borg_ctype type;
    borg_decl *params;
    int32_t numbers; /* variables in the file */
    borg_stmt *body; /* BLOCK */
    bool active;     /* being checked: finds recursion */
    bool checked;
} borg_function;

/** parse.c: recursive descent, one function for each rule. All syntax errors of the text. */
borg_function *borg_parse_source(borg_arena *arena, const borg_token *tokens, borg_diags *diags);
/** check.c: names, types, where constants are required; makes casts explicit. Reports all errors.
 *  */
void borg_check(borg_function *file, borg_arena *arena, int32_t size, borg_diags *diags);
/** The tree as text, for --dump=ast. */
void borg_print_tree(const borg_function *file, borg_sink *sink);
const char *borg_ctype_text(borg_ctype type);
borg_type borg_ctype_ir(borg_ctype type);
static inline bool borg_ctype_unsigned(borg_ctype t) {
    return t == BORG_C_UINT || t == BORG_C_ULONG || t == BORG_C_BOOL;
}
static inline bool borg_ctype_float(borg_ctype t) {
    return t >= BORG_C_HALF;
}
static inline bool borg_ctype_narrow(borg_ctype t) {
    return (t >= BORG_C_CHAR && t <= BORG_C_USHORT) || t == BORG_C_HALF;
}
/** The type of a pointer's elements: narrow ones as they lie in memory. */
borg_type borg_ctype_memory(borg_ctype type);
static inline bool borg_ctype_complex(borg_ctype t) {
    return t >= BORG_C_CFLOAT;
}
/** The type of a complex type's parts; any other itself. */
static inline borg_ctype borg_ctype_part(borg_ctype t) {
    return t == BORG_C_CFLOAT ? BORG_C_FLOAT : t == BORG_C_CDOUBLE ? BORG_C_DOUBLE : t;
}

/* ---- constant.c ------------------------------------------------------------------------------ */

/** The precedence of an operator with two operands, 0 (||) to 9 (* / %); -1: it is none. */
int borg_operator_level(const char *op);
/** *value := the operator applied to a and b, wrapping; false: a division by 0. */
bool borg_operator_value(const char *op, int64_t a, int64_t b, int64_t *value);
/** An integer constant expression without variables (literals, operators, get_local_size() where
 *  the size is known: above 0). */
bool borg_constant(const borg_expr *e, int32_t size, int64_t *value);

/** lower/kernel.c: the parameters of a kernel, into m->params. */
void borg_params_of(const borg_function *kernel, borg_module *m);

/** lower/roll.c: which loops over constants stay loops, and which private arrays lie in memory for
 *  that. The first lowering with a plan fills it in and unrolls all; once borg_plan_arrays has
 *  found arrays, later ones follow it. */
typedef struct borg_plan borg_plan;
borg_plan *borg_plan_new(borg_arena *arena, const borg_function *kernel);
/** False: no array is worth it, and the plan changes nothing. */
bool borg_plan_arrays(borg_plan *plan, const borg_module *m, const borg_machine *machine);

/** After a lowering that followed it: an array turned out to have more lanes, what was made is
 *  wrong. */
bool borg_plan_failed(const borg_plan *plan);

/** lower/: one kernel of a checked file as InfReg-IR for the given size, pack and order. NULL and
 *  messages if it cannot be mapped. plan: NULL, or see above. */
borg_module *borg_lower(const borg_function *kernel, borg_arena *arena, const borg_options *options,
                        int32_t pack, borg_order order, borg_plan *plan, borg_diags *diags);

#endif
