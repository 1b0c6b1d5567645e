# Every chore of the project. Nothing has to be activated: the chores make and use their own virtual environment.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip --disable-pip-version-check -qq
LOCK   := requirements/lock.txt
DEMO   := merilo-demo
AXE    := tests/node_modules/axe-core/axe.min.js

# Debian packages of the tests: the package, commands that it brings, what is tested with it.
JAIL    := bubblewrap bwrap 'generated programs in their jail'
BROWSER := chromium 'chromium chromium-browser google-chrome' 'reports in a browser'
SERVER  := postgresql 'pg_ctlcluster initdb' 'the annotation site on PostgreSQL, started by the tests with its own data'
ENGINE  := docker.io dockerd 'the jail in containers (as root only)'

# Compiled modules are kept: without them, every process that a test starts compiles Merilo and the tests again.
export PYTHONDONTWRITEBYTECODE :=

# Simulated studies that benchmarks/coverage.py imports.
WITHIN_COVERAGE := benchmarks/simulation.py

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint bench docs catalogue lock format clean

help:           ## list all targets
	@grep -hE '^[a-z-]+: .*##|^[a-z-]+:  *##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 10

demo: $(VENV)/core  ## install Merilo, let simulated people answer two studies on the annotation site, print the paths of the reports
	$(BIN)/merilo demo --out $(DEMO) --force

test: $(VENV)/test $(AXE)  ## install what the tests need, run those that a change can break; NO_SYSTEM=1: no Debian packages
	@scripts/system-packages $(JAIL) $(BROWSER) $(SERVER)
	$(BIN)/python -m pytest -n auto --dist worksteal -m "$(or $(MARKED),not thorough)" $(PYTEST_ARGS)

test-all: $(VENV)/test $(AXE)  ## run all tests: every state of every page, both databases, kills, Docker (as root), more examples
	@scripts/system-packages $(JAIL) $(BROWSER) $(SERVER) $(ENGINE)
	MERILO_EXAMPLES=50 $(BIN)/python -m pytest -n auto --dist worksteal $(if $(MARKED),-m "$(MARKED)") $(PYTEST_ARGS)

lint: $(VENV)/test $(VENV)/lint  ## check formatting, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy -p merilo

format: $(VENV)/lint  ## format and fix what can be fixed, break long lines of the docs
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python scripts/wrap_docs.py $(wildcard *.md docs/*.md docs/*/*.md docs/*/*/*.md)

bench: $(VENV)/test  ## run the benchmarks, which compare with other libraries on this machine
	@scripts/system-packages $(JAIL)
	@status=0; for script in $(filter-out $(WITHIN_COVERAGE),$(wildcard benchmarks/*.py)); do \
	  echo "== $$script"; $(BIN)/python $$script || { status=1; echo "$$script missed a target"; }; done; exit $$status

docs: $(VENV)/docs  ## build the documentation site into build/docs
	$(BIN)/mkdocs build --strict --quiet
	@echo "Open build/docs/index.html"

catalogue: $(VENV)/test  ## bring the catalogues of translations up to date with the sentences of the code
	$(BIN)/python scripts/catalogue.py

lock:           ## resolve the dependencies into requirements/lock.txt (needs uv)
	uv pip compile pyproject.toml --all-extras --group test --group torch --group lint --group docs --universal --python-version 3.11 \
	  --constraint requirements/held.txt --no-header --no-annotate --no-emit-index-url --output-file $(LOCK) --upgrade --quiet

clean:          ## remove everything that make has written
	rm -rf $(VENV) tests/node_modules build dist $(DEMO) .hypothesis .mypy_cache .pytest_cache .ruff_cache

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Merilo needs Python 3.11 or newer; name one: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade 'pip>=25.1'

$(VENV)/core: $(BIN)/python pyproject.toml $(LOCK)
	$(PIP) install --constraint $(LOCK) --editable .
	$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/test: $(VENV)/core pyproject.toml $(LOCK)
	$(PIP) install --constraint $(LOCK) --editable '.[models,postgres]' --group test
	@touch $@

$(VENV)/lint $(VENV)/docs: $(VENV)/core pyproject.toml $(LOCK)
	$(PIP) install --constraint $(LOCK) --group $(notdir $@)
	@touch $@

$(AXE): tests/package-lock.json  # axe-core checks the accessibility of pages; the tests that need it are skipped without it
	@if ! command -v npm >/dev/null; then echo "axe-core is not installed (there is no npm); the tests that need it are skipped"; \
	elif npm ci --prefix tests --silent --no-audit --no-fund; then touch $@; \
	else echo "axe-core is not installed ('npm ci' failed); the tests that need it are skipped"; fi
