/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock of a systolic array, on names of values. */
#include "sim/systolic/array.h"
#include <stdlib.h>
#include <string.h>

enum {
    EMPTY = -1,
    FARTHEST = 1 << 30, /* integers stay within; what is beyond stays there */
    MOST_CYCLES = 1 << 20,
    MOST_ELEMENTS = 1 << 24, /* of all inputs, and of all outputs */
    MOST_TAPE = 1 << 27
};

typedef struct loop {
    const cells_beat *first; /* of the body */
    const cells_beat *after; /* where the cell goes on */
    int32_t name, to;
} loop;

typedef struct cell {
    const cells_kind *kind;
    const cells_beat *at; /* the next beat; NULL: the job is done */
    loop loops[CELLS_MOST_LOOPS];
    int32_t depth, job, start; /* start: the first cycle in which the present job may act */
    int32_t latch[2];          /* left, up: values; EMPTY */
    int32_t came[2];           /* the cycle of the link */
    int32_t sent[2];           /* right, down, in this cycle; EMPTY */
} cell;

typedef struct feeding {
    int32_t cycle, link, value, job;
} feeding;

typedef struct clock {
    borg_arena *arena;
    borg_diags *diags;
    const cells_program *p;
    const sim_setup *setup;
    sim_array *a;
    cell *cells;
    int32_t *integers; /* CELLS_MOST_NAMES for each cell */
    int32_t *values;   /* likewise */
    feeding *feed;
    int64_t nfeeds;
    size_t feeds, uses, ops, constants; /* capacities */
    int64_t *last_use;                  /* by link */
    int32_t *uses_of;                   /* by link, by the first job */
    int32_t t, base;                    /* base: the tape's first value */
    bool failed;
} clock;

static void fail(clock *c, borg_loc loc, const char *text) {
    if (!c->failed) borg_report(c->diags, BORG_ERROR, loc, "%s", text);
    c->failed = true;
}

/* ---- integers -------------------------------------------------------------------------------- */

static int32_t limited(int64_t x) {
    return (int32_t)(x > FARTHEST ? FARTHEST : x < -FARTHEST ? -FARTHEST : x);
}

int32_t sim_integer(const cells_expr *e, const int32_t *names) {
    if (e->op == CELLS_NUMBER) return e->number < FARTHEST ? (int32_t)e->number : FARTHEST;
    if (e->op == CELLS_NAME) return names[e->name];
    const int64_t x = sim_integer(e->x, names), y = sim_integer(e->y, names);
    switch (e->op) {
    case CELLS_ADD:
        return limited(x + y);
    case CELLS_SUB:
        return limited(x - y);
    case CELLS_MUL:
        return limited(x * y);
    case CELLS_MIN:
        return limited(x < y ? x : y);
    case CELLS_MAX:
        return limited(x > y ? x : y);
    case CELLS_EQ:
        return x == y;
    case CELLS_NE:
        return x != y;
    case CELLS_LT:
        return x < y;
    case CELLS_LE:
        return x <= y;
    case CELLS_GT:
        return x > y;
    case CELLS_GE:
        return x >= y;
    case CELLS_AND:
        return x && y;
    case CELLS_OR:
        return x || y;
    default:
        return 0;
    }
}

/* The number of an element among all inputs or outputs; -1 and a message: it is not there. */
static int32_t element(clock *c, const cells_place *place, const int32_t *names) {
    const sim_shape *s = &c->a->shape[place->array];
    const int32_t r = sim_integer(place->index[0], names);
    const int32_t k = place->index[1] ? sim_integer(place->index[1], names) : 1;
    if (r >= 1 && r <= s->rows && k >= 1 && k <= s->columns)
        return s->first + (r - 1) * s->columns + k - 1;
    const cells_array *array = &c->p->array[place->array];
    fail(c, place->loc,
         borg_format(c->arena,
                     place->index[1] ? "%s[%d][%d] is outside: it has %d x %d elements"
                                     : "%s[%d] (%d) is outside: it has %d (x %d) elements",
                     array->name, r, k, s->rows, s->columns));
    return -1;
}

static int32_t input_value(const clock *c, int32_t job, int32_t number) {
    return c->a->nconstants + job * c->a->ninputs + number;
}

/* ---- values ---------------------------------------------------------------------------------- */

static int32_t constant(clock *c, double number) {
    sim_array *a = c->a;
    for (int32_t k = 0; k < a->nconstants; ++k)
        if (a->constant[k] == number) return k;
    return EMPTY; /* collect_constants has seen all there are */
}

static int32_t compute(clock *c, const cells_expr *e, int32_t which) {
    sim_array *a = c->a;
    if (e->op == CELLS_NUMBER) return constant(c, e->number);
    if (e->op == CELLS_NAME) {
        const int32_t v = c->values[(int64_t)which * CELLS_MOST_NAMES + e->name];
        if (v == EMPTY)
            fail(c, e->loc,
                 borg_format(c->arena, "'%s' has no value yet in cell (%d, %d)",
                             c->p->value[e->name], which / a->columns + 1, which % a->columns + 1));
        return v;
    }
    const int32_t x = compute(c, e->x, which), y = compute(c, e->y, which);
    if (!c->failed && a->ntape + c->base >= MOST_TAPE)
        fail(c, e->loc, borg_format(c->arena, "more than %d operations", MOST_TAPE));
    if (c->failed) return EMPTY;
    a->tape = borg_grow(c->arena, a->tape, (size_t)a->ntape + 1, &c->ops, sizeof *a->tape);
    a->tape[a->ntape] = (sim_tape_op){e->op, x, y, which, c->t};
    return c->base + (int32_t)a->ntape++;
}

static void collect(clock *c, const cells_expr *e) {
    sim_array *a = c->a;
    if (!e) return;
    collect(c, e->x);
    collect(c, e->y);
    if (e->op != CELLS_NUMBER || constant(c, e->number) != EMPTY) return;
    a->constant = borg_grow(c->arena, a->constant, (size_t)a->nconstants + 1, &c->constants,
                            sizeof *a->constant);
    a->constant[a->nconstants++] = e->number;
}

static void collect_constants(clock *c, const cells_beat *b) {
    for (; b; b = b->next)
        for (const cells_clause *k = b->clause; k; k = k->next) {
            collect(c, k->expr);
            collect_constants(c, k->body);
        }
}

/* ---- a cell ---------------------------------------------------------------------------------- */

/* Enter loops and leave those that are over until `at` is a beat. */
static void settle(cell *x, int32_t *names) {
    for (;;) {
        if (!x->at) {
            if (!x->depth) return;
            loop *l = &x->loops[x->depth - 1];
            if (names[l->name]++ < l->to) {
                x->at = l->first;
            } else {
                x->at = l->after;
                --x->depth;
            }
        } else if (x->at->clause->verb == CELLS_FOR) {
            const cells_clause *f = x->at->clause;
            const int32_t from = sim_integer(f->range.from, names),
                          to = sim_integer(f->range.to, names);
            if (from > to || !f->body || x->depth == CELLS_MOST_LOOPS) {
                x->at = x->at->next;
                continue;
            }
            x->loops[x->depth++] = (loop){f->body, x->at->next, f->range.name, to};
            names[f->range.name] = from;
            x->at = f->body;
        } else {
            return;
        }
    }
}

static void begin_job(clock *c, int32_t which, int32_t job) {
    cell *x = &c->cells[which];
    int32_t *names = &c->integers[(int64_t)which * CELLS_MOST_NAMES];
    int32_t *values = &c->values[(int64_t)which * CELLS_MOST_NAMES];
    x->job = job;
    x->at = x->kind->beat;
    x->depth = 0;
    x->start = (x->kind->start ? sim_integer(x->kind->start, names) : 1) + job * c->setup->interval;
    if (job > 0 && c->setup->resident) {
        settle(x, names);
        return;
    }
    for (const cells_load *l = c->p->load; l && !c->failed; l = l->next) {
        if (l->when && !sim_integer(l->when, names)) continue;
        const int32_t number = element(c, &l->from, names);
        values[l->value] = input_value(c, job, number);
    }
    settle(x, names);
}

static bool ready(const clock *c, const cell *x) {
    if (!x->at || c->t < x->start) return false;
    for (const cells_clause *k = x->at->clause; k; k = k->next)
        if (k->verb == CELLS_TAKE && (x->latch[k->down] == EMPTY || x->came[k->down] >= c->t))
            return false;
    return true;
}

static void run_beat(clock *c, int32_t which) {
    cell *x = &c->cells[which];
    sim_array *a = c->a;
    int32_t *names = &c->integers[(int64_t)which * CELLS_MOST_NAMES];
    int32_t *values = &c->values[(int64_t)which * CELLS_MOST_NAMES];
    for (const cells_clause *k = x->at->clause; k && !c->failed; k = k->next) {
        if (k->verb == CELLS_TAKE) {
            values[k->value] = x->latch[k->down];
            x->latch[k->down] = EMPTY;
        } else if (k->verb == CELLS_LET) {
            values[k->value] = compute(c, k->expr, which);
        } else if (k->verb == CELLS_SEND) {
            x->sent[k->down] = compute(c, k->expr, which);
        } else {
            const int32_t number = element(c, &k->place, names), v = compute(c, k->expr, which);
            if (!c->failed) a->output[(int64_t)x->job * a->noutputs + number] = v;
        }
    }
    ++a->beats;
    a->cycles = c->t;
    if (x->job < 3) a->job_end[x->job] = c->t;
    x->at = x->at->next;
    settle(x, names);
}

/* ---- links ----------------------------------------------------------------------------------- */

static void deliver(clock *c, int32_t link, int32_t v, int32_t job) {
    sim_array *a = c->a;
    const int32_t cells = a->rows * a->columns, which = link % cells;
    const bool down = link >= cells;
    cell *x = &c->cells[which];
    const char *problem = c->last_use[link] == c->t ? "a link is used twice in a cycle"
                          : x->latch[down] != EMPTY
                              ? "a value comes before the one before it was taken"
                              : NULL;
    if (problem) {
        fail(c, x->kind->loc,
             borg_format(c->arena, "%s: cell (%d, %d) of %s, from %s, cycle %d", problem,
                         which / a->columns + 1, which % a->columns + 1, c->p->name,
                         down ? "above" : "the left", c->t));
        return;
    }
    c->last_use[link] = c->t;
    a->last_link = c->t;
    if (job == 0 && ++c->uses_of[link] > a->most_uses) a->most_uses = c->uses_of[link];
    x->latch[down] = v;
    x->came[down] = c->t;
    if (!c->setup->record) return;
    a->use = borg_grow(c->arena, a->use, (size_t)a->nuses + 1, &c->uses, sizeof *a->use);
    a->use[a->nuses++] = (sim_use){link, c->t, job};
}

static int by_cycle(const void *x, const void *y) {
    const feeding *a = x, *b = y;
    if (a->cycle != b->cycle) return a->cycle < b->cycle ? -1 : 1;
    return a->link < b->link ? -1 : a->link > b->link;
}

static void add_feed(clock *c, const cells_feed *f, const int32_t *names, int32_t link) {
    if (f->when && !sim_integer(f->when, names)) return;
    const int32_t number = element(c, &f->from, names);
    for (int32_t job = 0; job < c->a->jobs && !c->failed; ++job) {
        c->feed = borg_grow(c->arena, c->feed, (size_t)c->nfeeds + 1, &c->feeds, sizeof *c->feed);
        c->feed[c->nfeeds++] = (feeding){sim_integer(f->at, names) + job * c->setup->interval, link,
                                         input_value(c, job, number), job};
    }
}

static void make_feeds(clock *c) {
    const sim_array *a = c->a;
    int32_t names[CELLS_MOST_NAMES] = {0};
    names[CELLS_N] = a->n, names[CELLS_M] = a->m;
    for (const cells_feed *f = c->p->feed; f; f = f->next) {
        const int32_t most = f->top ? a->columns : a->rows;
        for (int32_t k = 1; k <= most && !c->failed; ++k) {
            names[CELLS_I] = f->top ? 1 : k, names[CELLS_J] = f->top ? k : 1;
            const int32_t link = f->top ? sim_link_down(a, 1, k) : sim_link_right(a, k, 1);
            if (f->range.name < 0) {
                add_feed(c, f, names, link);
                continue;
            }
            const int32_t to = sim_integer(f->range.to, names);
            int32_t v = sim_integer(f->range.from, names);
            if (to - (int64_t)v > MOST_CYCLES) {
                fail(c, f->from.loc, "too many values to feed");
                return;
            }
            for (; v <= to && !c->failed; ++v) {
                names[f->range.name] = v;
                add_feed(c, f, names, link);
            }
        }
    }
    if (c->nfeeds) qsort(c->feed, (size_t)c->nfeeds, sizeof *c->feed, by_cycle);
}

/* ---- the clock ------------------------------------------------------------------------------- */

/* One cycle of all cells; how many were at work. */
static int64_t step(clock *c, int32_t *todo) {
    sim_array *a = c->a;
    const int32_t cells = a->rows * a->columns;
    int64_t worked = 0;
    *todo = 0;
    for (int32_t w = 0; w < cells && !c->failed; ++w) {
        cell *x = &c->cells[w];
        if (!x->at && x->job + 1 < a->jobs) begin_job(c, w, x->job + 1);
        x->sent[0] = x->sent[1] = EMPTY;
        if (ready(c, x)) run_beat(c, w), ++worked;
        *todo += x->at != NULL || x->job + 1 < a->jobs;
    }
    for (int32_t w = 0; w < cells && !c->failed; ++w) {
        const cell *x = &c->cells[w];
        const int32_t i = w / a->columns + 1, j = w % a->columns + 1;
        if (x->sent[0] != EMPTY && j < a->columns)
            deliver(c, sim_link_right(a, i, j + 1), x->sent[0], x->job);
        if (x->sent[1] != EMPTY && i < a->rows && !c->failed)
            deliver(c, sim_link_down(a, i + 1, j), x->sent[1], x->job);
    }
    return worked;
}

static void say_who_waits(clock *c) {
    const sim_array *a = c->a;
    for (int32_t w = 0; w < a->rows * a->columns; ++w) {
        const cell *x = &c->cells[w];
        if (!x->at) continue;
        fail(c, x->at->clause->loc,
             borg_format(c->arena, "cell (%d, %d) of %s waits here for ever", w / a->columns + 1,
                         w % a->columns + 1, c->p->name));
        return;
    }
}

static void run(clock *c) {
    int64_t fed = 0, idle = 0;
    int32_t todo = 1;
    const int64_t patience =
        2 * (int64_t)(c->a->rows + c->a->columns + c->a->n + c->a->m + c->setup->interval) + 8;
    for (c->t = 1; (todo || fed < c->nfeeds) && !c->failed; ++c->t) {
        int64_t worked = step(c, &todo);
        for (; fed < c->nfeeds && c->feed[fed].cycle <= c->t && !c->failed; ++fed, ++worked)
            deliver(c, c->feed[fed].link, c->feed[fed].value, c->feed[fed].job);
        idle = worked ? 0 : idle + 1;
        if (c->t == MOST_CYCLES)
            fail(c, c->p->kind->loc,
                 borg_format(c->arena, "%s runs for more than %d cycles", c->p->name, MOST_CYCLES));
        if (idle > patience && fed == c->nfeeds) say_who_waits(c);
        if (idle > patience && fed == c->nfeeds) break;
    }
}

static void make_shapes(clock *c) {
    sim_array *a = c->a;
    int32_t names[CELLS_MOST_NAMES] = {a->n, a->m};
    for (int32_t k = 0; k < c->p->narrays; ++k) {
        const cells_array *array = &c->p->array[k];
        sim_shape *s = &a->shape[k];
        int32_t *total = array->output ? &a->noutputs : &a->ninputs;
        s->rows = sim_integer(array->size[0], names);
        s->columns = array->size[1] ? sim_integer(array->size[1], names) : 1;
        s->first = *total;
        if (s->rows < 0 || s->columns < 0 ||
            (int64_t)s->rows * s->columns > MOST_ELEMENTS / a->jobs - *total) {
            fail(c, array->size[0]->loc,
                 borg_format(c->arena, "%s has %d x %d elements: too many", array->name, s->rows,
                             s->columns));
            s->rows = s->columns = 0;
            return;
        }
        *total += s->rows * s->columns;
    }
}

static void count_registers(clock *c) {
    sim_array *a = c->a;
    const int32_t cells = a->rows * a->columns;
    int32_t kept = 0;
    for (int32_t v = 0; v < c->p->nvalues; ++v) kept += c->p->kept >> v & 1;
    a->registers = (int64_t)kept * cells;
    for (int32_t l = 0; l < 2 * cells; ++l) a->registers += c->uses_of[l] > 0;
    for (const cells_load *l = c->p->load; l; l = l->next)
        for (int32_t w = 0; w < cells; ++w)
            a->loaded +=
                !l->when || sim_integer(l->when, &c->integers[(int64_t)w * CELLS_MOST_NAMES]) != 0;
}

/* Cells of their kinds, with nothing in their latches. */
static void make_cells(clock *c) {
    sim_array *a = c->a;
    const int32_t cells = a->rows * a->columns;
    c->cells = BORG_NEW(c->arena, cells, cell);
    c->integers = BORG_NEW(c->arena, (int64_t)cells * CELLS_MOST_NAMES, int32_t);
    c->values = BORG_NEW(c->arena, (int64_t)cells * CELLS_MOST_NAMES, int32_t);
    c->last_use = BORG_NEW(c->arena, 2 * (int64_t)cells, int64_t);
    c->uses_of = BORG_NEW(c->arena, 2 * (int64_t)cells, int32_t);
    for (int64_t v = 0; v < (int64_t)cells * CELLS_MOST_NAMES; ++v) c->values[v] = EMPTY;
    for (int32_t w = 0; w < cells && !c->failed; ++w) {
        cell *x = &c->cells[w];
        int32_t *names = &c->integers[(int64_t)w * CELLS_MOST_NAMES];
        names[CELLS_N] = a->n, names[CELLS_M] = a->m;
        names[CELLS_I] = w / a->columns + 1, names[CELLS_J] = w % a->columns + 1;
        x->kind = c->p->kind;
        while (x->kind && !sim_integer(x->kind->when, names)) x->kind = x->kind->next;
        x->latch[0] = x->latch[1] = EMPTY;
        if (!x->kind)
            fail(c, (borg_loc){0},
                 borg_format(c->arena, "%s has no program for cell (%d, %d)", c->p->name,
                             names[CELLS_I], names[CELLS_J]));
        else
            begin_job(c, w, 0);
    }
}

/* Does the mesh that there is hold it? */
static bool fits(clock *c) {
    const sim_array *a = c->a;
    const sim_setup *s = c->setup;
    if (a->rows < 1 || a->columns < 1 || (int64_t)a->rows * a->columns > 1 << 20) {
        fail(c, (borg_loc){0},
             borg_format(c->arena, "a mesh of %d x %d cells: 1 to 1048576 cells can be simulated",
                         a->rows, a->columns));
        return false;
    }
    if ((!s->most_rows || a->rows <= s->most_rows) &&
        (!s->most_columns || a->columns <= s->most_columns))
        return true;
    int32_t names[CELLS_MOST_NAMES] = {a->n, a->m}, n = a->n;
    while (n > 0 && (names[CELLS_N] = n, sim_integer(c->p->rows, names) > s->most_rows ||
                                             sim_integer(c->p->columns, names) > s->most_columns))
        --n;
    const char *proposal = n ? borg_format(c->arena, "; n = %d would fit", n) : "";
    fail(c, (borg_loc){0},
         borg_format(c->arena, "%s with n = %d needs %d x %d cells, the mesh has %d x %d%s",
                     c->p->name, a->n, a->rows, a->columns, s->most_rows, s->most_columns,
                     proposal));
    return false;
}

sim_array *sim_array_new(borg_arena *arena, const cells_program *program, const sim_setup *setup,
                         borg_diags *diags) {
    clock c = {.arena = arena, .diags = diags, .p = program, .setup = setup};
    sim_array *a = c.a = BORG_NEW(arena, 1, sim_array);
    int32_t names[CELLS_MOST_NAMES] = {setup->n, setup->m > 0 ? setup->m : 1};
    a->program = program;
    a->n = setup->n;
    a->m = names[CELLS_M];
    a->jobs = setup->jobs > 0 ? setup->jobs : 1;
    a->interval = setup->interval;
    a->rows = sim_integer(program->rows, names);
    a->columns = sim_integer(program->columns, names);
    if (!fits(&c)) return NULL;
    make_shapes(&c);
    if (c.failed) return NULL;
    for (const cells_kind *k = program->kind; k; k = k->next) collect_constants(&c, k->beat);
    c.base = a->nconstants + a->jobs * a->ninputs;
    a->output = BORG_NEW(arena, (int64_t)a->jobs * a->noutputs + 1, int32_t);
    for (int64_t k = 0; k < (int64_t)a->jobs * a->noutputs; ++k) a->output[k] = EMPTY;
    make_cells(&c);
    if (!c.failed) make_feeds(&c);
    if (!c.failed) run(&c);
    if (c.failed) return NULL;
    count_registers(&c);
    a->operations = a->ntape;
    return a;
}
