// SPDX-License-Identifier: BSD-3-Clause
// Ginkgo's kernel for the columns of approximate inverses of triangles, for bench/cuda/isai.cu built with
// -DWITH_GINKGO. Of its library, which takes long to build, this source file is compiled
// by itself: a checkout, configured so that ginkgo/config.hpp is there, in the include path. Its host functions, which
// call the library, are templates that nobody instantiates here. Up to 32 entries a row.
#define GKO_COMPILING_CUDA
#define GKO_DEVICE_NAMESPACE cuda
#include <ginkgo/core/matrix/csr.hpp>
#undef GKO_INSTANTIATE_FOR_EACH_VALUE_AND_INDEX_TYPE
#define GKO_INSTANTIATE_FOR_EACH_VALUE_AND_INDEX_TYPE(x) static_assert(true, "")
#include "common/cuda_hip/preconditioner/isai_kernels.cpp"

void ginkgo_inverse(bool upper, int n, const int *m_ptr, const int *m_index, const double *m_val,
                    const int *i_ptr, const int *i_index, double *i_val, int *excess,
                    int *excess_entries, cudaStream_t stream) {
    namespace theirs = gko::kernels::cuda::isai;
    enum { LANES = theirs::subwarp_size, EACH = theirs::subwarps_per_block };
    const int blocks = (n + EACH - 1) / EACH;
    const auto kernel = upper ? theirs::kernel::generate_u_inverse<LANES, EACH, double, int>
                              : theirs::kernel::generate_l_inverse<LANES, EACH, double, int>;
    kernel<<<blocks, theirs::default_block_size, 0, stream>>>(
        n, m_ptr, m_index, m_val, i_ptr, i_index, i_val, excess, excess_entries);
}
