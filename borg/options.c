/* SPDX-License-Identifier: BSD-3-Clause */
/* Which options a source, a text and a backend take; all others are refused. */
#include "borg/options.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static borg_status refuse(borg_program *p, const char *format, ...) {
    va_list arguments;
    borg_sink text = {.arena = &p->arena};
    va_start(arguments, format);
    borg_vput(&text, format, arguments);
    va_end(arguments);
    borg_report(&p->diags, BORG_ERROR, (borg_loc){0}, "%s", text.text);
    return BORG_ERR_OPTION;
}

const char *borg_disable_text(int32_t bit) {
    static const char *const names[] = {"reuse",     "scalar",  "vector",
                                        "segmented", "permute", "stream"};
    int32_t k = 0;
    while (k < 6 && bit >> k != 1) ++k;
    return k < 6 ? names[k] : NULL;
}

/* Without a backend the module itself is what is made: no machine's options reach it. */
static borg_status check_backend(borg_program *p, const borg_options *o, const borg_backend *b) {
    const char *name = b ? b->name : "infreg";
    const int32_t takes = b ? b->takes : BORG_TAKES_ORDER | BORG_TAKES_WHOLE;
    if (o->lanes && !(takes & BORG_TAKES_LANES))
        return refuse(p, "--lanes: the backend %s has no threads that share a work-group", name);
    if (o->order == BORG_WG_MINOR && !(takes & BORG_TAKES_ORDER))
        return refuse(p, "--lane-order=wg: the backend %s does not interleave groups", name);
    if (o->whole_packs && !(takes & BORG_TAKES_WHOLE))
        return refuse(p, "--whole-packs: the backend %s makes no code for what is left of a pack",
                      name);
    if (o->stage && !(takes & BORG_TAKES_STAGE))
        return refuse(p, "--stage: the backend %s stages nothing", name);
    if ((o->units || o->budget) && !(takes & BORG_TAKES_UNITS))
        return refuse(p, "--units, --budget: the backend %s makes no pipeline of units", name);
    if (o->format && !(takes & BORG_TAKES_FORMAT))
        return refuse(p, "--format: the backend %s has one format", name);
    if (o->loops == BORG_LOOPS_ALWAYS && !(b && b->machine.rolls))
        return refuse(p, "--loops=always: the backend %s keeps no loops over private arrays", name);
    if (o->flat > 0 && !(b && b->machine.flat))
        return refuse(p, "--flat: the backend %s makes no flat modules", name);
    for (int32_t bit = 1; bit <= BORG_STREAM; bit *= 2)
        if (o->disable & bit & ~(b ? b->disables : 0))
            return refuse(p, "--disable=%s: the backend %s has nothing of that kind to leave out",
                          borg_disable_text(bit), name);
    if (o->fast_rcp && b && !b->fast_rcp)
        return refuse(p, "--fast-rcp: the backend %s has no approximate reciprocal", name);
    return BORG_OK;
}

static bool names_pointers(const char *nontemporal) {
    return nontemporal && strcmp(nontemporal, "auto") != 0 && strcmp(nontemporal, "never") != 0;
}

/* Each name is that of a pointer through which some kernel may write. */
static borg_status check_nontemporal(borg_program *p, const borg_options *o,
                                     const borg_backend *b) {
    if (!names_pointers(o->nontemporal)) return BORG_OK;
    if (!b || !b->nontemporal)
        return refuse(p, "--nontemporal: the backend %s does not store past the caches",
                      b ? b->name : "infreg");
    for (const char *s = o->nontemporal;; ++s) {
        const int length = (int)strcspn(s, ",");
        bool found = false;
        for (int32_t i = 0; i < p->nunits; ++i)
            for (int32_t k = 0; k < p->units[i].module->nparams; ++k)
                found |= borg_named_nontemporal(&p->units[i].module->params[k], s);
        if (!found)
            return refuse(p,
                          "--nontemporal: no kernel has a pointer '%.*s' that it may write "
                          "through",
                          length, s);
        s += length;
        if (!*s) return BORG_OK;
    }
}

/* A pass that does not run has nothing to show. */
static borg_status check_dump(borg_program *p, const borg_options *o, bool passes) {
    static const char *const always[] = {"ast", "ssa", "infreg", "mma", "dce"};
    if (!o->dump || passes) return BORG_OK;
    for (int32_t k = 0; k < 5; ++k)
        if (strcmp(o->dump, always[k]) == 0) return BORG_OK;
    return refuse(p, "--dump=%s: without --optimise=1 this pass does not run", o->dump);
}

/* A kernel for warps of any size comes straight from the tree. */
static borg_status check_any_size(borg_program *p, const borg_options *o) {
    if ((o->set && *o->set) || o->pack > 1 || o->pack == BORG_PACK_AUTO || o->unroll_budget ||
        o->optimise || o->loops || o->no_vector || o->flat || o->verify ||
        (o->dump && strcmp(o->dump, "ast") != 0))
        return refuse(p, "--sizes=any: no intermediate form is made, so --set, WG_PACK, --loops, "
                         "--flat, --no-vector, --unroll-budget, --optimise, --verify and dumps "
                         "but ast's have nothing to say");
    return check_backend(p, o, o->backend);
}

borg_status borg_check_source(borg_program *p, const borg_options *o) {
    if (o->size == BORG_ANY_SIZE && o->backend && o->backend->any_size) return check_any_size(p, o);
    if (o->size < 1 || o->size > BORG_MAX_SIZE) return refuse(p, "WG_SIZE must be 1 to 256");
    if (o->pack < BORG_PACK_AUTO || o->pack > BORG_MAX_PACK)
        return refuse(p, "WG_PACK must be 1 to 64 or auto");
    for (const char *const *s = o->set; s && *s; ++s) {
        const char *value = strchr(*s, '=');
        char *rest = NULL;
        errno = 0;
        if (value) (void)strtoll(value + 1, &rest, 0);
        if (!value || value == *s || rest == value + 1 || *rest)
            return refuse(p, "--set needs NAME=value, an integer");
        if (errno == ERANGE) return refuse(p, "--set needs an integer of 64 bits");
    }
    if (names_pointers(o->nontemporal) && !o->backend) return check_nontemporal(p, o, NULL);
    const borg_status status = check_backend(p, o, o->backend);
    return status ? status : check_dump(p, o, o->optimise >= 0);
}

borg_status borg_check_text(borg_program *p, const borg_options *o) {
    const char *given = o->set && *o->set               ? "--set"
                        : o->kernel                     ? "--kernel"
                        : o->order == BORG_WG_MINOR     ? "--lane-order"
                        : o->whole_packs                ? "--whole-packs"
                        : o->loops == BORG_LOOPS_ALWAYS ? "--loops=always"
                        : o->flat > 0                   ? "--flat"
                        : o->no_vector                  ? "--no-vector"
                        : o->unroll_budget              ? "--unroll-budget"
                                                        : NULL;
    if (given) return refuse(p, "%s: for a source, the text of --ir says it itself", given);
    for (int32_t k = 0; k < 3; ++k) {
        static const char *const forms[] = {"ast", "ssa", "infreg"};
        if (o->dump && strcmp(o->dump, forms[k]) == 0)
            return refuse(p, "--dump=%s: for a source", o->dump);
    }
    const borg_status status = check_backend(p, o, o->backend);
    if (status || o->optimise > 0) return status;
    return o->dump ? refuse(p, "--dump=%s: without --optimise=1 no pass runs", o->dump) : BORG_OK;
}

borg_status borg_check_made(borg_program *p, const borg_options *o) {
    bool rolled = false, flat = false;
    for (int32_t i = 0; i < p->nunits; ++i) {
        const borg_unit *u = &p->units[i];
        if (u->tree) return BORG_OK;
        rolled |= u->module->rolled || (u->tail && u->tail->rolled);
        flat |= u->flat != NULL;
    }
    if (o->loops == BORG_LOOPS_ALWAYS && !rolled)
        return refuse(p, "--loops=always: no loop of '%s' is over arrays that fill the registers",
                      p->units[0].name);
    if (o->flat > 0 && !flat)
        return refuse(p,
                      "--flat: there is no flat module of '%s': its work-items have to do with "
                      "each other, or other options leave none",
                      p->units[0].name);
    return BORG_OK;
}

borg_status borg_check_emit(borg_program *p, const borg_options *o, const borg_backend *backend) {
    const borg_status status = check_backend(p, o, backend);
    for (int32_t i = 0; i < p->nunits && !(backend->takes & BORG_TAKES_NARROW); ++i)
        for (int32_t k = 0; p->units[i].module && k < p->units[i].module->nparams; ++k)
            if (borg_is_narrow(p->units[i].module->params[k].elem))
                return refuse(p, "'%s': the backend %s has no char, short or half in memory",
                              p->units[i].module->params[k].name, backend->name);
    return status ? status : check_nontemporal(p, o, backend);
}
