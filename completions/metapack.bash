# SPDX-License-Identifier: BSD-3-Clause
# bash completion for metapack(1): commands, options, their values, families, files.

_metapack_options() # COMMAND -> its options
{
    local all='--json --quiet --progress --seed --help'
    local order='--generate --plot --method --ordering --given-perm --matching --scaling --model-threads --threads
        --deterministic --memory-limit'
    local factor='--pivot-threshold --zero-tolerance --static-shift'
    local blocks='--strategy --block --grid --similarity'
    local incomplete='--level --fill-factor --drop-tolerance --factor-type --pivoting --stages
        --butterfly --schedule --sweeps --jacobi-epsilon --jacobi-decay --shift --precision
        --solve-sweeps'
    local krylov='--krylov --tolerance --max-iterations --restart --shadow --direct --no-direct'
    case $1 in
        solve) echo "$all $order $factor $blocks $incomplete $krylov --rhs --output --refine
            --accuracy --condition --dense" ;;
        analyse | analyze) echo "$all $order $blocks" ;;
        inertia) echo "$all $order $factor" ;;
        info) echo "$all --generate --plot" ;;
        generate) echo "$all --output" ;;
        stats) echo "$all --generate --plot --strategy --ordering --block --levels --grid --similarity
            --scalar --matching --threads --memory-limit" ;;
        convert) echo "$all --generate --output" ;;
        bench) echo '--methods --sizes --type --threads --seed --json --help dense batch' ;;
        ipopt-env | petsc-env) echo '--json --quiet --help' ;;
    esac
}

_metapack_values() # OPTION -> the words it takes, or nothing
{
    case $1 in
        --ordering) echo 'auto amd nd metis scotch rcm gmc given natural' ;;
        --matching | --scaling | --direct) echo 'on off auto' ;;
        --deterministic | --condition | --grid | --butterfly) echo 'on off' ;;
        --method) echo 'auto ldlt ildlt jacobi ilu0 none' ;;
        --krylov) echo 'auto none sqmr minres symmlq cg gmres fgmres bicgstab idr' ;;
        --strategy) echo 'auto br rb rbr' ;;
        --dense | --methods) echo 'auto tile bunch-kaufman rook aasen butterfly none off' ;;
        --type) echo 's d c z' ;;
        --levels) echo '0 0:3 0:5 full 0:3,full' ;;
        --scalar) echo 'on off' ;;
        --factor-type) echo 'ldlt llt ldu' ;;
        --pivoting) echo 'none static bk rook complete' ;;
        --schedule) echo 'pull subsets atomic jacobi' ;;
        --precision) echo 'double single' ;;
        --pivot-threshold) echo '0.01 0.1 0.5' ;;
        --threads) seq 0 "$(nproc 2>/dev/null || echo 1)" ;;
        --generate) _metapack_families ;;
    esac
}

_metapack_families()
{
    echo 'nlpkkt control-distributed lin helmholtz stokes lp-kkt optimal-control quasi-definite random'
}

_metapack()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    local commands='solve analyse inertia info generate stats convert bench ipopt-env petsc-env help'
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$commands --help --version" -- "$cur")
        return
    fi
    if [[ $command == help ]]; then
        ((COMP_CWORD == 2)) && mapfile -t COMPREPLY < <(compgen -W "${commands% help}" -- "$cur")
        return
    fi
    # "--option=val" reaches us as three words: "=" breaks words
    if [[ $cur == = ]]; then
        cur='' prev=${COMP_WORDS[COMP_CWORD - 1]}
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    elif [[ $prev =~ ^--(deterministic|condition|grid|butterfly)$ ]]; then
        prev='' # their value comes after "=" alone
    fi
    case $prev in
        -b | --rhs | -o | --output | --given-perm | --plot)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            return
            ;;
        --seed | --refine | --accuracy | --zero-tolerance | --static-shift | --memory-limit | \
            --tolerance | --max-iterations | --restart | --shadow | --block | --similarity | \
            --level | --fill-factor | --drop-tolerance | --stages | --sweeps | \
            --jacobi-epsilon | --jacobi-decay | --shift | --solve-sweeps)
            return
            ;;
    esac
    if [[ -n $prev && -n $(_metapack_values "$prev") ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_metapack_values "$prev")" -- "$cur")
    elif [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_metapack_options "$command")" -- "$cur")
    elif [[ $command == generate ]]; then
        ((COMP_CWORD == 2)) && mapfile -t COMPREPLY < <(compgen -W "$(_metapack_families)" -- "$cur")
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    fi
}

complete -F _metapack metapack
