/* SPDX-License-Identifier: BSD-3-Clause */
/** Generators: the list of families, and from "family parameter name=value ..." to a problem. */
#include "../../core/floats.h"
#include "generate.h"
#include "../number.h"

#include <stdio.h>
#include <string.h>

static const char STAGE[] = "generate";

static const mpki_family *const families[] = {
    &mpki_family_nlpkkt,
    &mpki_family_control_distributed,
    &mpki_family_lin,
    &mpki_family_helmholtz,
    &mpki_family_stokes,
    &mpki_family_lp_kkt,
    &mpki_family_optimal_control,
    &mpki_family_quasi_definite,
    &mpki_family_random,
    &mpki_family_convection,
    &mpki_family_elements,
    &mpki_family_mycielskian,
    &mpki_family_lp_published,
};
enum { FAMILIES = sizeof families / sizeof *families };

const char *mpk_generators(void) {
    return "nlpkkt N [alpha=0.01] [barrier=0] [boundary=neumann|dirichlet]: 3D boundary control, "
           "trilinear elements, or 27-point differences; [M 0 K; 0 aR -B'; K -B 0], n = "
           "2N^3+6N^2\n"
           "control-distributed N [alpha=1e-4]: 3D distributed control, 7-point K; "
           "[M 0 K; 0 aM -M; K -M 0], n = 3N^3\n"
           "lin [nx=80] [ny=80] [nz=40] [sigma=1] [wells=8]: Hamiltonian -Laplace + V - sigma I, "
           "7-point, n = nx ny nz\n"
           "helmholtz 2d|3d N [shift=0.3] [boundary=dirichlet|absorbing] [damping=0] [k=0]: "
           "-Laplace - shift I, n = N^2 or N^3; shift = (k h)^2; absorbing: complex symmetric\n"
           "stokes mac|q2q1 N [viscosity=1]: 2D Stokes [A B'; B 0], MAC n = 3N^2-2N-1, "
           "Taylor-Hood n = 2(2N-1)^2+(N+1)^2-1\n"
           "lp-kkt M N [decades=6] [column=3] [coupling=local|random] [delta=0]: interior-point LP "
           "[1/Theta A'; A -delta I], A M x N, n = M+N\n"
           "optimal-control T [states=8] [controls=3]: chain x' = Ax+Bu, block tridiagonal, "
           "n = T (2 states + controls)\n"
           "quasi-definite N [decades=4]: resistor grid with capacitors [R G; G' -C], n = 3N^2-2N\n"
           "random N [density=0.01] [zeros=0.3] [entries=real|complex|hermitian|general] "
           "[decades=0]: a share of the diagonal is zero, indefinite, n = N\n"
           "convection N [dimension=2d|3d] [speed=100] [wind=constant|circular] [damping] [rows] "
           "[stretch=1] [reaction=0]: -div(D grad u) + w grad u + (reaction + i damping) u, D = 1, "
           "along x stretch, upwind, not symmetric, n = N^2 or N^3; rows=ordered|shuffled\n"
           "elements triangles|tetrahedra|shell nx [ny=nx] [nz=nx] [stretch=1] [mass=0] "
           "[decades=0] [jitter=0] [cells=alike|random] [boundary=dirichlet|neumann] [tile=1] "
           "[unknowns=4]: finite elements, -div(D grad u) + mass u, positive definite, n = nx ny, "
           "nx ny nz or unknowns nx ny\n"
           "mycielskian K: adjacency of the Mycielskian of ... of K2, n = 3 2^(K-2) - 1\n"
           "lp-published FILE [scaling=4] [decades=6]: A of the system [D A'; A 0] in a file, "
           "rounds "
           "of geometric scaling, D = 10^(-decades u), u random; n as there";
}

/* ---- reading the spec --------------------------------------------------------------------- */

/* Append to a text of fixed size, what fits. */
static void append(char *text, size_t size, const char *more) {
    size_t used = strlen(text);
    if (used < size) snprintf(text + used, size - used, "%s", more);
}

/* "nlpkkt, lin, ..." or the names of a family's parameters. */
static void list_families(char *text, size_t size) {
    for (int k = 0; k < FAMILIES; k++) {
        if (k) append(text, size, ", ");
        append(text, size, families[k]->name);
    }
}

static void list_parameters(const mpki_family *family, char *text, size_t size) {
    for (const mpki_parameter *p = family->parameters; p->name; p++) {
        if (p != family->parameters) append(text, size, ", ");
        append(text, size, p->name);
    }
}

static void list_words(const mpki_parameter *p, char *text, size_t size) {
    for (int k = 0; p->words[k]; k++) {
        if (k) append(text, size, ", ");
        append(text, size, p->words[k]);
    }
}

static mpk_status bad_value(mpki_generator *g, const mpki_parameter *p, const char *word) {
    char valid[160] = "";
    if (p->words)
        list_words(p, valid, sizeof valid);
    else
        snprintf(valid, sizeof valid, "%s from %.*g to %.*g",
                 p->integer ? "an integer" : "a number", p->integer ? 15 : 6, p->least,
                 p->integer ? 15 : 6, p->most);
    return mpki_error(g->ctx, MPK_ERR_ARGUMENT, STAGE, -1, "%s: %s = '%s'; valid is %s", g->family,
                      p->name, word, valid);
}

static mpk_status parse_parameter(mpki_generator *g, const mpki_parameter *p, const char *word,
                                  double *value) {
    if (p->text) {
        snprintf(g->text, sizeof g->text, "%s", word);
        return *word ? MPK_OK
                     : mpki_error(g->ctx, MPK_ERR_ARGUMENT, STAGE, -1, "%s: %s is empty", g->family,
                                  p->name);
    }
    if (p->words) {
        for (int k = 0; p->words[k]; k++)
            if (!strcmp(p->words[k], word)) {
                *value = k;
                return MPK_OK;
            }
        return bad_value(g, p, word);
    }
    char number[64 + MPKI_NUMBER_SLACK] = "";
    size_t size = strlen(word);
    if (size >= 64) return bad_value(g, p, word);
    memcpy(number, word, size);
    number[size] = '\n';
    const char *cursor = number;
    if (!mpki_read_real(&cursor, value) || *cursor != '\n' ||
        !(*value >= p->least && *value <= p->most) ||
        (p->integer && *value != (double)(int64_t)*value))
        return bad_value(g, p, word);
    return MPK_OK;
}

/* The parameter that a word is for: by its name before '=', or the first not given yet. */
static const mpki_parameter *choose(const mpki_family *family, const bool *given, const char *word,
                                    const char *equals) {
    for (const mpki_parameter *p = family->parameters; p->name; p++) {
        size_t size = strlen(p->name);
        if (equals ? size == (size_t)(equals - word) && !strncmp(p->name, word, size)
                   : !given[p - family->parameters])
            return p;
    }
    return NULL;
}

/* The same, of a file's name with an '=' too. value [out]: what stands for it in the word */
static const mpki_parameter *parameter_of(const mpki_family *family, const bool *given,
                                          const char *word, const char **value) {
    const char *equals = strchr(word, '=');
    const mpki_parameter *p = choose(family, given, word, equals);
    *value = equals ? equals + 1 : word;
    if (p || !equals) return p;
    p = choose(family, given, word, NULL);
    *value = word;
    return p && p->text ? p : NULL;
}

static mpk_status take_word(mpki_generator *g, const mpki_family *family, bool *given,
                            const char *word) {
    char valid[160] = "";
    const char *value;
    const mpki_parameter *p = parameter_of(family, given, word, &value);
    list_parameters(family, valid, sizeof valid);
    if (!p)
        return mpki_error(g->ctx, MPK_ERR_ARGUMENT, STAGE, -1, "%s: %s '%s'; the parameters are %s",
                          g->family, strchr(word, '=') ? "no parameter" : "one value too many,",
                          word, valid);
    int k = (int)(p - family->parameters);
    if (given[k])
        return mpki_error(g->ctx, MPK_ERR_ARGUMENT, STAGE, -1, "%s: %s is given twice", g->family,
                          p->name);
    given[k] = true;
    return parse_parameter(g, p, value, &g->value[k]);
}

/* The next word of the spec, cut where it is too long; false at its end. Inside of "..." a space is
 * a letter, and "" is a quote. */
static bool next_word(const char **spec, char *word, size_t size) {
    static const char between[] = " \t\n\r,";
    size_t length = 0;
    bool quoted = false;
    const char *s = *spec + strspn(*spec, between);
    *spec = s;
    for (; *s && (quoted || !strchr(between, *s)); s++) {
        if (*s == '"' && !(quoted && s[1] == '"')) {
            quoted = !quoted;
            continue;
        }
        s += *s == '"';
        if (length + 1 < size) word[length++] = *s;
    }
    word[length] = 0;
    const bool found = s > *spec;
    *spec = s;
    return found;
}

static const mpki_family *family_of(const char *name) {
    for (int k = 0; k < FAMILIES; k++)
        if (!strcmp(families[k]->name, name)) return families[k];
    return NULL;
}

bool mpki_generate_reads(const char *spec, char *path) {
    char word[MPKI_MAX_WORD] = "";
    bool given[MPKI_MAX_PARAMETERS] = {false};
    next_word(&spec, word, sizeof word);
    const mpki_family *family = family_of(word);
    while (family && next_word(&spec, word, sizeof word)) {
        const char *value;
        const mpki_parameter *p = parameter_of(family, given, word, &value);
        if (!p) return false;
        given[p - family->parameters] = true;
        if (p->text) strcpy(path, value);
        if (p->text) return true;
    }
    return false;
}

static mpk_status parse(mpki_generator *g, const char *spec, const mpki_family **chosen) {
    char word[MPKI_MAX_WORD] = "", valid[256] = "";
    bool given[MPKI_MAX_PARAMETERS] = {false};
    next_word(&spec, word, sizeof word);
    const mpki_family *family = family_of(word);
    if (!family) {
        list_families(valid, sizeof valid);
        return mpki_error(g->ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "there is no generator '%s'; there are %s", word, valid);
    }
    g->family = family->name;
    for (int k = 0; family->parameters[k].name; k++) g->value[k] = family->parameters[k].initial;
    while (next_word(&spec, word, sizeof word)) {
        mpk_status status = take_word(g, family, given, word);
        if (mpk_failed(status)) return status;
    }
    list_parameters(family, valid, sizeof valid);
    for (int k = 0; family->parameters[k].name; k++)
        if (family->parameters[k].required && !given[k])
            return mpki_error(g->ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                              "%s: %s is missing; the parameters are %s", g->family,
                              family->parameters[k].name, valid);
    *chosen = family;
    return MPK_OK;
}

mpk_status mpki_generate_sizes(mpk_context *ctx, const char *spec, double *n, double *nnz) {
    double sizes[2] = {-1, -1};
    mpki_generator g = {.ctx = ctx, .asking = {ctx, "read", 0}, .scalar = MPK_D, .sizes = sizes};
    const mpki_family *family = NULL;
    mpk_status status = parse(&g, spec, &family);
    if (!mpk_failed(status)) status = family->make(&g);
    mpki_entries_free(ctx, &g.entries);
    *n = sizes[0];
    *nnz = sizes[1];
    return sizes[0] >= 0 ? MPK_OK : status;
}

mpk_status mpk_problem_generate(mpk_context *ctx, const char *spec, int64_t seed,
                                mpk_problem **problem) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!spec || !problem || *problem)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "the spec is NULL, or the place for the problem does not hold NULL");
    mpki_generator g = {.ctx = ctx,
                        .asking = {ctx, "read", 0},
                        .random = (uint64_t)seed,
                        .scalar = MPK_D,
                        .symmetry = MPK_SYMMETRIC};
    const mpki_family *family = NULL;
    mpk_status status = parse(&g, spec, &family);
    if (!mpk_failed(status)) status = family->make(&g);
    if (!mpk_failed(status) && mpki_cancelled(ctx)) status = mpki_stopped(ctx, STAGE);
    if (mpk_failed(status)) goto done;
    mpki_assembly how = {.stage = STAGE,
                         .n = g.n,
                         .scalar = g.scalar,
                         .symmetry = g.symmetry,
                         .triangle = g.symmetry == MPK_GENERAL ? MPK_FULL : MPK_LOWER};
    status = mpki_assemble(ctx, &how, &g.entries, problem);
done:
    mpki_entries_free(ctx, &g.entries);
    return status;
}
