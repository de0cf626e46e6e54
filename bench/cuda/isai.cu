// SPDX-License-Identifier: BSD-3-Clause
// bench_cuda_isai [PART ...]: approximate inverses of the factors of an ILU(0) on a device
// (docs/guide/isai.md), the experiments of Anzt, Chow, Huckle & Dongarra 2016 on generated
// siblings of their matrices. Parts:
//   blocks   Fig. 4: fused over baseline, block Jacobi patterns of L
//   powers   Fig. 5 and 7: the same for S(|A|^k), both factors; generation over ILU(0) (cuSPARSE's csrilu02)
//   apply    Table II: products beside cuSPARSE's SpSV, whose analysis does not count, and a copy's rate
//   lengths  time a flop of columns of 16 to 2048 entries
// With -DWITH_GINKGO and peer_ginkgo.cu, powers has Ginkgo's kernel beside ours. Without any, all. METAPACK_CUDA_MODULE names the module. Every M is checked: the ways agree bit by bit,
// and (L M - I) vanishes on the pattern, for some columns, before a time is printed. Medians.
#include "isai_ilu.h"
#ifdef WITH_GINKGO
#include "isai_ginkgo.h"
#endif

#include <dlfcn.h>

#include <string>

// ---- generation ----

static void part_blocks(const char *name, ilu &f) {
    for (int block : {1, 2, 4, 8, 12, 16, 20, 24, 28, 32}) {
        inverse i;
        pattern(nullptr, f.n, MPKI_ISAI_BELOW, 1, block, i.m);
        prepare(f.l, i);
        const ways w = all_ways(f.l, i, true);
        printf("blocks %s %d entries %lld streamed %.3f held %.3f baseline %.3f ms, baseline / "
               "fused %.1f (held %.1f)\n",
               name, block, (long long)(i.m.nnz + f.n), w.streamed, w.held, w.baseline,
               w.baseline / w.streamed, w.baseline / w.held);
        fflush(stdout);
    }
}

// ISAI(k) of one factor: pattern, values, rows. Returns milliseconds of all.
struct made {
    double pattern_ms, values_ms, rows_ms, baseline_ms, held_ms, ginkgo_ms;
    int64_t entries, longest;
    bool far;
};

static made make(const sparse &graph, const triangle &t, int k, inverse &i, bool compare) {
    made r{};
    turner turn(t.rows.n, 1);
    if (k == 1) { // the factor's own pattern, by columns
        i.m.room(t.rows.n, t.rows.nnz, true);
        turn = turner(t.rows.n, t.rows.nnz);
        r.pattern_ms = timed([&] { turn(t.rows, i.m); });
    } else {
        const power p =
            pattern(&graph, t.rows.n, t.upper ? MPKI_ISAI_ABOVE : MPKI_ISAI_BELOW, k, 0, i.m);
        r.pattern_ms = p.ms, r.far = p.far;
        if (p.far) return r;
        turn = turner(t.rows.n, i.m.nnz);
    }
    r.pattern_ms += timed([&] { classify(i); });
    prepare(t, i);
    const ways w = all_ways(t, i, compare);
    r.values_ms = w.streamed, r.held_ms = w.held, r.baseline_ms = w.baseline;
#ifdef WITH_GINKGO
    if (compare && i.longest <= 32) r.ginkgo_ms = ginkgo(t, i);
#endif
    i.rows.room(t.rows.n, i.m.nnz, true);
    if (k == 1) { // rows are where the factor's are
        TRY(isai->clone(cuda, i.rows.ptr.p, t.rows.ptr.p, 8 * ((int64_t)t.rows.n + 1)));
        TRY(isai->clone(cuda, i.rows.index.p, t.rows.index.p, 4 * t.rows.nnz));
        r.rows_ms = timed([&] { TRY(isai->reverse(cuda, i.m.nnz, i.m.from.p, i.rows.from.p)); });
    } else {
        r.rows_ms = timed([&] { turn(i.m, i.rows); });
    }
    r.rows_ms += timed(
        [&] { TRY(isai->move(cuda, MPK_D, i.m.nnz, i.rows.from.p, i.m.val.p, i.rows.val.p)); });
    r.entries = i.m.nnz + t.rows.n, r.longest = i.longest;
    return r;
}

static void part_powers(const char *name, const sparse &graph, ilu &f) {
    for (int k = 1; k <= 4; ++k) {
        made r[2];
        for (int side = 0; side < 2; ++side) {
            inverse i;
            r[side] = make(graph, side ? f.u : f.l, k, i, true);
        }
        if (r[0].far || r[1].far) {
            printf("powers %s ISAI(%d): columns that reach more than 700 rows\n", name, k);
            continue;
        }
        const double values = r[0].values_ms + r[1].values_ms;
        const double all = values + r[0].pattern_ms + r[1].pattern_ms + r[0].rows_ms + r[1].rows_ms;
        const bool based = r[0].baseline_ms > 0 && r[1].baseline_ms > 0;
        const double base = based ? r[0].baseline_ms + r[1].baseline_ms : 0;
        printf("powers %s ISAI(%d) entries %lld longest %lld pattern %.3f values %.3f (held %.3f) "
               "rows %.3f ms; "
               "baseline / fused %.1f; of ILU(0) %.2f + %.2f ms: values %.1f %%, all %.1f %% of "
               "the factorization, %.1f %% with its analysis\n",
               name, k, (long long)(r[0].entries + r[1].entries),
               (long long)std::max(r[0].longest, r[1].longest), r[0].pattern_ms + r[1].pattern_ms,
               values, r[0].held_ms + r[1].held_ms, r[0].rows_ms + r[1].rows_ms,
               based ? base / values : 0.0, f.analysis_ms, f.factor_ms, 100 * values / f.factor_ms,
               100 * all / f.factor_ms, 100 * all / (f.factor_ms + f.analysis_ms));
        if (r[0].ginkgo_ms > 0 && r[1].ginkgo_ms > 0)
            printf("ginkgo %s ISAI(%d) %.3f ms, ours %.3f ms: %.1f x\n", name, k,
                   r[0].ginkgo_ms + r[1].ginkgo_ms, values,
                   (r[0].ginkgo_ms + r[1].ginkgo_ms) / values);
        fflush(stdout);
    }
}

// ---- applications ----

static double spsv(ilu &f, bool upper, double *b, double *x, double *analysis_ms) {
    cusparseSpMatDescr_t a;
    cusparseDnVecDescr_t vb, vx;
    cusparseSpSVDescr_t about;
    size_t bytes = 0;
    const double one = 1;
    const cusparseFillMode_t fill = upper ? CUSPARSE_FILL_MODE_UPPER : CUSPARSE_FILL_MODE_LOWER;
    const cusparseDiagType_t unit = upper ? CUSPARSE_DIAG_TYPE_NON_UNIT : CUSPARSE_DIAG_TYPE_UNIT;
    TRY(cusparseCreateCsr(&a, f.n, f.n, f.index.count, f.ptr.p, f.index.p, f.val.p,
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                          CUDA_R_64F));
    TRY(cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_FILL_MODE, (void *)&fill, sizeof fill));
    TRY(cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_DIAG_TYPE, (void *)&unit, sizeof unit));
    TRY(cusparseCreateDnVec(&vb, f.n, b, CUDA_R_64F));
    TRY(cusparseCreateDnVec(&vx, f.n, x, CUDA_R_64F));
    TRY(cusparseSpSV_createDescr(&about));
    const auto op = CUSPARSE_OPERATION_NON_TRANSPOSE;
    TRY(cusparseSpSV_bufferSize(f.handle, op, &one, a, vb, vx, CUDA_R_64F,
                                CUSPARSE_SPSV_ALG_DEFAULT, about, &bytes));
    on_device<char> room((int64_t)bytes);
    *analysis_ms = timed(
        [&] {
            TRY(cusparseSpSV_analysis(f.handle, op, &one, a, vb, vx, CUDA_R_64F,
                                      CUSPARSE_SPSV_ALG_DEFAULT, about, room.p));
        },
        1);
    const double ms = timed(
        [&] {
            TRY(cusparseSpSV_solve(f.handle, op, &one, a, vb, vx, CUDA_R_64F,
                                   CUSPARSE_SPSV_ALG_DEFAULT, about));
        },
        5);
    TRY(cudaDeviceSynchronize());
    cusparseSpSV_destroyDescr(about);
    cusparseDestroyDnVec(vb), cusparseDestroyDnVec(vx);
    cusparseDestroySpMat(a);
    return ms;
}

static double product(const triangle &t, const inverse &i, const float *single, double *b,
                      double *x, int lanes = 0) {
    mpki_isai_times p{};
    p.scalar = MPK_D, p.n = t.rows.n, p.entries = i.rows.nnz;
    p.ptr = i.rows.ptr.p, p.index = i.rows.index.p, p.val = i.rows.val.p;
    if (single) p.val = single, p.single = 1;
    p.diagonal = t.upper ? t.dinv.p : nullptr;
    p.lanes = lanes;
    p.x = b, p.y = x, p.nrhs = 1, p.ldx = p.ldy = p.ldb = t.rows.n;
    return timed([&] { TRY(isai->multiply(cuda, &p)); }, 11);
}

static double copy_rate() { // GB/s, both directions counted
    const int64_t bytes = 1 << 29;
    on_device<char> a(bytes), b(bytes);
    TRY(cudaMemsetAsync(a.p, 1, bytes, stream));
    const double ms =
        timed([&] { TRY(cudaMemcpyAsync(b.p, a.p, bytes, cudaMemcpyDeviceToDevice, stream)); }, 11);
    return 2e-6 * bytes / ms;
}

// The processor's product, for some rows.
static double product_error(const triangle &t, const inverse &i, const std::vector<double> &b,
                            const std::vector<double> &x) {
    const std::vector<int64_t> p = i.rows.ptr.down();
    const std::vector<int32_t> c = i.rows.index.down();
    const std::vector<double> v = i.rows.val.down(), d = t.dinv.down();
    double worst = 0;
    for (int32_t r = 0; r < t.rows.n; r += 97) {
        double sum = d[r] * b[r], size = std::fabs(sum);
        for (int64_t e = p[r]; e < p[r + 1]; ++e)
            sum += v[e] * b[c[e]], size += std::fabs(v[e] * b[c[e]]);
        worst = std::max(worst, std::fabs(sum - x[r]) / (size + 1e-300));
    }
    return worst;
}

static void part_apply(const char *name, const sparse &graph, ilu &f, double rate) {
    std::vector<double> ones((size_t)f.n);
    for (int32_t k = 0; k < f.n; ++k) ones[k] = 1 + 0.5 * std::sin(k);
    on_device<double> b(ones), x((int64_t)f.n), y((int64_t)f.n);
    double analysis[2];
    const double solve_l = spsv(f, false, b.p, y.p, &analysis[0]);
    const double solve_u = spsv(f, true, y.p, x.p, &analysis[1]);
    for (int k = 1; k <= 3; ++k) {
        double ms = 0, bytes = 0, single_ms = 0, single_bytes = 0;
        bool far = false;
        for (int side = 0; side < 2 && !far; ++side) {
            const triangle &t = side ? f.u : f.l;
            inverse i;
            far = make(graph, t, k, i, false).far;
            if (far) break;
            ms += product(t, i, nullptr, b.p, x.p);
            must(product_error(t, i, ones, x.down()) < 1e-13, "a product");
            if (getenv("LANES"))
                for (int lanes = 1; lanes <= 32; lanes *= 2)
                    printf("lanes %s ISAI(%d) side %d mean %.1f lanes %d: %.4f ms\n", name, k, side,
                           (double)i.rows.nnz / f.n, lanes,
                           product(t, i, nullptr, b.p, x.p, lanes));
            on_device<float> single(i.rows.nnz);
            on_device<int32_t> bad(std::vector<int32_t>{0});
            TRY(isai->to_single(cuda, MPK_D, i.rows.nnz, i.rows.val.p, single.p, bad.p));
            single_ms += product(t, i, single.p, b.p, x.p);
            const double vectors = 8.0 * f.n * (side ? 4 : 3); // ptr, x, y, and of U the diagonal
            bytes += 12.0 * i.rows.nnz + vectors, single_bytes += 8.0 * i.rows.nnz + vectors;
        }
        if (far) continue;
        printf("apply %s ISAI(%d) SpSV %.3f + %.3f ms (analysis %.1f + %.1f), products %.4f ms = "
               "%.0f GB/s = %.0f %% of a copy, "
               "%.1f x; single %.4f ms = %.0f %% of a copy\n",
               name, k, solve_l, solve_u, analysis[0], analysis[1], ms, 1e-6 * bytes / ms,
               1e-4 * bytes / ms / rate, (solve_l + solve_u) / ms, single_ms,
               1e-4 * single_bytes / single_ms / rate);
        fflush(stdout);
    }
}

// ---- lengths ----

// A band: all columns but the last have `width` entries.
static void part_lengths(int width) {
    const int32_t n =
        std::max<int32_t>(4 * width, (1 << 23) / (width * (width < 256 ? 1 : width / 128)));
    std::vector<int64_t> ptr{0};
    std::vector<int32_t> index;
    std::vector<double> val;
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = std::max(0, i - width + 1); j < i; ++j)
            index.push_back(j), val.push_back(std::sin(i + 3.0 * j) / width);
        ptr.push_back((int64_t)index.size());
    }
    triangle t;
    t.rows.n = n, t.rows.nnz = (int64_t)index.size();
    t.rows.ptr = on_device<int64_t>(ptr), t.rows.index = on_device<int32_t>(index);
    t.rows.val = on_device<double>(val);
    t.dinv = on_device<double>(std::vector<double>((size_t)n, 0.75));
    turner turn(n, t.rows.nnz);
    t.columns.room(n, t.rows.nnz, true);
    turn(t.rows, t.columns);
    TRY(isai->move(cuda, MPK_D, t.rows.nnz, t.columns.from.p, t.rows.val.p, t.columns.val.p));
    inverse i;
    i.m.room(n, t.rows.nnz, true);
    turn(t.rows, i.m);
    prepare(t, i);
    const ways w = all_ways(t, i, width <= 32);
    const double flops = (double)n * width * width; // a product and a difference each
    printf("lengths %d n %d streamed %.3f ms %.4f ns a flop, held %.3f ms, baseline %.3f ms\n",
           width, n, w.streamed, 1e6 * w.streamed / flops, w.held, w.baseline);
    fflush(stdout);
}

// ---- all ----

static bool wanted(int argc, char **argv, const char *part) {
    bool any = false;
    for (int k = 1; k < argc; ++k) {
        if (!strcmp(argv[k], part)) return true;
        any = any || strchr("bpal", argv[k][0]);
    }
    return !any;
}

int main(int argc, char **argv) {
    const char *name = getenv("METAPACK_CUDA_MODULE");
    void *module = dlopen(name ? name : "libmetapack_cuda.so", RTLD_NOW);
    if (!module) return fprintf(stderr, "%s\n", dlerror()), 1;
    table = ((mpki_cuda_module_fn)dlsym(module, "mpki_cuda_module"))();
    char text[256];
    if (table->version != MPKI_CUDA_VERSION || table->open(0, &cuda, text, sizeof text))
        return fprintf(stderr, "%s\n", text), 1;
    TRY(table->describe(cuda, text, sizeof text, NULL, NULL));
    isai = table->isai;
    stream = (cudaStream_t)isai->stream(cuda);
    const double rate = copy_rate();
    printf("%s; a copy: %.0f GB/s\n", text, rate);
    if (wanted(argc, argv, "lengths"))
        for (int width : {8, 16, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 1100})
            part_lengths(width);
    for (const char *which : {"ECO", "TMT", "PARA", "THM", "OFF", "AF3"}) {
        if (!wanted(argc, argv, "powers") && !wanted(argc, argv, "apply") &&
            !wanted(argc, argv, "blocks"))
            break;
        if (getenv("ONLY") && !strstr(getenv("ONLY"), which)) continue;
        const csr a = sibling(which, getenv("SCALE") ? atof(getenv("SCALE")) : 1.0);
        ilu f;
        factorize(a, f);
        printf("matrix %s n %d entries %lld levels %d, ILU(0): analysis %.2f, factor %.2f ms\n",
               which, a.n, (long long)a.val.size(), levels_of(a), f.analysis_ms, f.factor_ms);
        sparse graph; // by rows: of a symmetric pattern
        graph.n = a.n, graph.nnz = (int64_t)a.index.size();
        graph.ptr = on_device<int64_t>(a.ptr), graph.index = on_device<int32_t>(a.index);
        if (wanted(argc, argv, "powers")) part_powers(which, graph, f);
        if (wanted(argc, argv, "apply")) part_apply(which, graph, f, rate);
        if (wanted(argc, argv, "blocks")) part_blocks(which, f);
        cusparseDestroy(f.handle);
    }
    table->close(cuda);
    return 0;
}
