/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MODULE_LAUNCH_CUH
#define MPKI_CUDA_MODULE_LAUNCH_CUH
/** How kernels for sparse matrices and for batches are launched. Tests that run them on a host
 *  define MPKI_LAUNCH themselves (tests/engines/cuda/host/cuda_runtime.h). */
#include "runtime.cuh"

#include <stdint.h>

#ifndef MPKI_LAUNCH
#define MPKI_LAUNCH(kernel, blocks, threads, bytes, stream, ...)                                   \
    kernel<<<(unsigned)(blocks), threads, bytes, (cudaStream_t)(stream)>>>(__VA_ARGS__)
#endif

/* MPKI_LOAD: a kernel comes to the device now, and not with its first launch. Returns a cudaError_t. */
#ifndef MPKI_LOAD
namespace mpki {
template <class... P> inline cudaError_t load_kernel(void (*kernel)(P...)) {
    cudaFuncAttributes found;
    return cudaFuncGetAttributes(&found, kernel);
}
} // namespace mpki
#define MPKI_LOAD(kernel) mpki::load_kernel(kernel)
#endif

/* MPKI_LAUNCH_SHORT: for kernels whose launch is most of a call: by the driver's interface,
 * since the runtime's would look the kernel up anew each time. Returns a cudaError_t. */
#ifndef MPKI_LAUNCH_SHORT
namespace mpki {
template <class P>
inline cudaError_t launch_short(mpki_cuda *cuda, void (*kernel)(P), long long blocks, int threads,
                                cudaStream_t stream, const P &argument) {
    auto &slot = cuda->known[(uintptr_t)kernel / 16 % MPKI_KNOWN];
    if (cuda->driver_launch && slot.ours != (const void *)kernel) {
        cudaFunction_t found = NULL; /* of this device */
        if (!cudaGetFuncBySymbol(&found, (const void *)kernel))
            slot.ours = (const void *)kernel, slot.theirs = (void *)found;
    }
    void *all[] = {(void *)&argument};
    if (cuda->driver_launch && slot.ours == (const void *)kernel &&
        !cuda->driver_launch(slot.theirs, (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1, 0,
                             (void *)stream, all, NULL))
        return cudaSuccess;
    /* the runtime prepares what was missing, or says what is wrong */
    return cudaLaunchKernel((const void *)kernel, dim3((unsigned)blocks), dim3((unsigned)threads),
                            all, 0, stream);
}
} // namespace mpki
#define MPKI_LAUNCH_SHORT(cuda, kernel, blocks, threads, stream, argument)                         \
    mpki::launch_short(cuda, kernel, blocks, threads, (cudaStream_t)(stream), argument)
#endif

/* MPKI_LAUNCH_TOGETHER: for kernels whose blocks wait for one another: all of them are at work at
 * once, or the launch fails (CUDA C++ Programming Guide, "Cooperative Groups"). Returns a
 * cudaError_t. */
#ifndef MPKI_LAUNCH_TOGETHER
namespace mpki {
template <class... P, class... A>
inline cudaError_t launch_together(void (*kernel)(P...), int blocks, int threads, size_t bytes,
                                   cudaStream_t stream, A... arguments) {
    cudaLaunchAttribute together;
    cudaLaunchConfig_t how = {};
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = 1;
    how.gridDim = dim3((unsigned)blocks), how.blockDim = dim3((unsigned)threads);
    how.dynamicSmemBytes = bytes, how.stream = stream;
    how.attrs = &together, how.numAttrs = 1;
    return cudaLaunchKernelEx(&how, kernel, (P)arguments...);
}
} // namespace mpki
#define MPKI_LAUNCH_TOGETHER(cuda, kernel, blocks, threads, bytes, ...)                            \
    mpki::launch_together(kernel, blocks, threads, bytes, (cuda)->sparse, __VA_ARGS__)
#endif

/* MPKI_LAUNCH_NEXT: for kernels that follow each other closely, each of which begins with
 * mpki::after_previous(): from 9.0 on their blocks may come while the last ones of the kernel
 * before are at work (programmatic dependent launch, CUDA C++ Programming Guide). Returns a
 * cudaError_t. */
#ifndef MPKI_LAUNCH_NEXT
namespace mpki {
template <class... P, class... A>
inline cudaError_t launch_next(mpki_cuda *cuda, void (*kernel)(P...), int blocks, int threads,
                               size_t bytes, cudaStream_t stream, A... arguments) {
    cudaLaunchAttribute early;
    cudaLaunchConfig_t how = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    how.gridDim = dim3((unsigned)blocks), how.blockDim = dim3((unsigned)threads);
    how.dynamicSmemBytes = bytes, how.stream = stream;
    how.attrs = &early, how.numAttrs = cuda->capability >= 90 && cuda->code >= 90;
    return cudaLaunchKernelEx(&how, kernel, (P)arguments...);
}
/** Returns when the kernel before is over and its results can be read. By each thread for
 *  itself; no barrier. */
__device__ inline void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/** Blocks of the next kernel may start once all blocks of this one have said so. By each thread
 *  for itself; no barrier. */
__device__ inline void next_may_come() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
/** Both; the first statement of a kernel that is launched with MPKI_LAUNCH_NEXT. By each thread
 *  for itself; no barrier. */
__device__ inline void after_previous() {
    wait_for_previous();
    next_may_come();
}
} // namespace mpki
#define MPKI_LAUNCH_NEXT(cuda, kernel, blocks, threads, bytes, ...)                                \
    mpki::launch_next(cuda, kernel, blocks, threads, bytes, (cuda)->sparse, __VA_ARGS__)
#endif

/* MPKI_LAUNCH_CLUSTERS: for kernels whose blocks, `each` of them that follow each other, wait for
 * one another by mpki::cluster_meet(); with more than one the device and the code have to be 9.0 or
 * above (thread block clusters, CUDA C++ Programming Guide). Returns a cudaError_t. */
#ifndef MPKI_LAUNCH_CLUSTERS
namespace mpki {
inline cudaLaunchConfig_t of_clusters(cudaLaunchAttribute *cluster, int blocks, int each,
                                      int threads, size_t bytes, cudaStream_t stream) {
    cudaLaunchConfig_t how = {};
    cluster->id = cudaLaunchAttributeClusterDimension;
    cluster->val.clusterDim.x = (unsigned)each;
    cluster->val.clusterDim.y = cluster->val.clusterDim.z = 1;
    how.gridDim = dim3((unsigned)blocks), how.blockDim = dim3((unsigned)threads);
    how.dynamicSmemBytes = bytes, how.stream = stream;
    how.attrs = cluster, how.numAttrs = each > 1;
    return how;
}
template <class... P, class... A>
inline cudaError_t launch_clusters(void (*kernel)(P...), int blocks, int each, int threads,
                                   size_t bytes, cudaStream_t stream, A... arguments) {
    cudaLaunchAttribute cluster;
    const cudaLaunchConfig_t how = of_clusters(&cluster, blocks, each, threads, bytes, stream);
    return cudaLaunchKernelEx(&how, kernel, (P)arguments...);
}
/** Does the device have room for one cluster of that shape? */
template <class... P>
inline bool cluster_fits(void (*kernel)(P...), int each, int threads, size_t bytes) {
    cudaLaunchAttribute cluster;
    const cudaLaunchConfig_t how = of_clusters(&cluster, each, each, threads, bytes, NULL);
    int clusters = 0;
    const bool known = !cudaOccupancyMaxActiveClusters(&clusters, (const void *)kernel, &how);
    if (!known) (void)cudaGetLastError(); /* it is not kept for the next one who asks */
    return known && clusters > 0;
}
/** All threads of the cluster meet, and see what others wrote. By all threads; a barrier. */
__device__ inline void cluster_meet() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release;\n\t"
                 "barrier.cluster.wait.acquire;" ::
                     : "memory");
#endif
}
} // namespace mpki
#define MPKI_LAUNCH_CLUSTERS(cuda, kernel, blocks, each, threads, bytes, ...)                      \
    mpki::launch_clusters(kernel, blocks, each, threads, bytes, (cuda)->sparse, __VA_ARGS__)
#endif

#endif
