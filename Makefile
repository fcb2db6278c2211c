# Targets for people and CI. Everything happens in .venv, made at first use.
PYTHON ?= python3
BIN := .venv/bin
# test processes at once
JOBS ?= 2
TASK ?= What is 17% of 2340?
# $(value …) keeps quotes and dollar signs of the task as they were typed
export POINTWORK_TASK := $(value TASK)
export LITELLM_LOCAL_MODEL_COST_MAP := True

.PHONY: run test test-slow check lint types imports conformance format clean

run: .venv/run.stamp
	@$(BIN)/pointwork run "$$POINTWORK_TASK" $(ARGS)

# threads of several processes would only wait for each other
test: .venv/dev.stamp
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not slow" -n $(JOBS) --dist loadfile

test-slow: .venv/dev.stamp
	$(BIN)/python -m pytest

check: lint types imports test

lint: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/dev.stamp
	$(BIN)/pyright

imports: .venv/dev.stamp
	$(BIN)/lint-imports

# the official MCP suite; brings it from npm at first use
conformance: .venv/dev.stamp
	$(BIN)/python tests/mcp_servers/conformance.py

format: .venv/dev.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "pointwork needs Python 3.11 or newer; say which with: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip

.venv/run.stamp: .venv/bin/python pyproject.toml constraints.txt
	@echo "installing (about a minute) …"
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[local]'
	@touch $@

.venv/dev.stamp: .venv/bin/python pyproject.toml constraints.txt
	@echo "installing (about a minute) …"
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@ .venv/run.stamp

clean:
	rm -rf .venv build dist src/*.egg-info .pytest_cache .hypothesis .ruff_cache
