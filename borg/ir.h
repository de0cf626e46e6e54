/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_IR_H
#define BORG_IR_H
/** InfReg-IR: programs for PIRCH, the machine of work-groups with infinite registers
 *  (thesis of 2021, section 7.2), and the contract between the front end and the backends.
 *
 *  1. Lanes
 *  --------
 *  A module is one kernel, compiled for work-groups of `size` work-items (wi = 0 .. size-1), of
 *  which `pack` (wg = 0 .. pack-1) run together. A value is an InfReg: elements of one type, each
 *  with metadata (ix, wi, wg). Its lanes are always a full product
 *      rows x work-items x groups
 *  given by `rows` and `spread`:
 *      BORG_WI   one lane for each (row, wi, wg)     rows * size * pack lanes
 *      BORG_WG   one lane for each (row, wg)         rows * pack lanes: the same for the work-items
 *                                                    of a group ("multiple work item indices")
 *      BORG_UNI  one lane for each row               rows lanes: the same for all groups there are
 *  A row is one register of each work-item: a private array a[4] of which all elements are used at
 *  once is a value of 4 rows. What element a row once was is told by inst->ix (metadata; NULL =
 *  unknown) and inst->name, for readable output only; no meaning depends on them.
 *
 *  Lane order is the module's `order`, and no meaning depends on it either:
 *      BORG_WI_MINOR   lane (r, w, g) has the number (r*pack + g)*size + w
 *      BORG_WG_MINOR   lane (r, w, g) has the number (r*size + w)*pack + g      ("interleaved")
 *  Rows are slowest in both, so a value of k rows is k values of one row laid end to end; ROWS is
 *  always a renaming. In WG_MINOR with pack = vector length, PERM and LANE are renamings too.
 *  On a SIMT machine a row is one scalar variable of each thread; WG and UNI values are computed by
 *  every thread alike and BCAST costs nothing.
 *
 *  2. Types and constants
 *  ----------------------
 *  i1 (0 or 1), i32, i64 without sign (two's complement; the operation has the sign), f32, f64,
 * ptr. A constant's bits are kept in uint64_t: i1 0/1; i32 and f32 in the low 32 bits, upper ones
 * zero.
 *
 *  3. Meaning of operations: see BORG_OPS. Everywhere:
 *  - Elementwise operations need equal rows and spread of result and all operands. Nothing is
 *    broadcast in silence: BCAST widens the spread, ROWS repeats rows.
 *  - Floating point is IEEE 754, round to nearest even, denormals kept, each operation rounded by
 *    itself; only FMA and MMA fuse. The bits of a NaN are not specified (all NaN are equal in
 * tests); signed zeros are. FNEG and FABS change the sign bit only, of a NaN too.
 *  - Integers wrap. SDIV truncates; x / 0 = 0, INT_MIN / -1 = INT_MIN; x % 0 = x, INT_MIN % -1 = 0:
 *    a - b * (a / b) always. Shift counts are taken modulo the width. (Lanes that are masked out
 *    later compute too, so nothing may trap.)
 *  - FMIN(x, y) = y < x ? y : x and FMAX(x, y) = x < y ? y : x: if one is NaN, x; if equal, x.
 *    (x86: vminpd(y, x), vmaxpd(y, x).)
 *  - FCMP: all but NE are false with a NaN, NE is true. SELECT(c, a, b) copies bits: c ? a : b.
 *  - FPTOSI, FPTOUI truncate and saturate; NaN gives 0. SITOFP, UITOFP, FPTRUNC round to nearest.
 *  - MAGNITUDE grows with |x|; of a NaN its bits are unspecified, but above those of infinity (of
 *    an f64 NaN whose upper fraction bits are 0 equal to them).
 *  - RCP is 1/x rounded as a division; with module->fast_rcp an approximation within 2 ulp will do,
 *    for which subnormal numbers may be zero.
 *    SQRT is correctly rounded.
 *  - MMA is C += A B of tiles, C 8x8, A 8x4, B 4x8: work-item w has a = A[w/4][w%4], b =
 * B[w%4][w/4] and c = C[w/4][2*(w%4) + e]. In a module that is not `strict` a machine that has an
 *    instruction for it may round the four products in another order; pass `mma` makes shuffles
 *    and FMA of all others.
 *  - Nothing is undefined but: a memory access out of bounds; two lanes of one STORE that write the
 *    same address (any one wins; the interpreter objects to different values outside LOCAL);
 *    a LOAD of what
 *    another work-item stored with no BARRIER between; an index of SHUFV or PICKV out of range (the
 *    front end limits them; the interpreter objects).
 *
 *  4. Memory
 *  ---------
 *  The pointer operand is ptr with one row, UNI, or WG when it was loaded from an array of
 * pointers. Indices count elements of the value's type (sizeof: i1 is never in memory; i32 f32 4;
 * i64 f64 ptr 8); the arrays are aligned to their element only. LOAD  p, index [, mask] lane l
 * reads p[index(l)] LOADA p, off [, mask] a b c[]    lane (r, w, g) reads p[off + c[r] + b*w + a*g]
 *      STORE p, index, value [, mask]   STOREA p, off, value [, mask]  a b c[]   likewise
 *  index: i64 (of a LOCAL: i32, signed), rows and spread of the value. off: i64, one row, UNI or
 *  WG, never wider than the value. A mask is i1 with rows and spread of the value; a lane whose
 *  mask is 0 does not touch memory, and reads as 0. Memory operations take place in program order;
 *  two operations on different parameters may be exchanged if one of them is `restrict`.
 *
 *  The kernel's own arrays (`locals`) are there once for each group. LOCAL is the address, for each
 *  group, of one of them; it is operand 0 of LOAD and STORE and nothing else, the value has the
 *  array's type and is WG or WI, and lane (r, w, g) has element index(r, w, g) of group g's array.
 *  Where elements lie is for the backend to choose. What an array holds when a pack begins is
 *  unspecified (the interpreter: zeros). Accesses to different arrays never meet, nor do they meet
 *  accesses through parameters. Between a STORE to an element by one work-item and another access
 *  to it by another one stands a BARRIER, whichever comes first; else what is read is unspecified.
 *  (Private arrays that the lowering places there for CPUs, whose lanes run in lockstep, have no
 *  BARRIERs: between the accesses of different work-items program order is enough.)
 *  A LOAD of one lane for a group is one by each work-item, a STORE of one lane for a group, too,
 *  but these two need no BARRIER between, in either order.
 *
 *  5. Control
 *  ----------
 *  Structured, and never divergent: every lane of a pack takes the same way. Conditions are i1 with
 *  exactly one lane (one row, UNI; or WG when pack = 1).
 *      LOOP  block[0] = head: PHIs (operand = the initial value) first, any computation, WHILE c;
 *            block[1] = body: any computation, YIELD (the next value of each PHI, in order).
 *            head; while c { body; PHIs take what was yielded, all at once; head }
 *            Values of the head are visible in the body. `trip` = number of iterations if known,
 *            else -1 (a hint). RESULT loop, i is the i-th PHI's value when the loop is left.
 *      IF c  block[0] then, block[1] else; each ends in YIELD; RESULT if, i is the i-th yielded.
 *  RESULTs stand anywhere after their LOOP or IF where a use may stand. The kernel's block has no
 *  terminator. There is no early return.
 *
 *  6. Groups at the end
 *  --------------------
 *  Pack number q runs the groups g0 = pack*q .. g0+pack-1; all of them exist: what is left over is
 *  done by a second module of the same kernel with pack = 1 (borg_unit.tail), which every backend
 *  emits after the first whenever pack > 1.
 *
 *  7. Flat modules
 *  ---------------
 *  A unit may have a third module of the same kernel (borg_unit.flat, pass flat), for machines that
 *  want it: its `size` lanes are elements side by side, of which a group has `flat`. G0 is there
 *  the number of the first one. It does the elements flat*first .. flat*last - 1 of groups that
 *  have a multiple of `size` of them together,
 *  so the other two modules do the rest.                                                        */
#include "borg/arena.h"
#include "borg/diag.h"
#include <stdbool.h>
#include <stdint.h>

/** Limits; BORG_MAX_LANES: rows * size * pack of one value. */
enum { BORG_MAX_SIZE = 256, BORG_MAX_PACK = 64, BORG_MAX_ROWS = 4096, BORG_MAX_LANES = 1 << 20 };

typedef enum borg_type {
    BORG_VOID,
    BORG_I1,
    BORG_I32,
    BORG_I64,
    BORG_F32,
    BORG_F64,
    BORG_PTR,
    /* of elements in memory alone, whose values are i32 (the low bits): 8 and 16 bits, and the bits
     * of a half */
    BORG_I8,
    BORG_I16,
    BORG_F16
} borg_type;

typedef enum borg_spread { BORG_UNI, BORG_WG, BORG_WI } borg_spread;

typedef enum borg_order { BORG_WI_MINOR, BORG_WG_MINOR, BORG_ORDER_AUTO } borg_order;

/** Comparisons of ICMP and FCMP; ICMP with inst->uns compares unsigned. */
typedef enum borg_pred { BORG_EQ, BORG_NE, BORG_LT, BORG_LE, BORG_GT, BORG_GE } borg_pred;

/** The classes of operations: what a verifier or a backend can treat alike. */
typedef enum borg_class {
    BORG_LEAF,    /* no operands */
    BORG_ELEM,    /* elementwise */
    BORG_CONVERT, /* elementwise, changes the type */
    BORG_LAYOUT,  /* moves lanes */
    BORG_REDUCE,  /* WI -> WG over the work-items of a group, or -> UNI over the pack; by rows */
    BORG_MEMORY,
    BORG_CONTROL
} borg_class;

/** X(NAME, text, operands (-1: see the comment), class). Types: n = i1 i32 i64, x = f32 f64. */
#define BORG_OPS(X)                                                                                \
    /* leaves */                                                                                   \
    X(PARAM, "param", 0, LEAF) /* inst->index-th parameter; UNI, one row */                        \
    X(CONST, "const", 0, LEAF) /* inst->bits: ntable = 1: all lanes alike, else one for each */    \
                               /* row (UNI, WG), or row*size + wi (WI) */                          \
    X(LID, "lid", 0, LEAF)     /* i32 WI: wi */                                                    \
    X(WGID, "wgid", 0, LEAF)   /* i32 WG: wg, 0 .. pack-1 */                                       \
    X(GID, "gid", 0, LEAF)     /* i64 WG: g0 + wg, the work-group */                               \
    X(G0, "g0", 0, LEAF)       /* i64 UNI: first group of the pack, a multiple of pack */          \
    X(LOCAL, "local", 0, LEAF) /* ptr WG, one row: the group's inst->index-th array, see 4 */      \
    /* elementwise, integers; AND OR XOR NOT also i1 */                                            \
    X(ADD, "add", 2, ELEM)                                                                         \
    X(SUB, "sub", 2, ELEM)                                                                         \
    X(MUL, "mul", 2, ELEM)                                                                         \
    X(SDIV, "sdiv", 2, ELEM)                                                                       \
    X(UDIV, "udiv", 2, ELEM)                                                                       \
    X(SREM, "srem", 2, ELEM)                                                                       \
    X(UREM, "urem", 2, ELEM)                                                                       \
    X(SHL, "shl", 2, ELEM)                                                                         \
    X(LSHR, "lshr", 2, ELEM)                                                                       \
    X(ASHR, "ashr", 2, ELEM)                                                                       \
    X(AND, "and", 2, ELEM)                                                                         \
    X(OR, "or", 2, ELEM)                                                                           \
    X(XOR, "xor", 2, ELEM)                                                                         \
    X(NOT, "not", 1, ELEM)                                                                         \
    X(NEG, "neg", 1, ELEM)                                                                         \
    X(ABS, "abs", 1, ELEM) /* signed; ABS(INT_MIN) = INT_MIN */                                    \
    X(SMIN, "smin", 2, ELEM)                                                                       \
    X(SMAX, "smax", 2, ELEM)                                                                       \
    X(UMIN, "umin", 2, ELEM)                                                                       \
    X(UMAX, "umax", 2, ELEM)                                                                       \
    /* elementwise, floating point */                                                              \
    X(FADD, "fadd", 2, ELEM)                                                                       \
    X(FSUB, "fsub", 2, ELEM)                                                                       \
    X(FMUL, "fmul", 2, ELEM)                                                                       \
    X(FDIV, "fdiv", 2, ELEM)                                                                       \
    X(FMIN, "fmin", 2, ELEM)                                                                       \
    X(FMAX, "fmax", 2, ELEM)                                                                       \
    X(FNEG, "fneg", 1, ELEM)                                                                       \
    X(FABS, "fabs", 1, ELEM)                                                                       \
    X(SQRT, "sqrt", 1, ELEM)                                                                       \
    X(RCP, "rcp", 1, ELEM)                                                                         \
    X(FMA, "fma", 3, ELEM) /* a*b + c, rounded once; an FNEG operand makes fnma, fms */            \
    /* comparisons (result i1) and choice */                                                       \
    X(ICMP, "icmp", 2, ELEM)     /* inst->pred, inst->uns; also i1 with EQ, NE */                  \
    X(FCMP, "fcmp", 2, ELEM)     /* inst->pred */                                                  \
    X(SELECT, "select", 3, ELEM) /* operand 0 is i1; the others of any type but ptr */             \
    /* conversions */                                                                              \
    X(ZEXT, "zext", 1, CONVERT)   /* i1 -> i32, i64; i32 -> i64 */                                 \
    X(SEXT, "sext", 1, CONVERT)   /* i32 -> i64 */                                                 \
    X(TRUNC, "trunc", 1, CONVERT) /* i64 -> i32 */                                                 \
    X(SITOFP, "sitofp", 1, CONVERT)                                                                \
    X(UITOFP, "uitofp", 1, CONVERT)                                                                \
    X(FPTOSI, "fptosi", 1, CONVERT)                                                                \
    X(FPTOUI, "fptoui", 1, CONVERT)                                                                \
    X(FPEXT, "fpext", 1, CONVERT)     /* f32 -> f64 */                                             \
    X(FPTRUNC, "fptrunc", 1, CONVERT) /* f64 -> f32 */                                             \
    X(MAGNITUDE, "magnitude", 1,                                                                   \
      CONVERT) /* f32, f64 -> i32: the upper 32 bits without the sign */                           \
    /* lanes */                                                                                    \
    X(BCAST, "bcast", 1, LAYOUT) /* UNI -> WG, UNI -> WI, WG -> WI; same rows */                   \
    X(ROWS, "rows", -1, LAYOUT)  /* result row r = row map[r] of operand r; operands share type */ \
                                 /* and spread, may repeat; as many operands as rows */            \
    X(PERM, "perm", 1, LAYOUT)   /* WI -> WI: lane (r, w, g) = operand's lane (map[2i], */         \
                                 /* map[2i+1], g) with i = r*size + w */                           \
    X(LANE, "lane", 1,                                                                             \
      LAYOUT) /* WI -> WG: lane (r, g) = operand's lane (map[2r], map[2r+1], g) */                 \
    X(SHUFV, "shufv", 2, LAYOUT) /* operand 0 WI; operand 1 i32, 0 .. size-1, same rows; WG or */  \
    /* WI as the result: (r, w, g) = operand 0 (r, index(r,w,g), g) */                             \
    X(PICKV, "pickv", 2, LAYOUT) /* one row: = operand 0 (index(w,g), w, g), index i32 one row, */ \
                                 /* 0 .. rows-1; result, operands of the same spread */            \
    X(MMA, "mma", 3, LAYOUT) /* f32, f64 WI, size 32, e = inst->index 0 or 1: operands a, b, */    \
                             /* c, and of each row, for k = 0 .. 3 in this order, */               \
                             /* c = fma(a (4*(w/4) + k), b (4*(2*(w%4) + e) + k), c) */            \
    /* reductions over the work-items of a group (WI -> WG) */                                     \
    X(RSUM, "rsum", 1, REDUCE) /* n or x; halving tree, see borg_reduce_step */                    \
    X(RMAX, "rmax", 1, REDUCE) /* n or x (inst->uns for unsigned); NaN counts as -inf; of equal */ \
                               /* ones (-0, +0) that of the lowest wi, so lane rmaxidx's */        \
    X(RMIN, "rmin", 1, REDUCE) /* NaN counts as +inf; of equal ones that of the lowest wi */       \
    X(RMAXIDX, "rmaxidx", 1, REDUCE) /* result i32: the lowest wi that holds the maximum */        \
    X(ANY, "any", 1, REDUCE)         /* i1 */                                                      \
    X(ALL, "all", 1, REDUCE)         /* i1 */                                                      \
    X(ANYP, "anyp", 1, REDUCE)       /* i1 WI or WG -> UNI, over the whole pack */                 \
    X(ALLP, "allp", 1, REDUCE)                                                                     \
    /* memory */                                                                                   \
    X(LOAD, "load", -1, MEMORY)                                                                    \
    X(LOADA, "loada", -1, MEMORY)                                                                  \
    X(STORE, "store", -1, MEMORY)                                                                  \
    X(STOREA, "storea", -1, MEMORY)                                                                \
    X(BARRIER, "barrier", 0, MEMORY) /* earlier stores of the group are seen by its later loads */ \
    /* control */                                                                                  \
    X(LOOP, "loop", 0, CONTROL)                                                                    \
    X(IF, "if", 1, CONTROL)                                                                        \
    X(RESULT, "result", 1, CONTROL) /* inst->index-th result of operand 0, a LOOP or IF */         \
    X(PHI, "phi", 1, CONTROL)                                                                      \
    X(WHILE, "while", 1, CONTROL)                                                                  \
    X(YIELD, "yield", -1, CONTROL)

typedef enum borg_op {
#define X(name, text, operands, class) BORG_##name,
    BORG_OPS(X)
#undef X
        BORG_NOPS
} borg_op;

typedef struct borg_op_info {
    const char *text;
    int operands; /* -1: varies */
    borg_class class;
} borg_op_info;

extern const borg_op_info borg_op_table[BORG_NOPS];

struct borg_block;

/** An instruction and the value it makes. */
typedef struct borg_inst {
    borg_op op;
    borg_type type; /* of the value; STOREs, BARRIER, LOOP, IF, WHILE, YIELD: VOID */
    borg_spread spread;
    int32_t rows; /* >= 1; VOID: 0 */
    int32_t nargs;
    struct borg_inst **args; /* operands */

    borg_pred pred;   /* ICMP, FCMP */
    bool uns;         /* ICMP, RMAX, RMIN, RMAXIDX of integers: unsigned */
    int32_t index;    /* PARAM, LOCAL, RESULT, MMA */
    int32_t ntable;   /* CONST: 1, rows (UNI, WG) or rows * size (WI) */
    uint64_t *bits;   /* CONST: ntable patterns */
    int32_t *map;     /* ROWS: rows; PERM: 2*rows*size; LANE: 2*rows */
    int64_t a, b, *c; /* LOADA, STOREA: per group, per work-item, per row (`rows` of the value) */
    int64_t trip;     /* LOOP: iterations, or -1 */
    struct borg_block *block[2]; /* LOOP: head, body; IF: then, else */

    const char *name;  /* source variable, or NULL */
    const int32_t *ix; /* `rows` array indices, or NULL */
    borg_loc loc;      /* place in the source */

    struct borg_block *parent;
    struct borg_inst *prev, *next;
    int32_t id;   /* number in the text form: borg_number() */
    int32_t uses; /* operands that name it: borg_count_uses() */
    int32_t mark; /* scratch of passes and backends */
    void *aux;    /* scratch of passes and backends */
} borg_inst;

typedef struct borg_block {
    borg_inst *first, *last;
    borg_inst *owner; /* the LOOP or IF; NULL: the kernel's block */
} borg_block;

typedef struct borg_param {
    const char *name;
    borg_type type;  /* i32 i64 f32 f64, or ptr */
    bool uns;        /* scalars and elements: unsigned in the source */
    borg_type elem;  /* ptr: type of the elements; i8, i16, f16: a LOAD zero-extends them to i32, a
                        STORE keeps the low bits */
    int32_t depth;   /* ptr: 1 = T*, 2 = T** (array of pointers, one for each item) */
    bool readonly;   /* ptr: const T* */
    bool restricted; /* ptr: restrict */
} borg_param;

/** An array of each group, in memory. */
typedef struct borg_local {
    const char *name;
    borg_type elem; /* i32 i64 f32 f64 */
    bool uns;       /* elements: unsigned in the source */
    int32_t count;  /* elements, 1 .. BORG_MAX_ROWS */
} borg_local;

typedef struct borg_module {
    borg_arena *arena;
    const char *name; /* of the kernel in the source */
    int32_t size;     /* work-items of a group, >= 1 */
    int32_t pack;     /* groups of a pack, >= 1 */
    borg_order order; /* WI_MINOR or WG_MINOR */
    bool strict;      /* no FMA was formed: bits equal the source's */
    bool fast_rcp;    /* RCP may be an approximation */
    bool rolled;      /* loops over arrays stayed loops, the arrays in memory (--loops) */
    int32_t flat;     /* elements of a group where the module is flat, else 0 */
    int32_t nparams;
    borg_param *params;
    int32_t nlocals;
    borg_local *locals;
    borg_block *body;
    int32_t ninsts; /* made so far, an upper bound of what is in use */
} borg_module;

/* ---- shapes ---------------------------------------------------------------------------------- */

static inline bool borg_is_float(borg_type type) {
    return type == BORG_F32 || type == BORG_F64;
}
static inline bool borg_is_int(borg_type type) {
    return type == BORG_I32 || type == BORG_I64;
}
/** Is the parameter a pointer to write through, and the first name of the list (--nontemporal)? */
bool borg_named_nontemporal(const borg_param *param, const char *list);
/** Bytes of an element in memory; i1: 1, void: 0. */
int borg_type_bytes(borg_type type);
/** Are there doubles among the lanes? The widest type gives the lanes of a register. */
bool borg_has_doubles(const borg_block *block);
/** Whether a CPU keeps the pack's i-th arrays on the stack: up to 64 KiB of them, in order. */
bool borg_local_on_stack(const borg_module *m, int32_t i);
const char *borg_type_text(borg_type type);       /* "f64" */
const char *borg_spread_text(borg_spread spread); /* "wi" */
const char *borg_pred_text(borg_pred pred);       /* "lt" */

/** Lanes of one row: 1, pack, or size * pack. */
static inline int32_t borg_row_lanes(const borg_module *m, const borg_inst *v) {
    return v->spread == BORG_WI ? m->size * m->pack : v->spread == BORG_WG ? m->pack : 1;
}
static inline int32_t borg_lanes(const borg_module *m, const borg_inst *v) {
    return v->rows * borg_row_lanes(m, v);
}
/** Number of lane (r, w, g) in the module's order; w, g are ignored where the spread has none. */
int32_t borg_lane_number(const borg_module *m, const borg_inst *v, int32_t r, int32_t w, int32_t g);
/** A constant's bits in lane (r, w). */
uint64_t borg_const_bits(const borg_module *m, const borg_inst *v, int32_t r, int32_t w);
static inline bool borg_is_splat(const borg_inst *v) {
    return v->op == BORG_CONST && v->ntable == 1;
}
/** The mask operand of a memory operation, NULL if it has none. */
borg_inst *borg_mask(const borg_inst *v);
/** The value operand of a STORE or STOREA; else NULL. */
borg_inst *borg_stored(const borg_inst *v);
/** The parameter or LOCAL that an access goes by, through pointers loaded from arrays of pointers.
 */
const borg_inst *borg_root(const borg_inst *access);
/** The type of what an access moves, in memory: that of its value, or narrower. */
borg_type borg_access_type(const borg_module *m, const borg_inst *access);
static inline bool borg_is_narrow(borg_type type) {
    return type > BORG_PTR;
}
/** Whether two memory operations, of which one writes, may touch the same element. */
bool borg_may_meet(const borg_module *m, const borg_inst *x, const borg_inst *y);
/** Whether it can be seen that the lanes of a row differ by the work-item alone. */
bool borg_same_for_groups(const borg_inst *v);
/** Whether an index is one number for all lanes, *base or NULL for 0, plus a constant for each,
 * *part or NULL for 0. */
bool borg_index_parts(const borg_module *m, const borg_inst *index, const borg_inst **base,
                      const borg_inst **part);
/** True if the instruction may be removed when nobody uses it (loads may). */
bool borg_is_pure(const borg_inst *v);

/* ---- building -------------------------------------------------------------------------------- */

/** Where new instructions go: before `before`, or at the end of `block` if it is NULL. */
typedef struct borg_builder {
    borg_module *module;
    borg_block *block;
    borg_inst *before;
    borg_loc loc;
} borg_builder;

borg_module *borg_module_new(borg_arena *arena, const char *name, int32_t size, int32_t pack,
                             borg_order order);
borg_block *borg_block_new(borg_module *m, borg_inst *owner);
/** A new instruction with room for nargs operands, put at the builder's place. */
borg_inst *borg_emit(borg_builder *b, borg_op op, borg_type type, borg_spread spread, int32_t rows,
                     int32_t nargs);
borg_inst *borg_emit_const(borg_builder *b, borg_type type, borg_spread spread, int32_t rows,
                           uint64_t bits);
/** bits: rows (UNI, WG) or rows*size (WI) patterns, copied; becomes a splat if all are equal. */
borg_inst *borg_emit_table(borg_builder *b, borg_type type, borg_spread spread, int32_t rows,
                           const uint64_t *bits);
/** Elementwise with the rows and spread of x: unary (y = z = NULL), binary, FMA, SELECT. */
borg_inst *borg_emit_elem(borg_builder *b, borg_op op, borg_type type, borg_inst *x, borg_inst *y,
                          borg_inst *z);
borg_inst *borg_emit_cmp(borg_builder *b, borg_op op, borg_pred pred, bool uns, borg_inst *x,
                         borg_inst *y);
/** v itself if it is that wide already. */
borg_inst *borg_emit_bcast(borg_builder *b, borg_inst *v, borg_spread spread);
borg_inst *borg_emit_rows(borg_builder *b, int32_t rows, borg_inst *const *from,
                          const int32_t *map);
borg_inst *borg_emit_perm(borg_builder *b, borg_inst *v, int32_t rows, const int32_t *map);
borg_inst *borg_emit_lane(borg_builder *b, borg_inst *v, int32_t rows, const int32_t *map);
void borg_unlink(borg_inst *inst);
/** Put `inst` (unlinked before) in front of `place`, or at the end of `block` if that is NULL. */
void borg_insert(borg_block *block, borg_inst *place, borg_inst *inst);
/** Number all values in program order (inst->id; -1 for what makes no value); how many. */
int32_t borg_number(borg_module *m);
void borg_count_uses(borg_module *m);

/* ---- text, checks ---------------------------------------------------------------------------- */

/** The text form, one instruction a line:  %7 = fadd wi<4 x f64> %5, %6   ; a[0..3]
 *  Printing what was parsed gives the same text again. */
void borg_print(borg_module *m, borg_sink *sink);
/** The same with the thesis's header: each InfReg type with its lanes' metadata (ix, wi, wg). */
void borg_print_lanes(borg_module *m, borg_sink *sink);
/** Parse one or several kernels' text; NULL and messages if it is wrong (any text is survived).
 * What it gives has passed borg_verify. *end: where the text of the next kernel begins, NULL = the
 * rest must be empty. */
borg_module *borg_parse(borg_arena *arena, const char *text, size_t length, borg_diags *diags,
                        size_t *end);
/** Every rule of this header that can be seen: shapes, types, dominance, control, maps in range.
 *  True if the module is well formed; else messages, `after` (a pass) named in them. */
bool borg_verify(borg_module *m, const char *after, borg_diags *diags);

/* ---- meaning --------------------------------------------------------------------------------- */

/** One lane of a pure ELEM or CONVERT operation on bit patterns x, y, z (unused ones 0); `from` is
 *  the type of operand 0 (SELECT: of operand 1). The one definition of arithmetic: constant folding
 *  and the interpreter share it. */
uint64_t borg_evaluate(const borg_inst *inst, borg_type from, uint64_t x, uint64_t y, uint64_t z);
/** Reductions: combine in place the `count` patterns x[0..count-1] (type `from` of the operand) by
 *  the halving tree of language.md and return the result of `op`. */
uint64_t borg_reduce(borg_op op, borg_type from, bool uns, uint64_t *x, int32_t count);
/** Can no lane be -0? Then equal lanes have equal bits but for NaN, and a maximum may be found in
 *  any order. False where it cannot be seen; an integer has none. */
bool borg_no_minus_zero(const borg_inst *v);

/** half.c: the bits of the half that is nearest, of two the even one; the value of one. */
uint16_t borg_half_bits(double x);
double borg_half_value(uint16_t bits);

/** An argument of the interpreter. */
typedef struct borg_arg {
    uint64_t bits; /* scalars */
    void *data;    /* ptr: the array */
    int64_t count; /* ptr: elements; accesses outside are an error. < 0: unknown, not checked */
} borg_arg;

/** Run the groups first .. last-1 (first a multiple of m->pack) on the arguments: the oracle.
 * `tail` (pack 1, may be NULL if not needed) does the groups beyond the last full pack. `steps`
 * limits the instructions executed (0 = 1e9). False and a message on an access out of bounds, an
 * index of SHUFV or PICKV out of range, or too many steps. */
bool borg_interpret(borg_module *m, borg_module *tail, const borg_arg *args, int64_t first,
                    int64_t last, int64_t steps, borg_diags *diags);

#endif
