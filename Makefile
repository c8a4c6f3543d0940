# Needs only make and Python 3.11 or later: every target sets up what it uses in .venv.
# Another interpreter: make PYTHON=python3.13 …

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= auto
BIN := $(VENV)/bin

# A demo session replayed as this model would have been sent it, then where one text of it went.
DEMO_DIR ?= build/demo
DEMO_REPLAY = replay demo/session.json --provider anthropic --model claude-opus-4-8 --window 32000 --out $(DEMO_DIR)
DEMO_BLAME = blame "implicit declaration of function" $(DEMO_DIR)

INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo nightly test lint types check coverage corpus field-cases bench format clean

help:
	@echo "make demo     replay the demo session; results in $(DEMO_DIR)"
	@echo "make test     lint, types, then every test"
	@echo "make coverage every test, and the lines and branches that none reaches (takes twice as long)"
	@echo "make lint     ruff: rules and format        make types    basedpyright"
	@echo "make format   let ruff rewrite              make check    the tests alone"
	@echo "make corpus   the checks over recorded sessions in the folder FOREWORD_DATA"
	@echo "make nightly  the same generated histories, 100,000 of them"
	@echo "make field-cases CASES=FILE   run a file of field cases, see docs/how-to/field-cases.md"
	@echo "make bench    time and size of compile      make clean    remove what make made"

demo: $(INSTALLED)
	@$(BIN)/foreword $(DEMO_REPLAY)
	@$(BIN)/foreword $(DEMO_BLAME)

test: lint types check

lint: $(INSTALLED_DEV)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(INSTALLED_DEV)
	$(BIN)/basedpyright --pythonpath $(BIN)/python

check: $(INSTALLED_DEV)
	$(BIN)/python -m pytest -n $(WORKERS)

coverage: $(INSTALLED_DEV)
	$(BIN)/python -m pytest -n $(WORKERS) --cov --cov-report=term:skip-covered

corpus: $(INSTALLED_DEV)
	@test -d "$(FOREWORD_DATA)" || { \
		echo "make corpus: FOREWORD_DATA must name a folder of recorded sessions (got '$(FOREWORD_DATA)'); run FOREWORD_DATA=FOLDER make corpus" >&2; \
		exit 1; }
	FOREWORD_DATA="$(abspath $(FOREWORD_DATA))" $(BIN)/python -m pytest -n $(WORKERS) tests/corpus

nightly: $(INSTALLED_DEV)
	FOREWORD_NIGHTLY=1 $(BIN)/python -m pytest -n $(WORKERS) tests/compiler tests/engine tests/codecs tests/core

field-cases: $(INSTALLED_DEV)
	@test -f "$(CASES)" || { \
		echo "make field-cases: CASES must name a file of field cases (got '$(CASES)'); run make field-cases CASES=FILE" >&2; \
		exit 1; }
	@$(BIN)/python -m tests.field_cases "$(CASES)"

bench: $(INSTALLED_DEV)
	$(BIN)/python benchmarks/run.py

format: $(INSTALLED_DEV)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:
	rm -rf $(VENV) build dist .coverage* .pytest_cache .ruff_cache .hypothesis

# Stamps: a changed pyproject.toml installs again, anything else does not (the install is editable).
# Without --no-compile pip would compile every module of the SDKs; Python compiles the few that are imported.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Foreword needs Python 3.11 or later; $(PYTHON) is not: run make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; \
		exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(INSTALLED): pyproject.toml | $(VENV)/bin/python
	@echo "installing foreword into $(VENV)"
	@$(PIP_INSTALL) '.[tokens]'
	@touch $@

$(INSTALLED_DEV): pyproject.toml | $(VENV)/bin/python
	@echo "installing foreword, test and lint tools into $(VENV)"
	@$(PIP_INSTALL) '.[tokens,test,lint]'
	@touch $(INSTALLED) $@
