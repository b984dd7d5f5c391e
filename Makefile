# Everything runs in .venv, which is made on first use; `make help` lists the targets.
# Written for GNU make 3.81 and any POSIX sh.

PYTHON ?= python3
# Test processes: one per core, four at most.
WORKERS ?= logical
# How long `make fuzz` searches.
FUZZ_SECONDS ?= 60

# Bytecode is kept: compiling the package and rewriting the tests is half of what collecting them takes.
unexport PYTHONDONTWRITEBYTECODE
# ... but of all that pip brings little is run here, which is compiled then.
export PIP_NO_COMPILE := 1

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

# What an installed package was built from: when one of these changes, it is built again.
SOURCES := pyproject.toml CMakeLists.txt $(shell find pi2_fluid/native -type f)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help figures gallery check test test-without-jax lint bench baseline notebooks browser docs wheels try-wheel \
	check-packages cluster linux-test validate-live testbed outcome sanitize fuzz mutants clean

help:
	@echo "make figures    the figures of the papers, with their numbers, into figures/"
	@echo "make gallery    the same with all seeds, into gallery/, and the pages with every verdict: minutes"
	@echo "make test       tests, docstring examples and notebooks; with CHANGED=1 those beneath which something changed"
	@echo "make check      format, style, spelling, types, and the tests that are not slow: in a minute"
	@echo "make test-without-jax   the tests that need no JAX, as where it is not installed"
	@echo "make lint       format, style, spelling and types"
	@echo "make bench      what margins, trajectories, packets and designs cost, here and elsewhere"
	@echo "make baseline   what the last make bench measured, stored for later ones to be compared with"
	@echo "make notebooks  run the notebooks, and store what they print and draw"
	@echo "make browser    the explorer of notebook 04 in a real browser (needs Chromium), into build/browser/"
	@echo "make docs       the documentation, into site/: pages, reference, notebooks; asks for nothing elsewhere"
	@echo "make wheels     sdist and wheels into dist/: what this machine can build, and which of them were tried: minutes"
	@echo "make try-wheel  a wheel in a fresh environment without a compiler, and what the README shows with it"
	@echo "make check-packages   what checkers say of dist/ (after make wheels), the workflows and the files around them"
	@echo "make cluster    a sweep on two workers of Dask, one of which is killed, and what Dask costs: minutes"
	@echo "make linux-test   the engine Linux in real guests, with a kernel that is built where none is cached"
	@echo "make validate-live   the cells of docs/validation.md measured anew on that kernel, into that page: hours"
	@echo "make testbed    what a public testbed measured, in packets: two minutes"
	@echo "make outcome    what tune recommends for eleven families of traffic, judged with fresh seeds: half an hour"
	@echo "make sanitize   the C kernel under the address and undefined-behaviour sanitizers"
	@echo "make fuzz       the packet simulator on inputs from libFuzzer, for FUZZ_SECONDS=60 (needs clang)"
	@echo "make mutants    change the sources in 120 places, one by one: do the tests notice? (hours)"
	@echo "make clean      remove .venv and everything built"
	@echo
	@echo "Another Python: make PYTHON=python3.13 <target>"

figures: $(VENV)/.installed-core
	$(BIN)/pi2-fluid figure all --quick --out figures

# What has not changed is not made again, and Ctrl-C keeps what is finished: the next call goes on.
gallery: $(VENV)/.installed-dev
	$(BIN)/pi2-fluid figure all --out gallery
	$(BIN)/python tools/write_gallery.py gallery
	$(BIN)/python tools/write_claims.py

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -n $(WORKERS) --maxprocesses 4 --dist loadgroup $(if $(CHANGED),--changed) $(if $(FAILED),--failed $(FAILED)) tests pi2_fluid

# What one runs while one works: under a minute on two cores, once mypy has its cache.
check: lint
	$(BIN)/python -m pytest -q -n $(WORKERS) --maxprocesses 4 --dist loadgroup -m "not slow" tests pi2_fluid

test-without-jax: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -n $(WORKERS) --maxprocesses 4 --without-jax tests pi2_fluid

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/codespell
	$(BIN)/mypy

bench: $(VENV)/.installed-bench
	rm -rf build/bench
	$(BIN)/python bench/startup.py
	$(BIN)/python bench/margins.py
	$(BIN)/python bench/networks.py
	$(BIN)/python bench/fluid.py
	$(BIN)/python bench/routes.py
	$(BIN)/python bench/own_laws.py
	$(BIN)/python bench/batch.py
	$(BIN)/python bench/packets.py
	$(BIN)/python bench/designs.py
	$(BIN)/python bench/sweep.py
	$(BIN)/python bench/explorer.py
	$(BIN)/python bench/compare.py

# What the last `make bench` measured becomes what later ones are compared with.
baseline: $(VENV)/.installed-core
	$(BIN)/python bench/compare.py --store

notebooks: $(VENV)/.installed-dev
	$(BIN)/python tools/notebooks.py

browser: $(VENV)/.installed-browser
	$(BIN)/python tools/browser.py

docs: $(VENV)/.installed-docs
	$(BIN)/mkdocs build --strict

# zig compiles for an old glibc and for other machines; what ran and what was never loaded is said at the end.
# PLATFORMS="linux-x86_64 win-amd64" builds for these alone.
wheels: $(VENV)/.installed-wheels
	$(BIN)/python tools/wheels.py $(PLATFORMS)

# WHEEL=path/to.whl tries that one; otherwise it is built here, with what .venv has compiled already.
try-wheel: $(VENV)/.installed-build
	$(BIN)/python tools/try_wheel.py $(WHEEL)

check-packages: $(VENV)/.installed-packages
	$(BIN)/python tools/check_packages.py

cluster: $(VENV)/.installed-dev
	$(BIN)/python tools/cluster.py

# Where no kernel is cached one is built, of a source package that is fetched: minutes. Nothing else builds one.
linux-test: $(VENV)/.installed-dev
	$(BIN)/pi2-fluid linux info || $(BIN)/pi2-fluid linux build
	$(BIN)/python -m pytest -q -n $(WORKERS) --maxprocesses 4 tests/engines/linux tests/engines/test_engine_contract.py

# What is measured of a cell is kept: Ctrl-C stops it, and the next call goes on.
validate-live: $(VENV)/.installed-dev
	$(BIN)/python tools/write_validation.py --live --out validation

# With a kernel (make linux-test builds one): --kernel runs the answers in it, too. What is finished stays in build/outcome.
outcome: $(VENV)/.installed-dev
	$(BIN)/python tools/outcome.py

# What a public testbed measured, in packets: a minute or two. What is finished stays in build/testbed.
testbed: $(VENV)/.installed-dev
	$(BIN)/python tools/testbed.py

# cmake and ninja come with the group dev, so that the machine need not have them.
sanitize: $(VENV)/.installed-dev
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S . -B build/sanitize -G Ninja \
		-DPI2_SANITIZE=ON -DPI2_PYTHON=OFF
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build build/sanitize
	PATH="$(CURDIR)/$(BIN):$$PATH" ctest --test-dir build/sanitize --output-on-failure

# Inputs that were worth keeping stay in build/fuzz/corpus; one that fails becomes build/fuzz/crash-*.
fuzz: $(VENV)/.installed-dev
	@command -v clang > /dev/null || { echo "make fuzz needs clang, whose libFuzzer chooses the inputs:" \
		"install it, or run make sanitize, which mutates them blindly with any compiler."; exit 1; }
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S . -B build/fuzz -G Ninja -DCMAKE_C_COMPILER=clang \
		-DPI2_SANITIZE=ON -DPI2_FUZZ=ON -DPI2_PYTHON=OFF
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build build/fuzz --target packet_fuzz
	@mkdir -p build/fuzz/corpus
	build/fuzz/packet_fuzz -max_len=1024 -max_total_time=$(FUZZ_SECONDS) -verbosity=0 -print_final_stats=1 \
		-artifact_prefix=build/fuzz/ build/fuzz/corpus

# What has been run is not run again: Ctrl-C stops it, and the next call goes on.
mutants: $(VENV)/.installed-mutants
	$(BIN)/python tools/mutate.py

clean:
	rm -rf $(VENV) build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The first command of every new environment: say what the machine lacks before anything is built.
$(VENV)/.created:
	@PYTHON="$(PYTHON)" sh tools/preflight.sh
	@echo "Setting up $(VENV) (about a minute) ..."
	@"$(PYTHON)" -m venv $(VENV)
	@touch $@

# Built with what is in $(VENV), which is at first what the build asks for and nothing else, and not in a place
# of pip's own: so the next build of it finds what this one compiled.
$(VENV)/.installed-core: $(VENV)/.created $(SOURCES)
	@echo "Compiling pi2_fluid (160 files, about a minute on two cores) and installing what it needs ..."
	@$(BIN)/python tools/requirements.py --build > $(VENV)/build.txt
	@$(PIP) install --quiet --requirement $(VENV)/build.txt
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) install --quiet --no-build-isolation --editable .
	@touch $@

# The package is built once: a group or an extra adds what it asks for to it.
$(VENV)/.installed-%: $(VENV)/.installed-core pyproject.toml
	@echo "Installing what '$*' needs ..."
	@$(BIN)/python tools/requirements.py $* > $(VENV)/$*.txt
	@$(PIP) install --quiet --requirement $(VENV)/$*.txt
	@touch $@
