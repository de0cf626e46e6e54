# SPDX-License-Identifier: BSD-3-Clause
"""
METAPACK as the linear solver of MadNLP (0.9, 0.10): `madnlp(nlp; linear_solver = MetapackSolver)`, and so of JuMP by
`MadNLP.Optimizer`. docs/guide/julia.md.

MadNLP gives the lower triangle of its KKT system by columns and changes the values in place. It asks for the exact inertia,
corrects it by regularization, and refines solutions by itself.
"""
module MetapackMadNLP

using MadNLP, METAPACK, LinearAlgebra, SparseArrays

export MetapackSolver

"metapack_u, metapack_umax: the pivot threshold, and up to where MadNLP may raise it when its refinement fails."
Base.@kwdef mutable struct MetapackOptions <: MadNLP.AbstractOptions
    metapack_u::Float64 = 1e-3
    metapack_umax::Float64 = 0.1
    metapack_threads::Int = 0
end

mutable struct MetapackSolver{T} <: MadNLP.AbstractLinearSolver{T}
    lower::SparseMatrixCSC{T,Int32}
    factor::Union{Nothing,METAPACK.Factor{T}}
    u::Float64
    opt::MetapackOptions
    logger::MadNLP.MadNLPLogger
end
function MetapackSolver(lower::SparseMatrixCSC{T,Int32}; opt = MetapackOptions(), logger = MadNLP.MadNLPLogger()) where {T}
    return MetapackSolver{T}(lower, nothing, opt.metapack_u, opt, logger)
end

# the analysis wants values, which there are none of before the first factorization; a new threshold is a new factor
function MadNLP.factorize!(M::MetapackSolver)
    A = Symmetric(M.lower, :L)
    try
        if M.factor === nothing
            M.factor = METAPACK.ldl(A; pivot_threshold = M.u, zero_tolerance = 3e-17, threads = M.opt.metapack_threads)
        else
            METAPACK.refactor!(M.factor, A)
        end
    catch failure
        failure isa METAPACK.Failure || rethrow()
        throw(MadNLP.FactorizationException())
    end
    return M
end

function MadNLP.solve_linear_system!(M::MetapackSolver{T}, rhs::Vector{T}) where {T}
    try
        METAPACK.apply!(M.factor, rhs)
    catch failure
        failure isa METAPACK.Failure || rethrow()
        throw(MadNLP.SolveException())
    end
    return rhs
end

MadNLP.is_inertia(::MetapackSolver) = true
function MadNLP.inertia(M::MetapackSolver)
    positive, negative, zero = METAPACK.inertia(M.factor)
    return (positive, zero, negative) # MadNLP's order
end

function MadNLP.improve!(M::MetapackSolver)
    M.u >= M.opt.metapack_umax && return false
    M.u = min(M.opt.metapack_umax, M.u^0.75)
    M.factor = nothing
    return true
end

MadNLP.introduce(::MetapackSolver) = "METAPACK"
MadNLP.input_type(::Type{MetapackSolver}) = :csc
MadNLP.default_options(::Type{MetapackSolver}) = MetapackOptions()
MadNLP.is_supported(::Type{MetapackSolver}, ::Type{Float32}) = true
MadNLP.is_supported(::Type{MetapackSolver}, ::Type{Float64}) = true

end
