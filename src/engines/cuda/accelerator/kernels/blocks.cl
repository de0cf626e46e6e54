/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of the accelerator interface (metapack/accelerator.h) for a GPU that judges: blocks of N x N
 * by rows, work-item i holds row i. T is the type of the entries. Pivots are taken where they stand: who
 * was one leaves the rest, and rows and columns go to their places when a block is stored. */
#define N WG_SIZE
#define ME get_local_id()
#define ITEM get_group_id()
#define PIVOT_FAILS 1
#define COLUMN_FAILS 2 /* solve, which may set it meanwhile, does not look at it */
#define FAILS 3
#define REPLACED 4
#define LLT 1
#define LDU 2

static T larger(T most, T x) {
    return most != most || fabs(x) <= most ? most : fabs(x);
}

/* The verdict on a frame, of work-items that saw entries of L up to `most`. */
static void judge(__global int *state, int frame, int fails, bool failed, T most, int replaced,
                  T bound, int last) {
    bool broken = any(most != most);
    T all = work_group_reduce_max(most);
    int word = failed || broken || all - all != 0 || (last == 0 && !(all <= bound)) ? fails : 0;
    if (ME == 0 && (word | replaced) != 0)
        state[frame] = (state[frame] | word) + REPLACED * replaced;
}

/* Pivots as they come. other (LDU): the transpose of what is left in block. */
__kernel void factorize(__global T **block, __global T **other, __global int **perm,
                        __global int **columns, __global const int *frame, __global int *state,
                        T small, T bound, int last, int type, int has_perm) {
    T row[N];
    T most = 0;
    T own = 0;
    bool bad = false;
    int replaced = 0;
    for (int j = 0; j < N; ++j) row[j] = block[ITEM][ME * N + j];
    for (int k = 0; k < N; ++k) {
        T d = shuffle(row[k], k);
        bool finite = d - d == 0;
        bool good = finite && (type == LLT ? d > small : fabs(d) > small);
        bool replace = !good && finite && last != 0 && type != LLT;
        d = replace ? (d < 0 ? -small : small) : d;
        replaced += replace ? 1 : 0;
        bad = bad || !(good || (replace && small > 0));
        T l = row[k] / d;
        for (int j = k + 1; j < N; ++j) {
            T u = shuffle(row[j], k);
            if (ME > k) row[j] -= l * u;
        }
        if (ME > k) {
            row[k] = l;
            most = larger(most, l);
        }
        if (ME == k) {
            row[k] = d;
            own = d;
        }
    }
    if (type == LDU) {
        for (int j = 1; j < N; ++j)
            if (j > ME) {
                row[j] /= own;
                most = larger(most, row[j]);
            }
    }
    if (!bad) {
        for (int j = 0; j < N; ++j) block[ITEM][ME * N + j] = row[j];
        if (type == LDU)
            for (int j = 0; j < N; ++j) other[ITEM][j * N + ME] = row[j];
    }
    if (has_perm > 0) perm[ITEM][ME] = ME;
    if (has_perm > 1) columns[ITEM][ME] = ME;
    judge(state, frame[ITEM], PIVOT_FAILS, bad, most, replaced, bound, last);
}

/* 1x1 and 2x2 pivots by Bunch & Parlett 1971; those behind the rows of the frame as they come. */
__kernel void factorize_pairs(__global T **block, __global int **perm, __global const int *rows,
                              __global const int *frame, __global int *state, T small, T bound,
                              int last) {
    __local volatile T lower[N * N];
    __local volatile T u[N];
    __local volatile T v[N];
    T row[N];
    T most = 0;
    T diagonal = block[ITEM][ME * N + ME];
    T d = 0; /* of this work-item's pivot */
    T e = 0; /* right of it, where a pair begins */
    int place = 0;
    uint left = ~(uint)0;
    bool active = true;
    bool bad = false;
    int replaced = 0;
    int w = rows[ITEM];
    int k = 0;
    for (int j = 0; j < N; ++j) row[j] = block[ITEM][ME * N + j];
    while (k < N) {
        T two = -1;
        int column = 0;
        for (int j = 0; j < N; ++j) {
            bool in = ((left >> j) & 1) != 0 && j < w && j != ME && fabs(row[j]) > two;
            two = in ? fabs(row[j]) : two;
            column = in ? j : column;
        }
        bool mine = active && ME < w;
        T one = mine ? fabs(diagonal) : -1;
        two = mine ? two : -1;
        int p = work_group_reduce_max_index(one);
        int q = work_group_reduce_max_index(two);
        T m1 = shuffle(one, p);
        T m2 = shuffle(two, q);
        int c = shuffle(column, q);
        bool single = k >= w || !(m2 > small) || m1 >= (T)0.6403882032022076 * m2;
        p = k >= w ? k : single ? p : q;
        if (ME == p)
            for (int j = 0; j < N; ++j) u[j] = row[j];
        if (single) {
            T a = shuffle(diagonal, p);
            bool finite = a - a == 0;
            bool good = finite && fabs(a) > small;
            bool replace = !good && finite && last != 0;
            a = replace ? (a < 0 ? -small : small) : a;
            replaced += replace ? 1 : 0;
            bad = bad || !(good || (replace && small > 0));
            barrier(CLK_LOCAL_MEM_FENCE);
            T mine_u = u[ME];
            if (ME == p) {
                active = false;
                place = k;
                d = a;
            }
            T l = active ? mine_u / a : 0;
            for (int j = 0; j < N; ++j) row[j] -= l * u[j];
            diagonal -= l * mine_u;
            most = larger(most, l);
            lower[ME * N + k] = l;
            left = left & ~((uint)1 << p);
            k += 1;
        } else {
            if (ME == c)
                for (int j = 0; j < N; ++j) v[j] = row[j];
            T a = shuffle(diagonal, p);
            T b = shuffle(diagonal, c);
            barrier(CLK_LOCAL_MEM_FENCE);
            T over = u[c];
            T r = a / over;
            T s = b / over;
            T t = 1 / (r * s - 1);
            T mine_u = u[ME];
            T mine_v = v[ME];
            if (ME == p) {
                active = false;
                place = k;
                d = a;
                e = over;
            }
            if (ME == c) {
                active = false;
                place = k + 1;
                d = b;
            }
            T x = mine_u / over;
            T y = mine_v / over;
            T l = active ? t * (x * s - y) : 0;
            T m = active ? t * (y * r - x) : 0;
            for (int j = 0; j < N; ++j) row[j] = row[j] - l * u[j] - m * v[j];
            diagonal = diagonal - l * mine_u - m * mine_v;
            most = larger(larger(most, l), m);
            lower[ME * N + k] = l;
            lower[ME * N + k + 1] = m;
            left = left & ~((uint)1 << p) & ~((uint)1 << c);
            k += 2;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (!bad) {
        for (int j = 0; j < N; ++j) {
            T x = j == place ? d : j == place + 1 ? e : 0;
            if (j < place) x = lower[ME * N + j];
            block[ITEM][place * N + j] = x;
        }
        perm[ITEM][place] = ME;
    }
    judge(state, frame[ITEM], PIVOT_FAILS, bad, most, replaced, bound, last);
}

/* LDU, each pivot the largest of all that is left in the rows of the frame. */
__kernel void factorize_apart(__global T **block, __global T **other, __global int **perm,
                              __global int **columns, __global const int *rows,
                              __global const int *frame, __global int *state, T small, T bound,
                              int last) {
    __local volatile T lower[N * N];
    __local volatile T u[N];
    __local volatile int at[N];
    T row[N];
    T most = 0;
    T d = 0;
    int place = 0;
    uint left = ~(uint)0; /* columns */
    bool active = true;
    bool bad = false;
    int replaced = 0;
    int w = rows[ITEM];
    int k = 0;
    for (int j = 0; j < N; ++j) row[j] = block[ITEM][ME * N + j];
    while (k < N) {
        T one = -1;
        int column = k;
        for (int j = 0; j < N; ++j) {
            bool in = ((left >> j) & 1) != 0 && j < w && fabs(row[j]) > one;
            one = in ? fabs(row[j]) : one;
            column = in ? j : column;
        }
        one = active && ME < w ? one : -1;
        int p = work_group_reduce_max_index(one);
        int q = shuffle(column, p);
        p = k >= w ? k : p;
        q = k >= w ? k : q;
        if (ME == p)
            for (int j = 0; j < N; ++j) u[j] = row[j];
        T own = 0;
        for (int j = 0; j < N; ++j) own = j == q ? row[j] : own;
        T a = shuffle(own, p);
        bool finite = a - a == 0;
        bool good = finite && fabs(a) > small;
        bool replace = !good && finite && last != 0;
        a = replace ? (a < 0 ? -small : small) : a;
        replaced += replace ? 1 : 0;
        bad = bad || !(good || (replace && small > 0));
        left = left & ~((uint)1 << q);
        if (ME == p) {
            active = false;
            place = k;
            d = a;
        }
        if (ME == q) at[ME] = k;
        barrier(CLK_LOCAL_MEM_FENCE);
        T l = active ? own / a : 0;
        for (int j = 0; j < N; ++j) {
            T x = ((left >> j) & 1) != 0 ? u[j] : 0;
            row[j] -= l * x;
        }
        most = larger(most, l);
        lower[ME * N + k] = l;
        if (ME == 0 && !bad) columns[ITEM][k] = q;
        k += 1;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (!bad) {
        for (int j = 0; j < N; ++j) {
            T x = lower[ME * N + j];
            if (j < place) {
                block[ITEM][place * N + j] = x;
                other[ITEM][j * N + place] = x;
            }
            int c = at[j];
            T y = c == place ? d : row[j] / d;
            if (c >= place) {
                block[ITEM][place * N + c] = y;
                other[ITEM][c * N + place] = y;
                if (c > place) most = larger(most, y);
            }
        }
        perm[ITEM][place] = ME;
    }
    judge(state, frame[ITEM], PIVOT_FAILS, bad, most, replaced, bound, last);
}

/* Rows x of the block: x D L^T = row, forward. Work-item i has row i of the block, and of L and D row and
 * column i. */
__kernel void solve(__global T **block, __global const T **pivot, __global const int *frame,
                    __global int *state, T bound, int last, int pairs) {
    if ((state[frame[ITEM]] & PIVOT_FAILS) == 0) {
        T x[N];
        T most = 0;
        T d = pivot[ITEM][ME * (N + 1)];
        T e = 0; /* right of the diagonal */
        if (pairs != 0 && ME + 1 < N) e = pivot[ITEM][ME * (N + 1) + 1];
        for (int j = 0; j < N; ++j) x[j] = block[ITEM][ME * N + j];
        for (int k = 0; k < N; ++k) { /* L first */
            T l = pivot[ITEM][ME * N + k];
            for (int j = k + 1; j < N; ++j) x[j] -= shuffle(l, j) * x[k];
        }
        if (pairs != 0) {
            T left = 0;
            for (int k = 0; k < N; ++k) {
                T own = shuffle(d, k);
                T over = shuffle(e, k);
                if (over != 0) {
                    T r = own / over;
                    T s = shuffle(d, k + 1) / over;
                    T t = 1 / (r * s - 1);
                    T a = x[k];
                    T b = x[k + 1 < N ? k + 1 : k];
                    x[k] = t * ((a * s - b) / over);
                    if (k + 1 < N) x[k + 1 < N ? k + 1 : k] = t * ((b * r - a) / over);
                } else if (left == 0) {
                    x[k] /= own;
                }
                left = over;
            }
        } else {
            for (int k = 0; k < N; ++k) x[k] /= shuffle(d, k);
        }
        for (int j = 0; j < N; ++j) {
            most = larger(most, x[j]);
            block[ITEM][ME * N + j] = x[j];
        }
        judge(state, frame[ITEM], COLUMN_FAILS, false, most, 0, bound, last);
    }
}

/* Row k of D b^T, its own column. */
static T scaled(__global const T **pivot, __global const T **b, int k, int pairs) {
    T w = pivot[ITEM][k * (N + 1)] * b[ITEM][ME * N + k];
    if (pairs != 0) {
        if (k + 1 < N) w += pivot[ITEM][k * (N + 1) + 1] * b[ITEM][ME * N + (k + 1) % N];
        if (k > 0)
            w += pivot[ITEM][(k + N - 1) % N * (N + 1) + 1] * b[ITEM][ME * N + (k + N - 1) % N];
    }
    return w;
}

/* block -= a D b^T */
__kernel void downdate(__global T **block, __global const T **a, __global const T **b,
                       __global const T **pivot, __global const int *frame,
                       __global const int *state, int pairs) {
    if ((state[frame[ITEM]] & FAILS) == 0) {
        T c[N];
        for (int j = 0; j < N; ++j) c[j] = block[ITEM][ME * N + j];
        for (int k = 0; k < N; ++k) {
            T l = a[ITEM][ME * N + k];
            T w = scaled(pivot, b, k, pairs);
            for (int j = 0; j < N; ++j) c[j] -= l * shuffle(w, j);
        }
        for (int j = 0; j < N; ++j) block[ITEM][ME * N + j] = c[j];
    }
}

/* to := a D b^T, one after the other from item `first` on, or zero */
__kernel void product(__global T *to, __global const T **a, __global const T **b,
                      __global const T **pivot, __global const int *frame,
                      __global const int *state, int pairs, long first) {
    T c[N];
    for (int j = 0; j < N; ++j) c[j] = 0;
    if ((state[frame[ITEM]] & FAILS) == 0) {
        for (int k = 0; k < N; ++k) {
            T l = a[ITEM][ME * N + k];
            T w = scaled(pivot, b, k, pairs);
            for (int j = 0; j < N; ++j) c[j] += l * shuffle(w, j);
        }
    }
    for (int j = 0; j < N; ++j) to[((ITEM - first) * N + ME) * N + j] = c[j];
}

__kernel void transpose(__global T **block) {
    T row[N];
    for (int j = 0; j < N; ++j) row[j] = block[ITEM][ME * N + j];
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int j = 0; j < N; ++j) block[ITEM][j * N + ME] = row[j];
}

__kernel void zero_out(__global T **block) {
    for (int j = 0; j < N; ++j) block[ITEM][j * N + ME] = 0;
}

__kernel void permute(__global T **block, __global const int **perm, __global const int *frame,
                      __global const int *state) {
    if ((state[frame[ITEM]] & FAILS) == 0) {
        T row[N];
        for (int j = 0; j < N; ++j) row[j] = block[ITEM][ME * N + perm[ITEM][j]];
        barrier(CLK_GLOBAL_MEM_FENCE);
        for (int j = 0; j < N; ++j) block[ITEM][ME * N + j] = row[j];
    }
}

/* Blocks that rest in single precision. */
__kernel void load(__global T **block, __global const float **rest) {
    for (int j = 0; j < N; ++j) block[ITEM][j * N + ME] = (T)rest[ITEM][j * N + ME];
}

__kernel void store(__global const T **block, __global float **rest) {
    for (int j = 0; j < N; ++j) rest[ITEM][j * N + ME] = (float)block[ITEM][j * N + ME];
}
