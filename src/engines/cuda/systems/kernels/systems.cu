/* SPDX-License-Identifier: BSD-3-Clause */
/* The module's table for many systems of one pattern: which kind of entries. */
#include "table.cuh"

using namespace mpki;

static const mpki_cuda_systems_kind *const kinds[] = {&mpki_s_cuda_systems, &mpki_d_cuda_systems,
                                                      &mpki_c_cuda_systems, &mpki_z_cuda_systems};

static int shape(mpki_cuda *cuda, mpk_scalar scalar, const mpki_cuda_systems_plan *plan,
                 int64_t count, int32_t nrhs, mpki_cuda_systems_shape *out) {
    MPKI_TRY(be_on_device(cuda));
    return kinds[scalar]->shape(cuda, plan, count, nrhs, out);
}

static int run(mpki_cuda *cuda, mpk_scalar scalar, const mpki_cuda_systems_job *job) {
    if (job->count == 0) return MPK_OK;
    MPKI_TRY(be_on_device(cuda));
    return kinds[scalar]->run(cuda, job);
}

static int copy(mpki_cuda *cuda, void *to, const void *from, int64_t bytes, int to_device) {
    if (bytes <= 0) return MPK_OK;
    MPKI_TRY(be_on_device(cuda));
    MPKI_TRY(cudaMemcpyAsync(to, from, (size_t)bytes,
                             to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost,
                             cuda->sparse));
    return MPK_OK;
}

static int wait(mpki_cuda *cuda) {
    MPKI_TRY(cudaStreamSynchronize(cuda->sparse));
    return MPK_OK;
}

extern "C" const struct mpki_cuda_systems_table mpki_cuda_systems_functions;
extern "C" const struct mpki_cuda_systems_table mpki_cuda_systems_functions = {shape, run, copy,
                                                                               wait};
