/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_SYSTEMS_OBJECT_H
#define MPKI_SYSTEMS_OBJECT_H
/** Inside of mpk_systems. A call marks the systems that it works on and goes through three phases:
 *  packs of those that have a place there (run.c, pack_t.c), each worker a pack; packs of those whose
 *  lanes have pivots of their own; then the systems of the single engine (single.c), each context of its own those that are at home there. */
#include "../core/pool.h"
#include "../engines/cpu/systems/lanes.h"
#include "../engines/interface/systems.h"
#include "../factor/factor.h"
#include <metapack/systems.h>

/** Pivots of the analysed values, and the tree that suits them and values near these (template.c). */
typedef struct mpki_template {
    mpk_analysis *an;
    mpki_lanes_plan plan;
    int64_t *l, *c;
    mpki_lanes_entry *entry;
    char *pair;
    mpk_analysis *source; /* its own, where that of the systems is another; NULL */
    int32_t leaf;         /* of that: where nested dissection ended; 0: as elsewhere */
    double flops;
} mpki_template;

/** Make one. *out [out] NULL, and *reason, where there is none that serves. MPK_OK | MPK_ERR_MEMORY,
 *  _CANCELLED */
mpk_status mpki_template_make(mpk_context *ctx, const mpk_analysis *an, const mpk_options *options,
                              mpki_template **out, const char **reason);
void mpki_template_free(mpk_context *ctx, mpki_template **t);
/** An order for a tree whose pivots have been found, in which columns come as late as values near the
 *  analysed ones want it. order [out] n. *some [out] false: none comes late, and there is no order.
 *  MPK_OK | MPK_ERR_MEMORY, _CANCELLED */
mpk_status mpki_late_order(mpk_context *ctx, const mpk_analysis *own, const mpk_options *options,
                           int32_t *order, bool *some);

/** One of the systems. */
typedef struct mpki_slot {
    mpk_systems_tier tier;
    mpk_status status;      /* of the factorization that it has, or why it has none */
    bool anew;              /* there is a template that it has not tried */
    mpk_factor *fac;        /* tier single */
    int home;               /* whose context fac was made with */
    int64_t place;          /* tiers template, own: pack * width + lane, of packs or own packs */
    mpki_lane_outcome lane; /* likewise: what came of it */
    double logdet[3];       /* tier template, on a device */
    bool examined, regular, certified; /* of tier single: examined and certified alone */
    mpk_systems_refusal refusal;       /* where the status is MPK_ERR_INPUT */
} mpki_slot;

/** What a call has to say of one of them. */
typedef struct mpki_said {
    bool active; /* the call works on it */
    bool own;    /* and has yet to factorize it with pivots of its own */
    bool factor; /* and has yet to factorize it by the single engine */
    bool solve;  /* and to solve with it by the single engine */
    bool ask;    /* unless A is found to be regular */
    bool moved;  /* a solve gave it factors of the single engine */
    mpk_status status;
    int32_t steps;
    double omega, normwise;
    mpk_systems_refusal refusal; /* where the status is MPK_ERR_INPUT */
} mpki_said;

/** What a worker needs for packs. */
typedef struct mpki_pack_work {
    mpki_lanes_work lanes;
    void *values;  /* width x nnz entries: values on their way into lanes */
    void *best;    /* n entries of all lanes */
    void *b, *x;   /* n, and n x sides, of all lanes */
    void *z;       /* n entries of all lanes */
    double *scale; /* n */
    int32_t sides;
} mpki_pack_work;

struct mpki_systems_job;

/** What systems of several patterns do in their own way (mixed.c). */
typedef struct mpki_mixed_table {
    mpk_status (*call)(mpk_context *ctx, struct mpki_systems_job *job, const uint8_t *mask,
                       const mpk_systems_results *results);
    const mpk_systems *(*part)(const mpk_systems *s, int64_t slot, int64_t *index);
    void (*info)(const mpk_systems *s, mpk_systems_info *info);
    void (*free)(mpk_systems *s);
} mpki_mixed_table;

struct mpk_systems {
    mpk_context *ctx;
    const mpk_analysis *an;
    mpk_options options, single; /* the caller's; those of one system */
    int64_t expected, count;
    bool keep;
    mpki_slot *slot; /* count */
    mpki_said *said; /* count */
    int workers;
    mpk_context **child; /* workers */
    mpki_template *template;
    const char *reason;
    const void *kernels; /* FN(lanes): what the environment says later does not change it */
    int width;
    const mpki_systems_engine *engine; /* of a device; NULL: the processor's packs */
    mpki_many *many;                   /* its object; NULL: there is no template */
    int64_t packs, own_packs;
    mpki_lanes_pack *pack, *own; /* own: with pivots of each lane's own */
    mpki_pack_work *work;        /* workers; made when they are first needed */
    bool borrows;                /* child[0] is ctx */
    struct mpki_mixed *mixed;
    const mpki_mixed_table *of_mixed; /* of several patterns; NULL: of one */
};

/** A call at work. */
typedef struct mpki_systems_job {
    mpk_systems *s;
    const mpk_batch_array *ax, *b, *x; /* NULL: not its business */
    int32_t nrhs;
    bool bare, fresh, certify;
    bool settled;     /* arrays on a device are ready to be read */
    bool own;         /* the packs are those with pivots of their own */
    int64_t *in_pack; /* packs x width: the slot in each lane; -1: none */
    int64_t *list;    /* the packs at work */
    int64_t packs;
    _Atomic int64_t done; /* for progress */
    _Atomic int failed;   /* an mpk_status that ends the call */
    void **values; /* by slot: values of a system whose solution by a device was no good; NULL:
                      they lie in lanes */
} mpki_systems_job;

/** Where entry e of a column of system b lies: p + e step. */
typedef struct mpki_strand {
    char *p;
    int64_t step; /* entries */
} mpki_strand;
static inline mpki_strand mpki_strand_of(const mpk_batch_array *x, int64_t b, size_t size) {
    if (x->layout == MPK_BATCH_POINTERS) return (mpki_strand){((char *const *)x->data)[b], 1};
    if (x->layout == MPK_BATCH_STRIDED)
        return (mpki_strand){(char *)x->data + b * x->stride * (int64_t)size, 1};
    return (mpki_strand){
        (char *)x->data + (b / x->width * x->stride + b % x->width) * (int64_t)size, x->width};
}

/** Entries from one strand to another. */
static inline void mpki_strand_copy(size_t size, int64_t count, mpki_strand from, mpki_strand to) {
    const char *p = from.p;
    char *q = to.p;
    for (int64_t k = 0; k < count;
         k++, p += from.step * (int64_t)size, q += to.step * (int64_t)size)
        for (size_t byte = 0; byte < size; byte++) q[byte] = p[byte];
}

/** mpk_systems_create() with all options read. alone: no template, for there is one system */
mpk_status mpki_systems_make(mpk_context *ctx, const mpk_analysis *an, const mpk_options *options,
                             const mpk_systems_options *how, int64_t count, bool borrows,
                             bool alone, mpk_systems **out);
/** Contexts for the workers, with the memory of s->ctx; asked whether to stop they ask that one. */
mpk_status mpki_systems_children(mpk_systems *s);
/** A status that ended the work of one of them, recorded with the text it has there. */
mpk_status mpki_systems_blame(const mpk_systems *s, mpk_status status);
mpk_status mpki_systems_options_read(mpk_context *ctx, const mpk_systems_options *how,
                                     mpk_systems_options *full);
mpk_status mpki_systems_check_count(mpk_context *ctx, int64_t count);

/** A verb: job->ax (factorize), job->b and x (solve), or both. */
mpk_status mpki_systems_verb(mpk_context *ctx, mpki_systems_job *job, const uint8_t *mask,
                             const mpk_systems_results *results);
/** Is this array one of `count` columns, in host memory or the engine's (NULL: host)? rows, columns:
 *  of each; columns < 0: ld is not read */
mpk_status mpki_systems_check_array(mpk_context *ctx, const mpki_systems_engine *engine,
                                    mpk_scalar scalar, int64_t count, const char *name,
                                    const mpk_batch_array *x, int64_t rows, int64_t columns);
/** Which numbers the systems were refused for whose status is MPK_ERR_INPUT (refused.c). MPK_OK |
 *  MPK_ERR_MEMORY, _DEVICE */
mpk_status mpki_systems_find_refusals(mpki_systems_job *job);
/** What all of them come to, by what is said of each; recorded. */
mpk_status mpki_systems_sum(mpk_context *ctx, const mpki_said *said, int64_t count);
/** Its factors are in a lane, or on a device. */
static inline bool mpki_slot_in_lane(const mpki_slot *slot) {
    return slot->tier == MPK_TIER_TEMPLATE || slot->tier == MPK_TIER_OWN;
}
/** Its pack; not on a device. */
static inline mpki_lanes_pack *mpki_slot_pack(const mpk_systems *s, const mpki_slot *slot) {
    return (slot->tier == MPK_TIER_OWN ? s->own : s->pack) + slot->place / s->width;
}
/** This system has no factors any more. */
void mpki_slot_give_up(mpki_slot *slot);

/** The calls, checked: factorize (job->ax) and solve (job->b, x) the systems that are marked in
 *  s->said. Returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED, recorded; what became of each is in
 *  s->said. */
mpk_status mpki_systems_run(mpki_systems_job *job);

/** Room for packs of s->count systems. MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_packs_make(mpk_systems *s, int64_t count);
void mpki_packs_free(mpk_systems *s);

/** A singular matrix passes for a regular one with at most this probability, where nobody asked for
 *  a certificate: pivots that are sure let 5e-5 of them pass. */
#define MPKI_SYSTEMS_MISS 1e-6

/** When the pivots of a system will do, by the options. */
mpki_lanes_rules mpki_systems_rules(const mpk_systems *s);

/** Systems on a device (device.c). open: s->engine. make: s->many from the template; where the
 *  device cannot have it there is none, and s->reason says why. run: the systems of a call that have
 *  a place there. singles: what the single engine needs of the device is brought, `item` is done for
 *  each home, solutions go back. MPK_OK | MPK_ERR_ARGUMENT, _MEMORY, _DEVICE */
mpk_status mpki_device_open(mpk_systems *s);
mpk_status mpki_device_make(mpk_systems *s);
void mpki_device_free(mpk_systems *s);
mpk_status mpki_device_run(mpki_systems_job *job);
mpk_status mpki_device_singles(mpki_systems_job *job, mpki_pool *pool, mpki_task_fn item);
/** A quantity of a system whose factors lie there: scale, D or the log-determinant. */
mpk_status mpki_device_get(const mpk_systems *s, const mpki_slot *slot, mpk_quantity what,
                           void *out);

/** Work of the single engine (single.c): systems that are at home in context `home`. */
void mpki_single_run(mpki_systems_job *job, int home);
/** A system's inertia by it: examined where it was not. */
mpk_status mpki_single_certify(mpk_systems *s, mpki_slot *slot);
void mpki_single_drop(mpki_slot *slot);

/* clang-format off */
#define MPKI_SYSTEMS(p)                                                                            \
    /** cpu_lanes(most) and its width; and bytes of work->w for a plan */                          \
    const void *mpki_##p##_lanes_choose(int most, int *width);                                     \
    int64_t mpki_##p##_lanes_panel(const mpki_lanes_plan *plan, const void *kernels);              \
    /** one pack of a job, which factorizes, solves, certifies */                                  \
    void mpki_##p##_pack_run(mpki_systems_job *job, int worker, int64_t pack);                     \
    /** values of a lane, in the order of the analysis; likewise its D, as MPK_GET_D, and scale */ \
    void mpki_##p##_lane_values(const mpk_systems *s, const mpki_slot *slot, void *ax);            \
    void mpki_##p##_lane_d(const mpk_systems *s, const mpki_slot *slot, void *d);                  \
    void mpki_##p##_lane_scale(const mpk_systems *s, const mpki_slot *slot, double *scale);        \
    void mpki_##p##_lane_logdet(const mpk_systems *s, const mpki_slot *slot, double out[3]);
/* clang-format on */
MPKI_SYSTEMS(s)
MPKI_SYSTEMS(d)
MPKI_SYSTEMS(c)
MPKI_SYSTEMS(z)
#undef MPKI_SYSTEMS

#endif
