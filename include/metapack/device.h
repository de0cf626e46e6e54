/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_DEVICE_H
#define METAPACK_DEVICE_H
/** The NVIDIA GPUs that a process sees. Which of them a sparse factorization uses is options.device
 *  and options.device_number; docs/guide/cuda.md. Example: examples/device.c. */
#include <metapack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A GPU. */
typedef struct mpk_device_info {
    char name[64];       /**< "NVIDIA H200" */
    char text[256];      /**< name, multiprocessors, versions of driver, run-time and cuBLAS */
    int64_t total_bytes; /**< of its memory */
    int64_t free_bytes;  /**< of that, now */
} mpk_device_info;

/** What GPU `number` is. The context opens it, which takes some tenths of a second the first time,
 *  and goes on with it until another one is asked for.
 *  ctx    [inout]
 *  number [in]  from 0
 *  info   [out] unchanged after a failure
 *  Returns MPK_OK | MPK_ERR_DEVICE: there is no such device, and mpk_last_error() says why: no
 *  CUDA module, no driver, no GPU, one that is too old, fewer of them */
MPK_API mpk_status mpk_device_info_get(mpk_context *ctx, int number, mpk_device_info *info);

/** Memory of GPU `number`, for arrays that calls with device pointers are given; for programs that
 *  have nothing of CUDA themselves. Not counted against a memory limit. To be freed with
 *  mpk_device_free().
 *  ctx [inout] opens the GPU as mpk_device_info_get() does
 *  ptr [out]   *ptr must be NULL before, and is NULL after a failure or where bytes is 0
 *  Returns MPK_OK | MPK_ERR_ARGUMENT | MPK_ERR_MEMORY: that much is not free there | MPK_ERR_DEVICE
 *  Example: examples/quadratic/system.c */
MPK_API mpk_status mpk_device_alloc(mpk_context *ctx, int number, int64_t bytes, void **ptr);

/** Free what mpk_device_alloc() gave, by the same GPU number; *ptr is then NULL. All work that was
 *  queued on the GPU is waited for. After a failure *ptr is as it was.
 *  Returns MPK_OK (also for *ptr NULL) | MPK_ERR_ARGUMENT: not memory of this GPU |
 *    MPK_ERR_DEVICE */
MPK_API mpk_status mpk_device_free(mpk_context *ctx, int number, void **ptr);

/** Copy between host memory and the memory of GPU `number`: columns of `width` bytes, to_pitch and
 *  from_pitch bytes from one to the next. Which of the two lies on the GPU is found out. Begins
 *  when all work that was queued on the GPU, in whatever stream, is done (mpk_device_set_stream: in
 *  that one), and returns when the bytes are there. For host languages that have pointers to device memory, and nothing of CUDA.
 *  ctx [inout] opens the GPU as mpk_device_info_get() does
 *  Returns MPK_OK | MPK_ERR_ARGUMENT: both or none of them lie on the GPU, or a size is negative |
 *          MPK_ERR_DEVICE */
MPK_API mpk_status mpk_device_copy(mpk_context *ctx, int number, void *to, int64_t to_pitch,
                                   const void *from, int64_t from_pitch, int64_t width,
                                   int64_t columns);

/** Order the calls of a context with GPU `number` in a stream of the caller's. What such a call reads in
 *  the memory of the GPU it reads when all is done that was queued in this stream before the call, and
 *  it returns when its results are there, so that what is queued afterwards finds them. No other stream
 *  is waited for; but a context that has solved with the factor of another one waits for all. Without
 *  this a call waits until the whole GPU is at rest. Not while a call on the context runs.
 *  ctx    [inout] opens the GPU as mpk_device_info_get() does; should it open another one, none is set
 *  stream [in]  a cudaStream_t of that GPU, which lives until another one is set; NULL: the default
 *               stream. A stream that is being captured into a graph is refused by the calls
 *               (MPK_ERR_UNSUPPORTED): the host decides on pivots in the midst of them
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _DEVICE. Threads: that of the context */
MPK_API mpk_status mpk_device_set_stream(mpk_context *ctx, int number, void *stream);

/** Back to waiting for the whole GPU. Returns as above. */
MPK_API mpk_status mpk_device_unset_stream(mpk_context *ctx, int number);

/** A source of device memory: RMM, the pools of PyTorch and CuPy, the caller's own. Called by the thread
 *  that calls METAPACK, and must not call METAPACK.
 *  alloc   returns size > 0 bytes of GPU `number`, aligned to 256, for work in `stream` (a
 *          cudaStream_t of METAPACK's), or NULL: the call ends with MPK_ERR_MEMORY
 *  release gets what alloc returned, with the same size, when all work with it is done
 *  user    is passed to both */
typedef struct mpk_device_allocator {
    void *(*alloc)(void *user, size_t size, int number, void *stream);
    void (*release)(void *user, void *ptr, size_t size, int number, void *stream);
    void *user;
} mpk_device_allocator;

/** Have the device memory of sparse matrices, their factors and solves taken there; some vectors of
 *  Krylov methods and what batches and dense matrices work with is the module's own still.
 *  options.device_memory_limit counts it as before.
 *  allocator [in] copied; lives until the context ends or another one is set; NULL: CUDA's own
 *  Returns MPK_OK | MPK_ERR_ARGUMENT: a function is missing, or memory from before is held: factors on
 *          the GPU must end first | MPK_ERR_DEVICE */
MPK_API mpk_status mpk_device_set_allocator(mpk_context *ctx, int number,
                                            const mpk_device_allocator *allocator);

/** The functions of these names, told how large the caller's struct is: metapack.h, Structs. */
MPK_API mpk_status mpk_device_info_get_sized(size_t size, mpk_context *ctx, int number,
                                             mpk_device_info *info);
#ifndef MPKI_LIBRARY
#define mpk_device_info_get(...) mpk_device_info_get_sized(sizeof(mpk_device_info), __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
