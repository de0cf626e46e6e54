/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers of the three machines. */
#include "sim/models/models.h"
#include "borg/files.h"
#include "borg/spatial/pipeline.h"
#include "sim/models/texts.h"
#include "sim/systolic/array.h"
#include "sim/systolic/programs.h"
#include <stdio.h>
#include <string.h>

const char *const sim_model_names[SIM_MODELS] = {"pipeline", "array", "gpu"};

/* A batch of some warps. */
static int64_t batch_cycles(const sim_models *m, int64_t warps) {
    int64_t cycles = 0;
    for (int64_t l = 0; l <= SIM_MODELS_LATENCY; ++l)
        cycles += m->taking[l] * (l > warps ? l : warps);
    return cycles;
}

int64_t sim_model_cycles(const sim_models *m, sim_model which, int64_t jobs) {
    if (jobs < 1) return 0;
    if (which == SIM_PIPELINE) return m->depth + (jobs - 1) * m->interval;
    if (which == SIM_ARRAY) return m->beat * (m->n + m->latency + (jobs - 1) * m->array_interval);
    return jobs / m->warps * batch_cycles(m, m->warps) +
           (jobs % m->warps ? batch_cycles(m, jobs % m->warps) : 0);
}

int64_t sim_model_bits(const sim_models *m, sim_model which) {
    return which == SIM_PIPELINE ? m->pipeline_bits
           : which == SIM_ARRAY  ? m->array_bits
                                 : m->warps * m->state_bits;
}

double sim_model_utilisation(const sim_models *m, sim_model which, int64_t jobs) {
    const double cycles = (double)sim_model_cycles(m, which, jobs), t = (double)jobs;
    if (!(cycles > 0)) return 0;
    if (which == SIM_PIPELINE)
        return t * (double)m->operations / ((double)m->pipeline_units * cycles);
    if (which == SIM_ARRAY) return t * (double)(m->beats * m->beat) / ((double)m->cells * cycles);
    return t * (double)m->instructions / cycles;
}

/* Jobs that fill some batches and have the same number in the last one: along these cycles are
 * linear, so there is one crossing, found by bisection. */
int64_t sim_model_crossing(const sim_models *m, sim_model a, sim_model b) {
    const int64_t most = (INT64_C(1) << 40) / m->warps;
    int64_t last = 0; /* jobs with which a is not before b */
    if (!m->cells && (a == SIM_ARRAY || b == SIM_ARRAY)) return 0;
#define BEFORE(k)                                                                                  \
    (sim_model_cycles(m, a, (k)*m->warps + r) < sim_model_cycles(m, b, (k)*m->warps + r))
    for (int64_t r = 0; r < m->warps; ++r) {
        int64_t low = r == 0 ? 0 : -1, high = most; /* not before; before */
        if (!BEFORE(most)) return 0;
        while (high - low > 1) {
            const int64_t middle = low + (high - low) / 2;
            if (BEFORE(middle))
                high = middle;
            else
                low = middle;
        }
        if (low >= 0 && low * m->warps + r > last) last = low * m->warps + r;
    }
#undef BEFORE
    return last + 1;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* The longest chain of units in a beat of a cell. */
static int64_t longest_beat(const sim_array *a, const borg_unit_cost *costs, borg_arena *arena) {
    int64_t *depth = BORG_NEW(arena, a->ntape + 1, int64_t), most = 1;
    const int64_t base = a->nconstants + (int64_t)a->jobs * a->ninputs;
    for (int64_t t = 0; t < a->ntape; ++t) {
        const sim_tape_op *op = &a->tape[t];
        const int32_t from[2] = {op->x, op->y};
        depth[t] = 0;
        for (int k = 0; k < 2; ++k) {
            const int64_t before = from[k] - base;
            if (before >= 0 && a->tape[before].cell == op->cell &&
                a->tape[before].cycle == op->cycle && depth[before] > depth[t])
                depth[t] = depth[before];
        }
        depth[t] += costs[op->op == CELLS_MUL                          ? BORG_UNIT_mul_f64
                          : op->op == CELLS_DIV                        ? BORG_UNIT_div_f64
                          : op->op == CELLS_MIN || op->op == CELLS_MAX ? BORG_UNIT_cmp_f64
                                                                       : BORG_UNIT_add_f64]
                        .latency;
        if (depth[t] > most) most = depth[t];
    }
    return most;
}

static bool make_array(const sim_models_request *q, const borg_unit_cost *costs, sim_models *m,
                       char *text) {
    const char *cells = q->cells ? q->cells : !q->source ? sim_cells_find(q->kernel) : NULL;
    if (!cells) return true;
    borg_arena arena;
    volatile bool good = false;
    borg_arena_init(&arena, NULL, 0);
    if (setjmp(arena.oom)) {
        borg_arena_free(&arena);
        snprintf(text, SIM_MODELS_TEXT, "no memory");
        return false;
    }
    borg_diags diags = {.arena = &arena,
                        .source = {q->cells ? q->cells_file : q->kernel, cells, strlen(cells)}};
    const cells_program *p = cells_parse(&arena, cells, strlen(cells), &diags);
    const sim_setup setup = {.n = q->n, .m = q->n};
    const sim_array *a = p ? sim_array_new(&arena, p, &setup, &diags) : NULL;
    if (a) {
        m->cells = (int64_t)a->rows * a->columns;
        m->latency = a->cycles;
        m->beat = longest_beat(a, costs, &arena);
        m->beats = a->beats;
        m->array_bits = 64 * a->registers;
        /* a matrix is loaded in n cycles, by the links that the one before uses */
        m->array_interval = sim_array_interval(p, &setup) + (a->loaded ? q->n : 0);
        good = true;
    } else {
        borg_sink out = {.arena = &arena};
        borg_diags_print(&diags, &out);
        snprintf(text, SIM_MODELS_TEXT, "%s", out.text ? out.text : "");
    }
    borg_arena_free(&arena);
    return good;
}

static void take_pipeline(sim_models *m, const borg_pipeline *p) {
    const borg_module *module = p->module;
    m->depth = p->depth;
    m->interval = p->interval;
    m->pipeline_bits = p->counts.bits_after;
    m->state_bits = p->counts.state_bits;
    for (int k = 0; k < BORG_UNIT_KINDS; ++k) m->pipeline_units += p->counts.units[k];
    m->operations = m->pipeline_units; /* each works once for a job */
    /* a warp issues its stages, and moves of lanes and accesses besides, which a pipeline has as
     * wires and ports; these take a cycle each */
    for (int32_t s = 0; s < p->nstages; ++s) {
        const int64_t latency = p->stage[s].latency;
        ++m->instructions;
        ++m->taking[latency < SIM_MODELS_LATENCY ? latency : SIM_MODELS_LATENCY];
    }
    for (const borg_inst *v = module->body->first; v; v = v->next) {
        const borg_class class = borg_op_table[v->op].class;
        const bool moves = class == BORG_LAYOUT && v->op != BORG_ROWS && v->op != BORG_BCAST;
        if (!moves && !(class == BORG_MEMORY && v->op != BORG_BARRIER)) continue;
        ++m->instructions;
        ++m->taking[1];
    }
    if (m->depth == 0) m->depth = 1; /* wires alone: in and out in one cycle */
}

bool sim_models_make(const sim_models_request *q, sim_models *m, char *text) {
    borg_unit_cost costs[BORG_UNIT_KINDS];
    borg_program *program = NULL;
    const char *source = q->source ? q->source : sim_models_cl;
    const borg_options o = {
        .size = q->n, .strict = true, .kernel = q->kernel, .reader = &borg_file_reader};
    *text = 0;
    *m = (sim_models){
        .kernel = q->kernel ? q->kernel : q->file, .n = q->n, .warps = q->warps, .jobs = q->jobs};
    const borg_status status =
        borg_compile(q->source ? q->file : "models.cl", source, strlen(source), &o, NULL, &program);
    volatile bool good = false;
    if (!program || setjmp(program->arena.oom)) {
        snprintf(text, SIM_MODELS_TEXT, "no memory");
    } else if (status == BORG_OK && program->nunits != 1) {
        snprintf(text, SIM_MODELS_TEXT, "%s has %d kernels: choose one", q->file, program->nunits);
    } else if (status == BORG_OK && borg_costs_read(q->units, costs, &program->diags)) {
        const borg_pipeline *p =
            borg_pipeline_new(program->units[0].module, costs, &program->diags);
        if (p) take_pipeline(m, p);
        good = p != NULL;
    }
    if (!good && !*text) snprintf(text, SIM_MODELS_TEXT, "%s", borg_program_messages(program));
    borg_program_free(program);
    const size_t length = strlen(text);
    const bool all = good && make_array(q, costs, m, text);
    if (length && text[length - 1] == '\n') text[length - 1] = 0;
    return all;
}
