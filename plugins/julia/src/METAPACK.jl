# SPDX-License-Identifier: BSD-3-Clause
"""
METAPACK in Julia: `F = METAPACK.ldl(A)`, then `F \\ b`. The library is found by the linker, or named by the environment
variable METAPACK_LIBRARY. docs/guide/julia.md; examples/saddle.jl.
"""
module METAPACK

using Libdl, LinearAlgebra, SparseArrays

export ldl, inertia, certified, inverse_diagonal, refactor!, Factor, Failure

const library = Ref{String}("libmetapack.so.0")
function __init__()
    library[] = get(ENV, "METAPACK_LIBRARY", "libmetapack.so.0")
end
const handle = Ref{Ptr{Cvoid}}(C_NULL)
"Address of a function of the library, which is opened with the first one."
function symbol(name::Symbol)
    handle[] == C_NULL && (handle[] = dlopen(library[]))
    return dlsym(handle[], name)
end

"What a failed call said; `status` is below 0 (docs: include/metapack/status.h)."
struct Failure <: Exception
    status::Int
    text::String
end
Base.showerror(io::IO, e::Failure) = print(io, "METAPACK: ", e.text)

const Scalar = Union{Float32,Float64,ComplexF32,ComplexF64}
letter(::Type{Float32}) = Cint(0)
letter(::Type{Float64}) = Cint(1)
letter(::Type{ComplexF32}) = Cint(2)
letter(::Type{ComplexF64}) = Cint(3)
const SYMMETRIC, HERMITIAN, GENERAL = Cint(0), Cint(1), Cint(2)
const LOWER, UPPER, FULL = Cint(0), Cint(1), Cint(2)
const OK, SINGULAR, ERR_ARGUMENT, ERR_INPUT = 0, 1, -1, -4

"The first fields of mpk_solve_info: the library writes as much as it is told there is."
struct SolveInfo
    iterations::Int32
    normwise::Float64
    componentwise::Float64
end

const OPTION_WORDS = 256 # an mpk_options, and room for those of later versions

"""
A factor of a sparse matrix. `F \\ b`, `ldiv!(F, b)`, with transposes `METAPACK.solve(F, b, :T)` and `:H`; `logdet`, `logabsdet`, `det`,
`size`; `inertia`, `certified`, `inverse_diagonal`, `refactor!`. `F.status` is :ok, :singular, … of the factorization.
"""
mutable struct Factor{T<:Scalar} <: Factorization{T}
    n::Int
    context::Ptr{Cvoid}
    problem::Ptr{Cvoid}
    analysis::Ptr{Cvoid}
    factor::Ptr{Cvoid}
    options::Vector{Int64}
    symmetry::Cint
    triangle::Cint         # that counts
    colptr::Vector{Int64}
    rowval::Vector{Int32}
    status::Symbol
    iterations::Int        # of the last solve
    backward_error::Float64
    function Factor{T}(n) where {T}
        F = new{T}(n, C_NULL, C_NULL, C_NULL, C_NULL, zeros(Int64, OPTION_WORDS), SYMMETRIC, FULL, Int64[], Int32[], :none, 0, NaN)
        finalizer(destroy!, F)
        return F
    end
end

function destroy!(F::Factor)
    F.context == C_NULL && return
    place = Ref(F.factor)
    ccall(symbol(:mpk_factor_destroy), Cvoid, (Ref{Ptr{Cvoid}},), place)
    place[] = F.analysis
    ccall(symbol(:mpk_analysis_destroy), Cvoid, (Ref{Ptr{Cvoid}},), place)
    place[] = F.problem
    ccall(symbol(:mpk_problem_destroy), Cvoid, (Ref{Ptr{Cvoid}},), place)
    place[] = F.context
    ccall(symbol(:mpk_context_destroy), Cvoid, (Ref{Ptr{Cvoid}},), place)
    F.context = F.problem = F.analysis = F.factor = C_NULL
    return
end

function check(F::Factor, status::Cint)
    status >= 0 && return Int(status)
    text = Ref{Ptr{UInt8}}(C_NULL)
    ccall(symbol(:mpk_last_error), Cint, (Ptr{Cvoid}, Ptr{Cvoid}, Ptr{Cvoid}, Ref{Ptr{UInt8}}), F.context, C_NULL, C_NULL, text)
    said = text[] == C_NULL ? "" : unsafe_string(text[])
    isempty(said) && (said = unsafe_string(ccall(symbol(:mpk_status_text), Ptr{UInt8}, (Cint,), status)))
    throw(Failure(status, said))
end
name(status::Integer) = Symbol(unsafe_string(ccall(symbol(:mpk_status_name), Ptr{UInt8}, (Cint,), status)))

"""
    ldl(A; options...)

Factorize a sparse square matrix: L D Lᴴ of `Symmetric(A)`, `Hermitian(A)`, and of what is so in both triangles; L U else.
Options have the names of docs/reference/options.md: `ldl(A, pivot_threshold = 0.1)`.
"""
ldl(A::SparseMatrixCSC; options...) = make(A, nothing, FULL; options...)
ldl(A::Symmetric{<:Any,<:SparseMatrixCSC}; options...) = make(A.data, SYMMETRIC, A.uplo == 'L' ? LOWER : UPPER; options...)
function ldl(A::Hermitian{T,<:SparseMatrixCSC}; options...) where {T}
    return make(A.data, T <: Real ? SYMMETRIC : HERMITIAN, A.uplo == 'L' ? LOWER : UPPER; options...)
end

working(::Type{T}) where {T<:Scalar} = T
working(::Type{T}) where {T<:Real} = Float64
working(::Type{T}) where {T<:Complex} = ComplexF64

function make(A::SparseMatrixCSC{S}, symmetry, triangle; options...) where {S}
    size(A, 1) == size(A, 2) || throw(DimensionMismatch("A is $(size(A, 1)) x $(size(A, 2)), not square"))
    T = working(S)
    F = Factor{T}(size(A, 1))
    place = Ref{Ptr{Cvoid}}(C_NULL)
    status = ccall(symbol(:mpk_context_create), Cint, (Ptr{Cvoid}, Ref{Ptr{Cvoid}}), C_NULL, place)
    F.context = place[]
    check(F, status)
    ccall(symbol(:mpk_options_init_sized), Cvoid, (Csize_t, Ptr{Int64}), sizeof(F.options), F.options)
    for (key, value) in options
        check(F, ccall(symbol(:mpk_options_set), Cint, (Ptr{Cvoid}, Ptr{Int64}, Cstring, Cstring), F.context, F.options, String(key), string(value)))
    end
    F.triangle = triangle
    F.colptr, F.rowval = A.colptr .- 1, A.rowval .- 1
    x = Vector{T}(A.nzval)
    # what the caller did not say is tried: both triangles agree, or they do not
    kinds = symmetry !== nothing ? (symmetry,) : T <: Real ? (SYMMETRIC, GENERAL) : (HERMITIAN, SYMMETRIC, GENERAL)
    for kind in kinds
        place[] = C_NULL
        F.symmetry = kind
        status = ccall(symbol(:mpk_problem_from_csc_wide), Cint,
                       (Ptr{Cvoid}, Int64, Cint, Cint, Cint, Ptr{Int64}, Ptr{Int32}, Ptr{Cvoid}, Ref{Ptr{Cvoid}}),
                       F.context, F.n, letter(T), kind, triangle, F.colptr, F.rowval, x, place)
        status == ERR_INPUT || break
    end
    F.problem = place[]
    check(F, status)
    place[] = C_NULL
    status = ccall(symbol(:mpk_analyse), Cint, (Ptr{Cvoid}, Ptr{Cvoid}, Ptr{Int64}, Ref{Ptr{Cvoid}}), F.context, F.problem, F.options, place)
    F.analysis = place[]
    check(F, status)
    return values!(F, x)
end

function values!(F::Factor{T}, x::Vector{T}) where {T}
    place = Ref(F.factor)
    status = ccall(symbol(:mpk_factorize), Cint, (Ptr{Cvoid}, Ptr{Cvoid}, Ptr{Cvoid}, Ptr{Int64}, Ref{Ptr{Cvoid}}),
                   F.context, F.analysis, x, F.options, place)
    F.factor = place[]
    F.status = name(check(F, status))
    return F
end

"""
    refactor!(F, A)

Other values with the same pattern: the analysis stays.
"""
function refactor!(F::Factor, A::Union{Symmetric,Hermitian})
    kind = eltype(A) <: Real || A isa Symmetric ? SYMMETRIC : HERMITIAN
    F.triangle == (A.uplo == 'L' ? LOWER : UPPER) && F.symmetry == kind ||
        throw(ArgumentError("refactor!: A has another triangle, or is of another kind, than the analysed one"))
    return again!(F, A.data)
end
function refactor!(F::Factor, A::SparseMatrixCSC)
    F.triangle == FULL || throw(ArgumentError("refactor!: the analysed matrix was one triangle, A is whole"))
    return again!(F, A)
end
function again!(F::Factor{T}, A::SparseMatrixCSC) where {T}
    A.colptr .- 1 == F.colptr && A.rowval .- 1 == F.rowval ||
        throw(ArgumentError("refactor!: A has another pattern than the analysed one"))
    return values!(F, Vector{T}(A.nzval))
end

Base.size(F::Factor) = (F.n, F.n)
Base.size(F::Factor, k::Integer) = k <= 2 ? F.n : 1
Base.show(io::IO, F::Factor{T}) where {T} = print(io, "METAPACK.Factor{$T} of order $(F.n): $(F.status)")
Base.show(io::IO, ::MIME"text/plain", F::Factor) = show(io, F)

"x := A⁻¹ x, refined; which: :N, :T (transpose) or :H (adjoint)"
function solve!(F::Factor{T}, x::StridedVecOrMat{T}, which::Symbol = :N) where {T}
    size(x, 1) == F.n || throw(DimensionMismatch("A has $(F.n) rows, b $(size(x, 1))"))
    stride(x, 1) == 1 || throw(ArgumentError("columns of b are not contiguous"))
    which in (:N, :T, :H) || throw(ArgumentError("which is :N, :T or :H"))
    (F.n == 0 || size(x, 2) == 0) && return x
    info, m, ld = Ref(SolveInfo(0, NaN, NaN)), size(x, 2), x isa AbstractVector ? F.n : stride(x, 2)
    status = if which === :N
        ccall(symbol(:mpk_solve_sized), Cint,
              (Csize_t, Ptr{Cvoid}, Ptr{Cvoid}, Int32, Ptr{Cvoid}, Int64, Ptr{Cvoid}, Int64, Ptr{Int64}, Ref{SolveInfo}),
              sizeof(SolveInfo), F.context, F.factor, m, x, ld, x, ld, F.options, info)
    else
        ccall(symbol(:mpk_solve_transposed_sized), Cint,
              (Csize_t, Ptr{Cvoid}, Ptr{Cvoid}, Cint, Int32, Ptr{Cvoid}, Int64, Ptr{Cvoid}, Int64, Ptr{Int64}, Ref{SolveInfo}),
              sizeof(SolveInfo), F.context, F.factor, which === :T ? 1 : 2, m, x, ld, x, ld, F.options, info)
    end
    F.iterations, F.backward_error = info[].iterations, info[].componentwise
    check(F, status) == OK || @warn "METAPACK: the solution is $(name(status))"
    return x
end
"""
    apply!(F, x)

x := A⁻¹ x without refinement and without a verdict, for callers that refine by themselves.
"""
function apply!(F::Factor{T}, x::Vector{T}) where {T}
    length(x) == F.n || throw(DimensionMismatch("A has $(F.n) rows, x $(length(x))"))
    F.n == 0 && return x
    check(F, ccall(symbol(:mpk_solve_part), Cint, (Ptr{Cvoid}, Ptr{Cvoid}, Cint, Int32, Ptr{Cvoid}, Int64),
                   F.context, F.factor, 4, 1, x, F.n))
    return x
end
solve(F::Factor{T}, b::AbstractVecOrMat, which::Symbol = :N) where {T} = solve!(F, Array{T}(b), which)
function solve(F::Factor{T}, b::AbstractVecOrMat{<:Complex}, which::Symbol = :N) where {T<:Real} # of a real A: both parts
    return complex.(solve(F, real.(b), which), solve(F, imag.(b), which))
end

LinearAlgebra.ldiv!(F::Factor{T}, b::StridedVecOrMat{T}) where {T} = solve!(F, b)
LinearAlgebra.ldiv!(x::StridedVecOrMat{T}, F::Factor{T}, b::AbstractVecOrMat) where {T} = solve!(F, copyto!(x, b))
Base.:\(F::Factor, b::AbstractVector) = solve(F, b)
Base.:\(F::Factor, b::AbstractMatrix) = solve(F, b)
Base.:\(F::Factor{T}, b::AbstractVector{<:Complex}) where {T<:Real} = solve(F, b)
Base.:\(F::Factor{T}, b::AbstractMatrix{<:Complex}) where {T<:Real} = solve(F, b)
# between these and LinearAlgebra's own for Factorization
Base.:\(F::Factor{T}, b::Union{Vector{Complex{T}},Matrix{Complex{T}}}) where {T<:Union{Float32,Float64}} = solve(F, b)

function quantity(F::Factor, what::Integer, out::Vector)
    check(F, ccall(symbol(:mpk_get), Cint, (Ptr{Cvoid}, Ptr{Cvoid}, Cint, Ptr{Cvoid}, Csize_t), F.context, F.factor, what, out, sizeof(out)))
    return out
end

"Numbers of positive, negative and zero eigenvalues."
inertia(F::Factor) = Tuple(quantity(F, 0, zeros(Int64, 3)))

"Is the inertia sure?"
function certified(F::Factor)
    found = zeros(Int32, 8) # mpk_certificate: two ints, two doubles
    check(F, ccall(symbol(:mpk_certify), Cint, (Ptr{Cvoid}, Ptr{Cvoid}, Ptr{Int32}), F.context, F.factor, found))
    return found[1] != 0
end

function LinearAlgebra.logabsdet(F::Factor{T}) where {T}
    found = quantity(F, 4, zeros(3))
    return found[1], T(T <: Complex ? complex(found[2], found[3]) : found[2])
end
function LinearAlgebra.det(F::Factor)
    modulus, sign = logabsdet(F)
    return sign * exp(modulus)
end
function LinearAlgebra.logdet(F::Factor)
    modulus, sign = logabsdet(F)
    return modulus + log(sign)
end

"The diagonal of the inverse."
function inverse_diagonal(F::Factor{T}) where {T}
    d = zeros(T, F.n)
    check(F, ccall(symbol(:mpk_selected_inverse_sized), Cint,
                   (Csize_t, Ptr{Cvoid}, Ptr{Cvoid}, Cint, Ptr{Cvoid}, Csize_t, Ptr{Int64}, Ptr{Cvoid}),
                   0, F.context, F.factor, 0, d, sizeof(d), F.options, C_NULL))
    return d
end

end
