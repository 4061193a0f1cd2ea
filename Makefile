# Two commands matter: `make serve` (read the knowledge base) and `make test` (all that CI runs).
# Both make their own virtual environment, in .venv, from requirements/dev.lock (pinned, with hashes).

PYTHON ?= python3
HOST   ?= 127.0.0.1
PORT   ?= 8000
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# The planner's Pyodide and the scripts' type checker. Without npm the site is built without planner.
MODULES := node_modules/.package-lock.json

.DEFAULT_GOAL := help
.PHONY: help serve build test check format lint types unit records bench lock clean

help:            ## this list
	@grep -hE '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/: [^#]*##/:/' | awk -F': *' '{printf "  make %-9s %s\n", $$1, $$2}'

$(READY): requirements/dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and f"kvgate needs Python 3.11 or newer; $(PYTHON) is {v[0]}.{v[1]}. Say which to use: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "The venv module is incomplete here; install it (Debian: apt-get install python3-venv)."; exit 1; }
	@echo "Making $(VENV) (once; a minute or two) ..."
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r requirements/dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index -e .
	@touch $(READY)

$(MODULES): package.json package-lock.json
	@if ! command -v npm >/dev/null; then \
	  echo "npm isn't installed: the site is built without the planner (Debian: apt-get install npm)."; \
	elif npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null; then touch $@; \
	else echo "npm ci failed: the site is built without the planner."; fi

serve: $(READY) $(MODULES)  ## check the records, build the site, serve it on 127.0.0.1 and reload on change
	@$(BIN)/kvgate lint
	@$(BIN)/kvgate claims
	@echo "The knowledge base will be at http://$(HOST):$(PORT)/ (Ctrl-C stops it)"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve --quiet --dev-addr $(HOST):$(PORT)

build: $(READY) $(MODULES)  ## build the site into ./site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

test: check unit records build  ## everything CI runs

check: $(READY)  ## format, lint, types
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

unit: $(READY) $(MODULES)   ## unit and property tests
	@$(BIN)/pytest -n auto --dist worksteal

records: $(READY) ## lint the records and run every claim
	@$(BIN)/kvgate lint
	@$(BIN)/kvgate claims

bench: $(READY) $(MODULES)  ## speed and size, as ratios in one run
	@$(BIN)/python scripts/bench.py

format: $(READY) ## apply the formatter and the safe fixes
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

lock: $(READY)   ## write requirements/dev.lock anew from pyproject.toml
	@$(BIN)/python scripts/lock.py

clean:           ## remove what was made
	rm -rf $(VENV) node_modules site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .cache
