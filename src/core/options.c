/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of options: keys, ranges, words, defaults. */
#define _GNU_SOURCE
#include "floats.h"
#include "core.h"
#include "sizes.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const ordering_names[] = {"auto",  "amd",     "metis", "scotch", "rcm",
                                             "given", "natural", "nd",    "gmc"};
static const char *const method_names[] = {"auto", "ldlt",     "ildlt",        "jacobi", "ilu0",
                                           "none", "diagonal", "block_jacobi", "ssor"};
static const char *const krylov_names[] = {"auto", "none",  "sqmr",   "minres",   "symmlq",
                                           "cg",   "gmres", "fgmres", "bicgstab", "idr"};
static const char *const strategy_names[] = {"auto", "br", "rb", "rbr"};
static const char *const type_names[] = {"ldlt", "llt", "ldu"};
static const char *const pivoting_names[] = {"none", "static", "bk", "rook", "complete"};
static const char *const schedule_names[] = {"pull", "subsets", "atomic", "jacobi"};
static const char *const precision_names[] = {"double", "single"};
static const char *const device_names[] = {"cpu", "cuda", "auto"};
static const char *const triangular_names[] = {"exact", "jacobi", "isai", "auto"};
static const char *const isai_pattern_names[] = {"factor", "matrix", "blocks"};
static const char *const isai_over_names[] = {"refuse", "less", "largest"};
static const char *const switch_names[] = {"off", "on", "auto"};
static const char *const on_names[] = {"off", "on"};
static const char *const norm_names[] = {"below", "whole"};
static const char *const rule_names[] = {"sum", "max"};
static const char *const capacity_names[] = {"bitmap", "index"};
static const char *const sweep_norm_names[] = {"matrix", "frame"};
static const char *const judge_names[] = {"first", "last"};

#define LDLT (1u << MPK_METHOD_LDLT)
#define ILDLT (1u << MPK_METHOD_ILDLT)
#define JACOBI (1u << MPK_METHOD_JACOBI)
#define ILU0 (1u << MPK_METHOD_ILU0)
#define NONE (1u << MPK_METHOD_NONE)
#define AUTO (1u << MPK_METHOD_AUTO)
#define DIAGONAL (1u << MPK_METHOD_DIAGONAL)
#define BLOCK_JACOBI (1u << MPK_METHOD_BLOCK_JACOBI)
#define SSOR (1u << MPK_METHOD_SSOR)
#define DENSE MPK_READ_DENSE
#define BLOCKS (ILDLT | JACOBI | ILU0)
#define SIMPLE (DIAGONAL | BLOCK_JACOBI | SSOR)
#define SPARSE (AUTO | LDLT | BLOCKS | NONE | SIMPLE)
#define CHOSEN (ILDLT | JACOBI) /* not ilu0. No AUTO: it chooses the value */
#define K(name) (1u << MPK_KRYLOV_##name)
#define ITERATIVE (~(K(AUTO) | K(NONE)))

#define FIELD(key) #key, offsetof(mpk_options, key)
#define WORDS(key, names, preset)                                                                  \
    FIELD(key), MPK_OPTION_CHOICE, names, sizeof names / sizeof *names, 0,                         \
        (double)(sizeof names / sizeof *names - 1), preset
#define WHOLE(key, least, most, preset) FIELD(key), MPK_OPTION_INTEGER, NULL, 0, least, most, preset
#define LONG(key, least, most, preset) FIELD(key), MPK_OPTION_INT64, NULL, 0, least, most, preset
#define NUMBER(key, least, most, preset) FIELD(key), MPK_OPTION_REAL, NULL, 0, least, most, preset

/* The table of options. All else that is said about options is made from it: the defaults, the help
 * of the command, the options of PETSc and Python, reports; and by tools/option-texts the comments
 * of mpk_options, the manual pages, the completion and docs/reference/options.md. */
static const mpk_option table[] = {
    {WORDS(method, method_names, MPK_METHOD_AUTO), "", SPARSE, 0, 0, "how A is factorized",
     "auto: direct where it fits, else ildlt, stronger until it converges; ldlt: the direct "
     "solver; ildlt: an LDLT factorization on blocks, complete or incomplete; jacobi: the same by "
     "fixed-point sweeps; ilu0: the same on scalars, without fill, pivoting or dropping; none: no "
     "preconditioner but the scaling; diagonal: that of A; block_jacobi: the blocks on the "
     "diagonal; ssor: symmetric successive over-relaxation with omega. Of a matrix that is "
     "not symmetric ldlt is L U with exchanges of rows, on the processor; ildlt and jacobi need "
     "factor_type ldu, which ilu0 implies."},
    {WORDS(ordering, ordering_names, MPK_ORDERING_AUTO), "",
     AUTO | LDLT | BLOCKS | BLOCK_JACOBI | SSOR, 0, 0, "the fill-reducing ordering",
     "auto: AMD, or nested dissection (nd) where that pays for its own time; for ssor natural: as "
     "the matrix is given; gmc: greedy multicolouring, only for methods on blocks; given: the "
     "caller's own. An incomplete factor of a matrix that is not symmetric gets rcm from auto."},
    {WORDS(matching, switch_names, MPK_AUTO), "", SPARSE & ~(DIAGONAL | SSOR), 0, 0,
     "maximum-product matching, for scaling and 2x2 pivots",
     "Pairs of rows that are likely to become 2x2 pivots stay together in the ordering, which "
     "helps where the diagonal has zeros; of a matrix that is not symmetric rows are permuted to "
     "bring large entries to the diagonal. auto: the direct solver compares costs with and without "
     "where the diagonal is weak, and matches rows then; methods on blocks use it."},
    {WORDS(scaling, switch_names, MPK_AUTO), "", SPARSE, 0, 0,
     "scaling before the factorization, symmetric where A is", ""},
    {NUMBER(pivot_threshold, 0, 0.5, 0.01), "", AUTO | LDLT | ILDLT | DENSE, 0, -1,
     "accept a pivot if the entries of L under it are at most 1/u in modulus",
     "A larger u is more stable and slower. Methods on blocks reject pivots only in stages before "
     "the last."},
    {NUMBER(zero_tolerance, -1, 1, -1), "", AUTO | LDLT | DENSE, 0, 0,
     "a pivot column with no entry above this times the largest of the scaled matrix is zero; "
     "below 0 (default): chosen from the precision",
     "See docs/guide/numerics.md."},
    {NUMBER(static_shift, 0, 1, 0), "", AUTO | LDLT | ILDLT | ILU0 | SIMPLE, 0, -1,
     "replace failed pivots by this times the largest entry of the scaled matrix; 0 (default): "
     "never",
     "They are then not delayed, and the inertia is not certified. With 0 the direct solver delays "
     "them, and the last stage of a method on blocks replaces pivots below 1e-8 (1e-4 in single "
     "precision), in a complete factorization below 1e-14 (1e-6). Methods diagonal, block_jacobi "
     "and ssor, too, take pivots below this or 1e-14 (1e-6) as zero, and replace them by the "
     "largest "
     "entry: such a row is left as the scaling has it."},
    {WHOLE(threads, 0, MPKI_THREADS_MOST, 0), "threads", SPARSE | DENSE, 0, 0,
     "threads at work, at most; 0 (default): OMP_NUM_THREADS, else all cores given to the process",
     "No more are taken than there are cores, and the direct solver takes those that save time: "
     "its "
     "bits do not depend on them."},
    {WHOLE(model_threads, 1, 1024, 2), "threads", AUTO | LDLT, 0, 0,
     "choose the ordering for a machine with this many threads",
     "The threads at work do not change it: the same choice, and the same bits, for any number of "
     "them."},
    {WHOLE(refine, 0, 1000, 10), "steps", AUTO | LDLT | DENSE, K(NONE), 0,
     "most steps of iterative refinement", ""},
    {NUMBER(accuracy, -1, 1, -1), "", SPARSE | DENSE, 0, 0,
     "componentwise backward error that the solution is to reach; below 0 (default): a small "
     "multiple of the unit roundoff",
     ""},
    {WORDS(deterministic, switch_names, MPK_ON), "", SPARSE | DENSE, 0, 0,
     "the same bits for any number of threads",
     "off: in incomplete factorizations leftover capacity goes to whoever asks first. All else is "
     "deterministic anyway, except schedule atomic and what triangular auto chooses, by time."},
    {WORDS(condition, switch_names, MPK_OFF), "", AUTO | LDLT | DENSE, K(NONE), 0,
     "estimate the condition number of A", ""},
    {LONG(seed, -9e18, 9e18, 1), "", SPARSE | DENSE, 0, 0, "seed of all random choices", ""},
    {NUMBER(memory_limit, 0, 1e18, 0), "bytes", SPARSE | DENSE, 0, 0,
     "most memory of a factorization, on blocks also of the solves with it; 0 (default): what the "
     "machine has free",
     "What is predicted to need more is refused at once; a factor that needs more on the way ends "
     "with MPK_ERR_MEMORY. What several threads hold beside it counts, what one holds does not."},
    {WORDS(krylov, krylov_names, MPK_KRYLOV_AUTO), "", SPARSE, 0, 0,
     "the iterative method, with the factor as preconditioner",
     "Minres, symmlq and cg use L |D| L^T. auto: refinement after ldlt, otherwise sqmr, or gmres "
     "where the factor is ldu; none: refinement alone. For matrices that are not symmetric: gmres, "
     "fgmres, bicgstab and idr."},
    {NUMBER(tolerance, -1, 1, -1), "", SPARSE, ITERATIVE, 0,
     "true relative residual |b - A x| / |b| to reach; below 0 (default): as accurate as rounding "
     "allows",
     "In the 2-norm. By default the componentwise backward error has to reach accuracy; if it does "
     "not, but the relative residual is at most 1e-6 (1e-4 in single precision), the status is "
     "MPK_INACCURATE, exit code 5."},
    {WHOLE(max_iterations, 0, 1e9, 1000), "iterations", SPARSE, ITERATIVE, 0,
     "most iterations of the iterative method", ""},
    {WHOLE(restart, 1, 100000, 50), "steps", SPARSE, K(GMRES) | K(FGMRES), 0,
     "gmres and fgmres restart after this many steps", ""},
    {WHOLE(shadow, 1, 64, 4), "vectors", SPARSE, K(IDR), 0, "vectors in the shadow space of idr",
     ""},
    {WORDS(direct, switch_names, MPK_AUTO), "", AUTO, 0, 0,
     "may method auto use the direct solver?", "auto: where it fits in memory."},
    {WORDS(strategy, strategy_names, MPK_STRATEGY_AUTO), "", AUTO | BLOCKS | BLOCK_JACOBI, 0, 0,
     "how rows become blocks",
     "br: make blocks, then reorder them; rb: reorder the rows, then cut; rbr: reorder, cut, "
     "reorder the blocks. See docs/design/blocking.md."},
    {WHOLE(block, 1, 128, 32), "rows", AUTO | CHOSEN | BLOCK_JACOBI, 0, 0, "most rows of a block",
     ""},
    {WORDS(grid, switch_names, MPK_OFF), "", AUTO | CHOSEN | BLOCK_JACOBI, 0, 0,
     "cut blocks with exactly as many rows as block says", "The last one may have fewer."},
    {NUMBER(similarity, 0, 1, 0.8), "", AUTO | CHOSEN | BLOCK_JACOBI, 0, 0,
     "rows share a block if the cosine of their patterns is at least this",
     "It is multiplied by 0.9 from one level of the blocking to the next."},
    {WHOLE(level, -1, 1000000, 1), "", CHOSEN, 0, 0, "level of fill of the blocks, -1: complete",
     ""},
    {NUMBER(fill_factor, 0, 1e9, 4), "", CHOSEN, 0, 0,
     "a block of L keeps at most this times as many entries as in A, 0: no limit",
     "A block that is empty in A gets the mean of its block column. Capacity that a block leaves "
     "unused goes to later ones. Diagonal blocks, the last block columns and blocks whose capacity "
     "is about half of their size or more keep all entries; nothing is dropped there."},
    {NUMBER(drop_tolerance, 0, 1, 1e-4), "", CHOSEN, 0, 0,
     "drop entries of L that are not above this times the norm of their column",
     "The 2-norm of the column of L, with the unit diagonal."},
    {WORDS(factor_type, type_names, MPK_TYPE_LDLT), "", AUTO | BLOCKS, 0, 0,
     "form of a factorization on blocks",
     "llt: for positive definite matrices; where an incomplete one meets a pivot that is not "
     "positive, it begins again with part of the diagonal added to the matrix, more each time, and "
     "the report says how much. ldu: rows and columns are pivoted separately, with twice the "
     "memory; the one form for matrices that are not symmetric."},
    {WORDS(pivoting, pivoting_names, MPK_PIVOTING_ROOK), "", AUTO | CHOSEN | BLOCK_JACOBI, 0, 0,
     "pivoting inside a diagonal block", ""},
    {WHOLE(stages, 0, 1000, 1), "stages", CHOSEN, 0, 0,
     "stages of outer pivoting, 1: none, 0: as many as it takes",
     "Blocks that fail pivot_threshold are pushed back to the next stage. Where a stage accepts "
     "hardly any, those that are left become one dense pivot, or are joined to larger blocks."},
    {WORDS(butterfly, switch_names, MPK_OFF), "", CHOSEN, 0, 0,
     "transform diagonal blocks by random butterflies: those that were rejected; with stages 1, "
     "which rejects none, all",
     "With stages 1 and pivoting none that is static pivoting: nothing is delayed, no row is "
     "searched. A frame that is zero stays zero."},
    {WORDS(schedule, schedule_names, MPK_SCHEDULE_PULL), "", AUTO | ILDLT | ILU0, 0, 0,
     "in which order the blocks are computed, and who writes where",
     "pull: a block gathers its updates when its level set is due; subsets: updates are pushed, in "
     "conflict-free subsets of level sets; atomic: by atomic subtraction, not reproducible; "
     "jacobi: all blocks at once, in sweeps."},
    {WHOLE(sweeps, 1, 10000, 8), "sweeps", AUTO | BLOCKS, 0, 1,
     "sweeps of the fixed-point factorization (schedule jacobi)", ""},
    {NUMBER(jacobi_epsilon, 0, 1, 0.1), "", AUTO | BLOCKS, 0, 1,
     "sweeps replace pivots below this times the 1-norm of the scaled matrix", ""},
    {NUMBER(jacobi_decay, 0, 1, 0.95), "", AUTO | BLOCKS, 0, 1,
     "the factor by which jacobi_epsilon falls from sweep to sweep", ""},
    {NUMBER(shift, 0, 1, 0), "", AUTO | BLOCKS | SIMPLE, 0, 0,
     "add this to the diagonal of the scaled matrix, with its sign", ""},
    {WORDS(precision, precision_names, MPK_PRECISION_DOUBLE), "",
     AUTO | LDLT | BLOCKS | SIMPLE | DENSE, 0, 0, "precision in which the factor is stored",
     "double: that of the matrix. single: half the memory of the factor; the direct solver, on the "
     "processor, refines solves to double precision, never certifies the inertia, and takes double "
     "by itself where single does not do (docs/guide/direct.md)."},
    {WHOLE(solve_sweeps, 0, 10000, 0), "sweeps", AUTO | BLOCKS | SSOR, 0, 0,
     "replace triangular solves by this many Jacobi sweeps, 0: exact solves", ""},
    {NUMBER(symmetry_tolerance, -1, 1, -1), "", SPARSE | DENSE, 0, 0,
     "entries whose mirror images differ by no more than this times the largest entry of their two "
     "rows are taken for equal; below 0 (default): those that differ by what rounding leaves",
     "Of matrices given with both triangles; the mean of the two is then factorized, and errors "
     "are "
     "measured in the matrix as given. A file with larger differences is that of a matrix that is "
     "not symmetric; with a tolerance of the caller's own it is refused. In C "
     "mpk_context_set_symmetry_tolerance says it before a problem is made."},
    {NUMBER(omega, 0.001, 1.999, 1), "", SSOR, 0, 0, "relaxation of method ssor",
     "Between 0 and 2; 1: symmetric Gauss-Seidel."},
    {WORDS(device, device_names, MPK_ON_CPU), "", SPARSE | DENSE, 0, 0,
     "where the factorization and the solves with it run",
     "cuda: on an NVIDIA GPU, number device_number; cuda:1 says both. auto: on a GPU where there "
     "is "
     "one, the factorization fits and is large enough to gain by it, else on the processor; the "
     "report says which. Where cuda cannot be had the status is MPK_ERR_DEVICE, exit code 7: "
     "nothing is moved to the processor in silence. The analysis is made on the processor."},
    {WHOLE(device_number, 0, 1023, 0), "", SPARSE | DENSE, 0, 0, "which GPU, from 0", ""},
    {NUMBER(device_memory_limit, 0, 1e18, 0), "bytes", SPARSE | DENSE, 0, 0,
     "most device memory of a factorization and of the solves with it; 0 (default): what the "
     "device "
     "has free",
     "What needs more ends with MPK_ERR_MEMORY, with both numbers in the text."},
    {WORDS(joining, switch_names, MPK_ON), "", AUTO | BLOCKS | BLOCK_JACOBI, 0, 0,
     "rows that depend on each other share a block, however little their patterns in A have in "
     "common",
     "rb and rbr: the order is made a postorder, and blocks are joined along the elimination tree; "
     "br: rows of one pattern come together first. off: by the cosine alone, as printed in 2018."},
    {WORDS(drop_norm, norm_names, MPK_DROP_NORM_BELOW), "", ILDLT, 0, -1,
     "which part of a column of L drop_tolerance is measured by",
     "below: what is below the diagonal block, and the unit diagonal; whole: the column of the "
     "diagonal block, too, as printed in 2018: fewer entries stay."},
    {WORDS(level_rule, rule_names, MPK_LEVEL_RULE_SUM), "", CHOSEN, 0, 0,
     "how levels of fill grow where two blocks meet",
     "sum: lev(i,k) + lev(k,j) + 1 (Hysom & Pothen 2002); max: max(lev(i,k), lev(k,j)) + 1, as "
     "printed in 2018: more fill from level 2 on."},
    {WORDS(triangular, triangular_names, MPK_TRIANGULAR_EXACT), "", AUTO | BLOCKS | SSOR, 0, 0,
     "how the triangles of a factor on blocks are solved with",
     "exact: by substitution, or by solve_sweeps Jacobi sweeps where that is above 0; jacobi: by "
     "solve_sweeps of them, 3 where that is 0; isai: by products with incomplete sparse "
     "approximate inverses of the triangles, D stays exact; auto: exact or isai, by what one "
     "application of each takes and how far they are apart. See docs/guide/isai.md."},
    {WORDS(isai_pattern, isai_pattern_names, MPK_ISAI_OF_FACTOR), "", AUTO | BLOCKS | SSOR, 0, 0,
     "the pattern of the approximate inverses (triangular isai)",
     "factor: that of |L|^k, k being isai_power; matrix: that of |A|^k, cut to the triangle; "
     "blocks: isai_block rows each along the diagonal."},
    {WHOLE(isai_power, 0, 1000, 1), "", AUTO | BLOCKS | SSOR, 0, 0,
     "the power k of the pattern of approximate inverses, 0: the diagonal alone", ""},
    {WHOLE(isai_block, 1, 1000000, 32), "rows", AUTO | BLOCKS | SSOR, 0, 0,
     "rows of a diagonal block of isai_pattern blocks", ""},
    {WHOLE(isai_limit, 0, 2147483647, 0), "entries", AUTO | BLOCKS | SSOR, 0, 0,
     "most entries of a column of an approximate inverse, 0: no limit",
     "The diagonal counts. What is longer is subject to isai_over."},
    {WORDS(isai_over, isai_over_names, MPK_ISAI_REFUSE), "", AUTO | BLOCKS | SSOR, 0, 0,
     "what becomes of a column longer than isai_limit",
     "refuse: an error that names it; less: it gets the largest power that fits; largest: its "
     "largest entries, computed anew on these alone. The report counts them."},
    {WHOLE(isai_relax, 0, 10000, 0), "sweeps", AUTO | BLOCKS | SSOR, 0, 0,
     "sweeps x := x + M (b - L x) after x := M b (triangular isai)",
     "They need L beside M: some of the memory is then held twice."},
    {WORDS(isai_precision, precision_names, MPK_PRECISION_DOUBLE), "", AUTO | BLOCKS | SSOR, 0, 0,
     "precision in which the approximate inverses are stored", "double: that of the factor."},
    {WORDS(capacity_rule, capacity_names, MPK_CAPACITY_RULE_BITMAP), "", CHOSEN, 0, 0,
     "which blocks keep all their entries although fill_factor is not 0, and what a block that is "
     "empty in A may keep",
     "bitmap: those whose capacity is about half of their size, and the last hundredth of the "
     "block "
     "columns; the mean of A's blocks below the diagonal one of its column. index: as the authors' "
     "code of 2018 has it: those whose capacity, with an index to each value, takes half of their "
     "dense bytes (a third of their size; a quarter in single precision), and the last tenth; the "
     "mean counts the triangle of the diagonal block, too. More entries stay."},
    {NUMBER(jacobi_push, 0, 1, 1e-3), "", CHOSEN, 0, 1,
     "sweeps push a block back where a pivot of it is below this times the 1-norm of its columns",
     "Of the scaled matrix. Read with stages other than 1; replacing pivots, by jacobi_epsilon, is "
     "another matter. 0: blocks with zero pivots alone. Where all blocks fail, none is pushed, and "
     "the report says so."},
    {NUMBER(block_tolerance, 0, 1, 0), "", CHOSEN, 0, 0,
     "hold a block of L in fewer bits where rounding changes no entry of it by more than this; 0 "
     "(default): all as precision says",
     "L is relative to its pivots: an entry of 1 is as large as the pivot. Blocks become bfloat16, "
     "single or stay; pivots and D stay. It is done once the factor is there, so its time is not "
     "less; solves read fewer bytes. On the processor."},
    {NUMBER(similarity_end, 0, 1, 0.05), "", AUTO | CHOSEN | BLOCK_JACOBI, 0, 0,
     "the blocking ends where similarity, which falls from level to level, is below this",
     "Above similarity no two rows share a block for their cosine."},
    {WORDS(jacobi_norm, sweep_norm_names, MPK_JACOBI_NORM_MATRIX), "", AUTO | BLOCKS, 0, 1,
     "which norm jacobi_epsilon is relative to",
     "matrix: the 1-norm of the scaled matrix, as printed in 2019, which one dense row raises for "
     "all blocks; frame: the 1-norm of the block's own columns."},
    {WORDS(jacobi_judge, judge_names, MPK_JACOBI_JUDGE_FIRST), "", CHOSEN, 0, 1,
     "when sweeps decide which blocks are pushed back",
     "first: before the first sweep of a stage, as in 2019; then all blocks begin anew. last: "
     "before its last sweep; blocks that are accepted, and depend on none that is not, stay as "
     "they are, and the next stage sweeps over the others alone."},
    {WORDS(isai_frames, on_names, MPK_OFF), "", AUTO | CHOSEN, 0, 0,
     "approximate inverses by blocks: the columns of a block share one system",
     "on: the pattern is one of blocks, so all columns of a block have the same rows, whole "
     "blocks. "
     "M has more entries, on the processor without an index each: its pattern is found sooner, and "
     "products take longer unless blocks are full. Not with isai_pattern blocks."},
    {WORDS(updates, on_names, MPK_OFF), "", AUTO | LDLT, 0, 0,
     "keep what the next values need so that only the fronts that they touch are computed",
     "on: the contributions of all fronts stay, mostly as much again as the factor, at worst ten "
     "times that; the info says how much. mpk_refactorize and mpk_refactorize_entries then give "
     "the bits of a whole factorization. On the processor; a GPU computes everything."},
    {NUMBER(low_rank_tolerance, 0, 1, 0), "", LDLT, 0, 0,
     "keep blocks of L in low rank where they lose no more than this; 0 (default): all of L as it "
     "is",
     "Of fronts with at least 256 columns and 1024 rows: blocks of L |D|^1/2 of 128 x 128 lose at "
     "most this in the Frobenius norm, relative to the scaled matrix. Less memory and, for "
     "meshes in space of 2e5 rows and more, less time; 1e-6 to 1e-10 are usual. Solves are "
     "refined to double precision, inertia is certified where the measured error allows, and the "
     "factor takes all of L by itself where refinement of a trial system does not converge. It "
     "counts for the analysis, too, which orders for it. On the processor."},
    {WORDS(fp64_emulation, switch_names, MPK_AUTO), "", AUTO | LDLT, 0, 0,
     "on a GPU: update large fronts by emulated doubles, sums of products of 8-bit integers",
     "Of real matrices in double. The error of an entry is bounded by the largest entries of its "
     "row and of its column (docs/design/cuda-direct.md), and what counts as rounding in verdicts "
     "is four times as much. on: wherever a front is large; auto: where the GPU has few units for "
     "doubles (cards for graphics; not an A100, H100 or B200), and memory for it is there; off: "
     "never."},
};
enum { TABLE_SIZE = sizeof table / sizeof *table };
_Static_assert(TABLE_SIZE <= 128, "mpk_job.asked and .asked_more have a bit for each");

const mpk_option *mpk_option_at(int index) {
    return index >= 0 && index < TABLE_SIZE ? &table[index] : NULL;
}

static void put(const mpk_option *o, double value, mpk_options *options) {
    char *field = (char *)options + o->offset;
    if (o->kind == MPK_OPTION_REAL)
        *(double *)field = value;
    else if (o->kind == MPK_OPTION_INT64)
        *(int64_t *)field = (int64_t)value;
    else
        *(int *)field = (int)value;
}

/* Options that an older program has no field for are at their defaults. */
static bool beyond(const mpk_option *o, const mpk_options *options) {
    return options->struct_size > 0 && o->offset >= options->struct_size;
}

int64_t mpk_option_integer(const mpk_option *o, const mpk_options *options) {
    if (beyond(o, options)) return o->kind == MPK_OPTION_REAL ? 0 : (int64_t)o->preset;
    const char *field = (const char *)options + o->offset;
    return o->kind == MPK_OPTION_REAL    ? 0
           : o->kind == MPK_OPTION_INT64 ? *(const int64_t *)field
                                         : *(const int *)field;
}

double mpk_option_value(const mpk_option *o, const mpk_options *options) {
    if (beyond(o, options)) return o->preset;
    const char *field = (const char *)options + o->offset;
    return o->kind == MPK_OPTION_REAL ? *(const double *)field
                                      : (double)mpk_option_integer(o, options);
}

/* Integers are compared as such: a double cannot tell 9e18 + 1 from 9e18. */
static bool whole_in_range(const mpk_option *o, int64_t value) {
    return value >= (int64_t)o->least && value <= (int64_t)o->most;
}

static bool in_range(const mpk_option *o, const mpk_options *options) {
    if (o->kind != MPK_OPTION_REAL) return whole_in_range(o, mpk_option_integer(o, options));
    const double x = mpk_option_value(o, options);
    return x >= o->least && x <= o->most;
}

void mpk_options_init(mpk_options *options) {
    if (!options) return;
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
    for (int k = 0; k < TABLE_SIZE; k++) put(&table[k], table[k].preset, options);
}

/* The same key with dashes or underscores. */
static bool key_equal(const char *a, const char *b) {
    for (; *a && *b; a++, b++)
        if ((*a == '-' ? '_' : *a) != (*b == '-' ? '_' : *b)) return false;
    return *a == *b;
}

/* Bytes of mpk_options in every version. */
#define LEAST offsetof(mpk_options, seed)

static mpk_status not_set_up(mpk_context *ctx) {
    return mpki_error(ctx, MPK_ERR_ARGUMENT, "options", -1,
                      "options were not set up by mpk_options_init()");
}

static mpk_status bad(mpk_context *ctx, const char *key, const char *value, const char *want) {
    return mpki_error(ctx, MPK_ERR_ARGUMENT, "options", -1, "%s = '%s': expected %s", key, value,
                      want);
}

/* strtod, but with a decimal point whatever the caller's locale has. */
static double read_real(const char *text, char **end) {
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a static object in glibc */
    const double x = c ? strtod_l(text, end, c) : strtod(text, end);
    if (c) freelocale(c);
    return x;
}

static mpk_status set(mpk_context *ctx, mpk_options *options, const char *key, const char *value) {
    if (key_equal("device", key) && !strncmp(value, "cuda:", 5)) { /* two options at once */
        options->device = MPK_ON_CUDA;
        return set(ctx, options, "device_number", value + 5);
    }
    for (int k = 0; k < TABLE_SIZE; k++) {
        const mpk_option *o = &table[k];
        char want[160] = "", *end = NULL;
        if (!key_equal(o->key, key)) continue;
        if (o->kind == MPK_OPTION_CHOICE) {
            for (int c = 0; c < o->count; c++) {
                if (!strcmp(o->words[c], value)) {
                    put(o, c, options);
                    return MPK_OK;
                }
                strcat(strcat(want, c ? " | " : ""), o->words[c]);
            }
            return bad(ctx, key, value, want);
        }
        const bool real = o->kind == MPK_OPTION_REAL;
        errno = 0;
        const long long whole = real ? 0 : strtoll(value, &end, 10);
        const double x = real ? read_real(value, &end) : (double)whole;
        snprintf(want, sizeof want, "%s from %.15g to %.15g", real ? "a number" : "an integer",
                 o->least, o->most);
        const bool fits = real ? x >= o->least && x <= o->most : !errno && whole_in_range(o, whole);
        if (end == value || *end || !fits) return bad(ctx, key, value, want);
        if (o->kind == MPK_OPTION_INT64)
            *(int64_t *)((char *)options + o->offset) = whole;
        else
            put(o, x, options);
        return MPK_OK;
    }
    return mpki_error(ctx, MPK_ERR_ARGUMENT, "options", -1, "there is no option '%s'", key);
}

mpk_status mpk_options_set(mpk_context *ctx, mpk_options *options, const char *key,
                           const char *value) {
    MPKI_CALM;
    mpki_clear_error(ctx);
    mpk_options full;
    if (!options || !key || !value || !mpki_read_struct(&full, sizeof full, options, LEAST))
        return not_set_up(ctx);
    const size_t size = options->struct_size;
    for (int k = 0; k < TABLE_SIZE; k++) /* an older program has no room for what is newer */
        if (key_equal(table[k].key, key) && table[k].offset >= size)
            return mpki_error(ctx, MPK_ERR_ARGUMENT, "options", -1,
                              "option '%s' is newer than the header that the caller has", key);
    const mpk_status status = set(ctx, &full, key, value);
    if (mpk_failed(status)) return status;
    memcpy(options, &full, size < sizeof full ? size : sizeof full);
    options->struct_size = size;
    return status;
}

mpk_status mpki_options_resolve(mpk_context *ctx, const mpk_options *given, mpk_options *full) {
    mpk_options_init(full);
    if (given && !mpki_read_struct(full, sizeof *full, given, LEAST)) return not_set_up(ctx);
    for (int k = 0; k < TABLE_SIZE; k++) {
        if (!in_range(&table[k], full))
            return mpki_error(ctx, MPK_ERR_ARGUMENT, "options", -1,
                              "%s = %.15g is out of its range, %.15g to %.15g", table[k].key,
                              mpk_option_value(&table[k], full), table[k].least, table[k].most);
    }
    if (full->threads == 0) full->threads = mpki_threads_default();
    return MPK_OK;
}

int mpki_threads_default(void) {
    const char *omp = getenv("OMP_NUM_THREADS");
    if (omp) {
        long asked = strtol(omp, NULL, 10);
        if (asked >= 1 && asked <= MPKI_THREADS_MOST) return (int)asked;
    }
    return mpki_cores();
}

int mpki_cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    int cores = CPU_COUNT(&set);
    return cores > 0 ? cores : 1;
}

const char *mpk_option_word(const char *key, int value) {
    for (int k = 0; key && k < TABLE_SIZE; k++)
        if (table[k].kind == MPK_OPTION_CHOICE && key_equal(table[k].key, key))
            return value >= 0 && value < table[k].count ? table[k].words[value] : "unknown";
    return "unknown";
}

const char *mpk_ordering_name(mpk_ordering ordering) {
    return mpk_option_word("ordering", (int)ordering);
}

const char *mpk_method_name(mpk_method method) {
    return mpk_option_word("method", (int)method);
}
