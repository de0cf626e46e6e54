/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of the accelerator interface (metapack/accelerator.h) for a GPU: blocks of N x N by
 * rows, work-item i holds row i. T is the type of the entries, R that of their moduli; COMPLEX says
 * that these differ. Pivots are taken where they stand: who was one leaves the rest, and rows and
 * columns go to their places when a block is stored. judging: verdicts go to words of frames, and
 * items of a frame that fails are passed over; else `trouble` and `largest` have what was found. */
#define N WG_SIZE
#define ME get_local_id()
#define ITEM get_group_id()
#define PIVOT_FAILS 1
#define COLUMN_FAILS 2 /* solve, which may set it meanwhile, does not look at it */
#define FAILS 3
#define REPLACED 4
#define LLT 1
#define LDU 2

#ifdef COMPLEX
static R modulus(T x) {
    return cabs(x);
}
static R size_of(T x) { /* pivots are chosen by it: cheaper */
    return cabs1(x);
}
static R real_of(T x) {
    return creal(x);
}
static T of_real(R x) {
    return CMPLX(x, 0);
}
static T turned(T x, int hermitian) {
    return hermitian != 0 ? conj(x) : x;
}
static double square(T x) {
    double re = creal(x);
    double im = cimag(x);
    return re * re + im * im;
}
#else
static R modulus(T x) {
    return fabs(x);
}
static R size_of(T x) {
    return fabs(x);
}
static R real_of(T x) {
    return x;
}
static T of_real(R x) {
    return x;
}
static T turned(T x, int hermitian) {
    return x;
}
static double square(T x) {
    double y = x;
    return y * y;
}
#endif

static R larger(R most, T x) {
    R size = modulus(x);
    return most != most || size <= most ? most : size;
}

/* A pivot's value: of a Hermitian matrix it is real. */
static T diagonal_of(T d, int hermitian) {
#ifdef COMPLEX
    d = hermitian != 0 ? CMPLX(creal(d), 0) : d;
#endif
    return d;
}

/* Is the item to be passed over? */
static bool fails(__global const int *state, __global const int *frame, int which, int judging,
                  long item) {
    bool bad = false;
    if (judging != 0) bad = (state[frame[item]] & which) != 0;
    return bad;
}

/* What work-items found that saw entries of L up to `most`; trouble: 0, or 1 + a row whose
 * pivot fails. */
static void judge(__global int *state, __global const int *frame, __global int *trouble,
                  __global double *largest, int which, int wrong, R most, int replaced, R bound,
                  int last, int judging) {
    bool broken = any(most != most);
    R all = work_group_reduce_max(most);
    if (judging != 0) {
        bool bad = wrong != 0 || broken || all - all != 0 || (last == 0 && !(all <= bound));
        int word = bad ? which : 0;
        if (ME == 0 && (word | replaced) != 0)
            state[frame[ITEM]] = (state[frame[ITEM]] | word) + REPLACED * replaced;
    } else if (ME == 0) {
        double told = all;
        if (broken) told = all * 0 / 0;
        largest[ITEM] = told;
        if (which == PIVOT_FAILS) trouble[ITEM] = wrong;
    }
}

/* Pivots as they come. other (LDU): the transpose of what is left in block. */
__kernel void factorize(__global T **block, __global T **other, __global int **perm,
                        __global int **columns, __global const int *frame, __global int *state,
                        __global int *trouble, __global double *largest, R small, R bound, int last,
                        int type, int has_perm, int hermitian, int judging) {
    T row[N];
    R most = 0;
    T own = 0;
    int wrong = 0;
    int replaced = 0;
    for (int j = 0; j < N; ++j) row[j] = block[ITEM][ME * N + j];
    for (int k = 0; k < N; ++k) {
        T d = diagonal_of(shuffle(row[k], k), hermitian);
        bool finite = d - d == 0;
        bool good = finite && (type == LLT ? real_of(d) > small : modulus(d) > small);
        bool replace = !good && finite && judging != 0 && last != 0 && type != LLT;
        d = replace ? of_real(real_of(d) < 0 ? -small : small) : d;
        replaced += replace ? 1 : 0;
        wrong = wrong == 0 && !(good || (replace && small > 0)) ? k + 1 : wrong;
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
    if (wrong == 0) {
        for (int j = 0; j < N; ++j) block[ITEM][ME * N + j] = row[j];
        if (type == LDU)
            for (int j = 0; j < N; ++j) other[ITEM][j * N + ME] = row[j];
    }
    if (has_perm > 0) perm[ITEM][ME] = ME;
    if (has_perm > 1) columns[ITEM][ME] = ME;
    judge(state, frame, trouble, largest, PIVOT_FAILS, wrong, most, replaced, bound, last, judging);
}

/* 1x1 and 2x2 pivots by Bunch & Parlett 1971; those behind the rows of the frame as they come. */
__kernel void factorize_pairs(__global T **block, __global int **perm, __global const int *rows,
                              __global const int *frame, __global int *state, __global int *trouble,
                              __global double *largest, R small, R bound, int last, int hermitian,
                              int judging) {
    __local volatile T lower[N * N];
    __local volatile T u[N];
    __local volatile T v[N];
    T row[N];
    R most = 0;
    T diagonal = block[ITEM][ME * N + ME];
    T d = 0; /* of this work-item's pivot */
    T e = 0; /* right of it, where a pair begins */
    int place = 0;
    uint left = ~(uint)0;
    bool active = true;
    int wrong = 0;
    int replaced = 0;
    int w = rows[ITEM];
    int k = 0;
    for (int j = 0; j < N; ++j) row[j] = block[ITEM][ME * N + j];
    while (k < N) {
        R two = -1;
        int column = 0;
        for (int j = 0; j < N; ++j) {
            R size = size_of(row[j]);
            bool in = ((left >> j) & 1) != 0 && j < w && j != ME && size > two;
            two = in ? size : two;
            column = in ? j : column;
        }
        bool mine = active && ME < w;
        R one = mine ? size_of(diagonal) : -1;
        two = mine ? two : -1;
        int p = work_group_reduce_max_index(one);
        int q = work_group_reduce_max_index(two);
        R m1 = shuffle(one, p);
        R m2 = shuffle(two, q);
        int c = shuffle(column, q);
        bool single = k >= w || !(m2 > small) || m1 >= (R)0.6403882032022076 * m2;
        p = k >= w ? k : single ? p : q;
        if (ME == p)
            for (int j = 0; j < N; ++j) u[j] = row[j];
        if (single) {
            T a = diagonal_of(shuffle(diagonal, p), hermitian);
            bool finite = a - a == 0;
            bool good = finite && modulus(a) > small;
            bool replace = !good && finite && judging != 0 && last != 0;
            a = replace ? of_real(real_of(a) < 0 ? -small : small) : a;
            replaced += replace ? 1 : 0;
            wrong = wrong == 0 && !(good || (replace && small > 0)) ? k + 1 : wrong;
            barrier(CLK_LOCAL_MEM_FENCE);
            T mine_u = u[ME];
            if (ME == p) {
                active = false;
                place = k;
                d = a;
            }
            T l = 0;
            if (active) l = turned(mine_u, hermitian) / a;
            for (int j = 0; j < N; ++j) row[j] -= l * u[j];
            diagonal -= l * mine_u;
            most = larger(most, l);
            lower[ME * N + k] = l;
            left = left & ~((uint)1 << p);
            k += 1;
        } else {
            if (ME == c)
                for (int j = 0; j < N; ++j) v[j] = row[j];
            T a = diagonal_of(shuffle(diagonal, p), hermitian);
            T b = diagonal_of(shuffle(diagonal, c), hermitian);
            barrier(CLK_LOCAL_MEM_FENCE);
            T over = u[c];
            T under = turned(over, hermitian);
            T r = a / under;
            T s = b / over;
            T t = (T)1 / (r * s - 1);
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
            T x = turned(mine_u, hermitian) / under;
            T y = turned(mine_v, hermitian) / over;
            T l = 0;
            T m = 0;
            if (active) {
                l = t * (x * s - y);
                m = t * (y * r - x);
            }
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
    if (wrong == 0) {
        for (int j = 0; j < N; ++j) {
            T x = 0;
            if (j == place) x = d;
            if (j == place + 1) x = e;
            if (j < place) x = lower[ME * N + j];
            block[ITEM][place * N + j] = x;
        }
        perm[ITEM][place] = ME;
    }
    judge(state, frame, trouble, largest, PIVOT_FAILS, wrong, most, replaced, bound, last, judging);
}

/* LDU, each pivot the largest of all that is left in the rows of the frame. */
__kernel void factorize_apart(__global T **block, __global T **other, __global int **perm,
                              __global int **columns, __global const int *rows,
                              __global const int *frame, __global int *state, __global int *trouble,
                              __global double *largest, R small, R bound, int last, int judging) {
    __local volatile T lower[N * N];
    __local volatile T u[N];
    __local volatile int at[N];
    T row[N];
    R most = 0;
    T d = 0;
    int place = 0;
    uint left = ~(uint)0; /* columns */
    bool active = true;
    int wrong = 0;
    int replaced = 0;
    int w = rows[ITEM];
    int k = 0;
    for (int j = 0; j < N; ++j) row[j] = block[ITEM][ME * N + j];
    while (k < N) {
        R one = -1;
        int column = k;
        for (int j = 0; j < N; ++j) {
            R size = size_of(row[j]);
            bool in = ((left >> j) & 1) != 0 && j < w && size > one;
            one = in ? size : one;
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
        bool good = finite && modulus(a) > small;
        bool replace = !good && finite && judging != 0 && last != 0;
        a = replace ? of_real(real_of(a) < 0 ? -small : small) : a;
        replaced += replace ? 1 : 0;
        wrong = wrong == 0 && !(good || (replace && small > 0)) ? k + 1 : wrong;
        left = left & ~((uint)1 << q);
        if (ME == p) {
            active = false;
            place = k;
            d = a;
        }
        if (ME == q) at[ME] = k;
        barrier(CLK_LOCAL_MEM_FENCE);
        T l = 0;
        if (active) l = own / a;
        for (int j = 0; j < N; ++j) {
            T x = 0;
            if (((left >> j) & 1) != 0) x = u[j];
            row[j] -= l * x;
        }
        most = larger(most, l);
        lower[ME * N + k] = l;
        if (ME == 0 && wrong == 0) columns[ITEM][k] = q;
        k += 1;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (wrong == 0) {
        for (int j = 0; j < N; ++j) {
            T x = lower[ME * N + j];
            if (j < place) {
                block[ITEM][place * N + j] = x;
                other[ITEM][j * N + place] = x;
            }
            int c = at[j];
            T y = row[j] / d;
            if (c == place) y = d;
            if (c >= place) {
                block[ITEM][place * N + c] = y;
                other[ITEM][c * N + place] = y;
                if (c > place) most = larger(most, y);
            }
        }
        perm[ITEM][place] = ME;
    }
    judge(state, frame, trouble, largest, PIVOT_FAILS, wrong, most, replaced, bound, last, judging);
}

/* Rows x of the block: x D L^T = row, forward. Work-item i has row i of the block, and of L and D row and
 * column i. */
__kernel void solve(__global T **block, __global const T **pivot, __global const int *frame,
                    __global int *state, __global int *trouble, __global double *largest, R bound,
                    int last, int pairs, int hermitian, int judging) {
    if (!fails(state, frame, PIVOT_FAILS, judging, ITEM)) {
        T x[N];
        R most = 0;
        T d = pivot[ITEM][ME * (N + 1)];
        T e = 0; /* right of the diagonal */
        if (pairs != 0 && ME + 1 < N) e = pivot[ITEM][ME * (N + 1) + 1];
        for (int j = 0; j < N; ++j) x[j] = block[ITEM][ME * N + j];
        for (int k = 0; k < N; ++k) { /* L first */
            T l = turned(pivot[ITEM][ME * N + k], hermitian);
            for (int j = k + 1; j < N; ++j) x[j] -= shuffle(l, j) * x[k];
        }
        if (pairs != 0) {
            bool left = false; /* k is the second of a pair */
            for (int k = 0; k < N; ++k) {
                T own = shuffle(d, k);
                T over = shuffle(e, k);
                bool begins = over != 0;
                if (begins) {
                    T under = turned(over, hermitian);
                    T r = own / over;
                    T s = shuffle(d, k + 1) / under;
                    T t = (T)1 / (r * s - 1);
                    T a = x[k];
                    T b = x[k + 1 < N ? k + 1 : k];
                    x[k] = t * ((a * s - b) / over);
                    if (k + 1 < N) x[k + 1 < N ? k + 1 : k] = t * ((b * r - a) / under);
                } else if (!left) {
                    x[k] /= own;
                }
                left = begins;
            }
        } else {
            for (int k = 0; k < N; ++k) x[k] /= shuffle(d, k);
        }
        for (int j = 0; j < N; ++j) {
            most = larger(most, x[j]);
            block[ITEM][ME * N + j] = x[j];
        }
        judge(state, frame, trouble, largest, COLUMN_FAILS, 0, most, 0, bound, last, judging);
    }
}

/* Row k of D b^T, its own column. */
static T scaled(__global const T **pivot, __global const T **b, long e, int k, int pairs,
                int hermitian) {
    T w = pivot[e][k * (N + 1)] * turned(b[e][ME * N + k], hermitian);
    if (pairs != 0) {
        if (k + 1 < N) {
            T right = pivot[e][k * (N + 1) + 1];
            w += right * turned(b[e][ME * N + (k + 1) % N], hermitian);
        }
        if (k > 0) {
            T left = pivot[e][(k + N - 1) % N * (N + 1) + 1];
            w += turned(left, hermitian) * turned(b[e][ME * N + (k + N - 1) % N], hermitian);
        }
    }
    return w;
}

/* block -= a D b^T, where `grouped` by all items e from first[ITEM] on, before the next one's. */
__kernel void downdate(__global T **block, __global const T **a, __global const T **b,
                       __global const T **pivot, __global const int *frame,
                       __global const int *state, __global const long *first, int pairs,
                       int hermitian, int judging, int grouped) {
    T c[N];
    long e = ITEM;
    long end = e + 1;
    if (grouped != 0) {
        e = first[ITEM];
        end = first[ITEM + 1];
    }
    for (int j = 0; j < N; ++j) c[j] = block[ITEM][ME * N + j];
    while (e < end) {
        if (!fails(state, frame, FAILS, judging, e)) {
            for (int k = 0; k < N; ++k) {
                T l = a[e][ME * N + k];
                T w = scaled(pivot, b, e, k, pairs, hermitian);
                for (int j = 0; j < N; ++j) c[j] -= l * shuffle(w, j);
            }
        }
        e += 1;
    }
    for (int j = 0; j < N; ++j) block[ITEM][ME * N + j] = c[j];
}

/* to := a D b^T, one after the other from item `first` on, or zero */
__kernel void product(__global T *to, __global const T **a, __global const T **b,
                      __global const T **pivot, __global const int *frame,
                      __global const int *state, int pairs, int hermitian, int judging,
                      long first) {
    T c[N];
    for (int j = 0; j < N; ++j) c[j] = 0;
    if (!fails(state, frame, FAILS, judging, ITEM)) {
        for (int k = 0; k < N; ++k) {
            T l = a[ITEM][ME * N + k];
            T w = scaled(pivot, b, ITEM, k, pairs, hermitian);
            for (int j = 0; j < N; ++j) c[j] += l * shuffle(w, j);
        }
    }
    for (int j = 0; j < N; ++j) to[((ITEM - first) * N + ME) * N + j] = c[j];
}

__kernel void transpose(__global T **block, int hermitian) {
    T row[N];
    for (int j = 0; j < N; ++j) row[j] = block[ITEM][ME * N + j];
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int j = 0; j < N; ++j) block[ITEM][j * N + ME] = turned(row[j], hermitian);
}

__kernel void zero_out(__global T **block) {
    for (int j = 0; j < N; ++j) block[ITEM][j * N + ME] = 0;
}

__kernel void permute(__global T **block, __global const int **perm, __global const int *frame,
                      __global const int *state, int judging) {
    if (!fails(state, frame, FAILS, judging, ITEM)) {
        T row[N];
        for (int j = 0; j < N; ++j) row[j] = block[ITEM][ME * N + perm[ITEM][j]];
        barrier(CLK_GLOBAL_MEM_FENCE);
        for (int j = 0; j < N; ++j) block[ITEM][ME * N + j] = row[j];
    }
}

/* Squared norms of columns, work-item i that of column i. */
__kernel void measure(__global const T **block, __global double *norm2) {
    double sum = 0;
    for (int r = 0; r < N; ++r) {
        T x = block[ITEM][r * N + ME];
        sum += square(x);
    }
    norm2[ITEM * N + ME] = sum;
}

/* Entries that are not above their column's limit become 0, where `changes`, and of the others all
 * but the keep[ITEM] largest, of equals those that stand last; kept[ITEM]: how many are left. */
__kernel void drop(__global T **block, __global const double *limit, __global const long *keep,
                   __global long *kept, int changes) {
    R size[N];
    int own = 0;
    R high = 0;
    for (int j = 0; j < N; ++j) {
        R s = modulus(block[ITEM][ME * N + j]);
        bool in = s > (R)limit[ITEM * N + j];
        size[j] = in ? s : -1;
        high = in && s > high ? s : high;
        own += in ? 1 : 0;
    }
    int all = work_group_reduce_sum(own);
    int most = all;
    if (changes != 0) most = keep[ITEM] >= 0 && keep[ITEM] < all ? (int)keep[ITEM] : all;
    R edge = 0;   /* the size of the one that comes last of those that stay */
    int room = 0; /* how many of this size stay */
    if (most < all) {
        /* at least `most` are above low, fewer are above high, which is one of them */
        R low = 0;
        bool more = most > 0;
        high = work_group_reduce_max(high);
        while (more) {
            R next = high;
            for (int j = 0; j < N; ++j) next = size[j] > low && size[j] < next ? size[j] : next;
            next = work_group_reduce_min(next);
            more = next < high;
            if (more) {
                R middle = sqrt(next) * sqrt(high);
                middle = middle >= next && middle < high ? middle : next;
                int above = 0;
                R below = 0;
                for (int j = 0; j < N; ++j) {
                    above += size[j] > middle ? 1 : 0;
                    below = size[j] <= middle && size[j] > below ? size[j] : below;
                }
                above = work_group_reduce_sum(above);
                below = work_group_reduce_max(below);
                low = above >= most ? middle : low;
                high = above >= most ? high : below;
            }
        }
        int above = 0;
        int same = 0;
        edge = high;
        for (int j = 0; j < N; ++j) {
            above += size[j] > edge ? 1 : 0;
            same += size[j] == edge ? 1 : 0;
        }
        room = most - work_group_reduce_sum(above);
        for (int i = 0; i < N; ++i) { /* those of the rows before come first */
            int before = shuffle(same, i);
            room -= i < ME ? before : 0;
        }
    }
    if (changes != 0) {
        for (int j = 0; j < N; ++j) {
            bool stays = size[j] > edge;
            if (size[j] == edge && room > 0) {
                stays = true;
                room -= 1;
            }
            if (!stays) block[ITEM][ME * N + j] = 0;
        }
    }
    if (ME == 0) kept[ITEM] = most;
}
