/* SPDX-License-Identifier: BSD-3-Clause */
/* The two choices on which all else depends: the form of a factor, and the engine that computes
 * it. */
#include "../engines/cpu/isa/level.h"
#include "../analysis/block/block.h"
#include "config.h"
#include "narrow.h"

static const mpki_form *form_of(mpk_method method) {
    if (method == MPK_METHOD_NONE) return &mpki_scaling_form;
    return mpki_on_blocks(method) ? &mpki_block_form : &mpki_direct_form;
}

const mpki_form *mpki_form_of(const mpk_analysis *an) {
    const mpki_form *form = form_of(an->options.method);
    return form == &mpki_direct_form && an->symmetry == MPK_GENERAL ? &mpki_general_form : form;
}

static const char *cpu_name(const mpk_context *ctx) {
    (void)ctx;
    return mpki_cpu_name();
}

static const mpki_engine cpu = {.name = cpu_name,
                                .memory = MPK_HOST,
                                .direct = &mpki_cpu_direct,
                                .blocks = &mpki_cpu_blocks,
                                .vectors = &mpki_cpu_vectors};

static const mpki_engine *device_engine(mpk_context *ctx, int number) {
#if MPKI_HAVE_CUDA
    return mpki_cuda_engine(ctx, number);
#else
    mpki_error(ctx, MPK_ERR_DEVICE, "device", number, "METAPACK was built without CUDA");
    return NULL;
#endif
}

/* Has this engine what a factor needs? */
static bool has(const mpki_engine *engine, mpk_method method) {
    const mpki_form *form = form_of(method);
    /* one that leaves vectors to the processor would have nothing to do for a scaling */
    const bool idle = engine != &cpu && engine->vectors == cpu.vectors;
    return engine->vectors &&
           ((form == &mpki_scaling_form && !idle) ||
            (form == &mpki_block_form ? engine->blocks != NULL : engine->direct != NULL));
}

/* With device = auto: has this factor anything to gain by one? Frames that all wait for one another
 * are for a processor: a chain of 4998 takes an H100 504 ms and four cores 63; with 4.5 frames a
 * level set the device takes half the processor's time (bench/results/incomplete-gpu.md). */
static bool worth_it(const mpk_analysis *an) {
    enum { FRAMES_A_SET = 2 };
    const mpk_options *o = &an->options;
    if (!mpki_worth_a_device(an->nnz)) return false;
    if (!an->block || o->schedule == MPK_SCHEDULE_JACOBI || o->method == MPK_METHOD_DIAGONAL ||
        o->method == MPK_METHOD_BLOCK_JACOBI)
        return true;
    return an->block->blocking.nframes >= FRAMES_A_SET * (int64_t)an->block->chain;
}

const mpki_engine *mpki_engine_of(mpk_context *ctx, const mpk_analysis *an,
                                  const mpk_options *options) {
    const mpki_engine *told = mpki_context_engine(ctx);
    if (an && an->split && (told || (options && options->device == MPK_ON_CUDA))) {
        mpki_error(ctx, MPK_ERR_UNSUPPORTED, "device", -1,
                   "Schur complements are not computed on %s; %s takes the processor",
                   told ? told->name(ctx) : "a device",
                   told ? "a context without it" : "device = auto or cpu");
        return NULL;
    }
    if (an && an->split) return &cpu;
    if (an && mpki_form_of(an) == &mpki_general_form) {
        if (!told && !(options && options->device == MPK_ON_CUDA)) return &cpu;
        mpki_error(ctx, MPK_ERR_UNSUPPORTED, "device", -1,
                   "a matrix that is not symmetric is not factorized directly on %s: method ildlt "
                   "with factor_type ldu is, and %s takes the processor",
                   told ? told->name(ctx) : "a device",
                   told ? "a context without it" : "device = auto or cpu");
        return NULL;
    }
    const mpki_less less = an && options ? mpki_less_asked(an, options) : (mpki_less){0};
    const bool asked = less.narrow || less.low_rank > 0;
    if (asked && (told || options->device == MPK_ON_CUDA)) {
        mpki_less_refused(ctx, less);
        return NULL;
    }
    if (asked) return &cpu;
    if (told && told->apart && options && options->device != MPK_ON_CPU) {
        mpki_error(ctx, MPK_ERR_UNSUPPORTED, "accelerator", -1,
                   "device %s is not read beside an accelerator: %s is where it computes",
                   mpk_option_word("device", (int)options->device), told->name(ctx));
        return NULL;
    }
    if (told && (!an || has(told, an->options.method))) return told;
    if (told) {
        mpki_error(ctx, MPK_ERR_UNSUPPORTED, "accelerator", -1,
                   "%s does not have method %s; ildlt it has", told->name(ctx),
                   mpk_method_name(an->options.method == MPK_METHOD_AUTO ? MPK_METHOD_LDLT
                                                                         : an->options.method));
        return NULL;
    }
    if (!options || options->device == MPK_ON_CPU) return &cpu;
    if (options->device == MPK_ON_AUTO && an && !worth_it(an)) return &cpu;
    const mpki_engine *engine = device_engine(ctx, options->device_number);
    if (engine && (!an || has(engine, an->options.method))) return engine;
    if (options->device == MPK_ON_AUTO) {
        mpki_clear_error(ctx);
        return &cpu;
    }
    if (engine)
        mpki_error(ctx, MPK_ERR_UNSUPPORTED, "device", -1,
                   "method %s does not run on a device; device = cpu does it",
                   mpk_method_name(an->options.method == MPK_METHOD_AUTO ? MPK_METHOD_LDLT
                                                                         : an->options.method));
    return NULL;
}

void mpki_engine_use(mpk_context *ctx, const mpki_engine *engine) {
    mpki_context_set_engine(ctx, engine);
}
