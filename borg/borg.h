/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_BORG_H
#define BORG_BORG_H
/** borgc as a library: source text in, a target's code out. It does not print or exit, and has no
 * global state. */
#include "borg/ir.h"

typedef enum borg_status {
    BORG_OK = 0,
    BORG_ERR_SOURCE = -1, /* messages in the diagnostics */
    BORG_ERR_OPTION = -2,
    BORG_ERR_MEMORY = -3,
    BORG_ERR_FILE = -4,
    BORG_ERR_INTERNAL =
        -5,              /* a pass broke the IR: the verifier's messages are in the diagnostics */
    BORG_ERR_BUDGET = -6 /* a pipeline is larger than options.budget; messages */
} borg_status;

/** Where the text of `#include "name"` comes from. */
typedef struct borg_reader {
    /** The text at `path` (the name, behind the folder of the file that includes it) and its bytes;
     *  it lives as long as the arena. NULL: *reason says why. */
    const char *(*read)(void *self, borg_arena *arena, const char *path, size_t *length,
                        const char **reason);
    void *self;
} borg_reader;

enum { BORG_PACK_AUTO = -1, BORG_ANY_SIZE = -1 };

typedef enum borg_loops { BORG_LOOPS_AUTO, BORG_LOOPS_NEVER, BORG_LOOPS_ALWAYS } borg_loops;

/** Options of a compilation: the command's flags are named after the fields. Zeroed = defaults. */
typedef struct borg_options {
    int32_t size;     /* WG_SIZE, 1 .. 256; required. BORG_ANY_SIZE: of backends that have kernels
                         for groups of any size, straight from the tree; no IR is made */
    int32_t pack;     /* WG_PACK, 1 .. 64; 0 = 1; BORG_PACK_AUTO: by the backend's cost model */
    borg_order order; /* --lane-order wi, wg or auto; the command's default is auto */
    const struct borg_backend *backend; /* --emit: gives auto its cost model; may be NULL */
    bool strict;                        /* no FMA formation */
    bool whole_packs;                   /* groups come in multiples of pack: no tail */
    bool fast_rcp;                      /* RCP may be an approximation: of backends that have one */
    int32_t lanes;         /* SIMT: threads of a work-group, 1 .. 32; 0 = chosen, 1 in order wg */
    int32_t unroll_budget; /* instructions; 0 = 200000 */
    int32_t optimise;      /* 0: all passes; -1: those needed only. Of text form: 0 none, 1 all */
    bool verify;           /* the checker runs between passes */
    borg_loops loops; /* --loops auto, never, always: loops that could be unrolled stay loops */
    bool no_vector;   /* loops over constants are unrolled, never executed as vectors */
    int32_t flat;     /* --flat: registers that a flat module (ir.h, 7) does side by side; 0: by the
                           machine, none on GPUs; -1: no flat modules */
    int32_t flat_lanes; /* what is compiled is to be flat, of so many lanes: of the driver alone */
    const char *const *defines; /* "NAME" or "NAME=text", NULL-terminated; may be NULL */
    const borg_reader *reader;  /* NULL: what is included cannot be read */
    const char *const *set; /* --set: "NAME=value", integer parameters that always have this value
                               (the caller promises it); NULL-terminated; may be NULL */
    const char *stage;      /* --stage: pointers, separated by commas, whose groups' data go through
                               shared memory as a whole (borg/emit/simt/stage.c); may be NULL */
    const char *
        nontemporal; /* --nontemporal: pointers, separated by commas, whose full registers are stored past the caches: of
                         backends that do that; "auto" or NULL: those that are only written, in calls whose arrays are larger
                         than caches; "never" */
    const char *units;  /* --units: lines that replace those of borg/spatial/units.def, or NULL */
    const char *budget; /* --budget: "lut=N,ff=N,dsp=N", what a pipeline may take, or NULL */
    const char *format; /* --format: of the backend pipe, text (NULL), json or svg */
    const char *kernel; /* only this one; NULL = all of the file */
    const char *name;   /* --name: of the emitted function; NULL = the kernel's */
    const char *dump;   /* "ast", "ssa", "infreg" or the name of a pass; NULL = nothing */
    borg_sink *dump_to;
    int32_t disable; /* ablation: bits of borg_disable */
} borg_options;

/** What a backend can be told not to use, for measurements. */
enum borg_disable {
    BORG_NO_REUSE = 1,     /* reorderings: reuse of an earlier chunk */
    BORG_NO_SCALAR = 2,    /* scalar broadcast */
    BORG_NO_VECTOR = 4,    /* vector broadcast */
    BORG_NO_SEGMENTED = 8, /* segmented broadcast */
    BORG_NO_PERMUTE = 16,  /* permutes: store and gather instead */
    BORG_STREAM = 32,      /* no register cache: every value goes through memory */
    BORG_DISABLE_ALL = 63
};

/** One kernel, ready for a backend. */
typedef struct borg_unit {
    borg_module *module;
    borg_module *tail; /* pack = 1, for the groups beyond the last full pack; NULL if pack is 1, or
                          with whole_packs */
    borg_module *flat; /* does what it can before the other two; NULL where there is none */
    const char *name;  /* of the function to emit */
    const struct borg_function *tree; /* with BORG_ANY_SIZE, in place of the modules */
} borg_unit;

typedef struct borg_program {
    borg_arena arena; /* owns everything */
    borg_diags diags;
    int32_t nunits;
    borg_unit *units;
} borg_program;

/** What the cost model must know of a target. */
typedef struct borg_machine {
    bool simt;            /* a row is a scalar of a thread: the lane order does not matter */
    int32_t vector_bytes; /* of a register: 64 for AVX-512 */
    int32_t registers;    /* 32 */
    double perm_cost;     /* of one static permute of a register, in units of one addition */
    bool transposes;      /* stores of several rows side by side are no scatters (pass join) */
    bool rolls;         /* loops over arrays that registers cannot hold stay loops (lower/roll.c) */
    double code;        /* instructions that fit its first-level cache; 0: this does not matter */
    bool flat;          /* it takes flat modules */
    bool mma;           /* instructions for MMA of f64: one group in a warp, not if strict */
    double gather_cost; /* per lane of an access that is neither contiguous nor a broadcast */
} borg_machine;

/** Options that not every backend can follow; with the others they are refused (options.c). */
enum borg_takes {
    BORG_TAKES_LANES = 1,   /* --lanes */
    BORG_TAKES_ORDER = 2,   /* --lane-order=wg */
    BORG_TAKES_WHOLE = 4,   /* --whole-packs: else it makes no code for what is left of a pack */
    BORG_TAKES_STAGE = 8,   /* --stage */
    BORG_TAKES_UNITS = 16,  /* --units, --budget */
    BORG_TAKES_FORMAT = 32, /* --format */
    BORG_TAKES_NARROW = 64  /* char, short, half in memory */
};

/** A backend: one constant of this type and one folder, borg/emit/<name>/.
 *
 *  What it emits:
 *  - CPU (c, avx512): a file of C with, for each unit, one function of external linkage
 *        void NAME(int64_t first, int64_t last, P0 p0, P1 p1, ...)
 *    that runs the groups first .. last-1, first being a multiple of the module's pack; full packs
 *    by the module, the rest by the tail. Parameters: `double *`, `const double *`, `double **`,
 *    `int32_t`, `uint32_t`, `int64_t`, `uint64_t`, `float`, `double`, in the order of the source.
 *    bool is uint8_t.
 *  - llvm: a function of the same signature with opaque pointers.
 *  - cuda, opencl: a kernel NAME(P0 p0, ..., int64_t first, int64_t last); the launch geometry is
 *    the backend's, and said in a comment `borg-launch: threads=T groups=G` (threads of a block,
 *    groups that one block does).
 *  It never edits the module but for id, uses, mark and aux. */
typedef struct borg_backend {
    const char *name;    /* --emit NAME */
    const char *summary; /* one line for --help */
    const char *suffix;  /* of its files: ".c" */
    borg_machine machine;
    bool fast_rcp;    /* it has an approximation for RCP; without, options.fast_rcp is refused */
    bool any_size;    /* it has kernels for groups of any size; without, BORG_ANY_SIZE is refused */
    bool nontemporal; /* it stores past the caches; without, options.nontemporal is refused */
    int32_t takes;    /* bits of borg_takes */
    int32_t disables; /* bits of borg_disable that it knows to leave out */
    /** Write the code of all units to the sink. 0, or a negative status with messages. */
    borg_status (*emit)(const borg_unit *units, int32_t nunits, const borg_options *options,
                        borg_sink *sink, borg_diags *diags);
} borg_backend;

/** The backends that were built: NULL-terminated (borg/emit/list.h). */
const borg_backend *const *borg_backends(void);
const borg_backend *borg_backend_find(const char *name);

/** Compile a source text. *program (NULL before) is set except on BORG_ERR_MEMORY: its diagnostics
 *  tell what is wrong. Free it with borg_program_free. */
borg_status borg_compile(const char *file, const char *source, size_t length,
                         const borg_options *options, const borg_allocator *allocator,
                         borg_program **program);
/** The same from the text form of the IR: every kernel in it is one unit, and a kernel with pack 1
 *  that follows one of the same name and size with pack > 1 is its tail. */
borg_status borg_compile_ir(const char *file, const char *text, size_t length,
                            const borg_options *options, const borg_allocator *allocator,
                            borg_program **program);
void borg_program_free(borg_program *program);
/** The program's code by a backend. The text lives as long as the program. */
borg_status borg_program_emit(borg_program *program, const borg_backend *backend,
                              const borg_options *options, const char **text, size_t *length);
/** The messages as text (lives as long as the program; "" if there are none). */
const char *borg_program_messages(borg_program *program);

#endif
