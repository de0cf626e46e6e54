/* SPDX-License-Identifier: BSD-3-Clause */
/** A quadratic program of QOCO's (0.3), for METAPACK's algebra or any other: that of
 *  plugins/osqp/examples/heating.c, heating.c [points per side]:
 *      min 1/2 |y - wanted|^2 h^2 + 1e-3 / 2 |u|^2 h^2  with  h^2 L y = h^2 u,  0 <= u <= 10,  y <= 0.4 */
#include <qoco.h>
#include <stdio.h>
#include <stdlib.h>

static void put(QOCOCscMatrix *m, QOCOInt row, QOCOFloat value) {
    m->i[m->nnz] = row;
    m->x[m->nnz++] = value;
}

static QOCOCscMatrix make(QOCOInt rows, QOCOInt columns, QOCOInt entries) {
    QOCOCscMatrix m = {.m = rows, .n = columns};
    m.p = calloc((size_t)columns + 1, sizeof *m.p);
    m.i = calloc((size_t)entries, sizeof *m.i);
    m.x = calloc((size_t)entries, sizeof *m.x);
    if (!m.p || !m.i || !m.x) exit(1);
    return m;
}

int main(int argc, char **argv) {
    const QOCOInt side = argc > 1 ? atoi(argv[1]) : 100, points = side * side;
    if (side < 1 || side > 10000) return 1;
    const QOCOInt n = 2 * points; /* y, u */
    const QOCOFloat h = 1. / (QOCOFloat)(side + 1);
    QOCOCscMatrix P = make(n, n, n), A = make(points, n, 6 * points),
                  G = make(3 * points, n, 3 * points);
    QOCOFloat *c = calloc((size_t)n, sizeof *c), *b = calloc((size_t)points, sizeof *b),
              *upper = calloc(3 * (size_t)points, sizeof *upper);
    if (!c || !b || !upper) return 1;
    for (QOCOInt k = 0; k < points; k++) { /* y */
        const QOCOInt row = k / side, col = k % side;
        put(&P, k, h * h);
        c[k] = -(h * (QOCOFloat)(col + 1) < 0.5 ? 0.3 : 0.1) * h * h;
        if (row > 0) put(&A, k - side, -1);
        if (col > 0) put(&A, k - 1, -1);
        put(&A, k, 4);
        if (col < side - 1) put(&A, k + 1, -1);
        if (row < side - 1) put(&A, k + side, -1);
        put(&G, 2 * points + k, 1);
        upper[2 * points + k] = 0.4;
        P.p[k + 1] = P.nnz, A.p[k + 1] = A.nnz, G.p[k + 1] = G.nnz;
    }
    for (QOCOInt k = 0, j = points; k < points; k++, j++) { /* u */
        put(&P, j, 1e-3 * h * h);
        put(&A, k, -h * h);
        put(&G, k, -1);
        put(&G, points + k, 1);
        upper[points + k] = 10;
        P.p[j + 1] = P.nnz, A.p[j + 1] = A.nnz, G.p[j + 1] = G.nnz;
    }
    QOCOSettings *settings = malloc(sizeof *settings);
    QOCOSolver *solver = malloc(sizeof *solver);
    if (!settings || !solver) return 1;
    set_default_settings(settings);
    QOCOInt rc = qoco_setup(solver, n, 3 * points, points, &P, c, &A, b, &G, upper, 3 * points, 0,
                            NULL, settings);
    if (rc == QOCO_NO_ERROR) {
        rc = qoco_solve(solver) != QOCO_SOLVED;
        const QOCOSolution *s = solver->sol;
        printf("n = %d: status %d, objective %.6e, %d iterations, setup %.3f s, solve %.3f s\n", n,
               s->status, (double)s->obj, s->iters, (double)s->setup_time_sec,
               (double)s->solve_time_sec);
        qoco_cleanup(solver);
    }
    free(settings);
    free(P.p), free(P.i), free(P.x), free(A.p), free(A.i), free(A.x), free(G.p), free(G.i),
        free(G.x);
    free(c), free(b), free(upper);
    return rc;
}
