# SPDX-License-Identifier: BSD-3-Clause
# A Gaussian Markov field on a grid: likelihood, variances and samples, by METAPACK and by Matrix's Cholesky.
#     Rscript field.R 100
suppressPackageStartupMessages({
  library(Matrix)
  library(metapack)
})
k <- if (length(a <- commandArgs(TRUE))) as.integer(a[1]) else 60L
n <- k^2
D <- bandSparse(k, k = 0:1, diagonals = list(rep(2, k), rep(-1, k)), symmetric = TRUE)
Q <- forceSymmetric(kronecker(Diagonal(k), D) + kronecker(D, Diagonal(k)) + 0.01 * Diagonal(n)) # precision
set.seed(1)
y <- rnorm(n)

cpu <- function(e) sum(system.time(e)[1:2])
ours <- cpu({
  F <- metapack(Q)
  x <- solve(F, y)
  likelihood <- 0.5 * logdet(F) - 0.5 * sum(y * as.vector(Q %*% y))
})
theirs <- cpu({
  C <- Cholesky(Q, LDL = FALSE)
  z <- as.vector(solve(C, y))
})
reference <- as.numeric(determinant(Q)$modulus)
cat(sprintf("n = %d, log-likelihood %.6f, solution %.1e from Cholesky's\n", n, likelihood, max(abs(x - z)) / max(abs(z))))
cat(sprintf("METAPACK %.3f s of CPU, with the determinant; Matrix's Cholesky %.3f s\n", ours, theirs))
v <- variances(F)
s <- samples(F, 400)
ratio <- mean(apply(s, 1, var) / v)
cat(sprintf("variances %.4f to %.4f; of 400 samples %.3f of them\n", min(v), max(v), ratio))
stopifnot(max(abs(x - z)) <= 1e-10 * max(abs(z)), abs(logdet(F) - reference) <= 1e-9 * abs(reference), abs(ratio - 1) < 0.05)
