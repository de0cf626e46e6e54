# SPDX-License-Identifier: BSD-3-Clause
# A saddle point problem [H B'; B 0], by METAPACK and by Julia's backslash, then with other values.
#     JULIA_LOAD_PATH="plugins/julia/src:@stdlib" julia saddle.jl
using LinearAlgebra, SparseArrays, METAPACK

function saddle(k)
    T = spdiagm(-1 => fill(-1.0, k - 1), 0 => fill(2.0, k), 1 => fill(-1.0, k - 1))
    id = sparse(1.0I, k, k)
    H = kron(id, T) + kron(T, id)
    n = k^2
    m = n ÷ 4
    B = sparse(repeat(1:m, 3), [4 * (1:m) .- 3; 4 * (1:m) .- 2; 4 * (1:m) .- 1], [ones(m); fill(0.5, m); fill(0.25, m)], m, n)
    return [H B'; B spzeros(m, m)], n, m
end

A, n, m = saddle(60)
b = collect(range(-1, 1, length = n + m))
F = ldl(A)
x = F \ b
ours = @elapsed(ldl(A) \ b)
A \ b
julias = @elapsed(y = A \ b)
println("n = $(n + m), inertia $(inertia(F)), residual $(norm(A * x - b) / norm(b)), $(norm(x - y) / norm(y)) from backslash")
println("METAPACK $(round(ours, digits = 4)) s, backslash $(round(julias, digits = 4)) s")
@assert inertia(F) == (n, m, 0) && norm(x - y) < 1e-10 * norm(y)
A[1, 1] = 7 # the same pattern: no new analysis
@assert norm(A * (refactor!(F, A) \ b) - b) < 1e-12 * norm(b)
