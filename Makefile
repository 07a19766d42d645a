# narrows: common tasks. `make help` lists them.
.DEFAULT_GOAL := help
PYTHON := .venv/bin/python
JOBS ?= $(shell nproc)

SEEDS ?= 0,1,2
FUZZ_SECONDS ?= 60
STUDY ?= aqm
CORESCALE_SEEDS ?= 0
SIZE ?= edge
MIX ?= reno,cubic,bbr
# A cut of the study aqm; its runs are the study's own. Low rates for two idle cores to need minutes: a run at
# 900 Mbit/s costs three times as much as one at 100 (make demo DEMO_RATES=100Mbit,900Mbit).
DEMO_RATES ?= 100Mbit,200Mbit
DEMO_SEEDS ?= 0,1,2
C ?= r12 c1 c2 c3 c4 c5

.PHONY: help identify whatif mutations corescale demo bench shapers wheel fuzz setup agent kernel profiled study claims lint test-fast test requirements clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install what is missing, make the Python environment, build the agent (idempotent)
	@scripts/setup.sh

agent: ## build the agent
	cd crates && cargo build --release --locked

kernel: setup ## build the kernel under test into the cache (once; five to nine minutes on two cores)
	./narrows kernel build

profiled: setup ## lay it out by a profile of its own traffic: an eighth less time a packet, the same bytes (once; ten to twenty minutes)
	./narrows kernel build --profiled

demo: kernel ## a cut of a study, from nothing to a report: two rates, four AQMs, three seeds; some ten minutes, later two
	./narrows study aqm --quick --only 'rate=$(DEMO_RATES)' --seeds '$(DEMO_SEEDS)'

identify: kernel ## how often is narrows identify right? SIZE=40 CONDITIONS=clean: cases of each, and which
	$(PYTHON) bench/identify.py --size $(or $(SIZE),40) --conditions $(or $(CONDITIONS),clean)

whatif: kernel ## how often is narrows whatif right? SIZE=20: worlds, in each of which both arms are run; it goes on where it was
	$(PYTHON) bench/whatif.py --size $(or $(SIZE),20) $(ARGS)

mutations: kernel ## do the standards find planted faults in CUBIC and BBR? The table goes into docs/standards.md
	$(PYTHON) scripts/mutations.py $(ARGS)

study: setup ## a study: runs, figures, verdicts; STUDY=aqm|corescale|kernels|last_hop|local_bottleneck|media|operator|outcomes|path_properties|prudentia|quic|whatif, SEEDS=0,1,2 chooses the repetitions
	@./narrows study $(STUDY) --seeds '$(SEEDS)' --plan  # programs that are missing are named before a build
	./narrows kernel build
	./narrows study $(STUDY) --seeds '$(SEEDS)'

corescale: profiled ## many flows through one bottleneck, with figures: SIZE=edge|middle|core|core-5000 MIX=reno,cubic,bbr
	./narrows study corescale --quick --size '$(SIZE)' --only 'mix=$(MIX)' --seeds '$(CORESCALE_SEEDS)'

claims: kernel ## run the experiments of some claims and judge them: C="c2 r8" SEEDS=0,1
	./narrows study --claims '$(C)' --seeds '$(SEEDS)'

# WITH=kernel: the kernel that is there, profiled or not, as the test of the wheels wants it.
wheel: $(or $(WITH),profiled) ## dist/*.whl: narrows for any directory, and narrows-kernel, the built kernel with what it was made of
	rm -rf build dist python/narrows.egg-info  # what an earlier checkout had would be listed in it
	.venv/bin/pip wheel -q --no-deps --no-build-isolation -w dist .
	.venv/bin/python scripts/kernel_wheel.py build/narrows-kernel
	.venv/bin/pip wheel -q --no-deps --no-build-isolation -w dist build/narrows-kernel
	rm -rf build
	.venv/bin/python scripts/even_wheel.py dist/*.whl
	@ls -l dist | awk 'NR > 1 { printf "%5.1f MB  dist/%s\n", $$5 / 1e6, $$9 }'

bench: profiled agent ## speed and memory against their targets and against ns-3; about an hour (ROWS=ns3,flows-1000-reno: only these)
	@bench/need_ns3.sh
	$(PYTHON) bench/run.py --rows $(or $(ROWS),all)

shapers: kernel agent ## adaptive shapers on rates that move, judged by the truth; hours (ARGS='--rates lte --mixes cubic --repeats 1': minutes)
	$(PYTHON) bench/shapers.py $(ARGS)

# Without a sanitizer a stable Rust will do: the parsers are safe Rust, and what counts is panics and assertions.
# What is found stays in crates/fuzz/found, where the next call goes on. What is kept of it is in crates/fuzz/corpus, which
# tests replay: an archive for each target, and another beside it (probes.2.tar.gz) for what is found later.
fuzz: ## fuzz the parsers of the agent and of packet logs, FUZZ_SECONDS=60 each; needs cargo-fuzz (FUZZ=probes: only this)
	@{ cargo fuzz --version && command -v c++; } >/dev/null 2>&1 || { \
	    echo 'error: make fuzz needs cargo-fuzz and a C++ compiler: cargo install --locked cargo-fuzz; apt-get install g++' >&2; \
	    exit 1; }
	cd crates && set -e; for target in $(or $(FUZZ),$$(basename -s .rs fuzz/fuzz_targets/*.rs)); do \
	    rm -rf fuzz/kept/$$target; mkdir -p fuzz/found/$$target fuzz/kept/$$target; \
	    for archive in fuzz/corpus/$$target.*; do tar -xzf $$archive -C fuzz/kept/$$target; done; \
	    cargo fuzz run -s none $$target fuzz/found/$$target fuzz/kept/$$target -- -max_len=4096 \
	        -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 -print_final_stats=1; \
	done

lint: setup ## check style, types, layers, shell scripts and the kernel's C; changes nothing
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	MYPYPATH=python:bench .venv/bin/mypy bench
	.venv/bin/lint-imports
	git ls-files -z '*.sh' narrows .ci/run | xargs -0 -r .venv/bin/shellcheck
	git ls-files -z 'kernel/src/*.[ch]' | xargs -0 .venv/bin/clang-format --dry-run --Werror
	.venv/bin/cppcheck --quiet --enable=warning,portability --std=c11 --platform=unix64 --error-exitcode=1 \
	    --library=kernel/cppcheck.cfg --suppress=arithOperationsOnVoidPointer kernel/src
	cd crates && cargo fmt --all --check && cargo clippy --locked --all-targets --quiet -- -D warnings

test-fast: setup ## tests that need no kernel and no root; under a minute
	$(PYTHON) -m pytest -q -n $(JOBS) -m "not kernel and not root and not slow and not realtime"

programs: # what tests need beyond set-up, before anything is built for an hour
	@scripts/setup.sh tests

test: programs lint kernel ## all set-up, style and types, and every test; installs a browser where there is none
	$(PYTHON) -m pytest -q -n $(JOBS) --durations=30 -m "not realtime"
	cd crates && cargo test --locked --quiet
	$(PYTHON) -m pytest -q -m realtime tests/twin tests/end_to_end tests/interop

requirements: setup ## resolve requirements*.in anew, with hashes
	.venv/bin/pip-compile -q --strip-extras --generate-hashes --no-emit-find-links --no-emit-index-url \
	    --no-emit-trusted-host -o requirements.txt requirements.in
	.venv/bin/pip-compile -q --strip-extras --allow-unsafe --generate-hashes --no-emit-find-links \
	    --no-emit-index-url --no-emit-trusted-host -o requirements-dev.txt requirements-dev.in

clean: ## remove what was built in the checkout
	rm -rf .venv crates/target
