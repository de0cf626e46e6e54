/* SPDX-License-Identifier: BSD-3-Clause */
/* Shapes of the kernels for LDU in registers beside one another (src/engines/cuda/batch/kernels/
 * registers_ldu.cuh: columns of a loop, blocks of a multiprocessor; registers_grid.cuh: columns -1;
 * width: the largest order of the kernel), and what bounds all of them:
 *   device_shapes [--count 100000] [--rounds 3] [--seconds S] [--out FILE]
 * A row of JSON each: milliseconds of a launch among eight in a row, each on its own copy, the
 * least of R; registers, local bytes, warps of a multiprocessor; different: factors that differ
 * from those of the first shape of this order. Compiled once per precision (MPKI_PRECISION), and
 * once as the program (SHAPES_MAIN). */
#ifndef SHAPES_MAIN
#include "engines/cuda/batch/kernels/registers_grid.cuh"
#else
#include "engines/cuda/batch/kernels/tile.cuh"
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct shape {
    int n, width, pivoting, columns, blocks;
    const void *kernel;
    int each, bytes; /* matrices of a block; its shared memory */
    bool taken;      /* the library's own choice */
};

#define SHAPES(p) const shape *mpki_##p##_shapes(int *count);
SHAPES(s)
SHAPES(d)
SHAPES(c)
SHAPES(z)

#ifndef SHAPES_MAIN
using namespace mpki;
template <int N, int PIVOTING, int G, int BLOCKS> static shape of(int n = N) {
    typedef rows_ldu<T, N, G> matrix;
    typedef rows_shape<T, N, PIVOTING> own;
    const int each = (int)TILE_BLOCK / matrix::L;
    const bool taken = own::COLUMNS == G && own::BLOCKS == BLOCKS && !on_grid<T>(PIVOTING, n);
    const void *kernel = (const void *)rows_ldu_kernel<T, N, PIVOTING, G, BLOCKS>;
    return {n, N, PIVOTING, G, BLOCKS, kernel, each, each * matrix::bytes(), taken};
}
template <int N, int BLOCKS> static shape grid(int n = N) {
    const int each = (int)TILE_BLOCK / 32, bytes = each * grid_ldu<T, N>::bytes();
    const bool taken = on_grid<T>(2, n) && n > N - 4 && grid_blocks<T, N>() == BLOCKS;
    const void *kernel = (const void *)grid_ldu_kernel<T, N, 2, BLOCKS>;
    return {n, N, 2, -1, BLOCKS, kernel, each, bytes, taken};
}
const shape *FN(shapes)(int *count) {
#if MPKI_PRECISION == 3
#define AT(few, some, many) few
#elif MPKI_PRECISION == 0
#define AT(few, some, many) many
#else
#define AT(few, some, many) some
#endif
    static const shape all[] = {
        of<24, 2, AT(8, 0, 0), AT(3, 4, 6)>(20),
        of<24, 2, 8, AT(2, 5, 8)>(20),
        grid<20, AT(4, 6, 8)>(),
        grid<20, AT(5, 7, 10)>(),
        grid<24, AT(4, 6, 8)>(20),
        of<24, 2, AT(8, 0, 0), AT(3, 4, 6)>(),
        grid<24, AT(4, 6, 8)>(),
        grid<24, AT(3, 5, 10)>(),
        of<32, 2, AT(8, 0, 0), AT(3, 4, 6)>(28),
        grid<28, AT(3, 5, 8)>(),
        grid<28, AT(2, 4, 6)>(),
        of<32, 2, AT(8, 0, 0), AT(3, 4, 6)>(),
        grid<32, AT(2, 4, 6)>(),
        grid<32, AT(3, 5, 8)>(),
        of<16, 2, 0, AT(4, 6, 8)>(),
        grid<16, AT(5, 8, 10)>(),
        grid<16, AT(6, 10, 12)>(),
        of<12, 2, 0, AT(4, 6, 8)>(),
        grid<12, AT(6, 10, 12)>(),
        of<8, 2, 0, AT(6, 8, 8)>(),
        of<8, 2, 0, AT(4, 6, 10)>(),
        of<8, 2, 8, AT(4, 6, 8)>(),
        of<8, 2, 4, AT(4, 6, 8)>(),
        of<8, 2, 4, AT(5, 8, 10)>(),
        of<8, 4, 8, AT(6, 8, 8)>(),
        of<8, 4, 8, AT(4, 6, 10)>(),
        of<8, 4, 4, AT(4, 6, 8)>(),
        of<16, 2, 0, AT(4, 6, 8)>(),
        of<16, 2, 4, AT(3, 6, 8)>(),
        of<16, 2, 8, AT(3, 6, 8)>(),
        of<16, 2, 8, AT(4, 5, 10)>(),
        of<16, 2, 16, AT(4, 6, 8)>(),
        of<16, 2, 8, AT(3, 4, 6)>(),
        of<16, 4, 4, AT(3, 5, 8)>(),
        of<16, 4, 8, AT(4, 6, 8)>(),
        of<16, 4, 8, AT(3, 5, 10)>(),
        of<16, 4, 16, AT(3, 5, 8)>(),
        of<32, 2, 0, AT(2, 4, 6)>(),
        of<32, 2, 4, AT(2, 4, 6)>(),
        of<32, 2, 8, AT(2, 4, 6)>(),
        of<32, 2, 8, AT(3, 3, 8)>(),
        of<32, 2, 16, AT(2, 4, 6)>(),
        of<32, 2, 16, AT(2, 5, 7)>(),
        of<32, 2, 32, AT(2, 4, 6)>(),
        of<32, 4, 8, AT(2, 4, 6)>(),
        of<32, 4, 8, AT(2, 3, 5)>(),
        of<32, 4, 16, AT(2, 3, 5)>(),
        of<32, 4, 4, AT(2, 3, 5)>(),
        of<24, 2, 0, AT(2, 4, 6)>(),
        of<24, 2, 8, AT(2, 4, 6)>(),
        of<24, 2, 8, AT(3, 5, 8)>(),
        of<24, 4, 8, AT(2, 3, 6)>(),
        of<24, 4, 8, AT(2, 4, 5)>(),
        of<12, 2, 0, AT(4, 6, 8)>(),
        of<12, 2, 12, AT(4, 6, 8)>(),
        of<12, 2, 4, AT(4, 6, 8)>(),
        of<12, 4, 12, AT(4, 6, 8)>(),
        of<12, 4, 4, AT(3, 5, 8)>(),
    };
    return *count = (int)(sizeof all / sizeof *all), all;
}
#else

#define NEED(call)                                                                                 \
    do {                                                                                           \
        const cudaError_t e_ = (call);                                                             \
        if (e_ != cudaSuccess) {                                                                   \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e_));                            \
            exit(3);                                                                               \
        }                                                                                          \
    } while (0)

enum { QUEUE = 8, SHARED_WORDS = 512 };
static cudaEvent_t start, stop;
static int rounds = 3;

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* the least of some rounds: milliseconds of one of QUEUE calls in a row */
template <class PREPARE, class CALL> static double least(PREPARE prepare, CALL call) {
    double best = 0;
    for (int r = -1; r < rounds; r++) {
        float ms = 0;
        prepare();
        NEED(cudaDeviceSynchronize());
        NEED(cudaEventRecord(start));
        for (int k = 0; k < QUEUE; k++) call(k);
        NEED(cudaEventRecord(stop));
        NEED(cudaEventSynchronize(stop));
        NEED(cudaEventElapsedTime(&ms, start, stop));
        if (r <= 0 || ms < best) best = ms;
    }
    return best / QUEUE;
}

/* ---- what bounds every kernel ---- */

__global__ void nothing() {}

template <class R> __global__ void multiply_and_add(R *out, R x, int times) {
    R v[8];
    for (int k = 0; k < 8; ++k) v[k] = (R)(threadIdx.x + k);
    for (int t = 0; t < times; ++t)
#pragma unroll
        for (int u = 0; u < 16; ++u)
#pragma unroll
            for (int k = 0; k < 8; ++k) v[k] = v[k] * x + x;
    R sum = 0;
    for (int k = 0; k < 8; ++k) sum += v[k];
    if (sum == (R)-1) *out = sum;
}

/* 16 bytes that all lanes read from shared memory */
__global__ void broadcast(float *out, int times) {
    __shared__ float4 memory[SHARED_WORDS];
    for (int k = (int)threadIdx.x; k < SHARED_WORDS; k += (int)blockDim.x)
        memory[k] = make_float4(1, 2, 3, (float)k);
    __syncthreads();
    float4 sum = make_float4(0, 0, 0, 0);
    for (int t = 0; t < times; ++t)
#pragma unroll
        for (int u = 0; u < 16; ++u) {
            const float4 x = memory[(t * 16 + u) % SHARED_WORDS];
            sum.x += x.x, sum.y += x.y, sum.z += x.z, sum.w += x.w;
        }
    if (sum.x + sum.y + sum.z + sum.w == -1) *out = sum.x;
}

static void bounds(FILE *out) {
    enum { TIMES = 1024, THREADS = 512 };
    int sms = 0;
    void *room = NULL;
    NEED(cudaMalloc(&room, 256));
    NEED(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    const auto none = [] {};
    const double launch = least(none, [](int) { nothing<<<1, 32>>>(); });
    const double s = least(none, [&](int) {
        multiply_and_add<float><<<4 * sms, THREADS>>>((float *)room, 0.5f, TIMES);
    });
    const double d = least(none, [&](int) {
        multiply_and_add<double><<<4 * sms, THREADS>>>((double *)room, 0.5, TIMES);
    });
    const double b =
        least(none, [&](int) { broadcast<<<4 * sms, THREADS>>>((float *)room, TIMES); });
    const double warps = 4.0 * sms * THREADS / 32;
    const double rate_s = warps * 128 * TIMES / s, rate_d = warps * 128 * TIMES / d;
    const double rate_b = warps * 16 * TIMES / b;
    fprintf(out,
            "{\"launch_ms\": %.5g, \"fma_s\": %.5g, \"fma_d\": %.5g, \"broadcasts\": %.5g, "
            "\"multiprocessors\": %d}\n",
            launch, rate_s, rate_d, rate_b, sms);
    printf("launch %.5f ms; instructions of a warp in a millisecond: %.4g multiply and add in "
           "single, %.4g in double, %.4g broadcasts of 16 bytes\n",
           launch, rate_s, rate_d, rate_b);
    NEED(cudaFree(room));
}

/* ---- shapes ---- */

static double value(unsigned long long *state) {
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(*state >> 11) / 9007199254740992.0 * 2 - 1;
}

static void fill(char *a, int letter, long long entries) {
    unsigned long long state = 44;
    const long long reals = letter >= 2 ? 2 * entries : entries;
    for (long long k = 0; k < reals; k++)
        if (letter % 2)
            ((double *)a)[k] = value(&state);
        else
            ((float *)a)[k] = (float)value(&state);
}

static void run(int letter, const shape *all, int count, long long matrices, double until,
                FILE *out) {
    const size_t sizes[] = {4, 8, 8, 16};
    for (int k = 0; k < count; k++) {
        const shape &x = all[k];
        const bool first = k == 0 || all[k - 1].n != x.n || all[k - 1].pivoting != x.pivoting;
        static char *device[QUEUE + 1], *kept, *host;
        const size_t each = (size_t)x.n * x.n * sizes[letter], some = 1000 * each;
        if (seconds() > until) return;
        if (first) {
            const size_t all_bytes = (size_t)matrices * each;
            free(kept), free(host);
            kept = (char *)malloc(some), host = (char *)malloc(some);
            for (int q = 0; q <= QUEUE; q++) {
                if (device[q]) NEED(cudaFree(device[q]));
                NEED(cudaMalloc((void **)&device[q], all_bytes));
            }
            fill(host, letter, 1000LL * x.n * x.n);
            for (size_t at = 0; at < all_bytes; at += some)
                NEED(cudaMemcpy(device[QUEUE] + at, host,
                                at + some < all_bytes ? some : all_bytes - at,
                                cudaMemcpyHostToDevice));
        }
        int *pivots = NULL;
        NEED(cudaMalloc((void **)&pivots, sizeof(int) * 2 * (size_t)matrices * x.n));
        mpki::part job = {};
        job.a.stride = (int64_t)x.n * x.n, job.a.ld = x.n;
        job.count = matrices, job.n = job.most = x.n;
        job.pivots = pivots, job.method = 2, job.pivoting = x.pivoting, job.tolerance = -1;
        cudaFuncAttributes about;
        int blocks = 0;
        NEED(cudaFuncGetAttributes(&about, x.kernel));
        NEED(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, x.kernel, TILE_BLOCK,
                                                           (size_t)x.bytes));
        const double ms = least(
            [&] {
                for (int q = 0; q < QUEUE; q++)
                    NEED(cudaMemcpyAsync(device[q], device[QUEUE], (size_t)matrices * each,
                                         cudaMemcpyDeviceToDevice));
            },
            [&](int q) {
                job.a.data = device[q];
                void *arguments[] = {&job};
                NEED(cudaLaunchKernel(x.kernel, dim3((unsigned)((matrices + x.each - 1) / x.each)),
                                      dim3(TILE_BLOCK), arguments, (size_t)x.bytes, 0));
            });
        NEED(cudaMemcpy(host, device[0], some, cudaMemcpyDeviceToHost));
        if (first) memcpy(kept, host, some);
        int different = 0;
        for (size_t m = 0; m < 1000; m++)
            different += memcmp(kept + m * each, host + m * each, each) != 0;
        fprintf(out,
                "{\"letter\": \"%c\", \"n\": %d, \"width\": %d, \"pivoting\": %d, \"columns\": %d, "
                "\"blocks\": "
                "%d, \"count\": %lld, \"ms\": %.5g, \"registers\": %d, \"local\": %d, \"warps\": "
                "%d, \"different\": %d, \"taken\": %d}\n",
                "sdcz"[letter], x.n, x.width, x.pivoting, x.columns, x.blocks, matrices, ms,
                about.numRegs, (int)about.localSizeBytes, blocks * (int)TILE_BLOCK / 32, different,
                x.taken);
        fflush(out);
        printf(
            "%c %2d (%2d) pivoting %d columns %2d blocks %2d: %8.4f ms, %3d registers, %4d local "
            "bytes, %2d warps, %d of 1000 differ%s\n",
            "sdcz"[letter], x.n, x.width, x.pivoting, x.columns, x.blocks, ms, about.numRegs,
            (int)about.localSizeBytes, blocks * (int)TILE_BLOCK / 32, different,
            x.taken ? "; taken" : "");
        fflush(stdout);
        NEED(cudaFree(pivots));
    }
}

int main(int argc, char **argv) {
    long long matrices = 100000;
    double most = 1e9;
    FILE *out = NULL;
    for (int k = 1; k + 1 < argc; k += 2) {
        if (!strcmp(argv[k], "--count")) matrices = atoll(argv[k + 1]);
        if (!strcmp(argv[k], "--rounds")) rounds = atoi(argv[k + 1]);
        if (!strcmp(argv[k], "--seconds")) most = atof(argv[k + 1]);
        if (!strcmp(argv[k], "--out")) out = fopen(argv[k + 1], "w");
    }
    if (!out) out = fopen("/dev/null", "w");
    if (!out || matrices < 1000 || rounds < 1) return 2;
    const double until = seconds() + most;
    NEED(cudaEventCreate(&start));
    NEED(cudaEventCreate(&stop));
    bounds(out);
    const shape *(*const of[])(int *) = {mpki_s_shapes, mpki_d_shapes, mpki_c_shapes,
                                         mpki_z_shapes};
    for (int letter = 3; letter >= 0; letter--) {
        int count = 0;
        const shape *all = of[letter](&count);
        run(letter, all, count, matrices, until, out);
    }
    return fclose(out) != 0;
}
#endif
