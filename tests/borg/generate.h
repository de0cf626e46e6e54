/* SPDX-License-Identifier: BSD-3-Clause */
/* Random well-typed kernels: one statement a line, so that a failing one can be made smaller by
 * leaving lines out. Every program ends; indices are in range; group operations stand under
 * conditions that are the same for a group. Arrays in memory are written between barriers, no
 * element by two work-items. */
#ifndef BORG_TESTS_GENERATE_H
#define BORG_TESTS_GENERATE_H
#include "borg/arena.h"

enum { GEN_LEN = 6, GEN_SCALARS = 4, GEN_COUNTERS = 8 };

typedef struct generator {
    borg_sink *out;
    uint64_t state;
    int depth;    /* of blocks */
    int loops;    /* around: counters i0 .. */
    bool uniform; /* group operations may stand here */
    bool in_loop;
    int budget;
    int names;
    uint32_t constant_counters; /* bit k: i<k> is a counter over constants */
    int functions;              /* part0 .. that may be called here */
    int calls;                  /* that may still be made */
} generator;

static uint32_t gen_next(generator *g, uint32_t below) {
    g->state = g->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(g->state >> 33) % below;
}

static void gen_int(generator *g, int depth);
static void gen_real(generator *g, int depth);

/* An index of an array of GEN_LEN elements. */
static void gen_index(generator *g, int depth) {
    uint32_t kind = gen_next(g, 10);
    if (kind < 4 && g->loops) {
        borg_put(g->out, "i%u", gen_next(g, (uint32_t)g->loops));
    } else if (kind == 4 && g->loops) {
        borg_put(g->out, "%d - i%u", GEN_LEN - 1, gen_next(g, (uint32_t)g->loops));
    } else if (kind == 5 && g->loops) {
        borg_put(g->out, "i%u / 2", gen_next(g, (uint32_t)g->loops));
    } else if (kind == 6) {
        borg_put(g->out, "get_local_id() %% %d", GEN_LEN);
    } else if (kind == 7 && depth > 0) {
        borg_put(g->out, "(uint)(");
        gen_int(g, depth - 1);
        borg_put(g->out, ") %% %d", GEN_LEN);
    } else {
        borg_put(g->out, "%u", gen_next(g, GEN_LEN));
    }
}

static void gen_bool(generator *g, int depth) {
    static const char *const ops[] = {"<", "<=", ">", ">=", "==", "!="};
    switch (gen_next(g, depth > 0 ? 8 : 3)) {
    case 0:
        borg_put(g->out, "get_local_id() > %u", gen_next(g, 4));
        break;
    case 1:
        borg_put(g->out, "q");
        break;
    case 2:
        borg_put(g->out, "get_group_id() %% 2 == %u", gen_next(g, 2));
        break;
    case 3:
        gen_bool(g, depth - 1);
        borg_put(g->out, gen_next(g, 2) ? " && " : " || ");
        gen_bool(g, 0);
        break;
    case 4:
        borg_put(g->out, "!(");
        gen_bool(g, depth - 1);
        borg_put(g->out, ")");
        break;
    case 5:
    case 6:
        gen_real(g, depth - 1);
        borg_put(g->out, " %s ", ops[gen_next(g, 6)]);
        gen_real(g, depth - 1);
        break;
    default:
        borg_put(g->out, "(");
        gen_int(g, depth - 1);
        borg_put(g->out, ") %s (", ops[gen_next(g, 6)]);
        gen_int(g, depth - 1);
        borg_put(g->out, ")");
        break;
    }
}

/* A condition that is the same for a group. */
static void gen_uniform_bool(generator *g) {
    switch (gen_next(g, 5)) {
    case 0:
        borg_put(g->out, "any(");
        gen_bool(g, 1);
        borg_put(g->out, ")");
        break;
    case 1:
        borg_put(g->out, "get_group_id() %% 3 == 1");
        break;
    case 2:
        borg_put(g->out, "m > %u", gen_next(g, 4));
        break;
    case 3:
        borg_put(g->out, "shuffle(x0, %u) > 0", gen_next(g, 4));
        break;
    default:
        borg_put(g->out, "work_group_reduce_max(x1) > 1");
        break;
    }
}

static void gen_int(generator *g, int depth) {
    static const char *const ops[] = {"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"};
    uint32_t kind = gen_next(g, depth > 0 ? 14 : 6);
    switch (kind) {
    case 0:
        borg_put(g->out, "%d", (int)gen_next(g, 41) - 20);
        break;
    case 1:
        borg_put(g->out, "k%u", gen_next(g, 2));
        break;
    case 2:
        borg_put(g->out, "get_local_id()");
        break;
    case 3:
        borg_put(g->out, "m");
        break;
    case 4:
        if (g->loops)
            borg_put(g->out, "i%u", gen_next(g, (uint32_t)g->loops));
        else
            borg_put(g->out, "u");
        break;
    case 5:
        borg_put(g->out, gen_next(g, 2) ? "(int)big" : "(int)get_global_id(0)");
        break;
    case 6:
        if (g->uniform) {
            borg_put(g->out, "work_group_reduce_max_index(");
            gen_real(g, depth - 1);
            borg_put(g->out, ")");
        } else {
            borg_put(g->out, "abs(k0)");
        }
        break;
    case 7:
        if (gen_next(g, 2)) {
            borg_put(g->out, "(int)(");
            gen_real(g, depth - 1);
            borg_put(g->out, ")");
        } else { /* the bits of a NaN are not specified */
            borg_put(g->out, "(int)min(0x7f000000u, magnitude(");
            gen_real(g, depth - 1);
            borg_put(g->out, "))");
        }
        break;
    case 8:
        borg_put(g->out, "(");
        gen_bool(g, depth - 1);
        borg_put(g->out, " ? ");
        bool saved = g->uniform;
        g->uniform = false;
        gen_int(g, depth - 1);
        borg_put(g->out, " : ");
        gen_int(g, depth - 1);
        g->uniform = saved;
        borg_put(g->out, ")");
        break;
    case 9:
        borg_put(g->out, "(int)%s((", gen_next(g, 2) ? "max" : "min");
        gen_int(g, depth - 1);
        borg_put(g->out, "), u)");
        break;
    default:
        borg_put(g->out, "(");
        gen_int(g, depth - 1);
        borg_put(g->out, " %s ", ops[gen_next(g, 10)]);
        gen_int(g, depth - 1);
        borg_put(g->out, ")");
        break;
    }
}

static void gen_real(generator *g, int depth) {
    static const char *const ops[] = {"+", "-", "*", "/"};
    uint32_t kind = gen_next(g, depth > 0 ? 16 : 5);
    bool saved = g->uniform;
    if (depth > 0 && gen_next(g, 8) == 0) {
        borg_put(g->out, gen_next(g, 3) ? "s[" : "c[");
        borg_put(g->out, "(uint)(");
        gen_int(g, depth - 1);
        borg_put(g->out, ") %% WG_SIZE]");
        return;
    }
    switch (kind) {
    case 0:
        borg_put(g->out, "%d.%u", (int)gen_next(g, 5), gen_next(g, 4) * 25);
        break;
    case 1:
    case 2:
        borg_put(g->out, "x%u", gen_next(g, GEN_SCALARS));
        break;
    case 3:
        borg_put(g->out, gen_next(g, 2) ? "a[" : "b["), gen_index(g, 0), borg_put(g->out, "]");
        break;
    case 4:
        borg_put(g->out, "f");
        break;
    case 5:
    case 6:
        borg_put(g->out, gen_next(g, 2) ? "a[" : "b["), gen_index(g, depth - 1),
            borg_put(g->out, "]");
        break;
    case 7:
        if (!g->uniform) {
            borg_put(g->out, "fabs(x0)");
            break;
        }
        borg_put(g->out, "shuffle(");
        gen_real(g, depth - 1);
        borg_put(g->out, ", ");
        gen_int(g, gen_next(g, 2) ? 0 : depth - 1);
        borg_put(g->out, ")");
        break;
    case 8:
        if (!g->uniform) {
            borg_put(g->out, "rcp(x1 + 3)");
            break;
        }
        borg_put(g->out, gen_next(g, 2) ? "work_group_reduce_sum(" : "work_group_reduce_min(");
        gen_real(g, depth - 1);
        borg_put(g->out, ")");
        break;
    case 9:
        borg_put(g->out, "(");
        gen_bool(g, depth - 1);
        borg_put(g->out, " ? ");
        g->uniform = false;
        gen_real(g, depth - 1);
        borg_put(g->out, " : ");
        gen_real(g, depth - 1);
        g->uniform = saved;
        borg_put(g->out, ")");
        break;
    case 10:
        borg_put(g->out, gen_next(g, 2) ? "max(" : "min(");
        gen_real(g, depth - 1);
        borg_put(g->out, ", ");
        gen_real(g, depth - 1);
        borg_put(g->out, ")");
        break;
    case 11:
        switch (gen_next(g, 4)) {
        case 0:
            borg_put(g->out, "helper((float)(");
            break;
        case 1:
            borg_put(g->out, "floor((");
            break;
        case 2:
            borg_put(g->out, "floor((float)(");
            break;
        default:
            borg_put(g->out, "sqrt(fabs(");
            break;
        }
        gen_real(g, depth - 1);
        borg_put(g->out, "))");
        break;
    case 12:
        borg_put(g->out, "d["), gen_index(g, depth - 1), borg_put(g->out, "]");
        break;
    case 13:
        borg_put(g->out, "-(");
        gen_real(g, depth - 1);
        borg_put(g->out, ")");
        break;
    default:
        borg_put(g->out, "(");
        gen_real(g, depth - 1);
        borg_put(g->out, " %s ", ops[gen_next(g, 4)]);
        gen_real(g, depth - 1);
        borg_put(g->out, ")");
        break;
    }
}

static void gen_indent(generator *g) {
    borg_put(g->out, "%*s", 2 + 2 * g->depth, "");
}

static void gen_block(generator *g, int statements);

/* A write to memory, on one line; everything is computed before the first barrier. */
static void gen_memory(generator *g) {
    static const char *const ops[] = {"=", "=", "+=", "-="};
    borg_put(g->out, "{ double v = ");
    gen_real(g, 2);
    borg_put(g->out, "; bool t = ");
    gen_bool(g, 1);
    borg_put(g->out, "; uint e = ");
    gen_int(g, 2);
    borg_put(g->out, "; uint h = shuffle(e, %u) %% 64; barrier(0); ", gen_next(g, 3));
    if (gen_next(g, 3)) borg_put(g->out, "if (t) ");
    switch (gen_next(g, 4)) {
    case 0: /* one work-item, anywhere */
        borg_put(g->out, "if (get_local_id() == %u) s[e %% (2 * WG_SIZE)] %s v", gen_next(g, 3),
                 ops[gen_next(g, 4)]);
        break;
    case 1:
        borg_put(g->out, "c[(get_local_id() + h) %% WG_SIZE] %s e", ops[gen_next(g, 4)]);
        break;
    default:
        borg_put(g->out, "s[2 * ((get_local_id() + h) %% WG_SIZE) + %u] %s v", gen_next(g, 2),
                 ops[gen_next(g, 4)]);
        break;
    }
    borg_put(g->out, "; barrier(0); }\n");
}

/* A call of a function that takes arrays of every kind: any of these, by chance one array twice. */
static void gen_call(generator *g) {
    --g->calls;
    borg_put(g->out, "x%u = part%u(%s, %s, d, s, c, p, x0, x1, x2, x3, k0, k1, u, big, q, m, f);\n",
             gen_next(g, GEN_SCALARS), gen_next(g, (uint32_t)g->functions),
             gen_next(g, 2) ? "a" : "b", gen_next(g, 2) ? "a" : "b");
}

static void gen_assign(generator *g) {
    static const char *const ops[] = {"=", "=", "=", "+=", "-=", "*="};
    gen_indent(g);
    if (g->uniform && g->calls > 0 && g->functions && g->loops < 2 && gen_next(g, 4) == 0) {
        gen_call(g);
        return;
    }
    if (g->uniform && gen_next(g, 4) == 0) {
        gen_memory(g);
        return;
    }
    switch (gen_next(g, 8)) {
    case 0:
        borg_put(g->out, "k%u %s ", gen_next(g, 2), ops[gen_next(g, 6)]);
        gen_int(g, 2);
        break;
    case 1:
        borg_put(g->out, "q = ");
        gen_bool(g, 2);
        break;
    case 2:
        if (g->uniform) {
            borg_put(g->out, "d[");
            gen_index(g, 1);
            borg_put(g->out, "] = ");
            gen_real(g, 1);
        } else {
            borg_put(g->out, "u %s ", ops[gen_next(g, 6)]);
            gen_int(g, 1);
        }
        break;
    case 3:
    case 4:
    case 5:
        borg_put(g->out, gen_next(g, 2) ? "a[" : "b[");
        gen_index(g, gen_next(g, 8) == 0);
        borg_put(g->out, "] %s ", ops[gen_next(g, 6)]);
        gen_real(g, 2);
        break;
    case 6:
        borg_put(g->out, gen_next(g, 2) ? "k0++" : "big = big * 3 + k1");
        break;
    default:
        borg_put(g->out, "x%u %s ", gen_next(g, GEN_SCALARS), ops[gen_next(g, 6)]);
        gen_real(g, 3);
        break;
    }
    borg_put(g->out, ";\n");
}

static void gen_close(generator *g) {
    --g->depth;
    gen_indent(g);
    borg_put(g->out, "}\n");
}

static void gen_if(generator *g) {
    bool saved = g->uniform, same = saved && gen_next(g, 2);
    gen_indent(g);
    borg_put(g->out, "if (");
    if (same)
        gen_uniform_bool(g);
    else
        gen_bool(g, 2);
    borg_put(g->out, ") {\n");
    g->uniform = same;
    ++g->depth;
    gen_block(g, 1 + (int)gen_next(g, 5));
    if (gen_next(g, 3) == 0) {
        --g->depth;
        gen_indent(g);
        borg_put(g->out, "} else {\n");
        ++g->depth;
        gen_block(g, 1 + (int)gen_next(g, 3));
    }
    gen_close(g);
    g->uniform = saved;
}

static void gen_loop(generator *g) {
    bool uniform = g->uniform, in_loop = g->in_loop;
    int i = g->loops;
    uint32_t kind = gen_next(g, 8);
    if (kind == 0) {
        gen_indent(g);
        borg_put(g->out, "#pragma nounroll\n");
    }
    gen_indent(g);
    if (kind < 5) {
        borg_put(g->out, "for (int i%d = %u; i%d < %u; i%d += %u) {\n", i, gen_next(g, 2), i,
                 1 + gen_next(g, GEN_LEN), i, 1 + gen_next(g, 2));
    } else if (kind == 5) { /* some work-items leave earlier */
        borg_put(g->out, "for (int i%d = 0; i%d < %d && i%d < k0; ++i%d) {\n", i, i, GEN_LEN, i, i);
        g->uniform = false;
    } else if (kind == 6) { /* the same for a group */
        borg_put(g->out, "for (int i%d = 0; i%d < %d && i%d < m + get_group_id(); ++i%d) {\n", i, i,
                 GEN_LEN, i, i);
    } else {
        borg_put(g->out, "for (int i%d = %d; i%d >= 0; i%d--) {\n", i, GEN_LEN - 1, i, i);
    }
    ++g->depth;
    ++g->loops;
    g->in_loop = true;
    gen_block(g, 1 + (int)gen_next(g, 3));
    if (gen_next(g, 6) == 0) {
        bool saved = g->uniform;
        gen_indent(g);
        borg_put(g->out, "if (");
        gen_bool(g, 1);
        borg_put(g->out, gen_next(g, 2) ? ") break;\n" : ") continue;\n");
        g->uniform = false;
        gen_block(g, 1);
        g->uniform = saved;
    }
    --g->loops;
    g->uniform = uniform;
    g->in_loop = in_loop;
    gen_close(g);
}

static void gen_local(generator *g) {
    gen_indent(g);
    borg_put(g->out, "{\n");
    ++g->depth;
    gen_indent(g);
    int t = g->names++;
    borg_put(g->out, "double t%d = ", t);
    gen_real(g, 2);
    borg_put(g->out, ";\n");
    gen_block(g, 1);
    gen_indent(g);
    borg_put(g->out, "x%u += t%d;\n", gen_next(g, GEN_SCALARS), t);
    gen_close(g);
}

static void gen_block(generator *g, int statements) {
    for (int i = 0; i < statements && g->budget > 0; ++i) {
        uint32_t kind = gen_next(g, 10);
        --g->budget;
        if (kind == 0 && g->depth < 4)
            gen_if(g);
        else if (kind < 3 && g->depth < 3)
            gen_loop(g);
        else if (kind == 3 && g->depth < 4)
            gen_local(g);
        else
            gen_assign(g);
    }
}

/* part<k>: its parameters have the names of the kernel's variables, so its body is made as the
 * kernel's is. */
static void gen_function(generator *g) {
    borg_put(g->out, "static double part%d(double a[%d], double b[], __local double d[],\n",
             g->functions, GEN_LEN);
    borg_put(g->out, "    __local volatile double s[2 * WG_SIZE], __local volatile uint c[],\n"
                     "    __global double *p, double x0, double x1, double x2, double x3,\n"
                     "    int k0, int k1, uint u, long big, bool q, int m, double f) {\n");
    g->budget = 8;
    g->calls = 1;
    gen_block(g, 4);
    borg_put(g->out, "  p[get_group_id() * WG_SIZE + get_local_id()] += x0;\n");
    borg_put(g->out, "  return x1 + x2 + x3 + k0 + k1 + u + (double)big + (q ? 1 : 0);\n}\n");
    ++g->functions;
}

/* Parameters: double *p, float *r (both WG_SIZE each group), int m, double f. */
static void gen_program(borg_sink *out, uint64_t seed) {
    generator g = {.out = out, .state = seed * 2654435761u + 12345, .uniform = true};
    borg_put(out, "float helper(float x) {\n  float y = x;\n  if (y > 2)\n    y = y * 0.5f;\n"
                  "  return y + 1;\n}\n");
    gen_function(&g);
    gen_function(&g);
    g.budget = 26;
    g.calls = 2;
    borg_put(out,
             "__kernel void k(__global double *p, __global float *r, int m, double f) {\n"
             "  double x0 = p[get_group_id() * WG_SIZE + get_local_id()];\n"
             "  double x1 = r[get_group_id() * WG_SIZE + get_local_id()], x2 = 1, x3 = f;\n"
             "  double a[%d], b[%d] = {1, x0, x1};\n"
             "  __local double d[%d];\n"
             "  int k0 = get_local_id() * 2 - 1, k1 = m;\n"
             "  uint u = get_local_id() + 7;\n"
             "  long big = get_group_id() * 1000003;\n"
             "  bool q = x0 > x1;\n"
             "  for (int i = 0; i < %d; ++i)\n    a[i] = x0 + i;\n",
             GEN_LEN, GEN_LEN, GEN_LEN, GEN_LEN);
    borg_put(out, "  __local volatile double s[2 * WG_SIZE];\n"
                  "  __local volatile uint c[WG_SIZE];\n"
                  "  s[get_local_id()] = x0;\n"
                  "  s[get_local_id() + WG_SIZE] = x1;\n"
                  "  c[get_local_id()] = u;\n"
                  "  barrier(0);\n");
    gen_block(&g, 14);
    borg_put(out, "  x3 += s[get_local_id()] - s[2 * WG_SIZE - 1 - get_local_id()];\n");
    borg_put(out, "  for (int i = 0; i < %d; ++i)\n    x2 += a[i] * 0.5 + b[i] + d[i];\n", GEN_LEN);
    borg_put(out,
             "  p[get_group_id() * WG_SIZE + get_local_id()] = x0 + x2 + x3 + k0;\n"
             "  r[get_group_id() * WG_SIZE + get_local_id()] = x1 + (q ? k1 : u) + big %% 1024;\n"
             "}\n");
}

#endif
