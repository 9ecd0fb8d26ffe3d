# Everything a person, a git hook and CI run goes through here.
.DEFAULT_GOAL := help
.ONESHELL:
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

# The first interpreter that really runs: a pyenv shim may stand on PATH and refuse.
PYTHON ?= $(shell for p in python3.13 "$$HOME"/.pyenv/versions/3.13*/bin/python3.13 python3.14 python3; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 13))' 2>/dev/null && { echo "$$p"; break; }; done)
UV := .uv/bin/uv
BIN := .venv/bin
MANAGE := $(BIN)/python manage.py
COMPILE := $(UV) pip compile -q --python-version 3.13 --generate-hashes --no-emit-index-url --no-header
TESTERS ?= $(shell nproc 2>/dev/null || echo 2)
args ?=

# Compiled modules are kept: without them each of the processes that tests start compiles all it imports, for seconds.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-10s %s\n", $$1, $$2 }'

.PHONY: setup
setup: .venv/.locked ## Make .venv from the locked requirements

$(UV):
	@test -n '$(PYTHON)' || { echo 'Python 3.13 or newer is needed: make PYTHON=/path/to/python'; exit 1; }
	'$(PYTHON)' -m venv .uv
	.uv/bin/python -m pip install -q 'uv>=0.9,<1'

.venv/.locked: requirements-dev.lock .python-version | $(UV)
	@$(UV) venv -q --allow-existing --python '$(PYTHON)' .venv
	$(UV) pip sync -q --compile-bytecode --python $(BIN)/python requirements-dev.lock
	touch $@

.PHONY: lock
lock: | $(UV) ## Renew both lock files from pyproject.toml
	@$(COMPILE) pyproject.toml -o requirements.lock
	$(COMPILE) --extra demo --group dev pyproject.toml -o requirements-dev.lock

.PHONY: demo
demo: setup ## Run the main job once, watch it, then keep serving
	@$(MANAGE) demo $(args)

.PHONY: run
run: setup ## Serve pages, API and sockets with a worker beside them
	@$(MANAGE) migrate -v 0
	$(MANAGE) up $(args)

.PHONY: db-up
db-up: setup ## Keep the embedded PostgreSQL running until Ctrl-C, and print its address
	@$(BIN)/python -m config.embedded

.PHONY: migrate
migrate: setup ## Bring the database up to date
	@$(MANAGE) migrate

.PHONY: test
test: setup ## Run the tests (args='-k lease' narrows them)
	@$(BIN)/python -m pytest -n $(TESTERS) $(args)

.PHONY: lint
lint: setup ## Check style, imports, types, migrations and the API document; needs no database
	@$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy
	$(BIN)/codespell
	$(MANAGE) check
	$(BIN)/python -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run
	if [ -f docs/openapi.yaml ]; then $(MANAGE) spectacular --validate | diff -u docs/openapi.yaml - ; fi

.PHONY: fix
fix: setup ## Let ruff rewrite what it can
	@$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: check
check: lint test ## Everything CI runs before the heavy tests

.PHONY: diagram
diagram: setup ## Draw the state diagram into docs/
	@$(MANAGE) diagram $(args)

.PHONY: bench
bench: setup ## Measure: make bench args='drain --json'
	@$(MANAGE) bench $(args)

.PHONY: chaos
chaos: setup ## Ten minutes of every fault on a site of its own (args='--seed 7' repeats)
	@$(MANAGE) chaos --seconds 600 $(args)

.PHONY: browser
browser: setup ## Drive the pages with a real browser
	@DJANGO_ALLOW_ASYNC_UNSAFE=1 $(BIN)/python -m pytest -m browser $(args)
