# SPDX-License-Identifier: Apache-2.0
# `make` alone lists the goals. All build results are in .venv, target/, build/, dist/, the native library and the cache
# (~/.cache/leowarp), and each is built only once.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
PYTHON := $(VENV)/bin/python
LEOWARP := $(VENV)/bin/leowarp
INSTALLED := $(VENV)/.installed
SITE_INSTALLED := $(VENV)/.installed-site
SITE_RUN := build/site-run
# One test process per core. Guests limit their own number of processes. If PYTHONDONTWRITEBYTECODE is set, each test
# process would have to rewrite all assertions, which takes 8 s.
SPREAD := -n auto --dist worksteal
# With these settings, property tests of thousands of sequences take a seventh of the time; overflow is still checked.
# The settings are not in Cargo.toml, because that file is part of the agent's recipe.
FASTER := --config profile.dev.package.leowarp-reorder.opt-level=1
# If PYTHONDONTWRITEBYTECODE is set, every command would otherwise compile the package, a fifth of a short run's time
BYTECODE := $(PYTHON) -m compileall -q -x '_test\.py$$' python
NATIVE := python/leowarp/_native.abi3.so
NATIVE_SOURCES := Cargo.toml Cargo.lock tools/native.py $(shell find crates/py crates/reorder crates/arrivals -name '*.rs' -o -name Cargo.toml)

.PHONY: help setup kernel doctor demo test test-fast fuzz plain shelf conformance check bench wheel release docs site page pictures lock clean

help: ## print this
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

demo: doctor ## install what is missing, build the kernel once, run Madrid-Tokyo with Reno, CUBIC and BBR
	@$(LEOWARP) demo --out runs/demo

test: doctor ## everything needed, then all tests, those in the guest included
	@cargo test --workspace --locked --quiet $(FASTER)
	@PYTHONDONTWRITEBYTECODE= $(PYTHON) -m pytest $(SPREAD)

test-fast: $(NATIVE) ## the tests that need no guest: under a minute
	@PYTHONDONTWRITEBYTECODE= $(PYTHON) -m pytest -m "not guest and not slow" $(SPREAD)

fuzz: $(NATIVE) ## give damaged files to the readers: make fuzz SECONDS=600 TARGET=elements (10 s, all targets)
	@$(PYTHON) tools/fuzz.py --seconds $(or $(SECONDS),10) --target "$(TARGET)"

plain: kernel ## compare the default kernel with `plain`, byte by byte: examples, runs of studies, random networks (an hour)
	@$(PYTHON) tools/same_results.py kernels default plain

shelf: $(NATIVE) ## for every kernel of the shelf, repeat runs, then run the tests of the guest (hours): make shelf KERNELS="plain 6.12+net"
	@$(PYTHON) tools/shelf.py $(foreach kernel,$(KERNELS),--kernel $(kernel))

conformance: $(NATIVE) ## Linux's tests of its TCP, run by packetdrill in the guest: make conformance PACKETDRILL=PATH
	@$(PYTHON) -m leowarp_conformance "$(PACKETDRILL)" --keep build/conformance

check: $(INSTALLED) ## style, types, imports, lints, licences and sources of dependencies, clauses of RFCs, units
	@tools/setup.sh check
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check .
	@$(PYTHON) -m mypy --no-error-summary python tools/pages
	@$(VENV)/bin/lint-imports --no-logo
	@$(PYTHON) tools/licences.py
	@$(PYTHON) tools/clauses.py
	@$(PYTHON) tools/units_check.py
	@$(PYTHON) tools/module_circles.py
	@$(PYTHON) tools/prose.py
	@cargo fmt --check
	@cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	@tools/page.sh check

bench: kernel ## speed and memory, as the tables of docs/performance.md; beside ns-3, as docs/benchmark.md
	@$(PYTHON) bench/bench.py
	@$(PYTHON) bench/study.py
	@$(PYTHON) bench/size.py
	@$(PYTHON) bench/routes.py
	@$(PYTHON) bench/ns3/bench.py

wheel: kernel ## dist/leowarp-*.whl: package, native library, agent and kernel in one file
	@$(PYTHON) tools/wheel.py

release: kernel ## dist/VERSION/: wheel, source archive, notes and checksums, of a clean tag
	@$(PYTHON) tools/release.py

docs: $(INSTALLED) ## regenerate the reference pages and the agent's table of columns from the code
	@$(PYTHON) tools/pages/scenario_page.py docs/reference/scenario.md
	@$(PYTHON) tools/pages/tables_page.py docs/reference/tables.md
	@$(PYTHON) tools/pages/api_page.py docs/reference/api.md
	@$(PYTHON) tools/pages/verify_page.py docs/reference/verify.md
	@$(PYTHON) tools/pages/exam_page.py docs/reference/exam.md
	@$(PYTHON) tools/pages/kernel_page.py docs/reference/kernel.md
	@$(PYTHON) tools/pages/kernel_page.py --tables
	@$(PYTHON) tools/clauses.py --page docs/reference/clauses.md
	@$(PYTHON) tools/record_tables.py crates/timeline/src/record/tables.rs

site: $(SITE_INSTALLED) $(SITE_RUN)/manifest.json ## build the documentation as a web site: build/site/index.html
	@$(PYTHON) tools/site.py --run $(SITE_RUN) --out build/site

# The landing page of the site embeds the moving page of this run.
$(SITE_RUN)/manifest.json: $(shell find python -name '*.py' -o -path '*/built/*') | kernel
	@rm -rf $(SITE_RUN)
	@$(LEOWARP) run examples/madrid-tokyo.toml --out $(SITE_RUN) --set run.duration="65 s"

pictures: $(INSTALLED) ## store the present look of pages as the reviewed pictures of the tests; then check `git diff`
	@$(PYTHON) -m pytest -q tests/pages/pictures_test.py -k "not fault" --renew-pictures

page: ## rebuild the page of `leowarp view` from web/ (needs node and npm; the result is in the repository)
	@tools/page.sh build

doctor: $(NATIVE) ## report what this machine lacks; if nothing, build the kernel (unless it is in the cache) and boot a guest
	@$(BYTECODE)
	@$(LEOWARP) doctor --build --quiet

kernel: $(NATIVE) ## build guest kernel and agent, if they are not in the cache
	@$(BYTECODE)
	@$(LEOWARP) kernel build

setup: $(NATIVE) ## install what is missing: system packages, the virtual environment
	@$(BYTECODE)

$(INSTALLED): requirements.lock pyproject.toml tools/setup.sh
	@tools/setup.sh
	@test -x $(PYTHON) || python3 -m venv $(VENV)
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index -e .
	@touch $@

$(SITE_INSTALLED): $(INSTALLED) requirements-site.lock
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-site.lock
	@touch $@

$(NATIVE): $(INSTALLED) $(NATIVE_SOURCES)
	@$(PYTHON) tools/native.py

lock: $(INSTALLED) ## resolve the dependencies of pyproject.toml again
	@$(PYTHON) tools/lock.py > requirements.lock.new
	@mv requirements.lock.new requirements.lock
	@$(PYTHON) tools/lock.py --site > requirements-site.lock.new
	@mv requirements-site.lock.new requirements-site.lock

clean: ## remove what was built here (the cache: leowarp kernel clean)
	@rm -rf $(VENV) $(NATIVE) target build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis .import_linter_cache
