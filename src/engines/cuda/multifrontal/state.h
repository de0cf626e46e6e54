/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_STATE_H
#define MPKI_CUDA_MULTIFRONTAL_STATE_H
/** The device's multifrontal factor: its plan, its memory there, and what the host knows of it. */
#include "engines/cuda/module/load.h"
#include "plan/plan.h"

typedef struct mpki_cuda_row_lists mpki_cuda_row_lists;

typedef struct mpki_cuda_chunk {
    void *ptr;
    int64_t bytes;
} mpki_cuda_chunk;

enum { MPKI_CUDA_CHUNKS = 64 }; /* each at least a quarter of all before: never that many */

/* How pivots are chosen: fields as in mpki_cuda_tree. */
typedef struct mpki_cuda_rules {
    double threshold, small, shift, noise;
} mpki_cuda_rules;

struct mpki_direct {
    mpk_context *ctx;
    const mpki_device *device;
    mpki_tree_view tree;
    mpki_cuda_plan plan;
    const double *scale; /* n, problem order: S of these numbers; NULL: on the device alone */
    double size;         /* largest entry of S A S */
    double limit;        /* bytes of device memory; 0: what is free */
    /* on the device: one piece, and where its parts are */
    char *memory;
    int64_t memory_bytes, bytes; /* bytes: of all that is held there */
    mpki_cuda_tree on;           /* what kernels are given */
    mpki_cuda_task *task;
    int32_t *ticket; /* steps x MPKI_CUDA_CLASSES, behind `state` */
    int32_t *perm;
    double *given_scale;
    void *ax;
    char *work;         /* where a step's large fronts work */
    int64_t work_bytes; /* of `work`; 0: there is none now */
    char *growth;       /* behind it, for panels that grow */
    int64_t growth_bytes;
    mpki_cuda_chunk chunk[MPKI_CUDA_CHUNKS]; /* further pieces for panels that grow */
    int chunks;
    bool fresh;              /* the memory has seen no numbers */
    unsigned long long part; /* address: where the part of the arena begins that panels grow into */
    int64_t filled; /* bytes that these numbers have taken of parts before it; 0: there are none */
    mpki_cuda_chunk work_more; /* in place of `work`, where that is too little */
    mpki_cuda_chunk slices;    /* what updates by emulated doubles read */
    mpk_switch emulation; /* of these numbers: are updates emulated? auto: where there is memory */
    int64_t emulated;     /* fronts that were */
    bool planned;         /* the plan is there, in device memory */
    bool whole;     /* no front is cut: too many columns were delayed inside those that were */
    bool cut_badly; /* so it was with these numbers: the next ones get another plan */
    bool valid;     /* there are numbers */
    int64_t turn;   /* of the factorization that they are of */
    /* on the host */
    mpki_cuda_front_state *state; /* fronts */
    int32_t *change;              /* those of which it is not what it is while nothing is delayed */
    int32_t changed;              /* how many; -1: `state` is not filled */
    mpki_cuda_front *large;
    mpki_cuda_flags flags;
    bool summed;                      /* these are there: */
    mpki_numeric_result planned_sums; /* of the fronts, while nothing is delayed, */
    uint64_t planned_shape;           /* and the hash of their sizes */
    uint64_t
        shape; /* a hash of all fronts' sizes: two factors of one plan with the same are alike */
    /* where contributions were and large fronts had their work space lie the inverses of strips, and
     * behind them copies of chains in half the precision, from `half_copy_least` entries
     * on: multifrontal/solve/solver.c */
    atomic_bool squared, half_copied;
    char *idle; /* device: what factorizations alone need, and which solve may use it: one */
    int64_t idle_bytes;
    atomic_bool idle_taken;
    atomic_int corrections; /* that were taken and could read copies */
    int64_t half_copy_least;
    int64_t apart_most; /* bytes up to which sheets have values of their own on the way back */
    int32_t queued_least,
        queued_most; /* columns of the widest front of a step whose pieces queue */
    /* work space of a solver that is gone, for the next one: struct mpki_direct_solver; any thread
     * that solves may take it */
    _Atomic(struct mpki_direct_solver *) spare;
    /* likewise the vectors of refinement: multifrontal/solve/refine.c */
    _Atomic(struct mpki_cuda_refining *) refining;
    _Atomic(struct mpki_cuda_row_lists *)
        rows; /* A by rows, for whoever asks: multifrontal/solve/rows.c */
    struct mpki_cuda_taking
        *taking;   /* for values from the device: multifrontal/factor/values.c; or NULL */
    char *between; /* n scales and the values that were taken, while the device has no memory for
                      another tree; NULL: there are none */
    bool taken;    /* the values in force, or those of the next numbers, came that way */
    mpki_cuda_rules expected; /* of the first numbers of values that came that way */
    bool first;               /* the next ones are those */
    bool has_begun;           /* they have, by the rules that are expected: */
    int32_t queued;           /* the tasks of so many steps are queued */
    /* D, D^-1 and positions, in the order of plan.unit: fetched when they are asked for */
    void *d, *dinv;
    int32_t *id, *at; /* at: units + 1 */
    bool fetched;
    /* for bench/cuda: seconds of each step's tasks by class, and of its large fronts, added up:
     * steps x (MPKI_CUDA_CLASSES + 1). NULL: not asked for; else the walk waits after each */
    double *profile;
};

/** Bytes of device memory that the factor itself holds. */
static inline int64_t mpki_cuda_direct_held(const mpki_direct *f) {
    int64_t bytes = f->memory_bytes + f->work_more.bytes + f->slices.bytes;
    for (int k = 0; k < f->chunks; k++) bytes += f->chunk[k].bytes;
    return bytes;
}

/** Bring f->d, dinv, id and at up to date. Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE. */
mpk_status mpki_cuda_direct_fetch(mpki_direct *f);

/* the slots of mpki_direct_engine that are in multifrontal/solve/ and
 * multifrontal/factor/weak_pivots.c */
mpk_status mpki_cuda_direct_solver_make(mpk_context *ctx, const mpki_direct *f, int threads,
                                        int32_t columns, mpki_direct_solver **s);
void mpki_cuda_direct_solver_free(mpki_direct_solver **s);
/** Device memory that solves of so many right-hand sides take: lists [out], and vectors [out] that
 *  have no room where factorizations work, refined: with those of refinement. Returns MPK_OK |
 *  MPK_ERR_MEMORY. */
mpk_status mpki_cuda_direct_solver_bytes(mpk_context *ctx, const mpki_direct *f, int32_t columns,
                                         bool refined, int64_t *lists, int64_t *vectors);
/** What lies in a device's memory: in the factor's; A by rows; lists of sweeps; vectors of solves. */
enum {
    MPKI_CUDA_HELD_PANELS,
    MPKI_CUDA_HELD_GROWTH, /* for panels that grow */
    MPKI_CUDA_HELD_WORK,   /* contributions, and where large fronts work, behind the panels */
    MPKI_CUDA_HELD_VALUES, /* of A, with order and scaling */
    MPKI_CUDA_HELD_TREE,   /* and where each entry of A goes */
    MPKI_CUDA_HELD_ROWS,
    MPKI_CUDA_HELD_SWEEPS,
    MPKI_CUDA_HELD_VECTORS,
    MPKI_CUDA_HELD_KINDS
};
/** Bytes by kind of a factor whose fronts are as planned, and of solves of so many right-hand sides
 *  with refinement. f->state is what is planned. Returns MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_cuda_direct_foretell(mpk_context *ctx, mpki_direct *f, int32_t columns,
                                     int64_t *bytes);
/** Bytes that several right-hand sides may take more than one, worth a part of the factor's. */
int64_t mpki_cuda_direct_room(const mpki_direct *f);
/** Release f->spare. */
void mpki_cuda_direct_drop_spare(mpki_direct *f);
mpk_status mpki_cuda_direct_by_pivots(mpki_direct_solver *s);
mpk_status mpki_cuda_direct_apply(mpki_direct_solver *s, mpk_part part, int32_t nrhs, const void *b,
                                  int64_t ldb, void *x, int64_t ldx);
/** x := A^-1 x for one vector in device memory, as good as a correction has to be. Queued.
 *  wanted [in] device: where 0 lies there when its turn comes, x is as it was
 *  half_copy [out] chains are read in half the precision: where it was wanted,
 *               mpki_cuda_direct_corrected() is to be told when it is done */
mpk_status mpki_cuda_direct_apply_if(mpki_direct_solver *s, const unsigned long long *wanted,
                                     void *x, bool *half_copy);
void mpki_cuda_direct_corrected(const mpki_direct_solver *s);
/** Room in device memory for n x columns entries, until it is lent anew; between: applications may write
 *  there. NULL: it has not as much. */
char *mpki_cuda_direct_lend(mpki_direct_solver *s, int32_t columns, bool between);
/** Right-hand sides, of nrhs, whose vectors are worth their memory: of those that s sweeps side by
 *  side. */
int32_t mpki_cuda_refined_together(const mpki_direct *f, const mpki_direct_solver *s, int32_t nrhs);
/** What was lent is free again. */
void mpki_cuda_direct_lend_anew(mpki_direct_solver *s);
/** The slot `beside` of mpki_direct_engine. */
int64_t mpki_cuda_direct_beside(const mpki_direct *f);
/** Device memory of f->spare; of f->taking; of f->rows. */
int64_t mpki_cuda_direct_spare_held(const mpki_direct *f);
int64_t mpki_cuda_direct_taking_held(const mpki_direct *f);
int64_t mpki_cuda_direct_rows_held(const mpki_direct *f);
/** Device memory that f->rows takes, without long rows. */
int64_t mpki_cuda_direct_rows_bytes(const mpki_direct *f);
/** So many bytes of device memory, a multiple of 8, are cleared by what is applied next. */
void mpki_cuda_direct_clear_with(mpki_direct_solver *s, void *zero, int64_t bytes);
/** Release f->refining; f->rows; f->taking. */
void mpki_cuda_direct_drop_refining(mpki_direct *f);
void mpki_cuda_direct_drop_rows(mpki_direct *f);
void mpki_cuda_direct_drop_taking(mpki_direct *f);
/** A by rows, in device memory, for as long as the numbers. NULL: there is no memory for it. */
const mpki_cuda_by_rows *mpki_cuda_direct_rows(const mpki_direct *f);
/** The slot `take` of mpki_direct_engine. next: NULL; else what the next numbers begin with, and
 *  tasks(f) queues the first of them, which is done before the host waits. */
mpk_status mpki_cuda_direct_take(mpki_direct *f, const mpki_given_view *given,
                                 const mpki_cuda_beginning *next,
                                 mpk_status (*tasks)(mpki_direct *), bool *taken);
/** The slot `give`. */
mpk_status mpki_cuda_direct_give(const mpki_direct *f, void *ax, double *scale);
/** The slot `flatness` of mpki_direct_engine. */
mpk_status mpki_cuda_direct_flatness(mpki_direct *f, const void *v, uint64_t stamp, void *r,
                                     mpki_near_zero *near, bool *told);
/** The slot `refine` of mpki_direct_engine. */
mpk_status mpki_cuda_direct_refine(mpk_context *ctx, const mpki_direct *f, mpki_direct_solver *s,
                                   const mpki_refine_wish *wish, int32_t nrhs, const void *b,
                                   int64_t ldb, void *x, int64_t ldx, mpki_refined *told);
/** The slot `late` of mpki_direct_engine. */
bool mpki_cuda_direct_late(mpki_direct *f, int32_t *where);
mpk_status mpki_cuda_direct_get(const mpki_direct *f, mpk_quantity what, void *out);
void mpki_cuda_direct_at_zeros(const mpki_direct *f, void *y);
int mpki_cuda_direct_zeros(const mpki_direct *f, int64_t all, int most, mpki_weak_pivot *list);
int mpki_cuda_direct_weak(const mpki_direct *f, double bound, int most, mpki_weak_pivot *list);
void mpki_cuda_direct_to_zero(mpki_direct *f, const mpki_weak_pivot *list, int count);

/** A call of the module; false: it failed, and that is recorded. */
#define MPKI_CUDA_DID(f, call) (!mpk_failed(mpki_cuda_status((f)->ctx, "factorize", (call))))

#endif
