# narrows: common tasks. `make help` lists them.
.DEFAULT_GOAL := help
PYTHON := .venv/bin/python
JOBS ?= $(shell nproc)

SEEDS ?= 0,1,2
FUZZ_SECONDS ?= 60
CORESCALE_SEEDS ?= 0
SIZE ?= edge
MIX ?= reno,cubic,bbr
# A cut of the study; its runs are the study's own. Low rates for two idle cores to need minutes: a run at
# 900 Mbit/s costs three times as much as one at 100 (make demo DEMO_RATES=100Mbit,900Mbit).
DEMO_RATES ?= 100Mbit,200Mbit
DEMO_SEEDS ?= 0,1,2
STUDY := $(sort $(wildcard experiments/r[0-9][0-9]_*.py))
C ?= r12 c1 c2 c3 c4 c5
CLAIMED := $(sort $(foreach c,$(C),$(wildcard experiments/$(c)_*.py)))

.PHONY: help corescale demo bench wheel fuzz setup agent kernel study claims lint test-fast test requirements clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install what is missing, make the Python environment, build the agent (idempotent)
	@scripts/setup.sh

agent: ## build the agent
	cd agent && cargo build --release --locked

kernel: setup ## build the kernel under test into the cache (once; five to nine minutes)
	./narrows kernel build

demo: kernel ## a cut of the study, from nothing to a report: two rates, four AQMs, three seeds; eleven minutes, later two
	./narrows run experiments/aqm_study.py --only 'rate=$(DEMO_RATES) seed=$(DEMO_SEEDS)' --out results/demo
	@report=$$(./narrows report results/demo) && printf '\nThe report: file://%s\n' "$$(realpath "$$report")"

study: kernel ## the AQM speed-test study: runs, reports, verdicts; SEEDS=0,1,2 chooses the repetitions
	set -e; for file in $(STUDY); do \
	    ./narrows run $$file --only 'seed=$(SEEDS)'; \
	    ./narrows report results/$$(basename $$file .py); \
	done
	./narrows claims

corescale: kernel ## many flows through one bottleneck, with figures: SIZE=edge|middle|core|core-5000 MIX=reno,cubic,bbr
	./narrows run experiments/many_flows.py --only 'size=$(SIZE) mix=$(MIX) seed=$(CORESCALE_SEEDS)'
	./narrows report results/many_flows

claims: kernel ## run the experiments of some claims and judge them: C="c2 c3" SEEDS=0,1
	set -e; for file in $(CLAIMED); do \
	    ./narrows run $$file --only 'seed=$(SEEDS)'; \
	done
	./narrows claims $(C)

wheel: setup ## dist/*.whl: narrows for any directory, with agent, kernel recipe, experiments and evidence inside
	rm -rf build
	.venv/bin/pip wheel -q --no-deps --no-build-isolation -w dist .
	rm -rf build

bench: kernel agent ## speed and memory against their targets and against ns-3; about an hour (ROWS=ns3,flows-1000-reno: only these)
	@bench/need_ns3.sh
	$(PYTHON) bench/run.py --rows $(or $(ROWS),all)

# Without a sanitizer a stable Rust will do: the parsers are safe Rust, and what counts is panics and assertions.
# What is found stays in agent/fuzz/found, where the next call goes on; tests replay agent/fuzz/corpus.
fuzz: ## fuzz the agent's parsers, FUZZ_SECONDS=60 each; needs cargo-fuzz (FUZZ=probes: only this)
	@{ cargo fuzz --version && command -v c++; } >/dev/null 2>&1 || { \
	    echo 'error: make fuzz needs cargo-fuzz and a C++ compiler: cargo install --locked cargo-fuzz; apt-get install g++' >&2; \
	    exit 1; }
	cd agent && set -e; for target in $(or $(FUZZ),$$(ls fuzz/corpus)); do \
	    mkdir -p fuzz/found/$$target; \
	    cargo fuzz run -s none $$target fuzz/found/$$target fuzz/corpus/$$target -- -max_len=4096 \
	        -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 -print_final_stats=1; \
	done

lint: setup ## check style, types, layers and shell scripts; changes nothing
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	MYPYPATH=python:bench .venv/bin/mypy bench
	.venv/bin/lint-imports
	git ls-files -z '*.sh' narrows .ci/run | xargs -0 -r .venv/bin/shellcheck
	cd agent && cargo fmt --check && cargo clippy --locked --all-targets --quiet -- -D warnings

test-fast: setup ## tests that need no kernel and no root; under a minute
	$(PYTHON) -m pytest -q -n $(JOBS) -m "not kernel and not root and not slow"

test: lint kernel ## all set-up, style and types, and every test
	$(PYTHON) -m pytest -q -n $(JOBS)
	cd agent && cargo test --locked --quiet

requirements: setup ## resolve requirements*.in anew, with hashes
	.venv/bin/pip-compile -q --strip-extras --generate-hashes --no-emit-find-links --no-emit-index-url \
	    --no-emit-trusted-host -o requirements.txt requirements.in
	.venv/bin/pip-compile -q --strip-extras --allow-unsafe --generate-hashes --no-emit-find-links \
	    --no-emit-index-url --no-emit-trusted-host -o requirements-dev.txt requirements-dev.in

clean: ## remove what was built in the checkout
	rm -rf .venv agent/target
