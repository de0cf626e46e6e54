# SPDX-License-Identifier: BSD-3-Clause
# plugins/julia: kinds of matrices, what a factor tells, and what goes wrong.
using LinearAlgebra, SparseArrays, Test, METAPACK

@testset "METAPACK" begin
    K = sparse([4.0 0 0 1 0; 0 3 0 1 1; 0 0 2 1 -1; 1 1 1 0 0; 0 1 -1 0 0])
    b = [0.0, 0, 0, 6, -1]
    x = Matrix(K) \ b
    for A in (K, Symmetric(K), Symmetric(K, :L), Hermitian(tril(K), :L), Symmetric(triu(K)))
        F = ldl(A)
        @test F \ b ≈ x
        @test inertia(F) == (3, 2, 0) && certified(F)
    end
    F = ldl(K, pivot_threshold = 0.1, ordering = :amd)
    @test F \ [b 2b] ≈ [x 2x] && F \ (b * (1 + 2im)) ≈ x * (1 + 2im)
    @test F \ [0, 0, 0, 6, -1] ≈ x && F \ view([b b], :, 2) ≈ x
    @test F.backward_error < 1e-15 && size(F) == (5, 5)
    @test logdet(F) ≈ log(21) && det(F) ≈ 21 && inverse_diagonal(F) ≈ diag(inv(Matrix(K)))
    y = copy(b)
    @test ldiv!(F, y) === y && y ≈ x && ldiv!(zeros(5), F, b) ≈ x
    @test refactor!(F, 2K) \ b ≈ x / 2
    for T in (Float32, Float64, ComplexF32, ComplexF64)
        A = SparseMatrixCSC{T,Int32}(K)
        @test ldl(A) \ Vector{T}(b) ≈ Vector{T}(x)
    end
    H = sparse([2 1im; -1im -1])
    S = sparse([2 1im; 1im -1])
    G = sparse([2.0 3; 1 4])
    c = [1, 1im]
    @test ldl(H) \ c ≈ Matrix(H) \ c && inertia(ldl(H)) == (1, 1, 0)
    @test ldl(S) \ c ≈ Matrix(S) \ c && det(ldl(S)) ≈ det(Matrix(S))
    @test ldl(Symmetric(S)) \ c ≈ Matrix(S) \ c && ldl(Hermitian(H, :L)) \ c ≈ Matrix(H) \ c
    @test ldl(G) \ [5, 5] ≈ [1, 1] && METAPACK.solve(ldl(G), [5, 5], :T) ≈ [3, -1]
    @test ldl(sparse([2 1; 1 -3])) \ [3, -2] ≈ [1, 1] # integers
    Z = ldl(sparse([1.0 1; 1 1]))
    @test Z.status === :singular && inertia(Z) == (1, 0, 1)
    @test size(ldl(spzeros(0, 0)) \ Float64[]) == (0,)
    @test_throws DimensionMismatch ldl(spzeros(2, 3))
    @test_throws DimensionMismatch F \ [1.0]
    @test_throws ArgumentError refactor!(F, sparse(1.0I, 5, 5))
    @test_throws METAPACK.Failure ldl(K, pivot_treshold = 0.1)
    @test_throws METAPACK.Failure ldl(sparse([1 NaN; NaN 1]))
    for _ in 1:200
        ldl(K)
    end
    GC.gc()
    @test F \ b ≈ x / 2
end
