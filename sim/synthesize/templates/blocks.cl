/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of a synthesized solver, for one TYPE (LDLT 0, LLT 1, LDU 2) and with or without pivoting inside
 * blocks (PIVOTING). Control flow is static: rows stay where they are, and a pivot's place is data. Blocks are N x N
 * by rows, work-item i holds row i. A pivot block becomes A = L D U: row j of `tri` is row j of L, of `other` column j
 * of U (LDLT has L alone), each with column s for step s; `diag` has, N each, D's diagonal, what stands beside it (2x2
 * pivots of steps s and s + 1), both for D^-1, and the row and the column that each step eliminates. */
#define N WG_SIZE
#define LANE get_local_id()
#define GROUP get_group_id()
#define ALPHA 0.6403882032022076 /* (1 + sqrt(17)) / 8: Bunch & Parlett 1971 */

/* x of work-item p, which is known at run time alone. For pipelines, which refuse such shuffles, a sum with
 * one term that is not 0. */
static double pick(double x, int p) {
#if MASKED
    return work_group_reduce_sum(LANE == p ? x : (double)0);
#else
    return shuffle(x, p);
#endif
}

static int pick_number(int x, int p) {
#if MASKED
    return work_group_reduce_sum(LANE == p ? x : 0);
#else
    return shuffle(x, p);
#endif
}

/* The first work-item of which it is true; 0 where there is none. */
static int first_with(bool is) {
    int most = work_group_reduce_max(is ? N - LANE : 0);
    return most > 0 ? N - most : 0;
}

__kernel void factorize(__global double **block, __global double **other, __global double **diag,
                        double small, __global int *trouble, __global double *largest) {
    double t[N];
    double l[N];
    double most = 0;
    int bad = 0;
    for (int j = 0; j < N; ++j) {
        t[j] = block[GROUP][LANE * N + j];
        l[j] = 0;
    }
#if TYPE == 1
    for (int s = 0; s < N; ++s) {
        double d = shuffle(t[s], s);
        bad = bad == 0 && !(d > small && d - d == 0) ? s + 1 : bad;
        double root = sqrt(d);
        double c = t[s] / root;
        for (int j = s + 1; j < N; ++j) t[j] -= c * shuffle(c, j);
        l[s] = LANE == s ? root : LANE > s ? c : (double)0;
        most = LANE <= s || most != most || fabs(c) <= most ? most : fabs(c);
    }
#else
    double d_own = 1; /* of step LANE */
    double e_own = 0;
    double g_own = 1;
    double h_own = 0;
    int row_own = LANE;
    int column_own = LANE;
    bool left = true;
#if TYPE == 2
    double u[N];
    bool column_left = true;
    for (int s = 0; s < N; ++s) {
        int p = s;
        int q = s;
#if PIVOTING
        double best = left ? (double)0 : (double)-1;
        int at = 0;
        for (int j = 0; j < N; ++j) {
            bool more = left && fabs(t[j]) > best;
            best = more ? fabs(t[j]) : best;
            at = more ? j : at;
        }
        double mu = work_group_reduce_max(best);
        p = first_with(best == mu);
        q = pick_number(at, p);
#endif
        double row[N];
        for (int j = 0; j < N; ++j) row[j] = pick(t[j], p);
        double d = row[s];
        double c = t[s];
#if PIVOTING
        for (int j = 0; j < N; ++j) {
            d = j == q ? row[j] : d;
            c = j == q ? t[j] : c;
        }
#endif
        bool good = fabs(d) > small && d - d == 0;
        bad = bad == 0 && !good ? s + 1 : bad;
        double x = left && good && LANE != p ? c / d : (double)0;
        u[s] = LANE == q ? (double)1 : column_left && good ? row[LANE] / d : (double)0;
        l[s] = LANE == p ? (double)1 : x;
        most = most != most || fabs(x) <= most ? most : fabs(x);
        most = LANE == q || most != most || fabs(u[s]) <= most ? most : fabs(u[s]);
        for (int j = 0; j < N; ++j) t[j] = j == q ? (double)0 : t[j] - x * row[j];
        left = left && LANE != p;
        column_left = column_left && LANE != q;
        d_own = LANE == s ? d : d_own;
        g_own = LANE == s ? 1 / d : g_own;
        row_own = LANE == s ? p : row_own;
        column_own = LANE == s ? q : column_own;
    }
#else
    bool second = false; /* this step's pivot went with that of the one before */
    for (int s = 0; s < N; ++s) {
        int p = s;
        bool act = !second;
        bool two = false;
#if PIVOTING
        double size = left ? fabs(t[LANE]) : (double)-1;
        double off = left ? (double)0 : (double)-1;
        int at = 0;
        for (int j = 0; j < N; ++j) {
            bool more = left && LANE != j && fabs(t[j]) > off;
            off = more ? fabs(t[j]) : off;
            at = more ? j : at;
        }
        double mu1 = work_group_reduce_max(size);
        double mu0 = work_group_reduce_max(off);
        int p1 = first_with(size == mu1);
        int r = first_with(off == mu0);
        two = act && mu0 > small && mu1 < ALPHA * mu0;
        int q = pick_number(at, r);
        p = two ? r : p1;
        q = two ? q : p;
#endif
        double row[N];
        for (int j = 0; j < N; ++j) row[j] = pick(t[j], p);
        double c = row[LANE];
        double d = pick(c, p);
        bool good = two || (fabs(d) > small && d - d == 0);
        bad = bad == 0 && act && !good ? s + 1 : bad;
        bool alive = left && act && good && LANE != p;
        double x = alive ? c / d : (double)0;
        double g = 1 / d;
        double h = 0;
#if PIVOTING
        double row2[N];
        for (int j = 0; j < N; ++j) row2[j] = pick(t[j], q);
        double c2 = row2[LANE];
        double d2 = pick(c2, q);
        double d21 = pick(c, q);
        double e1 = d / d21; /* scaled by the largest, lest the determinant overflow */
        double e2 = d2 / d21;
        double w = 1 / (d21 * (e1 * e2 - 1));
        alive = alive && LANE != q;
        g = two ? w * e2 : g;
        h = two ? -w : h;
        x = two ? (alive ? w * (e2 * c - c2) : (double)0) : x;
        double y = two && alive ? w * (e1 * c2 - c) : (double)0;
        most = most != most || fabs(y) <= most ? most : fabs(y);
        for (int j = 0; j < N; ++j)
            t[j] = act && (j == p || j == q) ? (double)0 : t[j] - x * row[j] - y * row2[j];
        if (s + 1 < N) l[s + 1] = two ? (LANE == q ? (double)1 : y) : l[s + 1];
        left = left && !(two && LANE == q);
        d_own = two && LANE == s + 1 ? d2 : d_own;
        g_own = two && LANE == s + 1 ? w * e1 : g_own;
        row_own = two && LANE == s + 1 ? q : row_own;
        e_own = two && LANE == s ? d21 : e_own;
        second = two;
#else
        for (int j = s + 1; j < N; ++j) t[j] -= x * row[j];
#endif
        l[s] = act ? (LANE == p ? (double)1 : x) : l[s];
        most = most != most || fabs(x) <= most ? most : fabs(x);
        left = left && !(act && LANE == p);
        d_own = act && LANE == s ? d : d_own;
        g_own = act && LANE == s ? g : g_own;
        h_own = act && LANE == s ? h : h_own;
        row_own = act && LANE == s ? p : row_own;
    }
    column_own = row_own;
#endif
    diag[GROUP][LANE] = d_own;
    diag[GROUP][N + LANE] = e_own;
    diag[GROUP][2 * N + LANE] = g_own;
    diag[GROUP][3 * N + LANE] = h_own;
    diag[GROUP][4 * N + LANE] = (double)row_own;
    diag[GROUP][5 * N + LANE] = (double)column_own;
#endif
    for (int j = 0; j < N; ++j)
        if (bad == 0) block[GROUP][LANE * N + j] = l[j];
#if TYPE == 2
    for (int j = 0; j < N; ++j) other[GROUP][LANE * N + j] = u[j];
#endif
    double all = work_group_reduce_max(most);
    bool broken = any(most != most);
    if (LANE == 0) {
        trouble[GROUP] = bad;
        largest[GROUP] = broken ? (double)0 / 0 : all;
    }
}

/* Rows x of the block: x D T^T = row; column `order` of the row belongs to a step. */
__kernel void solve(__global double **block, __global const double **tri,
                    __global const double **diag, __global const double **order,
                    __global double *largest) {
    double c[N];
    double x[N];
    double most = 0;
    for (int j = 0; j < N; ++j) c[j] = block[GROUP][LANE * N + j];
#if TYPE != 1
    double g = diag[GROUP][2 * N + LANE];
    double h = diag[GROUP][3 * N + LANE];
#endif
#if PIVOTING && TYPE != 1
    double place = order[GROUP][LANE];
#endif
    for (int s = 0; s < N; ++s) {
        double m = tri[GROUP][LANE * N + s];
        double y = c[s];
#if TYPE == 1
        y = y / shuffle(m, s);
#elif PIVOTING
        double o = shuffle(place, s);
        for (int j = 0; j < N; ++j) y = (double)j == o ? c[j] : y;
#endif
        x[s] = y;
#if PIVOTING && TYPE != 1
        for (int j = 0; j < N; ++j)
#else
        for (int j = s + 1; j < N; ++j)
#endif
            c[j] -= y * shuffle(m, j);
    }
    for (int s = 0; s < N; ++s) {
        double v = x[s];
#if TYPE != 1
        v = shuffle(g, s) * x[s];
#endif
#if PIVOTING && TYPE == 0
        if (s + 1 < N) v += shuffle(h, s) * x[s + 1];
        if (s > 0) v += shuffle(h, s - 1) * x[s - 1];
#endif
        most = most != most || fabs(v) <= most ? most : fabs(v);
        block[GROUP][LANE * N + s] = v;
    }
    double all = work_group_reduce_max(most);
    bool broken = any(most != most);
    if (LANE == 0) largest[GROUP] = broken ? (double)0 / 0 : all;
}

/* block -= a D b^T */
__kernel void downdate(__global double **block, __global const double **a,
                       __global const double **b, __global const double **diag) {
    double c[N];
    for (int j = 0; j < N; ++j) c[j] = block[GROUP][LANE * N + j];
#if TYPE != 1
    double d = diag[GROUP][LANE];
    double e = diag[GROUP][N + LANE];
#endif
    for (int k = 0; k < N; ++k) {
        double l = a[GROUP][LANE * N + k];
        double w = b[GROUP][LANE * N + k];
#if TYPE != 1
        w = shuffle(d, k) * w;
#endif
#if PIVOTING && TYPE == 0
        if (k + 1 < N) w += shuffle(e, k) * b[GROUP][LANE * N + k + 1];
        if (k > 0) w += shuffle(e, k - 1) * b[GROUP][LANE * N + k - 1];
#endif
        for (int j = 0; j < N; ++j) c[j] -= l * shuffle(w, j);
    }
    for (int j = 0; j < N; ++j) block[GROUP][LANE * N + j] = c[j];
}
