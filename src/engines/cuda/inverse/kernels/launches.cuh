/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_INVERSE_LAUNCHES_CUH
#define MPKI_CUDA_INVERSE_LAUNCHES_CUH
/** What isai_t.cu has for each kind of entries, s d c z. */
#include "engines/cuda/module/launch.cuh"
#include "inverse.h"

struct mpki_isai_launches {
    mpk_status (*move)(mpki_cuda *cuda, int64_t count, const int64_t *which, const void *from,
                       void *to);
    mpk_status (*split_values)(mpki_cuda *cuda, const mpki_isai_splitting *s);
    mpk_status (*prune)(mpki_cuda *cuda, const mpki_isai_pruning *p);
    mpk_status (*invert)(mpki_cuda *cuda, const mpki_isai_inversion *v);
    mpk_status (*invert_portions)(mpki_cuda *cuda, const mpki_isai_inversion *v,
                                  const mpki_isai_portions *g);
    mpk_status (*dense)(mpki_cuda *cuda, const mpki_isai_dense *d);
    mpk_status (*multiply)(mpki_cuda *cuda, const mpki_isai_times *p);
    mpk_status (*gather)(mpki_cuda *cuda, const mpki_isai_gathering *g);
    mpk_status (*identity)(mpki_cuda *cuda, const mpki_isai_gathering *g);
    mpk_status (*pivots)(mpki_cuda *cuda, const mpki_isai_gathering *g, int backward, void *x);
    mpk_status (*to_single)(mpki_cuda *cuda, int64_t count, const void *from, void *to,
                            int32_t *bad);
    mpk_status (*finite)(mpki_cuda *cuda, int64_t count, const void *val, int64_t *bad);
};
extern const mpki_isai_launches mpki_s_isai_launches, mpki_d_isai_launches, mpki_c_isai_launches,
    mpki_z_isai_launches;

namespace mpki {
inline int64_t blocks_of(int64_t items, int64_t each) {
    return (items + each - 1) / each;
}
} // namespace mpki

#endif
