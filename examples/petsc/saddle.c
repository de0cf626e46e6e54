/* SPDX-License-Identifier: BSD-3-Clause */
/** Two saddle-point systems, assembled in parallel by PETSc and solved as the options say. Nothing
 *  here knows METAPACK: -dll_append and a solver type bring it in (docs/guide/petsc.md).
 *
 *    export PETSC_OPTIONS="-dll_append /usr/local/lib/metapack/petsc/real/libmetapack_petsc.so"
 *    saddle -n 64 -ksp_type preonly -pc_type cholesky -pc_factor_mat_solver_type metapack
 *    mpiexec -n 4 saddle -problem control -pc_type asm -sub_pc_type cholesky \
 *            -sub_pc_factor_mat_solver_type metapack
 *
 *  stokes:  flow in a channel, bilinear velocity and pressure, the pressure stabilized (Brezzi &
 *           Pitkaranta 1984): [K B^T; B -beta h^2 L]. Exact: u = 4 y (1 - y), p = 8 (1 - x).
 *  control: min ||y - yd||^2 / 2 + alpha ||u||^2 / 2 with -Laplace y = u: the KKT system
 *           [M 0 K; 0 alpha M -M; K -M 0], which has a zero block.
 *
 *  Both have three unknowns a node and, of N nodes, inertia (2 N, N, 0). Options: -n elements a
 *  side, -problem, -alpha, -beta; all of PETSc's; -dm_mat_type sbaij. -f FILE takes a symmetric
 *  matrix from PETSc's binary format instead (bench/petsc_matrix.py writes it), and b = A times
 *  ones. Ends with 1 if the solve failed, 2 if an inertia is wrong. */
#include <petscdmda.h>
#include <petscksp.h>
#include <petsctime.h>

enum { NODES = 4, DOF = 3, SIZE = NODES * DOF };

typedef struct problem {
    PetscBool control;
    PetscInt n; /* elements a side */
    PetscReal alpha, beta, h;
    DM grid; /* NULL: from a file */
    char file[PETSC_MAX_PATH_LEN];
} problem;

/* Integrals of two bilinear functions on a square of side h: a product of those on its sides. */
static PetscReal mass(PetscReal h, int a, int b) {
    return a == b ? h / 3 : h / 6;
}
static PetscReal stiff(PetscReal h, int a, int b) {
    return a == b ? 1 / h : -1 / h;
}
static PetscReal slope(int b) {
    return b ? 0.5 : -0.5;
} /* of phi_a phi_b' */

/* The element's matrix: nodes counted x first, three unknowns each. */
static void element(const problem *p, PetscReal e[SIZE][SIZE]) {
    const PetscReal h = p->h;
    PetscReal(*at)[SIZE] = e;
    for (int a = 0; a < NODES; a++)
        for (int b = 0; b < NODES; b++) {
            const int ax = a % 2, ay = a / 2, bx = b % 2, by = b / 2, i = a * DOF, j = b * DOF;
            const PetscReal m = mass(h, ax, bx) * mass(h, ay, by);
            const PetscReal k =
                stiff(h, ax, bx) * mass(h, ay, by) + mass(h, ax, bx) * stiff(h, ay, by);
            if (p->control) {
                at[i][j] = m;
                at[i][j + 2] = at[i + 2][j] = k;
                at[i + 1][j + 1] = p->alpha * m;
                at[i + 1][j + 2] = at[i + 2][j + 1] = -m;
            } else {
                at[i][j] = at[i + 1][j + 1] = k;
                at[i + 2][j] = -slope(bx) * mass(h, ay, by);
                at[i + 2][j + 1] = -mass(h, ax, bx) * slope(by);
                at[i][j + 2] = -slope(ax) * mass(h, by, ay);
                at[i + 1][j + 2] = -mass(h, bx, ax) * slope(ay);
                at[i + 2][j + 2] = -p->beta * h * h * k;
            }
        }
}

/* Is unknown c of node (i, j) prescribed, and to what? */
static PetscBool prescribed(const problem *p, PetscInt i, PetscInt j, int c, PetscReal *value) {
    const PetscBool wall = (PetscBool)(j == 0 || j == p->n);
    const PetscReal y = (PetscReal)j * p->h;
    *value = 0;
    if (p->control) return (PetscBool)(c != 1 && (wall || i == 0 || i == p->n));
    if (c == 0) *value = 4 * y * (1 - y);
    return (PetscBool)(c != 2 && (wall || i == 0));
}

/* One element into the matrix, and its right-hand side into b. Rows and columns of prescribed
 * unknowns become those of the identity, of the sign that keeps the inertia. */
static PetscErrorCode add_element(const problem *p, Mat A, PetscInt i, PetscInt j,
                                  const PetscReal shared[SIZE][SIZE], PetscScalar ***b) {
    MatStencil at[SIZE] = {0};
    PetscScalar values[SIZE * SIZE], rhs[SIZE];
    PetscBool fixed[SIZE];
    PetscReal value[SIZE];
    PetscFunctionBeginUser;
    for (int k = 0; k < SIZE; k++) {
        at[k].i = i + k / DOF % 2;
        at[k].j = j + k / DOF / 2;
        at[k].c = k % DOF;
        fixed[k] = prescribed(p, at[k].i, at[k].j, k % DOF, &value[k]);
        rhs[k] = 0;
    }
    for (int k = 0; k < SIZE; k++)
        for (int l = 0; l < SIZE; l++) {
            PetscReal v = shared[k][l];
            if (fixed[k] || fixed[l]) v = k != l ? 0 : p->control && k % DOF == 2 ? -1 : 1;
            values[k * SIZE + l] = v;
            if (!fixed[k] && fixed[l]) rhs[k] -= shared[k][l] * value[l];
            if (k == l && fixed[k]) rhs[k] += v * value[k];
            /* the wanted state: 1, as mass times ones */
            if (p->control && !fixed[k] && k % DOF == 0 && l % DOF == 0) rhs[k] += shared[k][l];
        }
    PetscCall(MatSetValuesStencil(A, SIZE, at, SIZE, at, values, ADD_VALUES));
    for (int k = 0; k < SIZE; k++) b[at[k].j][at[k].i][at[k].c] += rhs[k];
    PetscFunctionReturn(0);
}

static PetscErrorCode assemble(const problem *p, Mat A, Vec b) {
    PetscInt xs, ys, xm, ym;
    PetscReal shared[SIZE][SIZE] = {{0}};
    PetscScalar ***array;
    Vec local;
    PetscBool seq, mpi;
    PetscFunctionBeginUser;
    element(p, shared);
    PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQSBAIJ, &seq));
    PetscCall(PetscObjectTypeCompare((PetscObject)A, MATMPISBAIJ, &mpi));
    if (seq || mpi) PetscCall(MatSetOption(A, MAT_IGNORE_LOWER_TRIANGULAR, PETSC_TRUE));
    PetscCall(DMDAGetCorners(p->grid, &xs, &ys, NULL, &xm, &ym, NULL));
    PetscCall(DMGetLocalVector(p->grid, &local));
    PetscCall(VecSet(local, 0));
    PetscCall(DMDAVecGetArrayDOF(p->grid, local, &array));
    for (PetscInt j = ys; j < PetscMin(ys + ym, p->n); j++)
        for (PetscInt i = xs; i < PetscMin(xs + xm, p->n); i++)
            PetscCall(add_element(p, A, i, j, (const PetscReal(*)[SIZE])shared, array));
    PetscCall(DMDAVecRestoreArrayDOF(p->grid, local, &array));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(VecSet(b, 0));
    PetscCall(DMLocalToGlobal(p->grid, local, ADD_VALUES, b));
    PetscCall(DMRestoreLocalVector(p->grid, &local));
    PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
    if (PetscDefined(USE_COMPLEX) && !seq && !mpi)
        PetscCall(MatSetOption(A, MAT_HERMITIAN, PETSC_TRUE));
    PetscFunctionReturn(0);
}

/* Largest error of the velocity; of the control problem: nothing is known, 0. */
static PetscErrorCode error_of(const problem *p, Vec x, PetscReal *error) {
    PetscInt xs, ys, xm, ym;
    PetscScalar ***array;
    PetscFunctionBeginUser;
    *error = 0;
    if (p->control || !p->grid) PetscFunctionReturn(0);
    PetscCall(DMDAGetCorners(p->grid, &xs, &ys, NULL, &xm, &ym, NULL));
    PetscCall(DMDAVecGetArrayDOFRead(p->grid, x, &array));
    for (PetscInt j = ys; j < ys + ym; j++)
        for (PetscInt i = xs; i < xs + xm; i++) {
            const PetscReal y = (PetscReal)j * p->h;
            *error = PetscMax(*error, PetscAbsScalar(array[j][i][0] - 4 * y * (1 - y)));
        }
    PetscCall(DMDAVecRestoreArrayDOFRead(p->grid, x, &array));
    PetscCall(MPIU_Allreduce(MPI_IN_PLACE, error, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
    PetscFunctionReturn(0);
}

/* Of a complete factorization of the whole matrix: is its inertia right? */
static PetscErrorCode check_inertia(const problem *p, KSP ksp, PetscBool *right) {
    const PetscInt nodes = (p->n + 1) * (p->n + 1);
    PetscInt negative, zero, positive;
    PetscBool cholesky;
    Mat F;
    PC pc;
    PetscFunctionBeginUser;
    *right = PETSC_TRUE;
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCCHOLESKY, &cholesky));
    if (!cholesky) PetscFunctionReturn(0);
    PetscCall(PCFactorGetMatrix(pc, &F));
    PetscCall(MatGetInertia(F, &negative, &zero, &positive));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "inertia: %" PetscInt_FMT " positive, %" PetscInt_FMT
                          " negative, %" PetscInt_FMT " zero\n",
                          positive, negative, zero));
    if (p->grid) *right = (PetscBool)(positive == 2 * nodes && negative == nodes && zero == 0);
    PetscFunctionReturn(0);
}

static PetscErrorCode make(const problem *p, Mat *A, Vec *b) {
    PetscFunctionBeginUser;
    if (p->grid) {
        PetscCall(DMCreateMatrix(p->grid, A));
        PetscCall(DMCreateGlobalVector(p->grid, b));
        PetscCall(assemble(p, *A, *b));
    } else {
        PetscViewer viewer;
        Vec ones;
        PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, p->file, FILE_MODE_READ, &viewer));
        PetscCall(MatCreate(PETSC_COMM_WORLD, A));
        PetscCall(MatSetFromOptions(*A));
        PetscCall(MatLoad(*A, viewer));
        PetscCall(PetscViewerDestroy(&viewer));
        PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
        PetscCall(MatCreateVecs(*A, &ones, b));
        PetscCall(VecSet(ones, 1));
        PetscCall(MatMult(*A, ones, *b));
        PetscCall(VecDestroy(&ones));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode solve(const problem *p, int *code) {
    KSP ksp;
    Mat A;
    Vec b, x, r;
    PetscInt its, size;
    PetscReal norm, norm_b, error;
    KSPConvergedReason reason;
    PetscLogDouble t0, t1, t2;
    PetscMPIInt ranks;
    PetscBool right = PETSC_TRUE;
    PetscFunctionBeginUser;
    PetscCall(make(p, &A, &b));
    PetscCall(VecDuplicate(b, &x));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 500));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscTime(&t0));
    PetscCall(KSPSetUp(ksp));
    PetscCall(KSPSetUpOnBlocks(ksp));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscTime(&t1));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscTime(&t2));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAXPY(r, -1, b));
    PetscCall(VecNorm(r, NORM_2, &norm));
    PetscCall(VecNorm(b, NORM_2, &norm_b));
    PetscCall(error_of(p, x, &error));
    if (reason > 0) PetscCall(check_inertia(p, ksp, &right));
    PetscCall(VecGetSize(b, &size));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%s n=%" PetscInt_FMT " unknowns=%" PetscInt_FMT
                          " ranks=%d setup_s=%.3f solve_s=%.3f iterations=%" PetscInt_FMT
                          " residual=%.2e error=%.2e reason=%s\n",
                          !p->grid     ? "file"
                          : p->control ? "control"
                                       : "stokes",
                          p->n, size, ranks, t1 - t0, t2 - t1, its, (double)(norm / norm_b),
                          (double)error, KSPConvergedReasons[reason]));
    *code = reason <= 0 || !(norm <= 1e-3 * norm_b) ? 1 : right ? 0 : 2;
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&r));
    PetscFunctionReturn(0);
}

static PetscErrorCode make_grid(problem *p) {
    PetscFunctionBeginUser;
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX,
                           p->n + 1, p->n + 1, PETSC_DECIDE, PETSC_DECIDE, DOF, 1, NULL, NULL,
                           &p->grid));
    PetscCall(DMSetFromOptions(p->grid));
    PetscCall(DMSetUp(p->grid));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv) {
    problem p = {.n = 32, .alpha = 1e-4, .beta = 0.05};
    char name[16] = "stokes";
    PetscBool file;
    int code = 0;
    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, "Saddle points in parallel.\n"));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &p.n, NULL));
    PetscCall(PetscOptionsGetReal(NULL, NULL, "-alpha", &p.alpha, NULL));
    PetscCall(PetscOptionsGetReal(NULL, NULL, "-beta", &p.beta, NULL));
    PetscCall(PetscOptionsGetString(NULL, NULL, "-problem", name, sizeof name, NULL));
    PetscCall(PetscStrcmp(name, "control", &p.control));
    PetscCall(PetscOptionsGetString(NULL, NULL, "-f", p.file, sizeof p.file, &file));
    p.h = 1 / (PetscReal)p.n;
    if (!file) PetscCall(make_grid(&p));
    PetscCall(solve(&p, &code));
    PetscCall(DMDestroy(&p.grid));
    PetscCall(PetscFinalize());
    return code;
}
