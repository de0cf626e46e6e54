/* SPDX-License-Identifier: BSD-3-Clause */
/* A GPU as a machine of batches (metapack/accelerator.h). All that changes values is queued on one
 * stream, in the order of the calls; lists go ahead of it on another one, through a ring of page-locked
 * memory, so that nobody waits but who asks for results. */
#include "machine.cuh"

#include <metapack/options.h>

#include <map>
#include <new>
#include <string.h>
#include <vector>

namespace mpki {

/** Pieces of one size, cut from slabs of device memory. */
struct pieces {
    std::vector<void *> free;
    int64_t next; /* bytes of the next slab */
};

/** Where a result goes when it is there: from here in a segment. */
struct result {
    int64_t at, bytes;
    void *to;
};

/** A part of the ring: lists of one call on their way, and what it finds. */
struct segment {
    char *host, *device;
    int64_t bytes;
    cudaEvent_t copied, used;
    bool busy;
    int results;
    result found[2];
};

struct mark {
    cudaEvent_t began, ended;
    int32_t kernel, tag;
};

} // namespace mpki

struct mpki_cuda_machine {
    mpki_cuda *cuda;
    int (*take)(mpki_cuda *cuda, int64_t bytes, void **ptr); /* the module's */
    void (*give)(mpki_cuda *cuda, void *ptr);
    std::map<int64_t, mpki::pieces> by_size;
    std::map<char *, int64_t> slab_of, slab_bytes; /* by address: bytes of its pieces, of itself */
    int64_t in_use;
    enum { SEGMENTS = 8 };
    mpki::segment ring[SEGMENTS];
    int at;
    void *scratch;
    int64_t scratch_bytes;
    std::vector<mpki::mark> marks;
    std::vector<cudaEvent_t> events; /* idle ones */
    cudaEvent_t now;
    bool clock;
    size_t told; /* marks before it have been told */
};

namespace mpki {
namespace {

typedef mpki_cuda_machine machine;

const int64_t SLAB_LEAST = 1 << 20, SLAB_MOST = 256 << 20, SEGMENT_LEAST = 1 << 18,
              PORTION = 2 << 20;

cudaStream_t work(const machine *m) {
    return m->cuda->sparse;
}
cudaStream_t copies(const machine *m) {
    return m->cuda->side;
}

// ---- memory ----

mpk_status grow(machine *m, int64_t bytes, pieces &of) {
    void *slab;
    if (of.next == 0) of.next = bytes > SLAB_LEAST ? bytes : SLAB_LEAST;
    if (mpk_failed((mpk_status)m->take(m->cuda, of.next, &slab))) { /* one piece may be there yet */
        of.next = bytes;
        MPKI_PASS(m->take(m->cuda, of.next, &slab));
    }
    m->slab_of[(char *)slab] = bytes;
    m->slab_bytes[(char *)slab] = of.next;
    for (int64_t at = of.next / bytes; at > 0; --at)
        of.free.push_back((char *)slab + (at - 1) * bytes);
    if (2 * of.next <= SLAB_MOST) of.next *= 2;
    return MPK_OK;
}

mpk_status allocate(void *self, int64_t bytes, void **p) {
    machine *m = (machine *)self;
    const int64_t size = (bytes + 31) / 32 * 32;
    pieces &of = m->by_size[size];
    *p = NULL;
    if (of.free.empty()) MPKI_PASS(grow(m, size, of));
    *p = of.free.back();
    of.free.pop_back();
    ++m->in_use;
    return MPK_OK;
}

/** All slabs go back, in the order of the stream: nobody has a piece of them. */
void forget(machine *m) {
    for (const auto &slab : m->slab_of) m->give(m->cuda, slab.first);
    m->slab_of.clear();
    m->slab_bytes.clear();
    m->by_size.clear();
}

void release(void *self, void *p) {
    machine *m = (machine *)self;
    if (!p) return;
    auto slab = m->slab_of.upper_bound((char *)p);
    --slab;
    /* what is queued with it comes before what is queued with its next owner */
    m->by_size[slab->second].free.push_back(p);
    if (--m->in_use == 0) forget(m);
}

// ---- the ring ----

/** To the caller's arrays; the kernel has ended. */
void deliver(segment &s) {
    for (int k = 0; k < s.results; ++k)
        memcpy(s.found[k].to, s.host + s.found[k].at, (size_t)s.found[k].bytes);
    s.results = 0;
}

mpk_status make_segment(machine *m, segment &s, int64_t bytes) {
    mpki_cuda *cuda = m->cuda;
    if (s.busy) MPKI_TRY(cudaEventSynchronize(s.used));
    s.busy = false;
    deliver(s);
    if (s.bytes >= bytes) return MPK_OK;
    if (s.host) cudaFreeHost(s.host);
    if (s.device) cudaFree(s.device);
    s.host = s.device = NULL;
    s.bytes = 0;
    const int64_t size = bytes > SEGMENT_LEAST ? bytes + bytes / 2 : SEGMENT_LEAST;
    if (!s.copied) MPKI_TRY(cudaEventCreateWithFlags(&s.copied, cudaEventDisableTiming));
    if (!s.used) MPKI_TRY(cudaEventCreateWithFlags(&s.used, cudaEventDisableTiming));
    MPKI_TRY(cudaMallocHost((void **)&s.host, (size_t)size));
    MPKI_TRY(cudaMalloc((void **)&s.device, (size_t)size));
    s.bytes = size;
    return MPK_OK;
}

/** The next part of the ring, when what it had before was used. */
mpk_status next_segment(machine *m, int64_t bytes, segment **out) {
    *out = &m->ring[m->at];
    m->at = (m->at + 1) % machine::SEGMENTS;
    mpki_cuda *cuda = m->cuda;
    MPKI_TRY(be_on_device(cuda));
    return make_segment(m, **out, bytes);
}

/** Its first bytes to the device; the work that is queued next waits for them. */
mpk_status send(machine *m, segment *s, int64_t bytes) {
    mpki_cuda *cuda = m->cuda;
    MPKI_TRY(cudaMemcpyAsync(s->device, s->host, (size_t)bytes, cudaMemcpyHostToDevice, copies(m)));
    MPKI_TRY(cudaEventRecord(s->copied, copies(m)));
    MPKI_TRY(cudaStreamWaitEvent(work(m), s->copied, 0));
    return MPK_OK;
}

mpk_status mark_used(machine *m, segment *s) {
    mpki_cuda *cuda = m->cuda;
    MPKI_TRY(cudaEventRecord(s->used, work(m)));
    s->busy = true;
    return MPK_OK;
}

/** Lists are put one after the other; returns where this one will lie on the device. */
struct packer {
    segment *s;
    int64_t used;
    const void *put(const void *from, int64_t bytes) {
        if (!from) return NULL;
        const int64_t at = used;
        memcpy(s->host + at, from, (size_t)bytes);
        used = at + (bytes + 15) / 16 * 16;
        return s->device + at;
    }
    /** Room for a result behind all lists; NULL: nobody asks for it. */
    void *find(void *to, int64_t bytes) {
        if (!to) return NULL;
        const int64_t at = used;
        s->found[s->results++] = {at, bytes, to};
        used = at + (bytes + 15) / 16 * 16;
        return s->device + at;
    }
};

// ---- copies ----

mpk_status upload(void *self, void *to, const void *from, int64_t bytes) {
    machine *m = (machine *)self;
    mpki_cuda *cuda = m->cuda;
    segment *s;
    MPKI_PASS(next_segment(m, bytes, &s));
    memcpy(s->host, from, (size_t)bytes);
    MPKI_TRY(cudaMemcpyAsync(to, s->host, (size_t)bytes, cudaMemcpyHostToDevice, work(m)));
    return mark_used(m, s);
}

mpk_status download(void *self, void *to, const void *from, int64_t bytes) {
    machine *m = (machine *)self;
    mpki_cuda *cuda = m->cuda;
    segment *s;
    MPKI_PASS(next_segment(m, bytes, &s));
    MPKI_TRY(cudaMemcpyAsync(s->host, from, (size_t)bytes, cudaMemcpyDeviceToHost, work(m)));
    MPKI_TRY(cudaStreamSynchronize(work(m)));
    memcpy(to, s->host, (size_t)bytes);
    return MPK_OK;
}

/** A piece in each block, words of four bytes. */
__global__ void move_kernel(void *const *pieces, int *line, long long words, int apart) {
    int *const piece = (int *)pieces[blockIdx.x];
    int *const mine = line + blockIdx.x * words;
    for (long long k = threadIdx.x; k < words; k += blockDim.x) {
        if (apart)
            piece[k] = mine[k];
        else
            mine[k] = piece[k];
    }
}

/** As many pieces as go through the ring at a time. */
int64_t some_of(int64_t count, int64_t bytes) {
    const int64_t fit = PORTION / (bytes + (int64_t)sizeof(void *));
    return count < fit ? count : fit < 1 ? 1 : fit;
}

mpk_status scatter(void *self, int64_t count, void *const *to, const void *from, int64_t bytes) {
    machine *m = (machine *)self;
    mpki_cuda *cuda = m->cuda;
    for (int64_t first = 0, some; first < count; first += some) {
        segment *s;
        some = some_of(count - first, bytes);
        MPKI_PASS(next_segment(m, some * (bytes + (int64_t)sizeof *to) + 32, &s));
        packer list = {s, 0};
        void *const *pieces = (void *const *)list.put(to + first, some * (int64_t)sizeof *to);
        int *line = (int *)list.put((const char *)from + first * bytes, some * bytes);
        MPKI_PASS(send(m, s, list.used));
        MPKI_LAUNCH(move_kernel, some, 128, 0, work(m), pieces, line, bytes / 4, 1);
        MPKI_TRY(cudaGetLastError());
        MPKI_PASS(mark_used(m, s));
    }
    return MPK_OK;
}

mpk_status gather(void *self, int64_t count, void *to, void *const *from, int64_t bytes) {
    machine *m = (machine *)self;
    mpki_cuda *cuda = m->cuda;
    for (int64_t first = 0, some; first < count; first += some) {
        segment *s;
        some = some_of(count - first, bytes);
        MPKI_PASS(next_segment(m, some * (bytes + (int64_t)sizeof *from) + 32, &s));
        packer list = {s, 0};
        void *const *pieces = (void *const *)list.put(from + first, some * (int64_t)sizeof *from);
        const int64_t line = list.used;
        MPKI_PASS(send(m, s, list.used));
        MPKI_LAUNCH(move_kernel, some, 128, 0, work(m), pieces, (int *)(s->device + line),
                    bytes / 4, 0);
        MPKI_TRY(cudaGetLastError());
        MPKI_TRY(cudaMemcpyAsync(s->host + line, s->device + line, (size_t)(some * bytes),
                                 cudaMemcpyDeviceToHost, work(m)));
        MPKI_TRY(cudaStreamSynchronize(work(m)));
        memcpy((char *)to + first * bytes, s->host + line, (size_t)(some * bytes));
    }
    return MPK_OK;
}

// ---- kernels ----

/** Are pivots to be looked for as no kernel does: along the diagonal alone, or by rows alone? */
bool lacks_pivoting(const mpk_accelerator_task *t) {
    if (t->kernel != MPK_ACCELERATOR_FACTORIZE || !t->batch->perm) return false;
    return t->type == MPK_TYPE_LDLT ? !t->pairs : t->type == MPK_TYPE_LDU && !t->columns;
}

block_kernel kernel_of(const mpk_accelerator_task *t) {
    switch (t->kernel) {
    case MPK_ACCELERATOR_FACTORIZE: /* of LLT any order will do: its own */
        return !t->batch->perm           ? BLOCK_FACTORIZE
               : t->type == MPK_TYPE_LDU ? BLOCK_FACTORIZE_APART
               : t->type == MPK_TYPE_LLT ? BLOCK_FACTORIZE
                                         : BLOCK_FACTORIZE_PAIRS;
    case MPK_ACCELERATOR_SOLVE:
        return BLOCK_SOLVE;
    case MPK_ACCELERATOR_DOWNDATE:
        return t->shared ? BLOCK_PRODUCT : BLOCK_DOWNDATE;
    case MPK_ACCELERATOR_TRANSPOSE:
        return BLOCK_TRANSPOSE;
    case MPK_ACCELERATOR_ZERO_OUT:
        return BLOCK_ZERO_OUT;
    case MPK_ACCELERATOR_MEASURE:
        return BLOCK_MEASURE;
    case MPK_ACCELERATOR_DROP:
        return BLOCK_DROP;
    default:
        return BLOCK_PERMUTE;
    }
}

/** Blocks for products, as many as are at work at once. */
mpk_status make_scratch(machine *m, block_job &job, int n, int64_t size) {
    mpki_cuda *cuda = m->cuda;
    const int64_t at_work = 8, sms = cuda->sms > 0 ? cuda->sms : 1;
    job.slots = sms * at_work * (128 / n);
    const int64_t bytes = job.slots * n * n * size;
    if (m->scratch_bytes < bytes) {
        MPKI_TRY(cudaStreamSynchronize(work(m)));
        if (m->scratch) cudaFree(m->scratch);
        m->scratch = NULL, m->scratch_bytes = 0;
        MPKI_TRY(cudaMalloc(&m->scratch, (size_t)bytes));
        m->scratch_bytes = bytes;
    }
    job.scratch = m->scratch;
    return MPK_OK;
}

/** An event, with a time; it is idle until it has been taken. */
mpk_status take_event(machine *m, cudaEvent_t *event) {
    mpki_cuda *cuda = m->cuda;
    if (m->events.empty()) {
        cudaEvent_t made;
        MPKI_TRY(cudaEventCreateWithFlags(&made, cudaEventDefault));
        m->events.push_back(made);
    }
    MPKI_TRY(cudaEventRecord(m->events.back(), work(m)));
    *event = m->events.back();
    m->events.pop_back();
    return MPK_OK;
}

/** Launch, between two events where the clock runs. */
mpk_status launch_timed(machine *m, block_launch *launch, block_kernel kernel, const block_job &job,
                        mark when) {
    if (!m->clock) return launch(m->cuda, kernel, job, work(m));
    MPKI_PASS(take_event(m, &when.began));
    mpk_status status = launch(m->cuda, kernel, job, work(m));
    if (!mpk_failed(status)) status = take_event(m, &when.ended);
    if (mpk_failed(status))
        m->events.push_back(when.began);
    else
        m->marks.push_back(when);
    return status;
}

/** Room in the ring for all lists and results of a task. */
int64_t room_of(const mpk_accelerator_task *t, int64_t items) {
    const int64_t entries = t->batch->count * t->batch->n, each = (int64_t)sizeof(void *);
    const bool drops = t->kernel == MPK_ACCELERATOR_MEASURE || t->kernel == MPK_ACCELERATOR_DROP;
    return items * (6 * each + 2 * (int64_t)sizeof(int32_t)) +
           (t->batch->count + 1) * (3 * each + (int64_t)sizeof(int32_t)) +
           (drops ? entries * (int64_t)sizeof(double) : 0) + 16 * 16;
}

mpk_status run(void *self, const mpk_accelerator_task *t) {
    machine *m = (machine *)self;
    mpki_cuda *cuda = m->cuda;
    const mpk_accelerator_batch *b = t->batch;
    const int64_t count = b->count, items = t->first ? t->first[count] : count,
                  blocks = count * (int64_t)sizeof(void *), lists = items * (int64_t)sizeof(void *),
                  numbers = items * (int64_t)sizeof(int32_t),
                  columns = count * b->n * (int64_t)sizeof(double);
    block_launch *launch = block_launch_of(b->n, t->scalar);
    if (!launch)
        return refuse(cuda, MPK_ERR_UNSUPPORTED,
                      "no kernel for blocks of %d rows in this precision", b->n);
    if (lacks_pivoting(t))
        return refuse(cuda, MPK_ERR_UNSUPPORTED,
                      "no kernel pivots without pairs: `pairs` and `pivoting` go together");
    if (count == 0) return MPK_OK;
    segment *s;
    MPKI_PASS(next_segment(m, room_of(t, items), &s));
    packer list = {s, 0};
    block_job job = {};
    job.block = (void *const *)list.put(b->block[0], blocks);
    job.a = (void *const *)list.put(b->block[1], lists);
    job.b = (void *const *)list.put(b->block[2], lists);
    job.pivot = (void *const *)list.put(b->pivot, lists);
    job.perm = (int *const *)list.put(b->perm, lists);
    job.columns = (int *const *)list.put(t->columns, lists);
    job.rows = (const int *)list.put(t->rows, numbers);
    job.frame = (const int *)list.put(t->frame, numbers);
    job.first = (const long long *)list.put(t->first, (count + 1) * (int64_t)sizeof(int64_t));
    if (t->kernel == MPK_ACCELERATOR_DROP) {
        job.limit = (const double *)list.put(t->limit, columns);
        job.keep = (const long long *)list.put(t->keep, blocks);
    }
    job.state = t->state;
    job.small = b->small, job.bound = t->bound;
    job.last = t->last, job.type = t->type, job.pairs = t->pairs;
    job.hermitian = t->hermitian, job.judging = t->state != NULL;
    job.perms = !b->perm ? 0 : t->columns ? 2 : 1;
    job.count = count;
    const block_kernel kernel = kernel_of(t);
    if (kernel == BLOCK_PRODUCT)
        MPKI_PASS(make_scratch(m, job, b->n, (int64_t)mpk_scalar_size(t->scalar)));
    const int64_t sent = list.used;
    const bool factorizes = t->kernel == MPK_ACCELERATOR_FACTORIZE;
    if (!t->state && (factorizes || t->kernel == MPK_ACCELERATOR_SOLVE)) {
        if (factorizes)
            job.trouble = (int *)list.find(b->trouble, count * (int64_t)sizeof(int32_t));
        job.largest = (double *)list.find(b->largest, count * (int64_t)sizeof(double));
    }
    if (t->kernel == MPK_ACCELERATOR_MEASURE) job.norm2 = (double *)list.find(t->norm2, columns);
    if (t->kernel == MPK_ACCELERATOR_DROP) job.kept = (long long *)list.find(t->kept, blocks);
    mpk_status status = send(m, s, sent);
    if (!mpk_failed(status))
        status = launch_timed(m, launch, kernel, job, {NULL, NULL, t->kernel, t->tag});
    if (mpk_failed(status)) {
        s->results = 0;
        return status;
    }
    if (list.used > sent)
        MPKI_TRY(cudaMemcpyAsync(s->host + sent, s->device + sent, (size_t)(list.used - sent),
                                 cudaMemcpyDeviceToHost, work(m)));
    return mark_used(m, s);
}

// ---- blocks at rest ----

int64_t rest_entries(int32_t n) {
    return n * (int64_t)n;
}
int64_t mask_words(int32_t n) {
    return (rest_entries(n) + 63) / 64;
}

int64_t compressed_bytes(void *, int32_t n) {
    return (mask_words(n) + rest_entries(n)) * 8; /* all may be there */
}
int64_t single_bytes(void *, int32_t n) {
    return rest_entries(n) * 4;
}
int64_t half_bytes(void *, int32_t n) {
    return (rest_entries(n) * 2 + 3) / 4 * 4;
}

/** As kernels/blocks.h has it: to the nearest, even of two; NaN stays. */
__device__ unsigned short half_of(float x) {
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    bits = x != x ? bits | 0x400000u : bits + 0x7fff + (bits >> 16 & 1);
    return (unsigned short)(bits >> 16);
}
__device__ float of_half(unsigned short half) {
    const unsigned bits = (unsigned)half << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/** One group has a block, dense and at rest. */
__global__ void single_kernel(double *const *dense, float *const *rest, int entries, int stores) {
    double *const x = dense[blockIdx.x];
    float *const y = rest[blockIdx.x];
    for (int k = (int)threadIdx.x; k < entries; k += (int)blockDim.x) {
        if (stores)
            y[k] = (float)x[k];
        else
            x[k] = (double)y[k];
    }
}

__global__ void half_kernel(double *const *dense, unsigned short *const *rest, int entries,
                            int stores) {
    double *const x = dense[blockIdx.x];
    unsigned short *const y = rest[blockIdx.x];
    for (int k = (int)threadIdx.x; k < entries; k += (int)blockDim.x) {
        if (stores)
            y[k] = half_of((float)x[k]);
        else
            x[k] = (double)of_half(y[k]);
    }
}

/** A bit for each entry that is not zero, and these; a thread has 64 entries, and counts those
 *  before them. */
__global__ void compressed_kernel(double *const *dense, unsigned long long *const *rest,
                                  int entries, int stores) {
    double *const x = dense[blockIdx.x];
    unsigned long long *const mask = rest[blockIdx.x];
    const int words = (entries + 63) / 64;
    double *const value = (double *)(mask + words);
    for (int w = (int)threadIdx.x; w < words; w += (int)blockDim.x) {
        const int begin = 64 * w, end = begin + 64 < entries ? begin + 64 : entries;
        unsigned long long bits = 0;
        int at = 0;
        if (stores) {
            for (int k = 0; k < begin; ++k) at += x[k] != 0;
            for (int k = begin; k < end; ++k)
                if (x[k] != 0) bits |= 1ull << (k - begin), value[at++] = x[k];
            mask[w] = bits;
        } else {
            for (int v = 0; v < w; ++v)
                for (bits = mask[v]; bits; bits &= bits - 1) ++at;
            for (int k = begin; k < end; ++k) x[k] = mask[w] >> (k - begin) & 1 ? value[at++] : 0;
        }
    }
}

enum rest_form { COMPRESSED, SINGLE, HALF };

/** Dense blocks from those at rest, or the other way. */
mpk_status convert(void *self, const mpk_accelerator_batch *b, rest_form form, int stores) {
    machine *m = (machine *)self;
    mpki_cuda *cuda = m->cuda;
    const int64_t lists = b->count * (int64_t)sizeof(void *);
    const int entries = (int)rest_entries(b->n);
    segment *s;
    if (b->count == 0) return MPK_OK;
    MPKI_PASS(next_segment(m, 2 * lists + 32, &s));
    packer list = {s, 0};
    double *const *dense = (double *const *)list.put(b->block[0], lists);
    const void *rest = list.put(b->block[1], lists);
    MPKI_PASS(send(m, s, list.used));
    if (form == COMPRESSED)
        MPKI_LAUNCH(compressed_kernel, b->count, 32, 0, work(m), dense,
                    (unsigned long long *const *)rest, entries, stores);
    else if (form == SINGLE)
        MPKI_LAUNCH(single_kernel, b->count, 128, 0, work(m), dense, (float *const *)rest, entries,
                    stores);
    else
        MPKI_LAUNCH(half_kernel, b->count, 128, 0, work(m), dense, (unsigned short *const *)rest,
                    entries, stores);
    MPKI_TRY(cudaGetLastError());
    return mark_used(m, s);
}

#define FORM(name, form)                                                                           \
    mpk_status load_##name(void *self, const mpk_accelerator_batch *b) {                           \
        return convert(self, b, form, 0);                                                          \
    }                                                                                              \
    mpk_status store_##name(void *self, const mpk_accelerator_batch *b) {                          \
        return convert(self, b, form, 1);                                                          \
    }
FORM(compressed, COMPRESSED)
FORM(single, SINGLE)
FORM(half, HALF)
#undef FORM

const mpk_accelerator_form forms[] = {
    {"compressed", compressed_bytes, load_compressed, store_compressed},
    {"single", single_bytes, load_single, store_single},
    {"bf16", half_bytes, load_half, store_half},
    {NULL, NULL, NULL, NULL}};

mpk_status wait(void *self) {
    machine *m = (machine *)self;
    mpki_cuda *cuda = m->cuda;
    MPKI_TRY(be_on_device(cuda));
    if (m->clock) MPKI_TRY(cudaEventRecord(m->now, work(m)));
    const cudaError_t failed = cudaStreamSynchronize(work(m));
    for (segment &s : m->ring) {
        if (failed) s.results = 0; /* whose arrays may soon be nobody's */
        deliver(s);
    }
    MPKI_TRY(failed);
    return MPK_OK;
}

/** Seconds from an event to the last wait. */
double before_now(machine *m, cudaEvent_t event) {
    float ms = 0;
    if (cudaEventElapsedTime(&ms, event, m->now)) cudaGetLastError();
    return 1e-3 * (double)ms;
}

/** Begin anew, or no more; what was recorded is forgotten. */
void set_clock(machine *m, bool runs) {
    for (; m->told < m->marks.size(); ++m->told) {
        m->events.push_back(m->marks[m->told].began);
        m->events.push_back(m->marks[m->told].ended);
    }
    m->marks.clear(), m->told = 0;
    if (runs && !m->now && cudaEventCreateWithFlags(&m->now, cudaEventDefault)) {
        cudaGetLastError(); /* nobody else is to find it */
        m->now = NULL;
    }
    m->clock = runs && m->now;
}

int64_t spans(void *self, int64_t most, mpk_accelerator_span *to) {
    machine *m = (machine *)self;
    int64_t count = 0;
    if (most <= 0) set_clock(m, most == 0);
    for (; count < most && m->told < m->marks.size(); ++m->told) {
        const mark &when = m->marks[m->told];
        to[count++] = {when.kernel, when.tag, before_now(m, when.began), before_now(m, when.ended)};
        m->events.push_back(when.began);
        m->events.push_back(when.ended);
    }
    if (m->told == m->marks.size()) m->marks.clear(), m->told = 0;
    return count;
}

const char *last_error(void *self) {
    return ((machine *)self)->cuda->text;
}

// ---- the machine ----

int make(mpki_cuda *cuda, int (*take)(mpki_cuda *, int64_t, void **),
         void (*give)(mpki_cuda *, void *), machine **out, const int32_t **sizes,
         unsigned *precisions) {
    machine *m = new (std::nothrow) machine();
    *out = m;
    *sizes = block_sizes;
    *precisions = block_precisions;
    if (!m) return MPK_ERR_MEMORY;
    m->cuda = cuda, m->take = take, m->give = give;
    return MPK_OK;
}

void unmake(machine *m) {
    if (!m || be_on_device(m->cuda)) return;
    cudaStreamSynchronize(work(m));
    forget(m);
    for (segment &s : m->ring) {
        if (s.host) cudaFreeHost(s.host);
        if (s.device) cudaFree(s.device);
        if (s.copied) cudaEventDestroy(s.copied);
        if (s.used) cudaEventDestroy(s.used);
    }
    set_clock(m, false);
    for (cudaEvent_t event : m->events) cudaEventDestroy(event);
    if (m->now) cudaEventDestroy(m->now);
    if (m->scratch) cudaFree(m->scratch);
    delete m;
}

} // namespace
} // namespace mpki

extern "C" const mpki_cuda_accelerator_table mpki_cuda_accelerator_functions = {
    mpki::make,     mpki::unmake,     mpki::allocate, mpki::release, mpki::upload,
    mpki::download, mpki::scatter,    mpki::gather,   mpki::run,     mpki::wait,
    mpki::spans,    mpki::last_error, mpki::forms};
