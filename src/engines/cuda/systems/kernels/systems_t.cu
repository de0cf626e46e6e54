/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel for many systems of one pattern, for one kind of entries. */
#include "front.cuh"
#include "measure.cuh"
#include "solve.cuh"
#include "table.cuh"

using namespace mpki;
using namespace mpki::systems;

/** Bytes of shared memory that come before the teams'. */
enum { HEADER = 32 * sizeof(double) };

/** Factorize: values, scaling, pivots, and what came of them. By all threads; barriers. */
static __device__ bool factorize(at_work<T> &g, const mpki_cuda_systems_job &job, int64_t slot,
                                 mpki_cuda_systems_found *found) {
    const int flags = take_values(g, strand_of<T>(job.ax, slot, 0));
    R norm_inf = 0;
    double logdet[3] = {0, 0, 0};
    tally<R> t = {0, (R)INFINITY, 0, 0, 0, 0, 0, true, job.small};
    bool good = flags == 0;
    if (good) {
        good = find_scale(g, &norm_inf);
        factor(g, t);
        log_determinant(g, logdet);
        const double growth = t.most > 1 ? (double)t.most : 1;
        good = good && t.passed && (double)t.stress <= job.stress &&
               (double)t.least > job.noise * growth &&
               (double)t.least > job.rounding * (double)t.stress;
    }
    if (g.t == 0) {
        found->flags = flags | (good ? MPKI_FOUND_GOOD : 0);
        found->positive = t.positive, found->negative = t.negative;
        found->two_by_two = t.pairs;
        found->growth = (double)t.most, found->min_pivot = (double)t.least;
        found->norm_inf = (double)norm_inf;
        for (int k = 0; k < 3; ++k) found->logdet[k] = logdet[k];
    }
    return good;
}

/** Steps of refinement of a column, as mpki_refine() takes them. By all threads; barriers. */
static __device__ quality<R> refine(at_work<T> &g, const mpki_cuda_systems_job &job, strand<T> b,
                                    T *x, int *steps) {
    quality<R> q = measure(g, x, b);
    bool on = q.known && !((double)q.omega <= job.accuracy) && job.refine > 0;
    *steps = 0;
    for (int step = 0; on; ++step) {
        solve(g, g.r);
        for (int i = g.t; i < g.plan->n; i += g.nt) {
            g.best[i] = x[i];
            x[i] = x[i] + g.r[i];
        }
        const quality<R> now = measure(g, x, b);
        const bool back = !now.known || !(now.omega < q.omega);
        on = !back && (double)now.omega <= 0.5 * (double)q.omega &&
             !((double)now.omega <= job.accuracy) && step + 1 < job.refine;
        *steps = step + 1;
        if (!back) {
            q = now;
            continue;
        }
        for (int i = g.t; i < g.plan->n; i += g.nt) x[i] = g.best[i];
        meet(g);
    }
    return q;
}

/** Columns of a system. By all threads; barriers. */
static __device__ void solve_all(at_work<T> &g, const mpki_cuda_systems_job &job, int64_t slot,
                                 mpki_cuda_systems_found *found) {
    const int n = g.plan->n;
    double omega = 0, normwise = 0;
    bool finite = true, doubt = false;
    int steps = 0, flags = 0;
    for (int j = 0; j < job.nrhs; ++j) {
        const strand<T> b = strand_of<T>(job.b, slot, j);
        T *x = g.x + (int64_t)j * n;
        for (int i = g.t; i < n; i += g.nt) {
            x[i] = b[i];
            finite = finite && is_finite(x[i]);
        }
    }
    finite = for_all(g, finite);
    if (!finite) flags = MPKI_FOUND_B;
    for (int j = 0; finite && j < job.nrhs; ++j) {
        T *x = g.x + (int64_t)j * n;
        solve(g, x);
        if (job.bare) continue;
        int some = 0;
        const quality<R> q = refine(g, job, strand_of<T>(job.b, slot, j), x, &some);
        doubt = doubt || !q.known || !((double)q.omega <= job.accuracy) ||
                (double)q.growth >= job.large_growth;
        steps = some > steps ? some : steps;
        omega = (double)q.omega > omega ? (double)q.omega : omega;
        normwise = (double)q.normwise > normwise ? (double)q.normwise : normwise;
    }
    if (finite) {
        bool whole = true;
        for (int64_t i = g.t; i < (int64_t)n * job.nrhs; i += g.nt)
            whole = whole && is_finite(g.x[i]);
        doubt = !for_all(g, whole) || doubt;
        flags = doubt ? MPKI_FOUND_UNSOLVED : MPKI_FOUND_SOLVED;
    }
    for (int j = 0; flags == MPKI_FOUND_SOLVED && j < job.nrhs; ++j) {
        const strand<T> to = strand_of<T>(job.x, slot, j);
        for (int i = g.t; i < n; i += g.nt) to[i] = g.x[(int64_t)j * n + i];
    }
    if (g.t == 0) {
        found->flags |= flags;
        found->steps = steps;
        found->omega = omega, found->normwise = normwise;
    }
    meet(g);
}

/** Column 0 of x := A^-1 (-A b). By all threads; barriers. */
static __device__ void contract(at_work<T> &g, const mpki_cuda_systems_job &job, int64_t slot) {
    const strand<T> z = strand_of<T>(job.b, slot, 0), to = strand_of<T>(job.x, slot, 0);
    for (int i = g.t; i < g.plan->n; i += g.nt) g.x[i] = z[i];
    meet(g);
    residual(g, g.x, g.r, [](int) { return make<T>(0); });
    solve(g, g.r);
    for (int i = g.t; i < g.plan->n; i += g.nt) to[i] = g.r[i];
    meet(g);
}

/** Gang k takes systems k, k + gangs, ... of the list. */
static __global__ void __launch_bounds__(MOST, 2)
    systems_kernel(const __grid_constant__ mpki_cuda_systems_job job) {
    MPKI_SMEM;
    const mpki_cuda_systems_plan &p = job.plan;
    const int64_t n = p.n;
    at_work<T> g;
    g.plan = &p;
    const int gang = (int)blockIdx.x / job.blocks;
    g.hermitian = p.hermitian != 0;
    g.thread = (int)threadIdx.x, g.block = (int)blockDim.x;
    g.rank = (int)blockIdx.x % job.blocks, g.blocks = job.blocks, g.gang_rows = job.gang_rows;
    g.block_depth = job.depth;
    g.red = (R *)smem;
    g.shared = smem + HEADER, g.bytes = job.shared - HEADER;
    together(g);
    /* what fronts leave when they are factorized lies where vectors of solves do */
    g.exchange = (double *)((char *)job.work + gang * job.gang_bytes), g.turn = 0;
    g.contribution = (T *)(g.exchange + 2 * g.blocks * N_MOST);
    g.y = g.contribution;
    g.r = g.y + n, g.best = g.r + n, g.x = g.best + n;
    g.vector = g.x + n * (job.nrhs > 1 ? job.nrhs : 1);
    g.w = (R *)(g.vector + p.vectors);
    for (int k = gang; k < job.count; k += job.gangs) {
        const mpki_cuda_systems_item item = job.item[k];
        char *home = (char *)item.home;
        g.ax = (T *)(home + p.home.values), g.l = (T *)(home + p.home.l);
        g.d = (T *)(home + p.home.d);
        g.scale = (R *)(home + p.home.scale), g.norm = (R *)(home + p.home.norm);
        mpki_cuda_systems_found *found = job.found + k;
        if (job.certify) {
            contract(g, job, item.slot);
            continue;
        }
        if (!job.factor && g.t == 0) found->flags = 0;
        const bool good = !job.factor || factorize(g, job, item.slot, found);
        if (good && job.solve) solve_all(g, job, item.slot, found);
        meet(g);
    }
}

static int64_t gang_bytes(const mpki_cuda_systems_plan *p, int32_t nrhs, int blocks) {
    const int64_t solve =
        ((3 + (nrhs > 1 ? nrhs : 1)) * (int64_t)p->n + p->vectors) * (int64_t)sizeof(T) +
        (int64_t)p->n * (int64_t)sizeof(R);
    const int64_t left = p->contributions * (int64_t)sizeof(T);
    const int64_t bytes =
        2 * blocks * N_MOST * (int64_t)sizeof(double) + (solve > left ? solve : left);
    return (bytes + 255) & ~(int64_t)255;
}

/** Blocks of that shape that a multiprocessor holds. */
static mpk_status blocks_of(mpki_cuda *cuda, int threads, int shared, int *blocks) {
#ifdef __CUDACC__
    MPKI_TRY(cudaFuncSetAttribute(systems_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)cuda->shared_max)); /* for all objects, of whatever shape */
    MPKI_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, systems_kernel, threads,
                                                           (size_t)shared));
#else
    (void)cuda, (void)threads, (void)shared;
    *blocks = 1;
#endif
    return MPK_OK;
}

static int shape(mpki_cuda *cuda, const mpki_cuda_systems_plan *p, int64_t count, int32_t nrhs,
                 mpki_cuda_systems_shape *out) {
    const int sms = cuda->sms > 0 ? cuda->sms : 3;
    const int64_t most = (cuda->shared_max ? (int64_t)cuda->shared_max : 227 << 10) - 1024;
    int depth = p->max_front < MPKI_SYSTEMS_DEEP_ROWS ? PANEL : MPKI_SYSTEMS_DEEP * PANEL;
#ifndef __CUDACC__
    depth = (int)host_told("METAPACK_CUDA_HOST_DEPTH", depth);
#endif
    while (depth > PANEL && HEADER + team_bytes<T>(p->max_front, depth) > most / 2) depth /= 2;
    const int64_t least = HEADER + team_bytes<T>(p->max_front, depth);
    const int64_t whole = (int64_t)p->max_front * (p->max_front + 1) / 2 * (int64_t)sizeof(T);
    if (least > most)
        return refuse(cuda, MPK_ERR_UNSUPPORTED,
                      "fronts of %d rows are too large for many systems on a GPU", p->max_front);
    /* more threads for larger fronts, and more blocks for so few systems that the device has room */
    const bool small = p->max_front <= MPKI_SYSTEMS_WARP_ROWS;
    int threads = small                                        ? 32
                  : p->max_front <= MPKI_SYSTEMS_TWO_WARP_ROWS ? 64
                  : p->max_front <= MPKI_SYSTEMS_MIDDLE_ROWS   ? 128
                                                               : 256;
    int each = 1;
    if (cuda->capability >= 90 && cuda->code >= 90)
        while (each < MPKI_SYSTEMS_GANG && count * each * 2 <= (int64_t)sms * MPKI_SYSTEMS_ROOM)
            each *= 2;
    if (count <= sms || (!small && count <= (int64_t)sms * MPKI_SYSTEMS_FEW_LARGE))
        threads = 256;
    else if (small && count <= (int64_t)sms * MPKI_SYSTEMS_FEW)
        threads = 64;
    /* more where the tree keeps them busy, and a multiprocessor has not enough of them */
    while (threads < MOST && threads / 32 * each < p->wide &&
           count * each * threads / 32 * 2 <= (int64_t)sms * MPKI_SYSTEMS_WARPS)
        threads *= 2;
    /* fronts lie in shared memory as far as blocks that are at work leave room */
    const int64_t at_work = (count * each + sms - 1) / sms;
    const int64_t room = (most - MPKI_SYSTEMS_CACHE_BYTES) / at_work - least;
    int64_t front = room > MPKI_SYSTEMS_FRONT_BYTES ? room : MPKI_SYSTEMS_FRONT_BYTES;
    out->gang_rows = MPKI_SYSTEMS_GANG_ROWS;
    out->depth = depth;
    out->sms = sms;
#ifndef __CUDACC__ /* tests ask for all of them */
    threads = (int)host_told("METAPACK_CUDA_HOST_THREADS", threads);
    front = host_told("METAPACK_CUDA_HOST_FRONT", front);
    each = (int)host_told("METAPACK_CUDA_HOST_GANG", 1);
    out->gang_rows = (int32_t)host_told("METAPACK_CUDA_HOST_GANG_ROWS", out->gang_rows);
#endif
    if (front > whole) front = whole;
    if (front > most - least) front = most - least;
    int blocks = 0;
    out->threads = threads;
    const int64_t apart = HEADER + alone_bytes<T>() * (threads / 32);
    const int64_t shared = threads > 32 && apart > least + front ? apart : least + front;
    if (shared > most) return refuse(cuda, MPK_ERR_UNSUPPORTED, "no block of threads fits");
    out->shared = (int32_t)((shared + 15) & ~(int64_t)15);
    MPKI_PASS(blocks_of(cuda, threads, out->shared, &blocks));
    if (blocks < 1) return refuse(cuda, MPK_ERR_UNSUPPORTED, "no block of threads fits");
#ifdef __CUDACC__
    while (each > 1 && !cluster_fits(systems_kernel, each, threads, (size_t)out->shared)) each /= 2;
#endif
    int64_t all = (int64_t)blocks * sms / each;
    if (all < 1) all = 1;
    out->blocks = each;
    out->gangs = (int32_t)(count < all ? count : all);
    out->gang_bytes = gang_bytes(p, nrhs, each);
    return MPK_OK;
}

static int run(mpki_cuda *cuda, const mpki_cuda_systems_job *job) {
    MPKI_TRY(MPKI_LAUNCH_CLUSTERS(cuda, systems_kernel, job->gangs * job->blocks, job->blocks,
                                  job->threads, (size_t)job->shared, *job));
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

extern const mpki_cuda_systems_kind FN(cuda_systems);
const mpki_cuda_systems_kind FN(cuda_systems) = {shape, run};
