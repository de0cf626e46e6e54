# SPDX-License-Identifier: BSD-3-Clause
# bash completion for metapack(1): commands, options, their values, families, files.

# options: begin, made by tools/option-texts
_metapack_options() # COMMAND -> its options
{
    case $1 in
        solve)
            echo '--generate --rhs --output --minimum-norm --save-factor --factor --analysis
                --method --no-direct --krylov --tolerance --max-iterations --refine --condition
                --device --threads --memory-limit --plot --force --json --quiet --progress
                --help --ordering --given-perm --given-tree --given-blocks --given-pivots
                --matching --scaling --model-threads --updates --accuracy --pivot-threshold
                --zero-tolerance --static-shift --low-rank-tolerance --fp64-emulation --restart
                --shadow --symmetry-tolerance --direct --factor-type --strategy --block --grid
                --similarity --similarity-end --joining --level --level-rule --fill-factor
                --capacity-rule --drop-tolerance --drop-norm --pivoting --stages --butterfly
                --schedule --sweeps --jacobi-epsilon --jacobi-decay --jacobi-norm --jacobi-push
                --jacobi-judge --block-tolerance --shift --omega --precision --solve-sweeps
                --triangular --isai-pattern --isai-power --isai-block --isai-limit --isai-over
                --isai-relax --isai-precision --isai-frames --device-number
                --device-memory-limit --backend --dense --trace --energy --seed
                --deterministic' ;;
        analyse | analyze)
            echo '--generate --output --tree --method --device --threads --memory-limit --plot
                --json --quiet --progress --help --ordering --given-perm --given-tree
                --given-blocks --given-pivots --matching --scaling --model-threads
                --symmetry-tolerance --strategy --block --grid --similarity --similarity-end
                --joining --device-number --device-memory-limit --seed' ;;
        inertia)
            echo '--generate --output --save-factor --factor --analysis --method --device
                --threads --memory-limit --plot --force --json --quiet --progress --help
                --ordering --given-perm --given-tree --matching --scaling --model-threads
                --pivot-threshold --zero-tolerance --static-shift --low-rank-tolerance
                --fp64-emulation --symmetry-tolerance --device-number --device-memory-limit
                --trace --energy --seed --deterministic' ;;
        inverse)
            echo '--generate --pattern --output --factor --analysis --threads --memory-limit
                --plot --force --json --quiet --progress --help --ordering --given-perm
                --given-tree --matching --scaling --model-threads --accuracy --pivot-threshold
                --zero-tolerance --static-shift --symmetry-tolerance --seed' ;;
        schur)
            echo '--generate --variables --output --device --threads --memory-limit --force
                --json --quiet --progress --help --ordering --matching --scaling --model-threads
                --pivot-threshold --zero-tolerance --static-shift --symmetry-tolerance
                --seed' ;;
        systems)
            echo '--generate --values --rhs --output --refine --device --threads --memory-limit
                --force --json --quiet --progress --help --ordering --matching --scaling
                --model-threads --accuracy --pivot-threshold --zero-tolerance --static-shift
                --symmetry-tolerance --seed' ;;
        doctor)
            echo '--generate --output --seconds --device --threads --memory-limit --json --quiet
                --progress --help --symmetry-tolerance --device-number --seed' ;;
        info)
            echo '--generate --plot --json --quiet --progress --help --symmetry-tolerance
                --seed' ;;
        generate)
            echo '--output --force --json --quiet --progress --help --seed' ;;
        stats)
            echo '--generate --threads --memory-limit --plot --json --quiet --progress --help
                --ordering --matching --symmetry-tolerance --strategy --block --levels --scalar
                --grid --similarity --similarity-end --joining --seed' ;;
        convert)
            echo '--generate --output --force --json --quiet --progress --help
                --symmetry-tolerance --seed' ;;
        bench)
            echo '--device --threads --json --help --device-number --seed --methods --sizes
                --type' ;;
        devices)
            echo '--json --help' ;;
        accelerators)
            echo '--json --help --size --jobs --warps --kernel --cells --units --plot --draw' ;;
        synthesize)
            echo '--quiet --help --type --fill --pivoting --block --ordering --matching
                --butterfly --krylov --target --output' ;;
        ipopt-env)
            echo '--json --quiet --help' ;;
        petsc-env)
            echo '--json --quiet --help' ;;
        vsim)
            echo '--matrix --generate --rows --cols --warps --input --machine --set --slots
                --threshold --orders --sort --estimate --csv --plot --trace --trace-cycles
                --masks --max-steps --print --json --quiet --threads --seed --help' ;;
    esac
}

_metapack_words() # OPTION -> the words it takes, or nothing
{
    case $1 in
        --method) echo 'auto ldlt ildlt jacobi ilu0 none diagonal block_jacobi ssor' ;;
        --ordering) echo 'auto amd metis scotch rcm given natural nd gmc' ;;
        --matching) echo 'off on auto' ;;
        --scaling) echo 'off on auto' ;;
        --deterministic) echo 'off on auto' ;;
        --condition) echo 'off on auto' ;;
        --krylov) echo 'auto none sqmr minres symmlq cg gmres fgmres bicgstab idr' ;;
        --direct) echo 'off on auto' ;;
        --strategy) echo 'auto br rb rbr' ;;
        --grid) echo 'off on auto' ;;
        --factor-type) echo 'ldlt llt ldu' ;;
        --pivoting) echo 'none static bk rook complete' ;;
        --butterfly) echo 'off on auto' ;;
        --schedule) echo 'pull subsets atomic jacobi' ;;
        --precision) echo 'double single' ;;
        --device) echo 'cpu cuda auto' ;;
        --joining) echo 'off on auto' ;;
        --drop-norm) echo 'below whole' ;;
        --level-rule) echo 'sum max' ;;
        --triangular) echo 'exact jacobi isai auto' ;;
        --isai-pattern) echo 'factor matrix blocks' ;;
        --isai-over) echo 'refuse less largest' ;;
        --isai-precision) echo 'double single' ;;
        --capacity-rule) echo 'bitmap index' ;;
        --jacobi-norm) echo 'matrix frame' ;;
        --jacobi-judge) echo 'first last' ;;
        --isai-frames) echo 'off on' ;;
        --updates) echo 'off on' ;;
        --fp64-emulation) echo 'off on auto' ;;
    esac
}

_metapack_optional() # OPTION: may its value be left out?
{
    case $1 in
        --condition | --updates | --grid | --butterfly | --isai-frames | --deterministic) return 0 ;;
        *) return 1 ;;
    esac
}

_metapack_number() # OPTION: is its value a number?
{
    case $1 in
        --pivot-threshold | --zero-tolerance | --static-shift | --threads) return 0 ;;
        --model-threads | --refine | --accuracy | --seed | --memory-limit) return 0 ;;
        --tolerance | --max-iterations | --restart | --shadow | --block) return 0 ;;
        --similarity | --level | --fill-factor | --drop-tolerance | --stages) return 0 ;;
        --sweeps | --jacobi-epsilon | --jacobi-decay | --shift | --solve-sweeps) return 0 ;;
        --symmetry-tolerance | --omega | --device-number | --device-memory-limit) return 0 ;;
        --isai-power | --isai-block | --isai-limit | --isai-relax | --jacobi-push) return 0 ;;
        --block-tolerance | --similarity-end | --low-rank-tolerance) return 0 ;;
        *) return 1 ;;
    esac
}
# options: end

_metapack_values() # OPTION -> the words it takes, or nothing
{
    case $1 in
        --dense | --methods) echo 'auto tile bunch-kaufman rook aasen butterfly none off' ;;
        --type) echo 's d c z ldlt' ;;
        --backend) echo 'cpu cuda cuda-interface systolic:32x32 pipe' ;;
        --target) echo 'c hls cuda' ;;
        --fill) echo 'full level:0 level:1 level:2' ;;
        --levels) echo '0 0:3 0:5 full 0:3,full' ;;
        --scalar) echo 'on off' ;;
        --pivot-threshold) echo '0.01 0.1 0.5' ;;
        --threads) seq 0 "$(nproc 2>/dev/null || echo 1)" ;;
        --generate) _metapack_families ;;
        *) _metapack_words "$1" ;;
    esac
}

_metapack_families()
{
    echo 'nlpkkt control-distributed lin helmholtz stokes lp-kkt optimal-control quasi-definite random convection elements mycielskian lp-published'
}

_metapack_topics() # COMMANDS -> what help explains: the command knows which pages are there
{
    "${COMP_WORDS[0]}" help topics 2>/dev/null || echo "${1% help} report"
}

_metapack()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    local commands='solve analyse inertia inverse schur systems doctor info generate stats convert bench devices accelerators synthesize vsim ipopt-env petsc-env help'
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$commands --help --version" -- "$cur")
        return
    fi
    if [[ $command == help ]]; then
        ((COMP_CWORD == 2)) && mapfile -t COMPREPLY < <(compgen -W "$(_metapack_topics "$commands")" -- "$cur")
        return
    fi
    # "--option=val" reaches us as three words: "=" breaks words
    if [[ $cur == = ]]; then
        cur='' prev=${COMP_WORDS[COMP_CWORD - 1]}
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    elif _metapack_optional "$prev"; then
        prev='' # their value comes after "=" alone
    fi
    case $prev in
        -b | --rhs | -o | --output | --variables | --given-perm | --given-blocks | --given-pivots | --plot | --trace | --draw | --cells | --units | \
            --matrix | --input | --machine | --csv)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            return
            ;;
    esac
    if [[ -n $prev && -n $(_metapack_values "$prev") ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_metapack_values "$prev")" -- "$cur")
    elif _metapack_number "$prev"; then
        return
    elif [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_metapack_options "$command") --version" -- "$cur")
    elif [[ $command == bench ]]; then
        mapfile -t COMPREPLY < <(compgen -W 'dense batch' -- "$cur")
    elif [[ $command == generate ]]; then
        if ((COMP_CWORD == 2)); then
            mapfile -t COMPREPLY < <(compgen -W "$(_metapack_families)" -- "$cur")
        elif [[ ${COMP_WORDS[2]} == lp-published ]]; then
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        fi
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    fi
}

complete -F _metapack metapack
