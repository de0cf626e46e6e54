/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops over private arrays that registers cannot hold: those that may stay loops, and those that must not. */
#define N WG_SIZE
#ifdef SINGLE
#define T float
#else
#define T double
#endif

/* row k of x for all from `from` on, with what a lane of y holds */
static void update(T x[N], const T y[N], T factor, int from) {
    for (int k = from; k < N; ++k) x[k] -= factor * shuffle(y[k], from);
}

__kernel void loops(__global T *a, int lda, long stride, __global int *info, T tol) {
    long base = get_group_id(0) * stride;
    int lane = get_local_id(0);
    T x[N];
    T y[N];
    T scale[N];      /* of a group */
    T twice[2 * N];  /* read before it is written: zeros are seen */
    int chosen[N];
    for (int j = 0; j < N; ++j) {
        x[j] = a[base + j * lda + lane];
        y[j] = lane >= j ? x[j] : (T)0; /* a mask of the counter */
        scale[j] = shuffle(x[j], j);
        chosen[j] = j;
    }
    for (int s = 0; s < N; ++s) {
        T d = scale[s];
        for (int k = 0; k < s; ++k) {
            T seen = x[k] * scale[k];
            if (lane > s)
                y[k] = y[k] + seen * d; /* a mask known now */
            if (tol > 0)
                scale[k] = scale[k] * d + (T)1; /* one known later */
        }
        update(x, y, d, s);
        if (s == 3) {
            int place = s;
            for (int k = s; k < N; ++k) {
                chosen[k] += chosen[place]; /* place changes: not a constant of the loop */
                place = k;
            }
            for (int k = N; k-- > s;) /* from above, by a condition that steps */
                twice[k] = twice[k] + y[k];
        }
        for (int k = N - 1; k >= 0; k -= 2) y[k] += x[k] - x[N - 1 - k];
    }
    for (int j = 0; j < N; ++j) {
        a[base + j * lda + lane] = x[j] + y[j] * scale[j] + twice[j] + twice[N + j];
    }
    int sum = 0;
    for (int j = 0; j < N; ++j) sum += chosen[j] * (j + 1);
    if (lane < 4) info[4 * get_group_id(0) + lane] = sum + lane;
}
