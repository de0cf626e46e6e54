/* SPDX-License-Identifier: BSD-3-Clause */
/** A quadratic program of OSQP's (1.x), for METAPACK's algebra or any other: heat a plate to a wanted
 *  temperature by sources that can neither cool nor give more than 10, heating.c [points per side]:
 *      min 1/2 |y - wanted|^2 h^2 + 1e-3 / 2 |u|^2 h^2  with  L y = u,  0 <= u <= 10,  y <= 0.4,
 *  L the five-point Laplacian over h^2, y = 0 on the edge. Its KKT systems fill like those of a mesh. */
#include <osqp.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct columns { /* a matrix that is filled column by column */
    OSQPInt *p, *i, at;
    OSQPFloat *x;
} columns;

static void put(columns *m, OSQPInt row, OSQPFloat value) {
    m->i[m->at] = row;
    m->x[m->at++] = value;
}

static int make(columns *m, OSQPInt n, OSQPInt entries) {
    *m = (columns){calloc((size_t)n + 1, sizeof *m->p), calloc((size_t)entries, sizeof *m->i), 0,
                   calloc((size_t)entries, sizeof *m->x)};
    return m->p && m->i && m->x;
}

int main(int argc, char **argv) {
    const OSQPInt side = argc > 1 ? atoi(argv[1]) : 100, points = side * side;
    const OSQPInt n = 2 * points, rows = 3 * points; /* y, u; L y = u, bounds of u, bounds of y */
    const OSQPFloat h = 1. / (OSQPFloat)(side + 1);
    columns P, A;
    OSQPFloat *q = calloc((size_t)n, sizeof *q), *l = calloc((size_t)rows, sizeof *l),
              *u = calloc((size_t)rows, sizeof *u);
    if (side < 1 || !make(&P, n, n) || !make(&A, n, 8 * points) || !q || !l || !u) return 1;
    for (OSQPInt k = 0; k < points; k++) { /* y */
        const OSQPInt row = k / side, col = k % side;
        const OSQPFloat x = h * (OSQPFloat)(col + 1), wanted = x < 0.5 ? 0.3 : 0.1;
        put(&P, k, h * h);
        q[k] = -wanted * h * h;
        if (row > 0) put(&A, k - side, -1 / (h * h));
        if (col > 0) put(&A, k - 1, -1 / (h * h));
        put(&A, k, 4 / (h * h));
        if (col < side - 1) put(&A, k + 1, -1 / (h * h));
        if (row < side - 1) put(&A, k + side, -1 / (h * h));
        put(&A, 2 * points + k, 1);
        l[2 * points + k] = -OSQP_INFTY, u[2 * points + k] = 0.4;
        P.p[k + 1] = P.at, A.p[k + 1] = A.at;
    }
    for (OSQPInt k = 0; k < points; k++) { /* u */
        put(&P, points + k, 1e-3 * h * h);
        put(&A, k, -1);
        put(&A, points + k, 1);
        l[points + k] = 0, u[points + k] = 10;
        P.p[points + k + 1] = P.at, A.p[points + k + 1] = A.at;
    }
    OSQPCscMatrix p, a;
    OSQPCscMatrix_set_data(&p, n, n, P.at, P.x, P.i, P.p);
    OSQPCscMatrix_set_data(&a, rows, n, A.at, A.x, A.i, A.p);
    OSQPSettings settings;
    osqp_set_default_settings(&settings);
    settings.verbose = 0;
    settings.eps_abs = settings.eps_rel = 1e-5;
    settings.polishing = 1;
    OSQPSolver *solver = NULL;
    int rc = (int)osqp_setup(&solver, &p, q, &a, l, u, rows, n, &settings);
    if (!rc) rc = (int)osqp_solve(solver);
    if (!rc) {
        const OSQPInfo *info = solver->info;
        printf("n = %d: %s, objective %.6e, %d iterations, %d factorizations, setup %.3f s, solve "
               "%.3f s\n",
               (int)n, info->status, (double)info->obj_val, (int)info->iter,
               1 + (int)info->rho_updates, (double)info->setup_time, (double)info->solve_time);
        rc = info->status_val != OSQP_SOLVED;
    }
    osqp_cleanup(solver);
    free(P.p), free(P.i), free(P.x), free(A.p), free(A.i), free(A.x), free(q), free(l), free(u);
    return rc;
}
