# SPDX-License-Identifier: BSD-3-Clause
# plugins/r: kinds of matrices, what a factor tells, and what goes wrong.
suppressPackageStartupMessages({
  library(Matrix)
  library(metapack)
})
near <- function(a, b, tolerance = 1e-12) stopifnot(length(a) == length(b), all(abs(as.vector(a) - as.vector(b)) <= tolerance))
fails <- function(e, text) {
  problem <- tryCatch({
    force(e)
    "nothing"
  }, error = conditionMessage)
  if (!grepl(text, problem, fixed = TRUE)) stop("the error says '", problem, "', not '", text, "'")
}

K <- sparseMatrix(i = c(1, 1, 2, 2, 2, 3, 3, 3), j = c(1, 4, 2, 4, 5, 3, 4, 5), x = c(4, 1, 3, 1, 1, 2, 1, -1),
                  dims = c(5, 5), symmetric = TRUE)
b <- c(0, 0, 0, 6, -1)
full <- as.matrix(K)
x <- solve(full, b)
for (A in list(K, t(K), as(K, "generalMatrix"), full, as(K, "TsparseMatrix"), as(K, "RsparseMatrix"))) {
  F <- metapack(A)
  near(solve(F, b), x)
  stopifnot(identical(unname(inertia(F)), c(3, 2, 0)))
}
near(logdet(F), log(21))
near(determinant(F)$sign, 1)
near(determinant(F, logarithm = FALSE)$modulus, 21)
near(variances(F), diag(solve(full)))
near(solve(F), solve(full))
near(solve(F, cbind(b, 2 * b)), cbind(x, 2 * x))
stopifnot(last_solve(F)["backward_error"] < 1e-15, identical(dim(F), c(5L, 5L)))
G <- refactor(F, as(2 * K, "RsparseMatrix"))
near(solve(G, b), x / 2)
near(solve(F, b), x)
rm(F)
invisible(gc())
near(solve(G, b), x / 2)
near(solve(metapack(K, pivot_threshold = 0.5, ordering = "amd", threads = 2), b), x)

A <- sparseMatrix(i = c(1, 2, 1, 2), j = c(1, 1, 2, 2), x = c(2, 1, 3, 4)) # not symmetric
F <- metapack(A)
near(solve(F, c(5, 5)), c(1, 1))
near(solve(F, c(5, 5), transposed = TRUE), c(3, -1))
stopifnot(all(is.na(inertia(F)[1:2])))
fails(samples(F), "symmetric")
near(solve(metapack(Diagonal(3)), 1:3), 1:3)
near(solve(metapack(K, symmetry = "general"), b), x)

Q <- crossprod(matrix(c(2, 1, 0, 0, 1, 1, 1, 0, 3), 3)) + diag(3) # definite
S <- metapack(Matrix(Q, sparse = TRUE))
set.seed(3)
s <- samples(S, 40000, mean = 5)
near(cov(t(s)), solve(Q), 0.02)
near(rowMeans(s), rep(5, 3), 0.02)
set.seed(3)
near(samples(S, 40000, mean = 5), s, 0)
fails(samples(G), "positive definite")

warned <- NULL
F <- withCallingHandlers(metapack(Matrix(1, 2, 2, sparse = TRUE)), warning = function(w) {
  warned <<- conditionMessage(w)
  invokeRestart("muffleWarning")
})
stopifnot(grepl("metapack", warned), inertia(F)["zero"] == 1)
near(sum(suppressWarnings(solve(F, c(1, 1)))), 1) # consistent

fails(metapack(Matrix(1, 2, 3)), "not square")
fails(metapack(Matrix(c(1, NaN, NaN, 1), 2, sparse = TRUE)), "metapack")
fails(metapack("word"), "neither")
fails(metapack(A, symmetry = "symmetric"), "metapack")
fails(metapack(K, pivot_treshold = 0.1), "pivot_treshold")
fails(metapack(K, "auto", 0.1), "names")
fails(solve(G, 1:3), "rows")
fails(solve(G, "word"), "")
fails(refactor(G, Diagonal(5)), "pattern")
gone <- unserialize(serialize(G, NULL))
fails(solve(gone, b), "workspace")
cat("ok\n")
