/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_VECTOR_VRPTX_H
#define SIM_VECTOR_VRPTX_H
/** vrPTX, vector-ready PTX: programs for warps of different sizes (thesis of 2021, section 9.3.1).
 *  Grammar and meaning, to the bit: docs/reference/vrptx.md. Here: a program, its assembler with
 *  the checks, its text again, and how many registers of a machine it needs.
 *
 *  Differs from the thesis, whose listing is a sketch: addresses are an array's name and an index
 *  counted in elements; `bra` is there beside `allbra`; the loop has its back edge. */
#include "borg/arena.h"
#include "borg/diag.h"

/** What an instruction computes on. A register is one of the first five. */
typedef enum vr_type {
    VR_PRED,
    VR_B32,
    VR_B64,
    VR_F32,
    VR_F64,
    VR_S32,
    VR_U32,
    VR_S64,
    VR_U64,
    VR_TYPES
} vr_type;

/** Which units execute it: an ALU, an FMA unit, .... */
typedef enum vr_class {
    VR_ON_ALU,
    VR_ON_FMA,
    VR_ON_DIVIDE,  /* an FMA unit, for longer */
    VR_ON_COMPLEX, /* moves values between lanes */
    VR_ON_LOAD,
    VR_ON_STORE,
    VR_ON_CONTROL, /* in the fetch unit of the slot */
    VR_CLASSES
} vr_class;

/* Types that an operation can have, as bits of vr_type. */
#define VR_BIT(t) (1u << (t))
#define VR_INTS (VR_BIT(VR_S32) | VR_BIT(VR_U32) | VR_BIT(VR_S64) | VR_BIT(VR_U64))
#define VR_FLOATS (VR_BIT(VR_F32) | VR_BIT(VR_F64))
#define VR_BITS (VR_BIT(VR_B32) | VR_BIT(VR_B64))
#define VR_DATA (VR_BITS | VR_FLOATS)
#define VR_LOGIC (VR_BITS | VR_BIT(VR_PRED))

/** X(NAME, text, sources, types, class). Floating-point add, mul ... are of class FMA
 *  (vr_classify). */
#define VR_OPS(X)                                                                                  \
    X(MOV, "mov", 1, VR_DATA | VR_BIT(VR_PRED), ALU)                                               \
    X(ADD, "add", 2, VR_INTS | VR_FLOATS, ALU)                                                     \
    X(SUB, "sub", 2, VR_INTS | VR_FLOATS, ALU)                                                     \
    X(MUL, "mul", 2, VR_INTS | VR_FLOATS, ALU)                                                     \
    X(DIV, "div", 2, VR_INTS | VR_FLOATS, DIVIDE)                                                  \
    X(REM, "rem", 2, VR_INTS, DIVIDE)                                                              \
    X(FMA, "fma", 3, VR_FLOATS, FMA)                                                               \
    X(NEG, "neg", 1, VR_BIT(VR_S32) | VR_BIT(VR_S64) | VR_FLOATS, ALU)                             \
    X(ABS, "abs", 1, VR_BIT(VR_S32) | VR_BIT(VR_S64) | VR_FLOATS, ALU)                             \
    X(MIN, "min", 2, VR_INTS | VR_FLOATS, ALU)                                                     \
    X(MAX, "max", 2, VR_INTS | VR_FLOATS, ALU)                                                     \
    X(SQRT, "sqrt", 1, VR_FLOATS, DIVIDE)                                                          \
    X(AND, "and", 2, VR_LOGIC, ALU)                                                                \
    X(OR, "or", 2, VR_LOGIC, ALU)                                                                  \
    X(XOR, "xor", 2, VR_LOGIC, ALU)                                                                \
    X(NOT, "not", 1, VR_LOGIC, ALU)                                                                \
    X(SHL, "shl", 2, VR_BITS, ALU)                                                                 \
    X(SHR, "shr", 2, VR_INTS, ALU)                                                                 \
    X(SETP, "setp", 2, VR_INTS | VR_FLOATS, ALU)                                                   \
    X(SELP, "selp", 3, VR_DATA | VR_BIT(VR_PRED), ALU)                                             \
    X(CVT, "cvt", 1, VR_INTS | VR_FLOATS, ALU)                                                     \
    X(SHFL, "shfl", 2, VR_DATA, COMPLEX)                                                           \
    X(VOTE, "vote", 1, VR_BIT(VR_PRED), COMPLEX)                                                   \
    X(LD, "ld", 1, VR_DATA, LOAD)                                                                  \
    X(ST, "st", 2, VR_DATA, STORE)                                                                 \
    X(BRA, "bra", 0, 0, CONTROL)                                                                   \
    X(ALLBRA, "allbra", 0, 0, CONTROL)                                                             \
    X(JOIN, "join", 0, 0, CONTROL)                                                                 \
    X(EXIT, "exit", 0, 0, CONTROL)

typedef enum vr_op {
#define X(name, text, sources, types, class) VR_##name,
    VR_OPS(X)
#undef X
        VR_NOPS
} vr_op;

typedef struct vr_op_info {
    const char *text;
    int sources;
    unsigned types;
    vr_class class;
} vr_op_info;

extern const vr_op_info vr_op_table[VR_NOPS];
extern const char *const vr_type_text[VR_TYPES]; /* "f64" */
extern const char *const vr_class_text[VR_CLASSES];

/** Of setp; of shfl; of vote; the space of ld and st. All in vr_inst.how. */
enum { VR_EQ, VR_NE, VR_LT, VR_LE, VR_GT, VR_GE, VR_COMPARES };
enum { VR_IDX, VR_UP, VR_DOWN, VR_LANE_XOR, VR_SHUFFLES };
enum { VR_ANY, VR_ALL, VR_VOTES };
enum { VR_GLOBAL, VR_SHARED, VR_CONST, VR_SPACES };
enum { VR_TID, VR_WID, VR_NTIDS, VR_METAS };

typedef enum vr_kind { VR_NOTHING, VR_REG, VR_META, VR_IMM, VR_SCALAR, VR_ARRAY } vr_kind;

/** An operand: a register, a metadata register, a constant (by its place in program->constants), a
 * scalar parameter, or an array (a parameter, a shared or a constant one) by number. */
typedef struct vr_operand {
    vr_kind kind;
    int32_t at;
} vr_operand;

typedef struct vr_inst {
    vr_op op;
    vr_type type, from; /* from: of the source of cvt */
    int how;
    int32_t guard;   /* a register of predicates, -1: none */
    bool negated;    /* @!%p */
    int32_t dst;     /* -1: none */
    vr_operand base; /* of ld, st: VR_ARRAY or VR_REG */
    vr_operand a[3]; /* ld, st: a[0] = the index, or nothing; st: a[1] = the value */
    int32_t target;  /* instruction that a branch goes to; -1 while it is not known */
    borg_loc loc;
} vr_inst;

typedef struct vr_register {
    const char *name; /* with the % */
    vr_type type;
    borg_loc loc;
} vr_register;

typedef struct vr_param {
    const char *name;
    vr_type type; /* of the scalar, or of the array's elements */
    bool array;
    borg_loc loc;
} vr_param;

/** An array of each warp (values == NULL), or one of constants. */
typedef struct vr_array {
    const char *name;
    vr_type type;
    int32_t count;
    uint64_t *values;
    borg_loc loc;
} vr_array;

typedef struct vr_label {
    const char *name;
    int32_t at; /* the instruction behind it */
    borg_loc loc;
} vr_label;

/** A kernel of the file: for warps of `ntids` threads, 0: of any size that no other one is for.
 * What it declares and executes begins at these numbers and ends where the next one's begins. */
typedef struct vr_entry {
    const char *name;
    int32_t ntids;
    int32_t first, registers, shared, consts, labels;
    borg_loc loc;
} vr_entry;

/** Limits; more is an error that names them. */
enum {
    VR_MOST_INSTRUCTIONS = 1 << 20,
    VR_MOST_REGISTERS = 1 << 18,
    VR_MOST_PARAMS = 64,
    VR_MOST_ENTRIES = 1024,
    VR_MOST_ELEMENTS = 1 << 20
};

typedef struct vr_program {
    borg_arena *arena;
    borg_text source; /* what it was assembled from: borrowed, for messages while it runs */
    const char *name;
    int32_t ninsts, nregisters, nparams, nshared, nconsts, nlabels, nconstants, nentries;
    vr_entry *entries; /* one more than there are: the end */
    vr_inst *insts;
    vr_register *registers;
    vr_param *params;
    vr_array *shared, *consts;
    vr_label *labels;
    uint64_t *constants; /* distinct immediate operands, as bits of their type */
    size_t room[8];
} vr_program;

static inline int vr_bytes(vr_type type) {
    return type == VR_PRED                                                        ? 1
           : type == VR_B32 || type == VR_F32 || type == VR_S32 || type == VR_U32 ? 4
                                                                                  : 8;
}
static inline bool vr_is_float(vr_type type) {
    return type == VR_F32 || type == VR_F64;
}
/** The units that execute it. */
vr_class vr_classify(const vr_inst *inst);

/** Assemble a kernel, or one for each of several sizes of warps, and check it.
 *  file    [in] name for messages    text, length [in] need not end in NUL; any bytes are survived
 *  diags   [inout] its arena, where the program is put; messages with line, caret and reason
 *  Returns the program, or NULL if something is wrong. Memory: the arena's oom. */
vr_program *vr_assemble(const char *file, const char *text, size_t length, borg_diags *diags);
/** Every rule of docs/reference/vrptx.md that can be seen: called by vr_assemble. */
bool vr_verify(vr_program *program, borg_diags *diags);
/** The program as text; assembling it gives the same program, and this text again. */
void vr_print(const vr_program *program, borg_sink *sink);
/** One instruction, without a line's end. */
void vr_print_inst(const vr_program *program, const vr_inst *inst, borg_sink *sink);
/** The number of the kernel for warps of that many threads, or -1. */
int32_t vr_entry_for(const vr_program *program, int32_t ntids);
/** The parameter of that name, or -1. */
int32_t vr_find_param(const vr_program *program, const char *name);

/** What a slot of the partitioned register table must hold: values alive at once, of data and of
 *  predicates; the metadata registers in use; one more of data for the lanes' candidate PCs and one
 *  of predicates for their activity. */
typedef struct vr_needs {
    int32_t data, predicates, metadata;
    int32_t vector_registers, mask_registers; /* the sums */
} vr_needs;
vr_needs vr_registers_needed(const vr_program *program, borg_arena *arena);

/** What vr_spill did: predicates kept in vector registers, instructions added to write and to read
 *  them; compares with constants that are made again in place of that. */
typedef struct vr_spills {
    int32_t predicates, stores, loads, again;
} vr_spills;
/** The program with predicates in vector registers, so that a slot needs `masks` mask registers at
 *  most (one of them for the active lanes): 1 or 0 by `selp` behind what writes one, `setp.ne` before
 *  what reads it. The same program if it needs no more.
 *  Returns NULL after a message: an instruction reads more predicates than that. */
const vr_program *vr_spill(const vr_program *program, int32_t masks, vr_spills *spills,
                           borg_diags *diags);

#endif
