# SPDX-License-Identifier: BSD-3-Clause
# Factors of sparse matrices of the package Matrix. help(metapack); docs/guide/r.md.

columns <- function(A) {
  if (!is(A, "Matrix") && !is.matrix(A)) stop("metapack: A is neither a Matrix nor a matrix")
  if (nrow(A) != ncol(A)) stop("metapack: A is ", nrow(A), " x ", ncol(A), ", not square")
  A <- as(as(A, "dMatrix"), "CsparseMatrix")
  if (is(A, "symmetricMatrix")) A else as(A, "generalMatrix")
}

metapack <- function(A, symmetry = c("auto", "symmetric", "general"), ...) {
  kind <- match(match.arg(symmetry), c("auto", "symmetric", "general")) - 1L
  given <- list(...)
  if (length(given) && (is.null(names(given)) || any(names(given) == "")))
    stop("metapack: options have names: metapack(A, pivot_threshold = 0.1)")
  A <- columns(A)
  if (kind == 2L) A <- as(A, "generalMatrix")
  triangle <- if (!is(A, "symmetricMatrix")) 2L else if (A@uplo == "L") 0L else 1L # full, lower, upper
  words <- vapply(given, function(v) if (is.character(v)) v else format(v, digits = 17, scientific = TRUE), "")
  if (any(is.integer.like <- vapply(given, function(v) is.numeric(v) && v == round(v) && abs(v) < 2^53, NA)))
    words[is.integer.like] <- vapply(given[is.integer.like], function(v) sprintf("%.0f", v), "")
  pointer <- .Call(C_make, nrow(A), A@p, A@i, A@x, triangle, kind, as.character(names(given)), as.character(words))
  structure(list(pointer = pointer, p = A@p, i = A@i, class = class(A)), class = "metapack")
}

refactor <- function(F, A) {
  A <- columns(A)
  if (!identical(class(A), F$class) && F$class == "dgCMatrix") A <- as(A, "generalMatrix")
  if (!identical(A@p, F$p) || !identical(A@i, F$i)) stop("metapack: A has another pattern than the analysed one")
  F$pointer <- .Call(C_again, F$pointer, A@x)
  F
}

solve.metapack <- function(a, b, transposed = FALSE, ...) {
  n <- nrow(a)
  if (missing(b)) b <- diag(n)
  plain <- is.null(dim(b))
  x <- if (plain) matrix(b, ncol = 1) else as.matrix(b)
  if (is.complex(x)) stop("metapack: b is complex")
  if (nrow(x) != n) stop("metapack: A has ", n, " rows, b ", nrow(x))
  storage.mode(x) <- "double"
  x[] <- .Call(C_solve, a$pointer, x, ncol(x), transposed)
  if (plain) drop(x[, 1]) else x
}

dim.metapack <- function(x) rep(as.integer(.Call(C_numbers, x$pointer)[1]), 2)

inertia <- function(F) stats::setNames(.Call(C_numbers, F$pointer)[2:4], c("positive", "negative", "zero"))

last_solve <- function(F) stats::setNames(.Call(C_numbers, F$pointer)[5:6], c("iterations", "backward_error"))

logdet <- function(F) .Call(C_log_determinant, F$pointer)[1]

determinant.metapack <- function(x, logarithm = TRUE, ...) {
  found <- .Call(C_log_determinant, x$pointer)
  modulus <- if (logarithm) found[1] else exp(found[1])
  attr(modulus, "logarithm") <- logarithm
  structure(list(modulus = modulus, sign = as.integer(found[2])), class = "det")
}

variances <- function(F) .Call(C_variances, F$pointer)

samples <- function(F, k = 1, mean = 0) {
  n <- nrow(F)
  normal <- matrix(rnorm(n * k), n, k)
  normal[] <- .Call(C_sample, F$pointer, normal, as.integer(k))
  normal + mean
}

print.metapack <- function(x, ...) {
  counts <- inertia(x)
  cat("metapack factor of order ", nrow(x), if (!anyNA(counts)) paste0(": inertia ", counts[1], "+ ", counts[2], "- ", counts[3], "0"),
      "\n", sep = "")
  invisible(x)
}
