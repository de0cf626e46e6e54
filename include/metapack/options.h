/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_OPTIONS_H
#define METAPACK_OPTIONS_H
/** Every choice of the sparse solvers, in one struct and one table. Functions without a context may
 *  be called from any thread; the strings that they return are static. */
#include <metapack/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What is factorized; mpk_solve then refines or iterates with the factor. */
typedef enum mpk_method {
    MPK_METHOD_AUTO = 0,   /**< direct where it fits, else ildlt, stronger until it converges. Only
                                mpk_solve_adaptive and mpk_job_run do that; mpk_analyse and
                                mpk_factorize take it for MPK_METHOD_LDLT */
    MPK_METHOD_LDLT = 1,   /**< the direct solver */
    MPK_METHOD_ILDLT = 2,  /**< the meta-algorithm on blocks: complete or incomplete */
    MPK_METHOD_JACOBI = 3, /**< the same by fixed-point sweeps (schedule = jacobi) */
    MPK_METHOD_ILU0 = 4, /**< on scalars, no fill, no pivoting, nothing dropped: to compare with */
    MPK_METHOD_NONE = 5, /**< no preconditioner but the diagonal scaling */
    MPK_METHOD_DIAGONAL = 6,     /**< the diagonal of A (Jacobi's preconditioner) */
    MPK_METHOD_BLOCK_JACOBI = 7, /**< the blocks on the diagonal, factorized */
    MPK_METHOD_SSOR = 8          /**< (D + omega L) D^-1 (D + omega L^T) / (omega (2 - omega)) */
} mpk_method;

/** Iterative methods. sqmr, minres, symmlq and cg need a symmetric preconditioner. */
typedef enum mpk_krylov {
    MPK_KRYLOV_AUTO = 0, /**< refinement after ldlt, else sqmr (gmres where the factor is ldu) */
    MPK_KRYLOV_NONE = 1, /**< iterative refinement only */
    MPK_KRYLOV_SQMR = 2,
    MPK_KRYLOV_MINRES = 3, /**< preconditioned by L |D| L^T */
    MPK_KRYLOV_SYMMLQ = 4, /**< likewise */
    MPK_KRYLOV_CG = 5,     /**< likewise; for definite matrices */
    MPK_KRYLOV_GMRES = 6,
    MPK_KRYLOV_FGMRES = 7,
    MPK_KRYLOV_BICGSTAB = 8,
    MPK_KRYLOV_IDR = 9
} mpk_krylov;

/** How rows are gathered into blocks (docs/design/blocking.md). */
typedef enum mpk_strategy {
    MPK_STRATEGY_AUTO = 0,
    MPK_STRATEGY_BR = 1, /**< block, then reorder the blocks */
    MPK_STRATEGY_RB = 2, /**< reorder the rows, then cut blocks of neighbours */
    MPK_STRATEGY_RBR = 3 /**< reorder, cut, reorder the blocks */
} mpk_strategy;

/** What the meta-algorithm makes of the matrix. */
typedef enum mpk_factor_type {
    MPK_TYPE_LDLT = 0,
    MPK_TYPE_LLT = 1, /**< positive definite matrices, real or Hermitian: a pivot <= 0 is an error
                           if the factorization is complete, else part of the diagonal is added
                           (mpk_block_info.diagonal_shift) and it starts again */
    MPK_TYPE_LDU = 2  /**< rows and columns pivoted apart; twice the memory */
} mpk_factor_type;

/** In which order the blocks are computed, and who writes where. */
typedef enum mpk_schedule {
    MPK_SCHEDULE_PULL = 0,    /**< a block gathers its updates when its level set is due */
    MPK_SCHEDULE_SUBSETS = 1, /**< updates are pushed, in conflict-free subsets of level sets */
    MPK_SCHEDULE_ATOMIC = 2,  /**< updates are pushed by atomic subtraction: not reproducible */
    MPK_SCHEDULE_JACOBI = 3   /**< all blocks at once, in sweeps */
} mpk_schedule;

/** Precision in which a factor on blocks is stored. */
typedef enum mpk_precision {
    MPK_PRECISION_DOUBLE = 0, /**< that of the matrix */
    MPK_PRECISION_SINGLE = 1
} mpk_precision;

typedef enum mpk_ordering {
    MPK_ORDERING_AUTO = 0, /**< AMD, or nested dissection where that pays for its own time */
    MPK_ORDERING_AMD = 1,
    MPK_ORDERING_METIS = 2,
    MPK_ORDERING_SCOTCH = 3,
    MPK_ORDERING_RCM = 4,
    MPK_ORDERING_GIVEN = 5, /**< options.given_perm */
    MPK_ORDERING_NATURAL = 6,
    MPK_ORDERING_ND = 7, /**< our own nested dissection, in parallel */
    MPK_ORDERING_GMC = 8 /**< greedy multicolouring: independent sets first; only on blocks */
} mpk_ordering;

/** Which part of a column of L the drop tolerance is measured by. */
typedef enum mpk_drop_norm {
    MPK_DROP_NORM_BELOW = 0, /**< the unit diagonal, and what is below the diagonal block */
    MPK_DROP_NORM_WHOLE = 1  /**< the column of the diagonal block, too */
} mpk_drop_norm;

/** The level of fill where blocks of levels a and b meet. */
typedef enum mpk_level_rule {
    MPK_LEVEL_RULE_SUM = 0, /**< a + b + 1 */
    MPK_LEVEL_RULE_MAX = 1  /**< max(a, b) + 1 */
} mpk_level_rule;

/** Which blocks keep all their entries, and what a block of fill may keep. */
typedef enum mpk_capacity_rule {
    MPK_CAPACITY_RULE_BITMAP = 0, /**< by what blocks take as they are stored here */
    MPK_CAPACITY_RULE_INDEX = 1   /**< by an index with each value, as in 2018 */
} mpk_capacity_rule;

/** What the least pivot of sweeps is relative to. */
typedef enum mpk_jacobi_norm {
    MPK_JACOBI_NORM_MATRIX = 0, /**< the 1-norm of the scaled matrix */
    MPK_JACOBI_NORM_FRAME = 1   /**< that of the columns of the block */
} mpk_jacobi_norm;

/** When sweeps decide which blocks are pushed back. */
typedef enum mpk_jacobi_judge {
    MPK_JACOBI_JUDGE_FIRST = 0, /**< before the first sweep of a stage: all begin anew */
    MPK_JACOBI_JUDGE_LAST = 1   /**< before its last sweep: what is accepted stays */
} mpk_jacobi_judge;

/** A switch; auto: METAPACK decides. */
typedef enum mpk_switch { MPK_OFF = 0, MPK_ON = 1, MPK_AUTO = 2 } mpk_switch;

/** Where a sparse factorization and the solves with it run; auto: METAPACK decides. */
typedef enum mpk_device {
    MPK_ON_CPU = 0,
    MPK_ON_CUDA = 1, /**< an NVIDIA GPU */
    MPK_ON_AUTO = 2
} mpk_device;

/** How the triangles of a factor on blocks are solved with. */
typedef enum mpk_triangular {
    MPK_TRIANGULAR_EXACT = 0,  /**< by substitution; or, where solve_sweeps > 0, by these */
    MPK_TRIANGULAR_JACOBI = 1, /**< by Jacobi sweeps: solve_sweeps, 3 where that is 0 */
    MPK_TRIANGULAR_ISAI = 2,   /**< by incomplete sparse approximate inverses: docs/guide/isai.md */
    MPK_TRIANGULAR_AUTO = 3    /**< exact or isai, by the time of an application: runs may differ */
} mpk_triangular;

/** The pattern of the approximate inverse of a triangle. */
typedef enum mpk_isai_pattern {
    MPK_ISAI_OF_FACTOR = 0, /**< S(|L|^k) */
    MPK_ISAI_OF_MATRIX = 1, /**< S(|A|^k), cut to the triangle */
    MPK_ISAI_OF_BLOCKS = 2  /**< isai_block rows each along the diagonal */
} mpk_isai_pattern;

/** What becomes of a column of an approximate inverse that is longer than the limit. */
typedef enum mpk_isai_over {
    MPK_ISAI_REFUSE = 0, /**< an error that names it */
    MPK_ISAI_LESS = 1,   /**< it gets the largest power that fits */
    MPK_ISAI_LARGEST = 2 /**< its largest entries, computed anew on these alone */
} mpk_isai_over;

/** Precision in which approximate inverses are stored. */
typedef mpk_precision mpk_isai_precision;

/** Classes of columns of an approximate inverse: at most 1, 2, 4, 8, 16, 32, 64, 128, 1024 entries,
 *  and more. */
enum { MPK_ISAI_CLASSES = 10 };

/** What was done for approximate inverses of triangles, or of a matrix. */
typedef struct mpk_isai_info {
    int64_t columns[MPK_ISAI_CLASSES]; /**< by class; the diagonal counts */
    int64_t entries;   /**< of M, diagonals included; of both triangles of a factor that is not
                              symmetric */
    int32_t longest;   /**< entries of the longest column */
    int64_t over;      /**< columns that were cut to the limit */
    int64_t fallbacks; /**< columns that became the diagonal alone: their system was singular */
    int32_t first_fallback; /**< the first of these, from 0; -1: none */
    int64_t bytes;          /**< held, with what relaxation needs */
    double time_pattern_s, time_values_s;
    int64_t reserved[8]; /**< 0: for numbers to come; metapack.h, Structs */
} mpk_isai_info;

/** All choices. The name of a field is the key of mpk_options_set() and, with dashes, the flag of
 *  the command: pivot_threshold, --pivot-threshold. Call mpk_options_init() first; later versions
 *  add fields at the end. docs/reference/options.md says which methods read which. */
typedef struct mpk_options {
    size_t struct_size; /**< set by mpk_options_init(): how much of this struct the caller knows */
    /* options: begin, made by tools/option-texts from the table in src/core/options.c */
    /** How A is factorized. auto: direct where it fits, else ildlt, stronger until it
     *  converges; ldlt: the direct solver; ildlt: an LDLT factorization on blocks, complete or
     *  incomplete; jacobi: the same by fixed-point sweeps; ilu0: the same on scalars, without
     *  fill, pivoting or dropping; none: no preconditioner but the scaling; diagonal: that of
     *  A; block_jacobi: the blocks on the diagonal; ssor: symmetric successive over-relaxation
     *  with omega. Of a matrix that is not symmetric ldlt is L U with exchanges of rows, on the
     *  processor; ildlt and jacobi need factor_type ldu, which ilu0 implies. Default auto. */
    mpk_method method;
    /** The fill-reducing ordering. auto: AMD, or nested dissection (nd) where that pays for its
     *  own time; for ssor natural: as the matrix is given; gmc: greedy multicolouring, only for
     *  methods on blocks; given: the caller's own. An incomplete factor of a matrix that is not
     *  symmetric gets rcm from auto. Default auto. */
    mpk_ordering ordering;
    /** Maximum-product matching, for scaling and 2x2 pivots. Pairs of rows that are likely to
     *  become 2x2 pivots stay together in the ordering, which helps where the diagonal has
     *  zeros; of a matrix that is not symmetric rows are permuted to bring large entries to the
     *  diagonal. auto: the direct solver compares costs with and without where the diagonal is
     *  weak, and matches rows then; methods on blocks use it. Default auto. */
    mpk_switch matching;
    /** Scaling before the factorization, symmetric where A is. Default auto. */
    mpk_switch scaling;
    /** Accept a pivot if the entries of L under it are at most 1/u in modulus. A larger u is
     *  more stable and slower. Methods on blocks reject pivots only in stages before the last.
     *  From 0 to 0.5. Default 0.01. */
    double pivot_threshold;
    /** A pivot column with no entry above this times the largest of the scaled matrix is zero;
     *  below 0 (default): chosen from the precision. See docs/guide/numerics.md. From -1 to
     *  1. */
    double zero_tolerance;
    /** Replace failed pivots by this times the largest entry of the scaled matrix; 0 (default):
     *  never. They are then not delayed, and the inertia is not certified. With 0 the direct
     *  solver delays them, and the last stage of a method on blocks replaces pivots below 1e-8
     *  (1e-4 in single precision), in a complete factorization below 1e-14 (1e-6). Methods
     *  diagonal, block_jacobi and ssor, too, take pivots below this or 1e-14 (1e-6) as zero,
     *  and replace them by the largest entry: such a row is left as the scaling has it. From 0
     *  to 1. */
    double static_shift;
    /** Threads at work, at most; 0 (default): OMP_NUM_THREADS, else all cores given to the
     *  process. No more are taken than there are cores, and the direct solver takes those that
     *  save time: its bits do not depend on them. From 0 to 1024 threads. */
    int threads;
    /** Most steps of iterative refinement. From 0 to 1000 steps. Default 10. */
    int refine;
    /** Componentwise backward error that the solution is to reach; below 0 (default): a small
     *  multiple of the unit roundoff. From -1 to 1. */
    double accuracy;
    /** Choose the ordering for a machine with this many threads. The threads at work do not
     *  change it: the same choice, and the same bits, for any number of them. From 1 to 1024
     *  threads. Default 2. */
    int model_threads;
    /** The same bits for any number of threads. off: in incomplete factorizations leftover
     *  capacity goes to whoever asks first. All else is deterministic anyway, except schedule
     *  atomic and what triangular auto chooses, by time. Default on. */
    mpk_switch deterministic;
    /** Estimate the condition number of A. Default off. */
    mpk_switch condition;
    /** Seed of all random choices. From -9e+18 to 9e+18. Default 1. */
    int64_t seed;
    /** Most memory of a factorization, on blocks also of the solves with it; 0 (default): what
     *  the machine has free. What is predicted to need more is refused at once; a factor that
     *  needs more on the way ends with MPK_ERR_MEMORY. What several threads hold beside it
     *  counts, what one holds does not. From 0 to 1e+18 bytes. */
    double memory_limit;
    /** Size n, for ordering given: the old index at each new position; borrowed during
     *  mpk_analyse only. */
    const int32_t *given_perm;
    /** The iterative method, with the factor as preconditioner. Minres, symmlq and cg use L |D|
     *  L^T. auto: refinement after ldlt, otherwise sqmr, or gmres where the factor is ldu;
     *  none: refinement alone. For matrices that are not symmetric: gmres, fgmres, bicgstab and
     *  idr. Default auto. */
    mpk_krylov krylov;
    /** True relative residual |b - A x| / |b| to reach; below 0 (default): as accurate as
     *  rounding allows. In the 2-norm. By default the componentwise backward error has to reach
     *  accuracy; if it does not, but the relative residual is at most 1e-6 (1e-4 in single
     *  precision), the status is MPK_INACCURATE, exit code 5. From -1 to 1. */
    double tolerance;
    /** Most iterations of the iterative method. From 0 to 1000000000 iterations. Default
     *  1000. */
    int max_iterations;
    /** Gmres and fgmres restart after this many steps. From 1 to 100000 steps. Default 50. */
    int restart;
    /** Vectors in the shadow space of idr. From 1 to 64 vectors. Default 4. */
    int shadow;
    /** May method auto use the direct solver? auto: where it fits in memory. Default auto. */
    mpk_switch direct;
    /** How rows become blocks. br: make blocks, then reorder them; rb: reorder the rows, then
     *  cut; rbr: reorder, cut, reorder the blocks. See docs/design/blocking.md. Default
     *  auto. */
    mpk_strategy strategy;
    /** Most rows of a block. From 1 to 128 rows. Default 32. */
    int block;
    /** Cut blocks with exactly as many rows as block says. The last one may have fewer. Default
     *  off. */
    mpk_switch grid;
    /** Rows share a block if the cosine of their patterns is at least this. It is multiplied by
     *  0.9 from one level of the blocking to the next. From 0 to 1. Default 0.8. */
    double similarity;
    /** Level of fill of the blocks, -1: complete. From -1 to 1000000. Default 1. */
    int level;
    /** A block of L keeps at most this times as many entries as in A, 0: no limit. A block that
     *  is empty in A gets the mean of its block column. Capacity that a block leaves unused
     *  goes to later ones. Diagonal blocks, the last block columns and blocks whose capacity is
     *  about half of their size or more keep all entries; nothing is dropped there. From 0 to
     *  1000000000. Default 4. */
    double fill_factor;
    /** Drop entries of L that are not above this times the norm of their column. The 2-norm of
     *  the column of L, with the unit diagonal. From 0 to 1. Default 0.0001. */
    double drop_tolerance;
    /** Form of a factorization on blocks. llt: for positive definite matrices; where an
     *  incomplete one meets a pivot that is not positive, it begins again with part of the
     *  diagonal added to the matrix, more each time, and the report says how much. ldu: rows
     *  and columns are pivoted separately, with twice the memory; the one form for matrices
     *  that are not symmetric. Default ldlt. */
    mpk_factor_type factor_type;
    /** Pivoting inside a diagonal block. Default rook. */
    mpk_pivoting pivoting;
    /** Stages of outer pivoting, 1: none, 0: as many as it takes. Blocks that fail
     *  pivot_threshold are pushed back to the next stage. Where a stage accepts hardly any,
     *  those that are left become one dense pivot, or are joined to larger blocks. From 0 to
     *  1000 stages. Default 1. */
    int stages;
    /** Transform diagonal blocks by random butterflies: those that were rejected; with stages
     *  1, which rejects none, all. With stages 1 and pivoting none that is static pivoting:
     *  nothing is delayed, no row is searched. A frame that is zero stays zero. Default off. */
    mpk_switch butterfly;
    /** In which order the blocks are computed, and who writes where. pull: a block gathers its
     *  updates when its level set is due; subsets: updates are pushed, in conflict-free subsets
     *  of level sets; atomic: by atomic subtraction, not reproducible; jacobi: all blocks at
     *  once, in sweeps. Default pull. */
    mpk_schedule schedule;
    /** Sweeps of the fixed-point factorization (schedule jacobi). From 1 to 10000 sweeps.
     *  Default 8. */
    int sweeps;
    /** Sweeps replace pivots below this times the 1-norm of the scaled matrix. From 0 to 1.
     *  Default 0.1. */
    double jacobi_epsilon;
    /** The factor by which jacobi_epsilon falls from sweep to sweep. From 0 to 1. Default
     *  0.95. */
    double jacobi_decay;
    /** Add this to the diagonal of the scaled matrix, with its sign. From 0 to 1. Default 0. */
    double shift;
    /** Precision in which the factor is stored. double: that of the matrix. single: half the
     *  memory of the factor; the direct solver, on the processor, refines solves to double
     *  precision, never certifies the inertia, and takes double by itself where single does not
     *  do (docs/guide/direct.md). Default double. */
    mpk_precision precision;
    /** Replace triangular solves by this many Jacobi sweeps, 0: exact solves. From 0 to 10000
     *  sweeps. Default 0. */
    int solve_sweeps;
    /** Entries whose mirror images differ by no more than this times the largest entry of their
     *  two rows are taken for equal; below 0 (default): those that differ by what rounding
     *  leaves. Of matrices given with both triangles; the mean of the two is then factorized,
     *  and errors are measured in the matrix as given. A file with larger differences is that
     *  of a matrix that is not symmetric; with a tolerance of the caller's own it is refused.
     *  In C mpk_context_set_symmetry_tolerance says it before a problem is made. From -1 to
     *  1. */
    double symmetry_tolerance;
    /** Relaxation of method ssor. Between 0 and 2; 1: symmetric Gauss-Seidel. From 0.001 to
     *  1.999. Default 1. */
    double omega;
    /** Where the factorization and the solves with it run. cuda: on an NVIDIA GPU, number
     *  device_number; cuda:1 says both. auto: on a GPU where there is one, the factorization
     *  fits and is large enough to gain by it, else on the processor; the report says which.
     *  Where cuda cannot be had the status is MPK_ERR_DEVICE, exit code 7: nothing is moved to
     *  the processor in silence. The analysis is made on the processor. Default cpu. */
    mpk_device device;
    /** Which GPU, from 0. From 0 to 1023. Default 0. */
    int device_number;
    /** Most device memory of a factorization and of the solves with it; 0 (default): what the
     *  device has free. What needs more ends with MPK_ERR_MEMORY, with both numbers in the
     *  text. From 0 to 1e+18 bytes. */
    double device_memory_limit;
    /** Rows that depend on each other share a block, however little their patterns in A have in
     *  common. rb and rbr: the order is made a postorder, and blocks are joined along the
     *  elimination tree; br: rows of one pattern come together first. off: by the cosine alone,
     *  as printed in 2018. Default on. */
    mpk_switch joining;
    /** Which part of a column of L drop_tolerance is measured by. below: what is below the
     *  diagonal block, and the unit diagonal; whole: the column of the diagonal block, too, as
     *  printed in 2018: fewer entries stay. Default below. */
    mpk_drop_norm drop_norm;
    /** How levels of fill grow where two blocks meet. sum: lev(i,k) + lev(k,j) + 1 (Hysom &
     *  Pothen 2002); max: max(lev(i,k), lev(k,j)) + 1, as printed in 2018: more fill from level
     *  2 on. Default sum. */
    mpk_level_rule level_rule;
    /** For ordering given or natural, methods on blocks: the position at which each block
     *  begins, from 0 on, increasing, and at last n; no block has more than 128 rows. Borrowed
     *  likewise. NULL: by strategy. */
    const int32_t *given_blocks;
    /** Likewise the position at which each pivot of one or two rows begins, and at last n:
     *  these pairs instead of those of the matching stay together, and are the pivots of
     *  pivoting static. With given_blocks a pivot lies in one block. NULL: by matching. */
    const int32_t *given_pivots;
    /** How the triangles of a factor on blocks are solved with. exact: by substitution, or by
     *  solve_sweeps Jacobi sweeps where that is above 0; jacobi: by solve_sweeps of them, 3
     *  where that is 0; isai: by products with incomplete sparse approximate inverses of the
     *  triangles, D stays exact; auto: exact or isai, by what one application of each takes and
     *  how far they are apart. See docs/guide/isai.md. Default exact. */
    mpk_triangular triangular;
    /** The pattern of the approximate inverses (triangular isai). factor: that of |L|^k, k
     *  being isai_power; matrix: that of |A|^k, cut to the triangle; blocks: isai_block rows
     *  each along the diagonal. Default factor. */
    mpk_isai_pattern isai_pattern;
    /** The power k of the pattern of approximate inverses, 0: the diagonal alone. From 0 to
     *  1000. Default 1. */
    int isai_power;
    /** Rows of a diagonal block of isai_pattern blocks. From 1 to 1000000 rows. Default 32. */
    int isai_block;
    /** Most entries of a column of an approximate inverse, 0: no limit. The diagonal counts.
     *  What is longer is subject to isai_over. From 0 to 2147483647 entries. Default 0. */
    int isai_limit;
    /** What becomes of a column longer than isai_limit. refuse: an error that names it; less:
     *  it gets the largest power that fits; largest: its largest entries, computed anew on
     *  these alone. The report counts them. Default refuse. */
    mpk_isai_over isai_over;
    /** Sweeps x := x + M (b - L x) after x := M b (triangular isai). They need L beside M: some
     *  of the memory is then held twice. From 0 to 10000 sweeps. Default 0. */
    int isai_relax;
    /** Precision in which the approximate inverses are stored. double: that of the factor.
     *  Default double. */
    mpk_isai_precision isai_precision;
    /** Which blocks keep all their entries although fill_factor is not 0, and what a block that
     *  is empty in A may keep. bitmap: those whose capacity is about half of their size, and
     *  the last hundredth of the block columns; the mean of A's blocks below the diagonal one
     *  of its column. index: as the authors' code of 2018 has it: those whose capacity, with an
     *  index to each value, takes half of their dense bytes (a third of their size; a quarter
     *  in single precision), and the last tenth; the mean counts the triangle of the diagonal
     *  block, too. More entries stay. Default bitmap. */
    mpk_capacity_rule capacity_rule;
    /** Sweeps push a block back where a pivot of it is below this times the 1-norm of its
     *  columns. Of the scaled matrix. Read with stages other than 1; replacing pivots, by
     *  jacobi_epsilon, is another matter. 0: blocks with zero pivots alone. Where all blocks
     *  fail, none is pushed, and the report says so. From 0 to 1. Default 0.001. */
    double jacobi_push;
    /** Hold a block of L in fewer bits where rounding changes no entry of it by more than this;
     *  0 (default): all as precision says. L is relative to its pivots: an entry of 1 is as
     *  large as the pivot. Blocks become bfloat16, single or stay; pivots and D stay. It is
     *  done once the factor is there, so its time is not less; solves read fewer bytes. On the
     *  processor. From 0 to 1. */
    double block_tolerance;
    /** The blocking ends where similarity, which falls from level to level, is below this.
     *  Above similarity no two rows share a block for their cosine. From 0 to 1. Default
     *  0.05. */
    double similarity_end;
    /** Which norm jacobi_epsilon is relative to. matrix: the 1-norm of the scaled matrix, as
     *  printed in 2019, which one dense row raises for all blocks; frame: the 1-norm of the
     *  block's own columns. Default matrix. */
    mpk_jacobi_norm jacobi_norm;
    /** When sweeps decide which blocks are pushed back. first: before the first sweep of a
     *  stage, as in 2019; then all blocks begin anew. last: before its last sweep; blocks that
     *  are accepted, and depend on none that is not, stay as they are, and the next stage
     *  sweeps over the others alone. Default first. */
    mpk_jacobi_judge jacobi_judge;
    /** Approximate inverses by blocks: the columns of a block share one system. on: the pattern
     *  is one of blocks, so all columns of a block have the same rows, whole blocks. M has more
     *  entries, on the processor without an index each: its pattern is found sooner, and
     *  products take longer unless blocks are full. Not with isai_pattern blocks. Default
     *  off. */
    mpk_switch isai_frames;
    /** Keep what the next values need so that only the fronts that they touch are computed. on:
     *  the contributions of all fronts stay, mostly as much again as the factor, at worst ten
     *  times that; the info says how much. mpk_refactorize and mpk_refactorize_entries then
     *  give the bits of a whole factorization. On the processor; a GPU computes everything.
     *  Default off. */
    mpk_switch updates;
    /** Keep blocks of L in low rank where they lose no more than this; 0 (default): all of L as
     *  it is. Of fronts with at least 256 columns and 1024 rows: blocks of L |D|^1/2 of 128 x
     *  128 lose at most this in the Frobenius norm, relative to the scaled matrix. Less memory
     *  and, for meshes in space of 2e5 rows and more, less time; 1e-6 to 1e-10 are usual.
     *  Solves are refined to double precision, inertia is certified where the measured error
     *  allows, and the factor takes all of L by itself where refinement of a trial system does
     *  not converge. It counts for the analysis, too, which orders for it. On the processor.
     *  From 0 to 1. */
    double low_rank_tolerance;
    /** On a GPU: update large fronts by emulated doubles, sums of products of 8-bit integers.
     *  Of real matrices in double. The error of an entry is bounded by the largest entries of
     *  its row and of its column (docs/design/cuda-direct.md), and what counts as rounding in
     *  verdicts is four times as much. on: wherever a front is large; auto: where the GPU has
     *  few units for doubles (cards for graphics; not an A100, H100 or B200), and memory for it
     *  is there; off: never. Default auto. */
    mpk_switch fp64_emulation;
    /* options: end */
    int64_t reserved[9]; /**< 0: for options to come; metapack.h, Structs */
} mpk_options;

/** Fill *options with the defaults. */
MPK_API void mpk_options_init(mpk_options *options);

/** Set one option from text, as the command line does.
 *  ctx   [inout] for the text of an error; may be NULL
 *  key   [in]    "pivot_threshold" or "pivot-threshold"
 *  value [in]    "0.1"; a choice by its word
 *  Returns MPK_OK | MPK_ERR_ARGUMENT: no such option, no such value, out of range; *options is then
 *          unchanged. */
MPK_API mpk_status mpk_options_set(mpk_context *ctx, mpk_options *options, const char *key,
                                   const char *value);

/** C type of an option. */
typedef enum mpk_option_kind {
    MPK_OPTION_CHOICE = 0,  /**< an enum; one of `words` */
    MPK_OPTION_INTEGER = 1, /**< int */
    MPK_OPTION_INT64 = 2,
    MPK_OPTION_REAL = 3 /**< double */
} mpk_option_kind;

/** A row of the table of options. */
typedef struct mpk_option {
    const char *key; /**< as mpk_options_set() takes it */
    size_t offset;   /**< of the field in mpk_options */
    mpk_option_kind kind;
    const char *const *words; /**< of a choice: `count` words, by value; else NULL */
    int count;
    double least, most; /**< range, both ends included; of a choice 0 and count - 1. Those of
                             integers are integers */
    double preset;      /**< the default */
    const char *unit;   /**< "bytes", "steps", ...; empty: a pure number, or a choice */
    unsigned methods;   /**< who reads it: bits 1 << mpk_method, and MPK_READ_DENSE */
    unsigned krylov;    /**< bits 1 << mpk_krylov: read only where one of these runs, none
                             meaning refinement; 0: whichever runs */
    int schedule;       /**< 1: read by schedule jacobi alone; -1: by all others; 0: by all */
    const char *text;   /**< what it is, without capital and full stop */
    const char *more;   /**< further sentences, or empty */
} mpk_option;

enum { MPK_READ_DENSE = 0x10000 }; /**< in mpk_option.methods: read by `metapack solve --dense` */

/** Row `index` of the table, from 0; NULL after the last. */
MPK_API const mpk_option *mpk_option_at(int index);

/** The value in *options; of a choice its number. The one of kind MPK_OPTION_INT64, a seed, is
 *  rounded where it has more than 53 bits: mpk_option_integer() does not round. */
MPK_API double mpk_option_value(const mpk_option *option, const mpk_options *options);

/** The value in *options of a choice or an integer, exactly; 0 for a real number. */
MPK_API int64_t mpk_option_integer(const mpk_option *option, const mpk_options *options);

/** Does a sparse solve with these options read this one? Of method auto: does its direct solver or
 *  its ladder, except what that chooses by itself? What another option makes idle is not read.
 *  why [out] `size` bytes, or NULL: "not read by method ldlt, but by ildlt and ilu0"; empty if read
 *  Returns 1 or 0. */
MPK_API int mpk_option_is_read(const mpk_option *option, const mpk_options *options, char *why,
                               size_t size);

/** The word for a value of a choice: ("schedule", MPK_SCHEDULE_PULL) gives "pull"; "unknown" where
 *  there is none. */
MPK_API const char *mpk_option_word(const char *key, int value);

/** The same for ordering and method. */
MPK_API const char *mpk_ordering_name(mpk_ordering ordering);
MPK_API const char *mpk_method_name(mpk_method method);

/** The functions of these names, told how large the caller's struct is: metapack.h, Structs. */
MPK_API void mpk_options_init_sized(size_t size, mpk_options *options);
#ifndef MPKI_LIBRARY
#define mpk_options_init(...) mpk_options_init_sized(sizeof(mpk_options), __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
