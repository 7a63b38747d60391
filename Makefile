# Every target installs what it needs into .venv, once; a change of pyproject.toml installs again.
# Needed beforehand: make, and Python >= 3.11 with its venv module.

PYTHON ?= python3
ARGS ?=

VENV := .venv
OLDEST := .venv-oldest
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
SOURCES := src tests benchmarks docs/build docs/examples docs/conf.py

# What was counted and computed, before it is a page.
VALIDITY := build/validity.jsonl
REPRODUCTION := build/reproduction

# The site, and what sphinx writes beside the pages on the way to it.
SITE := build/html
GENERATED := docs/auto_examples docs/api/generated

# One BLAS thread per process: pytest-xdist already keeps every core busy.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Two pips must not write to one environment at the same time.
.NOTPARALLEL:
.PHONY: help demo test test-oldest lint format docs bench tables validity clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
	@echo 'ARGS="..." is passed on (test, bench, tables, validity, demo); PYTHON=python3.12 picks the interpreter.'

demo: $(VENV)/.demo  ## learn and certify a vote on a small data set
	$(BIN)/certivote certify $(ARGS)

test: $(VENV)/.test  ## run the tests and the examples in docstrings
	$(ONE_THREAD) $(BIN)/python -m pytest -n auto $(ARGS)

test-oldest: $(OLDEST)/.test  ## run them with the oldest versions that the metadata allows
	$(ONE_THREAD) $(OLDEST)/bin/python -m pytest -n auto $(ARGS)

lint: $(VENV)/.lint  ## check style, format and types
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy src docs/build

format: $(VENV)/.lint  ## rewrite the sources in the project's format
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

docs: $(VENV)/.docs  ## build the site into build/html, examples included, and follow its links
	$(ONE_THREAD) $(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet $(ARGS) docs $(SITE)
	$(BIN)/python docs/build/links.py $(SITE)

bench: $(VENV)/.test  ## time the library
	$(BIN)/python benchmarks/run.py $(ARGS)

tables: $(VENV)/.test  ## write every number of the documentation anew (hours)
	rm -rf $(REPRODUCTION)
	$(ONE_THREAD) $(BIN)/python docs/build/reproduction.py --out $(REPRODUCTION) $(ARGS)
	$(ONE_THREAD) $(BIN)/python docs/build/choosing.py $(ARGS)
	$(ONE_THREAD) $(BIN)/python docs/build/measured.py
	$(ONE_THREAD) $(BIN)/python docs/build/picture.py docs/images/report.png
	$(MAKE) validity ARGS=
	$(MAKE) bench ARGS=

validity: $(VENV)/.test  ## simulate: do the certificates hold? Writes docs/validity.md (long)
	mkdir -p build
	rm -f $(VALIDITY)
	$(ONE_THREAD) CERTIVOTE_VALIDITY_TABLE=$(VALIDITY) \
		$(BIN)/python -m pytest -n auto --dist worksteal -m slow tests $(ARGS)
	$(BIN)/python docs/build/validity.py $(VALIDITY) docs/validity.md

clean:  ## remove the environment, caches and built files
	rm -rf $(VENV) $(OLDEST) build dist $(GENERATED) .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find $(wildcard $(SOURCES)) -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.created:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.demo: pyproject.toml $(VENV)/.created
	$(PIP) --editable '.[cli,plot]'
	touch $@

$(VENV)/.test: pyproject.toml $(VENV)/.created
	$(PIP) --editable '.[all,test]'
	touch $@

# What is asked for by name is held at the oldest version; what that needs in turn is today's.
$(OLDEST)/.test: pyproject.toml tests/oldest.py
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip --disable-pip-version-check install --quiet packaging
	$(OLDEST)/bin/python tests/oldest.py > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip --disable-pip-version-check install --quiet \
		--constraint $(OLDEST)/constraints.txt --editable '.[all,test]'
	touch $@

$(VENV)/.docs: pyproject.toml $(VENV)/.created
	$(PIP) --editable '.[all,docs]'
	touch $@

# The optional libraries are here too: mypy then sees the same imports as the tests.
$(VENV)/.lint: pyproject.toml $(VENV)/.created
	$(PIP) --editable '.[all,lint]'
	touch $@
