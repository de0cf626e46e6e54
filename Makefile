# SPDX-License-Identifier: BSD-3-Clause
# The short way in; CMake does the work (docs/guide/building.md).  make help lists what there is.
BUILD   ?= build
PREFIX  ?= /usr/local
JOBS    ?= $(shell nproc 2>/dev/null || echo 2)
# Put SETUP=: on the command line where the libraries do not come from Debian's packages.
SETUP   ?= tools/setup
# More settings for CMake: make demo FLAGS=-DMETAPACK_METIS=OFF.
FLAGS   ?=

# Arguments of bench/direct.py: make bench BENCH="--only 'lp_kkt/*' --threads 2".
BENCH   ?=

DEMO = data/acopf/ACTIVSg200_AC_02

.PHONY: all build demo check check-all check-clients bench-clients bench bench-borg bench-dense bench-ildlt bench-jacobi bench-auto bench-sweeps bench-incomplete bench-gpu wheel site site-check release install uninstall format clean help
all: build

build:             ## install what is missing, build the library and the command
	@$(SETUP) build
	@tools/build $(BUILD) $(JOBS) -DMETAPACK_TESTS=OFF $(FLAGS)

# What the demo does not run is left out: half of the build, and of the packages.
demo:              ## build the command alone, solve a real interior-point KKT system and print the report
	@$(SETUP) demo
	@TARGETS=metapack_command tools/build $(BUILD)/demo $(JOBS) -DMETAPACK_ISAS=NATIVE -DMETAPACK_TUNED=d -DMETAPACK_SCOTCH=OFF \
	    -DMETAPACK_CUDA=OFF -DMETAPACK_EMITTED_KERNELS=OFF -DMETAPACK_IPOPT=OFF -DMETAPACK_PETSC=OFF \
	    -DMETAPACK_TESTS=OFF -DMETAPACK_BENCH=OFF -DMETAPACK_SIM=OFF $(FLAGS)
	$(BUILD)/demo/metapack solve $(DEMO).mtx.xz -b $(DEMO)_b.mtx.xz

check:             ## everything that must hold before a change goes in (tools/check --list)
	@$(SETUP) build test sanitize
	@JOBS=$(JOBS) tools/check

check-all: check   ## and what takes an hour: random systems, judged exactly (docs/design/oracle.md; HOURS=1)
	@JOBS=$(JOBS) tools/check-all $(HOURS)

check-clients:     ## clients on METAPACK, from PyPI and Debian: wheel, scikit-fem, Ipopt, Eigen, R, ... (tools/check-clients --list)
	@$(SETUP) build clients
	@tools/check-clients

bench: build       ## beside MUMPS, SSIDS and MKL PARDISO, where they are (bench/README.md)
	@$(SETUP) build bench
	@tools/fetch-peers $(BUILD)/peers
	@cmake -B $(BUILD) -DMETAPACK_BENCH=ON -DMETAPACK_PEERS=$(abspath $(BUILD))/peers | grep benchmark
	@tools/build $(BUILD) $(JOBS)
	@bench/direct.py --build $(BUILD) --report bench/results/direct-cpu.md $(BENCH)

# Of BENCH: --quick takes minutes and writes no page; with anything else only that part is measured, without the ablations.
bench-borg: build  ## the experiment of Table 7.2: borgc's kernels beside compilers and vendors, and its ablations (bench/README.md)
	@$(SETUP) build bench
	@tools/fetch-peers $(BUILD)/peers pardiso
	@cmake -B $(BUILD) -DMETAPACK_BENCH=ON >/dev/null
	@tools/build $(BUILD) $(JOBS)
	@bench/borg.py --build $(BUILD) $(if $(findstring --quick,$(BENCH)),,--report bench/results/borg-cpu.md) $(BENCH)
	@$(if $(filter-out --quick,$(BENCH)),:,bench/borg_ablation.py --build $(BUILD) $(or $(BENCH),--report bench/results/borg-cpu.md))

bench-dense: build ## dense methods beside OpenBLAS on the processor, and the acoustics example: bench/results/dense.md
	@$(SETUP) build test bench
	@TARGETS='bench_dense_host example_acoustics' tools/build $(BUILD) $(JOBS) -DMETAPACK_BENCH=ON \
	    -DMETAPACK_TESTS=ON
	@bench/dense.py --build $(BUILD) --fresh $(BENCH)

bench-ildlt: bench-drivers ## block-iLDLT with the published settings: 2018, Tables I, II and Fig. 3
	@bench/ildlt.py table1 --build $(BUILD) $(BENCH)
	@bench/ildlt.py fig3 --build $(BUILD) $(BENCH)

bench-jacobi: bench-drivers ## Jacobi-LDLT: 2019, Fig. 3 and Table I
	@bench/jacobi.py fig3 --build $(BUILD) $(BENCH)
	@bench/jacobi.py table1 --build $(BUILD) $(BENCH)

bench-auto: bench-drivers ## --method auto on every indefinite matrix
	@bench/auto.py --build $(BUILD) $(BENCH)

bench-sweeps: bench-drivers ## bandwidth of the triangular sweeps on blocks
	@bench/sweeps.py --build $(BUILD) $(BENCH)

bench-gpu: build    ## the direct solver on a GPU beside cuDSS, where that can be had: bench/results/sparse-gpu.md
	@tools/fetch-peers $(BUILD)/peers cudss
	@cmake -B $(BUILD) -DMETAPACK_BENCH=ON >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target metapack_cuda bench_cuda_direct bench_cuda_peer_cudss >/dev/null || \
	    { echo "bench-gpu: there is no CUDA module to build (docs/guide/cuda.md, Building)" >&2; exit 1; }
	@bench/sparse_gpu.py --build $(BUILD) --report bench/results/sparse-gpu.md --plot bench/results/sparse-gpu.svg $(BENCH)

bench-clients: build ## Ipopt's problems beside MUMPS: bench/results/clients.md
	@$(SETUP) build test
	@tools/check-clients ipopt
	@build/clients/ipopt/bin/python bench/clients.py --build $(BUILD) --report bench/results/clients.md $(BENCH)

bench-incomplete: bench-sweeps bench-jacobi bench-ildlt bench-auto ## all of bench/results/incomplete.md

.PHONY: bench-drivers
bench-drivers: build
	@cmake -B $(BUILD) -DMETAPACK_BENCH=ON >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target bench_reconstruct bench_sweeps >/dev/null

wheel:             ## the wheel of Python's pymetapack for other machines, in build/wheels (docs/guide/python.md)
	@$(SETUP) wheel
	@$(if $(filter-out build,$(BUILD)),METAPACK_BUILD="$(BUILD)") tools/wheel

site:              ## the documentation as a site, in build/site (docs/design/site.md)
	@$(SETUP) site
	@tools/site/build $(BUILD)/site

site-check: site   ## open each of its pages in a headless browser (tools/site/check)
	@tools/site/check --broken
	@tools/site/check --jobs $(JOBS) $(BUILD)/site

release:           ## source archive and checksums of the last commit, in build/dist; TAG=1: its tag as well (CONTRIBUTING.md)
	@tools/release

install: build     ## install into PREFIX (default /usr/local; DESTDIR is honoured)
	@tools/install "$(BUILD)" "$(PREFIX)"

uninstall:         ## remove all that was installed, in PREFIX if it is given, else wherever that was
	@tools/install --remove "$(BUILD)" $(if $(filter command environment,$(origin PREFIX) $(origin DESTDIR)),"$(PREFIX)")

format:            ## clang-format 14 on every C file
	@tools/check-format --fix

clean:             ## remove everything that was built
	rm -rf $(BUILD) build-*

help:              ## this list
	@sed -n 's/^\([a-z-]*\):.*##/  make \1\t/p' Makefile | expand -t 22
