#compdef metapack
# SPDX-License-Identifier: BSD-3-Clause
# zsh completion for metapack(1): commands, options, their values, families, files.

# options: begin, made by tools/option-texts
_metapack_specs() # COMMAND: its options as _arguments takes them
{
    case $1 in
        solve)
            specs=(
                '--generate=[generate A, as in --generate  nlpkkt 20 ]:SPEC:'
                '--rhs=[right-hand sides]:B:_files'
                '-b+[right-hand sides]:B:_files'
                '--output=[write the solution]:X:_files'
                '-o+[write the solution]:X:_files'
                '--minimum-norm[of all X with the least residual the shortest, where A is singular]'
                '--save-factor=[write the factor, for --factor]:FILE:_files'
                '--factor=[the factor of A, as --save-factor wrote it]:FILE:_files'
                '--analysis=[the analysis of A]:FILE:_files'
                '--method=[how A is factorized]:NAME:(auto ldlt ildlt jacobi ilu0 none diagonal block_jacobi ssor)'
                '--no-direct[not directly, but by incomplete factorizations until one converges (--direct off)]'
                '--krylov=[the iterative method, with the factor as preconditioner]:NAME:(auto none sqmr minres symmlq cg gmres fgmres bicgstab idr)'
                '--tolerance=[true relative residual |b - A x| / |b| to reach]:E:'
                '--max-iterations=[most iterations of the iterative method]:N:'
                '--refine=[most steps of iterative refinement]:N:'
                '--condition=-[estimate the condition number of A]::WHEN:(off on auto)'
                '--device=[where the factorization and the solves with it run]:WHERE:(cpu cuda auto)'
                '--threads=[threads at work, at most]:N:'
                '--memory-limit=[most memory of a factorization, on blocks also of the solves with it]:BYTES:'
                '--plot=[draw patterns and times]:FILE:_files'
                '--force[write more than 1 GB, and to a disk that is too full]'
                '--json[one JSON object on standard output]'
                '--quiet[no report]'
                '-q[no report]'
                '--progress[show progress from the start]'
                '--help[this text]'
                '-h[this text]'
                '--ordering=[the fill-reducing ordering]:NAME:(auto amd metis scotch rcm given natural nd gmc)'
                '--given-perm=[the order for --ordering given]:FILE:_files'
                '--given-tree=[the order and the supernodes, as analyse --tree wrote them]:FILE:_files'
                '--given-blocks=[where each block of --ordering given or natural begins]:FILE:_files'
                '--given-pivots=[where each pivot, of one or two rows, begins there]:FILE:_files'
                '--matching=[maximum-product matching, for scaling and 2x2 pivots]:WHEN:(off on auto)'
                '--scaling=[scaling before the factorization, symmetric where A is]:WHEN:(off on auto)'
                '--model-threads=[choose the ordering for a machine with this many threads]:N:'
                '--accuracy=[componentwise backward error that the solution is to reach]:E:'
                '--pivot-threshold=[accept a pivot if the entries of L under it are at most 1/u in modulus]:U:'
                '--zero-tolerance=[a pivot column with no entry above this times the largest of the scaled matrix is zero]:T:'
                '--static-shift=[replace failed pivots by this times the largest entry of the scaled matrix]:E:'
                '--restart=[gmres and fgmres restart after this many steps]:M:'
                '--shadow=[vectors in the shadow space of idr]:S:'
                '--symmetry-tolerance=[entries whose mirror images differ by no more than this times the largest entry of their two rows are taken for equal]:T:'
                '--direct=[may method auto use the direct solver?]:WHEN:(off on auto)'
                '--factor-type=[form of a factorization on blocks]:NAME:(ldlt llt ldu)'
                '--strategy=[how rows become blocks]:NAME:(auto br rb rbr)'
                '--block=[most rows of a block]:N:'
                '--grid=-[cut blocks with exactly as many rows as block says]::WHEN:(off on auto)'
                '--similarity=[rows share a block if the cosine of their patterns is at least this]:C:'
                '--similarity-end=[the blocking ends where similarity, which falls from level to level, is below this]:C:'
                '--joining=[rows that depend on each other share a block, however little their patterns in A have in common]:WHEN:(off on auto)'
                '--level=[level of fill of the blocks, -1]:K:'
                '--level-rule=[how levels of fill grow where two blocks meet]:NAME:(sum max)'
                '--fill-factor=[a block of L keeps at most this times as many entries as in A, 0]:F:'
                '--capacity-rule=[which blocks keep all their entries although fill_factor is not 0, and what a block that is empty in A may keep]:NAME:(bitmap index)'
                '--drop-tolerance=[drop entries of L that are not above this times the norm of their column]:T:'
                '--drop-norm=[which part of a column of L drop_tolerance is measured by]:NAME:(below whole)'
                '--pivoting=[pivoting inside a diagonal block]:NAME:(none static bk rook complete)'
                '--stages=[stages of outer pivoting, 1]:N:'
                '--butterfly=-[transform diagonal blocks by random butterflies]::WHEN:(off on auto)'
                '--schedule=[in which order the blocks are computed, and who writes where]:NAME:(pull subsets atomic jacobi)'
                '--sweeps=[sweeps of the fixed-point factorization (schedule jacobi)]:N:'
                '--jacobi-epsilon=[sweeps replace pivots below this times the 1-norm of the scaled matrix]:E:'
                '--jacobi-decay=[the factor by which jacobi_epsilon falls from sweep to sweep]:D:'
                '--jacobi-norm=[which norm jacobi_epsilon is relative to]:NAME:(matrix frame)'
                '--jacobi-push=[sweeps push a block back where a pivot of it is below this times the 1-norm of its columns]:D:'
                '--jacobi-judge=[when sweeps decide which blocks are pushed back]:NAME:(first last)'
                '--block-tolerance=[hold a block of L in fewer bits where rounding changes no entry of it by more than this]:T:'
                '--shift=[add this to the diagonal of the scaled matrix, with its sign]:S:'
                '--omega=[relaxation of method ssor]:W:'
                '--precision=[precision in which the factor is stored]:NAME:(double single)'
                '--solve-sweeps=[replace triangular solves by this many Jacobi sweeps, 0]:N:'
                '--triangular=[how the triangles of a factor on blocks are solved with]:NAME:(exact jacobi isai auto)'
                '--isai-pattern=[the pattern of the approximate inverses (triangular isai)]:NAME:(factor matrix blocks)'
                '--isai-power=[the power k of the pattern of approximate inverses, 0]:K:'
                '--isai-block=[rows of a diagonal block of isai_pattern blocks]:N:'
                '--isai-limit=[most entries of a column of an approximate inverse, 0]:N:'
                '--isai-over=[what becomes of a column longer than isai_limit]:NAME:(refuse less largest)'
                '--isai-relax=[sweeps x ]:N:'
                '--isai-precision=[precision in which the approximate inverses are stored]:NAME:(double single)'
                '--isai-frames=-[approximate inverses by blocks]::WHEN:(off on)'
                '--device-number=[which GPU, from 0]:N:'
                '--device-memory-limit=[most device memory of a factorization and of the solves with it]:BYTES:'
                '--backend=[another machine for the factorization]:WHERE:'
                '--dense=[dense]:NAME:'
                '--trace=[what was done when, of methods on blocks]:FILE:_files'
                '--energy[joules of factorization and solve, where the machine tells them]'
                '--seed=[seed of all random choices]:N:'
                '--deterministic=-[the same bits for any number of threads]::WHEN:(off on auto)'
            ) ;;
        analyse | analyze)
            specs=(
                '--generate=[generate A, as in --generate  nlpkkt 20 ]:SPEC:'
                '--output=[write the analysis, for --analysis of other commands]:FILE:_files'
                '-o+[write the analysis, for --analysis of other commands]:FILE:_files'
                '--tree=[write the order and the assembly tree]:FILE:_files'
                '--method=[how A is factorized]:NAME:(auto ldlt ildlt jacobi ilu0 none diagonal block_jacobi ssor)'
                '--device=[where the factorization and the solves with it run]:WHERE:(cpu cuda auto)'
                '--threads=[threads at work, at most]:N:'
                '--memory-limit=[most memory of a factorization, on blocks also of the solves with it]:BYTES:'
                '--plot=[draw patterns and times]:FILE:_files'
                '--json[one JSON object on standard output]'
                '--quiet[no report]'
                '-q[no report]'
                '--progress[show progress from the start]'
                '--help[this text]'
                '-h[this text]'
                '--ordering=[the fill-reducing ordering]:NAME:(auto amd metis scotch rcm given natural nd gmc)'
                '--given-perm=[the order for --ordering given]:FILE:_files'
                '--given-tree=[the order and the supernodes, as analyse --tree wrote them]:FILE:_files'
                '--given-blocks=[where each block of --ordering given or natural begins]:FILE:_files'
                '--given-pivots=[where each pivot, of one or two rows, begins there]:FILE:_files'
                '--matching=[maximum-product matching, for scaling and 2x2 pivots]:WHEN:(off on auto)'
                '--scaling=[scaling before the factorization, symmetric where A is]:WHEN:(off on auto)'
                '--model-threads=[choose the ordering for a machine with this many threads]:N:'
                '--symmetry-tolerance=[entries whose mirror images differ by no more than this times the largest entry of their two rows are taken for equal]:T:'
                '--strategy=[how rows become blocks]:NAME:(auto br rb rbr)'
                '--block=[most rows of a block]:N:'
                '--grid=-[cut blocks with exactly as many rows as block says]::WHEN:(off on auto)'
                '--similarity=[rows share a block if the cosine of their patterns is at least this]:C:'
                '--similarity-end=[the blocking ends where similarity, which falls from level to level, is below this]:C:'
                '--joining=[rows that depend on each other share a block, however little their patterns in A have in common]:WHEN:(off on auto)'
                '--device-number=[which GPU, from 0]:N:'
                '--device-memory-limit=[most device memory of a factorization and of the solves with it]:BYTES:'
                '--seed=[seed of all random choices]:N:'
            ) ;;
        inertia)
            specs=(
                '--generate=[generate A, as in --generate  nlpkkt 20 ]:SPEC:'
                '--output=[write an orthonormal basis of the kernel]:V:_files'
                '-o+[write an orthonormal basis of the kernel]:V:_files'
                '--save-factor=[write the factor, for --factor]:FILE:_files'
                '--factor=[the factor of A, as --save-factor wrote it]:FILE:_files'
                '--analysis=[the analysis of A]:FILE:_files'
                '--method=[how A is factorized]:NAME:(auto ldlt ildlt jacobi ilu0 none diagonal block_jacobi ssor)'
                '--device=[where the factorization and the solves with it run]:WHERE:(cpu cuda auto)'
                '--threads=[threads at work, at most]:N:'
                '--memory-limit=[most memory of a factorization, on blocks also of the solves with it]:BYTES:'
                '--plot=[draw patterns and times]:FILE:_files'
                '--force[write more than 1 GB, and to a disk that is too full]'
                '--json[one JSON object on standard output]'
                '--quiet[no report]'
                '-q[no report]'
                '--progress[show progress from the start]'
                '--help[this text]'
                '-h[this text]'
                '--ordering=[the fill-reducing ordering]:NAME:(auto amd metis scotch rcm given natural nd gmc)'
                '--given-perm=[the order for --ordering given]:FILE:_files'
                '--given-tree=[the order and the supernodes, as analyse --tree wrote them]:FILE:_files'
                '--matching=[maximum-product matching, for scaling and 2x2 pivots]:WHEN:(off on auto)'
                '--scaling=[scaling before the factorization, symmetric where A is]:WHEN:(off on auto)'
                '--model-threads=[choose the ordering for a machine with this many threads]:N:'
                '--pivot-threshold=[accept a pivot if the entries of L under it are at most 1/u in modulus]:U:'
                '--zero-tolerance=[a pivot column with no entry above this times the largest of the scaled matrix is zero]:T:'
                '--static-shift=[replace failed pivots by this times the largest entry of the scaled matrix]:E:'
                '--symmetry-tolerance=[entries whose mirror images differ by no more than this times the largest entry of their two rows are taken for equal]:T:'
                '--device-number=[which GPU, from 0]:N:'
                '--device-memory-limit=[most device memory of a factorization and of the solves with it]:BYTES:'
                '--trace=[what was done when, of methods on blocks]:FILE:_files'
                '--energy[joules of factorization and solve, where the machine tells them]'
                '--seed=[seed of all random choices]:N:'
                '--deterministic=-[the same bits for any number of threads]::WHEN:(off on auto)'
            ) ;;
        inverse)
            specs=(
                '--generate=[generate A, as in --generate  nlpkkt 20 ]:SPEC:'
                '--pattern[all entries of A^-1 where A has some, not the diagonal alone]'
                '--output=[write the entries]:FILE:_files'
                '-o+[write the entries]:FILE:_files'
                '--factor=[the factor of A, as --save-factor wrote it]:FILE:_files'
                '--analysis=[the analysis of A]:FILE:_files'
                '--threads=[threads at work, at most]:N:'
                '--memory-limit=[most memory of a factorization, on blocks also of the solves with it]:BYTES:'
                '--plot=[draw patterns and times]:FILE:_files'
                '--force[write more than 1 GB, and to a disk that is too full]'
                '--json[one JSON object on standard output]'
                '--quiet[no report]'
                '-q[no report]'
                '--progress[show progress from the start]'
                '--help[this text]'
                '-h[this text]'
                '--ordering=[the fill-reducing ordering]:NAME:(auto amd metis scotch rcm given natural nd gmc)'
                '--given-perm=[the order for --ordering given]:FILE:_files'
                '--given-tree=[the order and the supernodes, as analyse --tree wrote them]:FILE:_files'
                '--matching=[maximum-product matching, for scaling and 2x2 pivots]:WHEN:(off on auto)'
                '--scaling=[scaling before the factorization, symmetric where A is]:WHEN:(off on auto)'
                '--model-threads=[choose the ordering for a machine with this many threads]:N:'
                '--accuracy=[most error that the check of the result may show]:E:'
                '--pivot-threshold=[accept a pivot if the entries of L under it are at most 1/u in modulus]:U:'
                '--zero-tolerance=[a pivot column with no entry above this times the largest of the scaled matrix is zero]:T:'
                '--static-shift=[replace failed pivots by this times the largest entry of the scaled matrix]:E:'
                '--symmetry-tolerance=[entries whose mirror images differ by no more than this times the largest entry of their two rows are taken for equal]:T:'
                '--seed=[seed of all random choices]:N:'
            ) ;;
        schur)
            specs=(
                '--generate=[generate A, as in --generate  nlpkkt 20 ]:SPEC:'
                '--variables=[the outer variables]:WHICH:'
                '--output=[write S]:S:_files'
                '-o+[write S]:S:_files'
                '--device=[where the factorization and the solves with it run]:WHERE:(cpu cuda auto)'
                '--threads=[threads at work, at most]:N:'
                '--memory-limit=[most memory of a factorization, on blocks also of the solves with it]:BYTES:'
                '--force[write more than 1 GB, and to a disk that is too full]'
                '--json[one JSON object on standard output]'
                '--quiet[no report]'
                '-q[no report]'
                '--progress[show progress from the start]'
                '--help[this text]'
                '-h[this text]'
                '--ordering=[the fill-reducing ordering]:NAME:(auto amd metis scotch rcm given natural nd gmc)'
                '--matching=[maximum-product matching, for scaling and 2x2 pivots]:WHEN:(off on auto)'
                '--scaling=[scaling before the factorization, symmetric where A is]:WHEN:(off on auto)'
                '--model-threads=[choose the ordering for a machine with this many threads]:N:'
                '--pivot-threshold=[accept a pivot if the entries of L under it are at most 1/u in modulus]:U:'
                '--zero-tolerance=[a pivot column with no entry above this times the largest of the scaled matrix is zero]:T:'
                '--static-shift=[replace failed pivots by this times the largest entry of the scaled matrix]:E:'
                '--symmetry-tolerance=[entries whose mirror images differ by no more than this times the largest entry of their two rows are taken for equal]:T:'
                '--seed=[seed of all random choices]:N:'
            ) ;;
        doctor)
            specs=(
                '--generate=[generate A, as in --generate  nlpkkt 20 ]:SPEC:'
                '--output=[write a page with pictures]:FILE:_files'
                '-o+[write a page with pictures]:FILE:_files'
                '--seconds=[time for all of it, after which what is left is left out]:S:'
                '--device=[where the factorization and the solves with it run]:WHERE:(cpu cuda auto)'
                '--threads=[threads at work, at most]:N:'
                '--memory-limit=[most memory of a factorization, on blocks also of the solves with it]:BYTES:'
                '--json[one JSON object on standard output]'
                '--quiet[no report]'
                '-q[no report]'
                '--progress[show progress from the start]'
                '--help[this text]'
                '-h[this text]'
                '--symmetry-tolerance=[entries whose mirror images differ by no more than this times the largest entry of their two rows are taken for equal]:T:'
                '--device-number=[which GPU, from 0]:N:'
                '--seed=[seed of all random choices]:N:'
            ) ;;
        info)
            specs=(
                '--generate=[generate A, as in --generate  nlpkkt 20 ]:SPEC:'
                '--plot=[draw patterns and times]:FILE:_files'
                '--json[one JSON object on standard output]'
                '--quiet[no report]'
                '-q[no report]'
                '--progress[show progress from the start]'
                '--help[this text]'
                '-h[this text]'
                '--symmetry-tolerance=[entries whose mirror images differ by no more than this times the largest entry of their two rows are taken for equal]:T:'
                '--seed=[seed of all random choices]:N:'
            ) ;;
        generate)
            specs=(
                '--output=[write to FILE]:FILE:_files'
                '-o+[write to FILE]:FILE:_files'
                '--force[write more than 1 GB, and to a disk that is too full]'
                '--json[one JSON object on standard output]'
                '--quiet[no report]'
                '-q[no report]'
                '--progress[show progress from the start]'
                '--help[this text]'
                '-h[this text]'
                '--seed=[seed of all random choices]:N:'
            ) ;;
        stats)
            specs=(
                '--generate=[generate A, as in --generate  nlpkkt 20 ]:SPEC:'
                '--threads=[threads at work, at most]:N:'
                '--memory-limit=[most memory of a factorization, on blocks also of the solves with it]:BYTES:'
                '--plot=[draw blocks and level sets]:FILE:_files'
                '--json[one JSON object on standard output]'
                '--quiet[no report]'
                '-q[no report]'
                '--progress[show progress from the start]'
                '--help[this text]'
                '-h[this text]'
                '--ordering=[auto, amd, nd, metis, scotch, rcm, gmc, natural]:LIST:'
                '--matching=[maximum-product matching, for scaling and 2x2 pivots]:WHEN:(off on auto)'
                '--symmetry-tolerance=[entries whose mirror images differ by no more than this times the largest entry of their two rows are taken for equal]:T:'
                '--strategy=[br,rb,rbr or auto]:LIST:'
                '--block=[most rows of a block, 1 to 128]:LIST:'
                '--levels=[of fill]:LIST:'
                '--scalar=[on | off]:WHEN:'
                '--grid=-[cut blocks with exactly as many rows as block says]::WHEN:(off on auto)'
                '--similarity=[rows share a block if the cosine of their patterns is at least this]:C:'
                '--similarity-end=[the blocking ends where similarity, which falls from level to level, is below this]:C:'
                '--joining=[rows that depend on each other share a block, however little their patterns in A have in common]:WHEN:(off on auto)'
                '--seed=[seed of all random choices]:N:'
            ) ;;
        convert)
            specs=(
                '--generate=[generate A, as in --generate  nlpkkt 20 ]:SPEC:'
                '--output=[write to FILE]:FILE:_files'
                '-o+[write to FILE]:FILE:_files'
                '--force[write more than 1 GB, and to a disk that is too full]'
                '--json[one JSON object on standard output]'
                '--quiet[no report]'
                '-q[no report]'
                '--progress[show progress from the start]'
                '--help[this text]'
                '-h[this text]'
                '--symmetry-tolerance=[entries whose mirror images differ by no more than this times the largest entry of their two rows are taken for equal]:T:'
                '--seed=[seed of all random choices]:N:'
            ) ;;
        bench)
            specs=(
                '--device=[where the factorization and the solves with it run]:WHERE:(cpu cuda auto)'
                '--threads=[threads at work, at most]:N:'
                '--json[one JSON object on standard output]'
                '--help[this text]'
                '-h[this text]'
                '--device-number=[which GPU, from 0]:N:'
                '--seed=[seed of all random choices]:N:'
                '--methods=[of methods, see metapack-bench(1)]:LIST:'
                '--sizes=[of orders]:LIST:'
                '--type=[s | d | c | z]:T:'
            ) ;;
        devices)
            specs=(
                '--json[one JSON object on standard output]'
                '--help[this text]'
                '-h[this text]'
            ) ;;
        accelerators)
            specs=(
                '--json[one JSON object on standard output]'
                '--help[this text]'
                '-h[this text]'
                '--size=[work-items, rows of a block]:N:'
                '-n+[work-items, rows of a block]:N:'
                '--jobs=[most jobs of the table]:T:'
                '--warps=[of the GPU]:W:'
                '--kernel=[which kernel of the file]:NAME:'
                '--cells=[a program of the array]:FILE:_files'
                '--units=[latencies and areas of units, in the form of borg/spatial/units.def]:FILE:_files'
                '--plot=[draw cycles over jobs]:FILE:_files'
                '--draw=[draw the array with the cycles of its links]:FILE:_files'
            ) ;;
        synthesize)
            specs=(
                '--quiet[no report]'
                '-q[no report]'
                '--help[this text]'
                '-h[this text]'
                '--type=[ldlt | llt | ldu]:NAME:'
                '--fill=[full | level]:WHICH:'
                '--pivoting=[none | inner | outer | both]:WHICH:'
                '--block=[rows of a block, 1 to 64, with inner pivoting to 16, in hls to 8]:N:'
                '--ordering=[rcm | amd | nd]:WHICH:'
                '--matching=[scaling by a matching, whose pairs stay together]:on|off:'
                '--butterfly=[transform rejected blocks before the next stage]:on|off:'
                '--krylov=[none | sqmr | gmres, where refinement is not enough]:WHICH:'
                '--target=[c | hls | cuda]:WHAT:'
                '--output=[the folder, made if there is none]:DIR:_files'
                '-o+[the folder, made if there is none]:DIR:_files'
            ) ;;
        ipopt-env)
            specs=(
                '--json[one JSON object on standard output]'
                '--quiet[no report]'
                '-q[no report]'
                '--help[this text]'
                '-h[this text]'
            ) ;;
        petsc-env)
            specs=(
                '--json[one JSON object on standard output]'
                '--quiet[no report]'
                '-q[no report]'
                '--help[this text]'
                '-h[this text]'
            ) ;;
        vsim)
            specs=(
                '--matrix=[rows of a matrix as warps]:A:_files'
                '--generate=[rows of a generated matrix as warps]:SPEC:'
                '--rows=[these rows of it, as FROM]:RANGE:'
                '--cols=[these columns of it]:RANGE:'
                '--warps=[threads of a row, rows | rows]:HOW:'
                '--input=[sizes of warps and named arrays]:FILE:_files'
                '--machine=[the vector core]:FILE:_files'
                '--set=[name=value of the machine, over its file]:LIST:'
                '--slots=[partitions at once, or auto]:LIST:'
                '--threshold=[of packing]:LIST:'
                '--orders=[random orders of the warps]:N:'
                '--sort=[none | rising | falling sizes before packing]:HOW:'
                '--estimate=[instructions of a size, for packing]:HOW:'
                '--csv=[write a row for each setting]:FILE:_files'
                '--plot=[draw sizes, cycles, utilisation, first cycles]:FILE:_files'
                '--trace=[first cycles of the fastest setting, JSON for a browser]:FILE:_files'
                '--trace-cycles=[how many first cycles]:N:'
                '--masks=[mask registers of a slot]:N:'
                '--max-steps=[most instructions of a partition]:N:'
                '--print[the kernel, disassembled, on standard output]'
                '--json[one JSON object on standard output]'
                '--quiet[no report]'
                '-q[no report]'
                '--threads=[threads at work, at most]:N:'
                '--seed=[seed of all random choices]:N:'
                '--help[this text]'
                '-h[this text]'
            ) ;;
    esac
}
# options: end

_metapack()
{
    local -a commands specs
    commands=(solve analyse inertia inverse schur info generate stats convert bench devices accelerators synthesize vsim ipopt-env petsc-env help)
    if ((CURRENT == 2)); then
        compadd -- $commands --help --version
        return
    fi
    if [[ $words[2] == help ]]; then
        # the command knows which pages are there
        compadd -- ${(f)"$($words[1] help topics 2>/dev/null || print -l ${commands[1,-2]} report)"}
        return
    fi
    _metapack_specs $words[2]
    local families='nlpkkt control-distributed lin helmholtz stokes lp-kkt optimal-control
        quasi-definite random convection elements mycielskian lp-published'
    shift words
    ((CURRENT--))
    if [[ $words[1] == generate && $CURRENT -eq 2 && $words[2] != -* ]]; then
        compadd -- ${=families}
    elif [[ $words[1] == bench ]]; then
        _arguments $specs '1:what:(dense batch)'
    else
        _arguments $specs '*:matrix:_files'
    fi
}

_metapack "$@"
