// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_CUDA_SIBLINGS_H
#define BENCH_CUDA_SIBLINGS_H
// Siblings of the six matrices of Anzt, Chow, Huckle & Dongarra 2017, Table I: generated matrices of the
// same kind, order and, nearly, number of entries, with a unit diagonal as there, in the orders that are used
// there. They are not those matrices. siblings.txt has them; docs/reference/generators.md what the words mean.
#include <metapack/metapack.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

struct csr {
    int32_t n = 0;
    std::vector<int64_t> ptr;
    std::vector<int32_t> index;
    std::vector<double> val;
};

// Columns of a matrix by rows.
inline csr turned(const csr &a) {
    csr t;
    t.n = a.n;
    t.ptr.assign((size_t)a.n + 1, 0);
    t.index.resize(a.index.size()), t.val.resize(a.val.size());
    for (int32_t j : a.index) ++t.ptr[j + 1];
    for (int32_t j = 0; j < a.n; ++j) t.ptr[j + 1] += t.ptr[j];
    std::vector<int64_t> next(t.ptr.begin(), t.ptr.end() - 1);
    for (int32_t i = 0; i < a.n; ++i)
        for (int64_t e = a.ptr[i]; e < a.ptr[i + 1]; ++e) {
            const int64_t to = next[a.index[e]]++;
            t.index[to] = i, t.val[to] = a.val[e];
        }
    return t;
}

// Row i of the result is row order[i], columns likewise.
inline csr permuted(const csr &a, const std::vector<int32_t> &order) {
    csr p;
    std::vector<int32_t> place((size_t)a.n);
    std::vector<std::pair<int32_t, double>> row;
    for (int32_t k = 0; k < a.n; ++k) place[order[k]] = k;
    p.n = a.n;
    p.ptr.push_back(0);
    for (int32_t i : order) {
        row.clear();
        for (int64_t e = a.ptr[i]; e < a.ptr[i + 1]; ++e)
            row.push_back({place[a.index[e]], a.val[e]});
        std::sort(row.begin(), row.end());
        for (const auto &e : row) p.index.push_back(e.first), p.val.push_back(e.second);
        p.ptr.push_back((int64_t)p.index.size());
    }
    return p;
}

[[noreturn]] inline void give_up(mpk_context *ctx, const char *what) {
    const char *text = "";
    mpk_last_error(ctx, NULL, NULL, &text);
    fprintf(stderr, "%s: %s\n", what, text);
    exit(1);
}

// Rows and columns scaled so that the diagonal is 1 or -1, but where it is 0 or missing. Returns what they were scaled with.
inline std::vector<double> unit_diagonal(csr &a) {
    std::vector<double> scale((size_t)a.n, 1.0);
    for (int32_t i = 0; i < a.n; ++i)
        for (int64_t e = a.ptr[i]; e < a.ptr[i + 1]; ++e)
            if (a.index[e] == i && a.val[e] != 0) scale[i] = 1 / std::sqrt(std::fabs(a.val[e]));
    for (int32_t i = 0; i < a.n; ++i)
        for (int64_t e = a.ptr[i]; e < a.ptr[i + 1]; ++e) a.val[e] *= scale[i] * scale[a.index[e]];
    return scale;
}

// All of a problem by rows; unit: with a unit diagonal.
inline csr rows_of(const mpk_problem *p, bool unit) {
    mpk_problem_view v;
    csr a;
    mpk_problem_view_get(p, &v);
    const double *value = (const double *)v.ax;
    a.n = v.n;
    a.ptr.assign((size_t)v.n + 1, 0);
    const bool mirrored = v.symmetry != MPK_GENERAL;
    for (int pass = 0; pass < 2; ++pass) {
        std::vector<int64_t> next(a.ptr.begin(), a.ptr.end() - 1);
        auto put = [&](int32_t i, int32_t j, double x) {
            if (!pass)
                ++a.ptr[i + 1];
            else
                a.index[next[i]] = j, a.val[next[i]++] = x;
        };
        // by columns, and of a row those left of the diagonal first: columns ascend
        for (int32_t j = 0; j < v.n; ++j)
            for (int64_t e = v.ap[j]; e < v.ap[j + 1]; ++e) {
                put(v.ai[e], j, value[e]);
                if (mirrored && v.ai[e] != j) put(j, v.ai[e], value[e]);
            }
        if (pass) break;
        for (int32_t i = 0; i < v.n; ++i) a.ptr[i + 1] += a.ptr[i];
        a.index.resize((size_t)a.ptr[v.n]), a.val.resize((size_t)a.ptr[v.n]);
    }
    if (mirrored) { // a row's entries right of the diagonal came between those of others
        std::vector<int32_t> same((size_t)a.n);
        for (int32_t i = 0; i < a.n; ++i) same[i] = i;
        a = permuted(a, same);
    }
    if (unit) unit_diagonal(a);
    return a;
}

inline mpk_context *sibling_context() {
    static thread_local mpk_context *ctx = NULL;
    if (!ctx && mpk_context_create(NULL, &ctx) != MPK_OK) give_up(NULL, "context");
    return ctx;
}

// What the generator makes of a spec.
inline csr generated(const std::string &spec, bool unit) {
    mpk_problem *p = NULL;
    if (mpk_problem_generate(sibling_context(), spec.c_str(), 1, &p) != MPK_OK)
        give_up(sibling_context(), spec.c_str());
    csr a = rows_of(p, unit);
    mpk_problem_destroy(&p);
    return a;
}

// Reverse Cuthill-McKee.
inline csr by_rcm(const csr &a) {
    mpk_context *const ctx = sibling_context();
    const csr columns = turned(a);
    mpk_problem *p = NULL;
    mpk_analysis *an = NULL;
    mpk_options o;
    std::vector<int32_t> order((size_t)a.n);
    mpk_options_init(&o);
    o.method = MPK_METHOD_ILU0, o.factor_type = MPK_TYPE_LDU, o.ordering = MPK_ORDERING_RCM;
    o.matching = MPK_OFF, o.scaling = MPK_OFF;
    if (mpk_problem_from_csc(ctx, a.n, MPK_D, MPK_GENERAL, MPK_FULL, columns.ptr.data(),
                             columns.index.data(), columns.val.data(), &p) != MPK_OK ||
        mpk_analyse(ctx, p, &o, &an) != MPK_OK)
        give_up(ctx, "rcm");
    mpk_analysis_perm(an, order.data());
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
    return permuted(a, order);
}

// Level sets of the triangle below the diagonal.
inline int32_t levels_of(const csr &a) {
    std::vector<int32_t> level((size_t)a.n);
    int32_t most = 0;
    for (int32_t i = 0; i < a.n; ++i) {
        int32_t l = 0;
        for (int64_t e = a.ptr[i]; e < a.ptr[i + 1]; ++e)
            if (a.index[e] < i) l = std::max(l, level[a.index[e]]);
        level[i] = l + 1, most = std::max(most, l + 1);
    }
    return most;
}

struct sibling_entry {
    std::string name, title, order, spec;
};

// The rows of siblings.txt: name, title, order, spec.
inline std::vector<sibling_entry> sibling_list() {
    const char *path = getenv("SIBLINGS");
    FILE *file = fopen(path ? path : "bench/cuda/siblings.txt", "r");
    std::vector<sibling_entry> list;
    char line[512], name[16], title[32], order[16], spec[256];
    if (!file) give_up(NULL, "bench/cuda/siblings.txt is not there (SIBLINGS names it)");
    while (fgets(line, sizeof line, file))
        if (line[0] != '#' &&
            sscanf(line, "%15s %31s %15s %255[^\n]", name, title, order, spec) == 4)
            list.push_back({name, title, order, spec});
    fclose(file);
    return list;
}

// A spec, its sides (those that are at least 32) times `scale`.
inline std::string scaled(const std::string &spec, double scale) {
    std::string words, word;
    for (size_t k = 0; k <= spec.size(); ++k)
        if (k == spec.size() || spec[k] == ' ') {
            const bool side = word.find_first_not_of("0123456789") == std::string::npos;
            const int whole = side ? atoi(word.c_str()) : 0;
            if (whole >= 32) word = std::to_string(std::max(4, (int)std::lround(whole * scale)));
            words += (words.empty() ? "" : " ") + word;
            word.clear();
        } else {
            word += spec[k];
        }
    return words;
}

// scale: of the sides, 1: those of the paper's matrices.
inline csr sibling(const std::string &name, double scale) {
    for (const sibling_entry &s : sibling_list())
        if (s.name == name) {
            const csr a = generated(scaled(s.spec, scale), true);
            return s.order == "rcm" ? by_rcm(a) : a;
        }
    give_up(NULL, (name + ": no such sibling").c_str());
}

#endif
