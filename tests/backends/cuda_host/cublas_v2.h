/* SPDX-License-Identifier: BSD-3-Clause */
/* Names that the module's head mentions and batches do not use. */
typedef struct host_blas *cublasHandle_t;
enum cublasStatus_t { CUBLAS_STATUS_SUCCESS = 0 };
