/* SPDX-License-Identifier: BSD-3-Clause */
/* Spatial pipelines as an accelerator: kernels of an OpenCL C text, one pipeline each, through
 * which the items of a batch go back to back. Parameters are found by name. */
#include "sim/accelerator/accelerator.h"
#include "sim/accelerator/texts.h"
#include "sim/spatial/simulate.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARAMETERS = 16 };

static const char *const kernel_names[SIM_KERNELS] = {"factorize", "solve",    "downdate",
                                                      "transpose", "zero_out", "permute"};

typedef enum role { BLOCK, A, B, PIVOT, PERM, SMALL, TROUBLE, LARGEST, ROLES } role;

static const char *const roles[ROLES] = {"block", "a",     "b",       "pivot",
                                         "perm",  "small", "trouble", "largest"};

typedef struct pipes {
    sim_machine machine;
    borg_program *program;
    const borg_pipeline *pipe[SIM_KERNELS]; /* NULL: the file has none */
    role role[SIM_KERNELS][MOST_PARAMETERS];
} pipes;

static mpk_status run(pipes *s, int kernel, const mpk_accelerator_batch *b) {
    const borg_pipeline *p = s->pipe[kernel];
    borg_arg args[MOST_PARAMETERS];
    sim_pipeline_counts counts;
    if (b->count == 0) return MPK_OK;
    for (int32_t k = 0; k < p->module->nparams; ++k) {
        uint64_t small;
        memcpy(&small, &b->small, sizeof small);
        const void *const data[ROLES] = {
            [BLOCK] = b->block[0],  [A] = b->block[1],     [B] = b->block[2],
            [PIVOT] = b->pivot,     [PERM] = b->perm,      [SMALL] = NULL,
            [TROUBLE] = b->trouble, [LARGEST] = b->largest};
        args[k] =
            (borg_arg){.bits = small, .data = (void *)data[s->role[kernel][k]], .count = b->count};
    }
    if (!sim_pipeline_run(p, args, 0, b->count, &counts, &s->program->diags)) return MPK_ERR_DEVICE;
    s->machine.count.cycles[kernel] += counts.cycles;
    s->machine.count.busy[kernel] += (double)counts.operations;
    return MPK_OK;
}

static mpk_status factorize(void *self, const mpk_accelerator_batch *b) {
    return run(self, 0, b);
}
static mpk_status solve(void *self, const mpk_accelerator_batch *b) {
    return run(self, 1, b);
}
static mpk_status downdate(void *self, const mpk_accelerator_batch *b) {
    return run(self, 2, b);
}
static mpk_status transpose(void *self, const mpk_accelerator_batch *b) {
    return run(self, 3, b);
}
static mpk_status zero_out(void *self, const mpk_accelerator_batch *b) {
    return run(self, 4, b);
}
static mpk_status permute(void *self, const mpk_accelerator_batch *b) {
    return run(self, 5, b);
}

/* Which argument is which; false: a parameter that nothing is known of. */
static bool find_roles(pipes *s, int kernel, char *text) {
    const borg_module *m = s->pipe[kernel]->module;
    for (int32_t k = 0; k < m->nparams && k < MOST_PARAMETERS; ++k) {
        int r = 0;
        while (r < ROLES && strcmp(m->params[k].name, roles[r]) != 0) ++r;
        const bool pointers = r <= PERM, scalar = r == SMALL;
        const borg_param *p = &m->params[k];
        const bool good =
            r < ROLES &&
            (scalar ? p->type == BORG_F64
                    : p->type == BORG_PTR && p->depth == (pointers ? 2 : 1) &&
                          p->elem == (r == TROUBLE || r == PERM ? BORG_I32 : BORG_F64));
        if (!good) {
            snprintf(
                text, SIM_TEXT,
                "kernel '%s': parameter '%s' is none of block, a, b, pivot (double **), perm (int "
                "**), small (double), trouble (int *), largest (double *)",
                m->name, p->name);
            return false;
        }
        s->role[kernel][k] = (role)r;
    }
    return m->nparams <= MOST_PARAMETERS;
}

static bool make_pipes(pipes *s, const borg_unit_cost *costs, const char *file, char *text) {
    borg_program *p = s->program;
    for (int32_t u = 0; u < p->nunits; ++u) {
        int kernel = 0;
        while (kernel < SIM_KERNELS && strcmp(kernel_names[kernel], p->units[u].name) != 0)
            ++kernel;
        if (kernel == SIM_KERNELS) continue; /* of other use to its writer */
        s->pipe[kernel] = borg_pipeline_new(p->units[u].module, costs, &p->diags);
        if (!s->pipe[kernel]) return false;
        if (!find_roles(s, kernel, text)) return false;
        for (int k = 0; k < BORG_UNIT_KINDS; ++k)
            s->machine.count.units[kernel] += (double)s->pipe[kernel]->counts.units[k];
    }
    for (int kernel = 0; kernel < SIM_KERNELS - 1; ++kernel)
        if (!s->pipe[kernel]) {
            snprintf(text, SIM_TEXT, "%s has no kernel '%s'", file, kernel_names[kernel]);
            return false;
        }
    return true;
}

static void free_machine(sim_machine *machine) {
    pipes *s = (pipes *)machine;
    borg_program_free(s->program);
    free(s);
}

static bool compile(pipes *s, const char *file, const char *source, int32_t n, const char *units,
                    char *text) {
    borg_unit_cost costs[BORG_UNIT_KINDS];
    const borg_options o = {.size = n, .strict = true, .backend = borg_backend_find("pipe")};
    const borg_status status = borg_compile(file, source, strlen(source), &o, NULL, &s->program);
    if (!s->program || setjmp(s->program->arena.oom)) {
        snprintf(text, SIM_TEXT, "no memory");
        return false;
    }
    const bool good = status == BORG_OK && borg_costs_read(units, costs, &s->program->diags) &&
                      make_pipes(s, costs, file, text);
    if (!good && !*text) {
        snprintf(text, SIM_TEXT, "%s", borg_program_messages(s->program));
        const size_t length = strlen(text);
        if (length && text[length - 1] == '\n') text[length - 1] = 0;
    }
    return good;
}

sim_machine *sim_pipe_new(const char *file, const char *source, int32_t n, const char *units,
                          char *text) {
    *text = 0;
    pipes *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    sim_machine *m = &s->machine;
    if (!compile(s, source ? file : "blocks.cl", source ? source : sim_blocks_cl, n, units, text)) {
        free_machine(m);
        return NULL;
    }
    snprintf(m->name, sizeof m->name, "spatial pipelines for %d x %d blocks", n, n);
    m->free = free_machine;
    m->table = (mpk_accelerator){.struct_size = sizeof m->table,
                                 .name = m->name,
                                 .self = s,
                                 .pivoting = s->pipe[5] != NULL,
                                 .precisions = 1u << MPK_D,
                                 .largest_block = n,
                                 .only_block = n,
                                 .allocate = sim_allocate,
                                 .release = sim_release,
                                 .upload = sim_copy,
                                 .download = sim_copy,
                                 .factorize = factorize,
                                 .solve = solve,
                                 .downdate = downdate,
                                 .transpose = transpose,
                                 .zero_out = zero_out,
                                 .permute = s->pipe[5] ? permute : NULL};
    return m;
}
