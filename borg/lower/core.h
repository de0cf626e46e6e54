/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_LOWER_CORE_H
#define BORG_LOWER_CORE_H
/** What the lowering is built on. The tree is executed on symbolic values: what is constant is
 * computed, so loops over constants unroll as they run; the rest becomes InfReg-IR in SSA form, and
 * conditions become masks. Each element of each variable is a cell that names its current value. */
#include "borg/ast.h"
#include "borg/passes.h"

/** Row `row` of a value; row -1: all its rows (a scalar while a loop runs as vectors). */
typedef struct borg_cell {
    borg_inst *value; /* NULL: not declared at this point */
    int32_t row;
} borg_cell;

/** A __local array in memory and the LOCAL that is its address. */
typedef struct borg_lower_array {
    const borg_decl *decl;
    borg_inst *address;
} borg_lower_array;

/** What break and continue removed from the innermost loop's mask. NULL: nothing. */
typedef struct borg_lower_loop {
    struct borg_lower_loop *outer;
    borg_inst *broken, *skipped;
} borg_lower_loop;

/** What a first lowering saw of a private array; then, whether it is placed in memory. */
typedef struct borg_array_use {
    const borg_decl *decl;
    bool *written;      /* by element */
    borg_spread spread; /* of what is written */
    int32_t declared;   /* how often */
    bool counted;       /* indexed by the counter of a loop that may stay a loop */
    bool early;         /* read before it is written */
    bool placed;
} borg_array_use;

struct borg_plan {
    borg_array_use *of; /* by number of the variable */
    int32_t count;
    bool failed; /* an array has more lanes than was seen */
    bool apply;  /* what was seen is known: arrays are placed, and loops stay */
};

typedef struct borg_lowerer {
    borg_arena *arena;
    borg_module *m;
    borg_builder b;
    const borg_options *options;
    const borg_function *kernel;
    borg_diags *diags;
    borg_cell *cells; /* all variables' elements */
    int32_t ncells;
    size_t cells_capacity;
    const borg_decl **alias; /* number of an array parameter -> the array; NULL: no such thing */
    int32_t *first;          /* decl number -> its first cell, -1: none yet */
    size_t first_capacity;
    const borg_decl **owner; /* cell -> its variable */
    size_t owner_capacity;
    borg_inst **born; /* first cell -> the mask where the variable was declared */
    size_t born_capacity;
    borg_inst *mask; /* i1: work-items that execute this; NULL: all */
    borg_lower_loop *loop;
    borg_inst **params;
    borg_lower_array *locals; /* those in memory, by number in the module's table */
    size_t locals_capacity, table_capacity;
    borg_inst **pool; /* splat constants by hash */
    size_t pool_capacity, pool_count;
    int32_t budget, unrolling; /* unrolling: depth of unrolled loops around */
    int32_t base;              /* instructions that existed before the outermost unrolled loop */
    int32_t depth;             /* of inlined calls and statements */
    borg_plan *plan;           /* NULL: all loops over constants are unrolled */
    bool inside;               /* a loop whose indices of arrays are known to be inside them */
    bool over;                 /* the budget is exceeded: back to the outermost unrolled loop */
} borg_lowerer;

/** A state to return to. */
typedef struct borg_checkpoint {
    borg_block *block;
    borg_inst *last, *mask;
    borg_cell *cells;
    int32_t ncells, errors, warnings, unrolling;
    borg_diag *diag;
    borg_lower_loop *loop;
    borg_inst *broken, *skipped;
} borg_checkpoint;

/* ---- value.c ---- */
borg_inst *borg_lower_const(borg_lowerer *l, borg_type type, uint64_t bits);
borg_inst *borg_lower_int(borg_lowerer *l, int32_t value);
borg_inst *borg_lower_unify(borg_lowerer *l, borg_inst *v, borg_spread spread, int32_t rows);
borg_inst *borg_lower_elem(borg_lowerer *l, borg_op op, borg_type type, borg_inst *x, borg_inst *y,
                           borg_inst *z);
borg_inst *borg_lower_cmp(borg_lowerer *l, borg_op op, borg_pred pred, bool uns, borg_inst *x,
                          borg_inst *y);
borg_inst *borg_lower_simplify(borg_lowerer *l, borg_inst *v);
/** Conjunction; NULL = all true. */
borg_inst *borg_lower_and(borg_lowerer *l, borg_inst *x, borg_inst *y);
borg_inst *borg_lower_not(borg_lowerer *l, borg_inst *x);
/** Give all of them the widest spread and the most rows among them. */
void borg_lower_unify_all(borg_lowerer *l, borg_inst **v, int32_t count);
bool borg_lower_one_lane(const borg_lowerer *l, const borg_inst *v);
static inline bool borg_lower_never(const borg_inst *mask) {
    return mask && borg_is_splat(mask) && mask->bits[0] == 0;
}

/* ---- cell.c ---- */
/** The value of a cell, as one value. */
borg_inst *borg_lower_read_cell(borg_lowerer *l, borg_cell cell);
/** The array that an array parameter stands for in this call; any other variable itself. */
static inline const borg_decl *borg_lower_variable(const borg_lowerer *l, const borg_decl *d) {
    return d && l->alias[d->number] ? l->alias[d->number] : d;
}
/** Cells of a variable: made at its first declaration. */
int32_t borg_lower_cells_of(borg_lowerer *l, const borg_decl *d);
/** The cell of an element. The pointer is valid until the next variable is made. */
static inline borg_cell *borg_lower_cell(borg_lowerer *l, const borg_decl *d, int32_t element) {
    int32_t first = borg_lower_cells_of(l, d); /* may move l->cells */
    return &l->cells[first + element];
}
int32_t borg_lower_cell_count(const borg_lowerer *l, const borg_decl *d);
/** Of a __local array in registers: element e lies in work-item e % size of row e / size. */
int32_t borg_lower_local_rows(const borg_lowerer *l, const borg_decl *d);
/** From now on cell `element` is row `row` of v; v gets its name. */
void borg_lower_set_cell(borg_lowerer *l, const borg_decl *d, int32_t element, borg_inst *v,
                         int32_t row);
/** The mask of an assignment to d; NULL: none is needed. */
borg_inst *borg_lower_mask_of(borg_lowerer *l, const borg_decl *d);
/** The address of a __local array in memory. */
borg_inst *borg_lower_local_memory(borg_lowerer *l, const borg_decl *d);
/** The variable belongs to the work-items that execute this. */
void borg_lower_born(borg_lowerer *l, const borg_decl *d);
/** Declare a variable where no work-item is: zeros. */
void borg_lower_declare_dead(borg_lowerer *l, const borg_decl *d);
/** (Re)declare a variable: initial values, one for each cell, not masked. Arrays in memory have
 * none.
 */
void borg_lower_declare(borg_lowerer *l, const borg_decl *d, borg_inst *const *values);
/** What a variable is where nothing was assigned. */
borg_inst *borg_lower_zero(borg_lowerer *l, const borg_decl *d);
void borg_lower_forget(borg_lowerer *l, const borg_decl *d);
borg_checkpoint borg_lower_save(borg_lowerer *l);
void borg_lower_restore(borg_lowerer *l, const borg_checkpoint *saved);
borg_cell *borg_lower_copy_cells(borg_lowerer *l);
/** Restore the first `count` cells; later ones become undeclared. */
void borg_lower_put_cells(borg_lowerer *l, const borg_cell *cells, int32_t count);

#endif
