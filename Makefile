# `make run` starts the daemon, `make test` runs the tests; each first installs what it needs.
# On a machine with only python3 and make that includes uv, which then lives in .uv/.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
UV_VERSION := 0.13.7
ARGS ?=
# One more than there are cores: many tests wait for a daemon to start.
TEST_WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')

# A uv on PATH is used when it runs and is not older than the lock file needs.
UV := $(shell $(PYTHON) scripts/get_uv.py --find 2>/dev/null)
ifeq ($(UV),)
UV := .uv/bin/uv
BOOTSTRAP := .uv/bin/uv
endif
export UV

# An account without a writable home keeps the download cache in the tree.
UV_CACHE := $(shell dir="$${UV_CACHE_DIR:-$${XDG_CACHE_HOME:-$$HOME/.cache}/uv}"; \
	mkdir -p "$$dir" 2>/dev/null && test -w "$$dir" && echo "$$dir")
export UV_CACHE_DIR := $(if $(UV_CACHE),$(UV_CACHE),$(CURDIR)/.uv/cache)

# Start-up is several times slower when Python may not keep what it compiled.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
INPUTS := pyproject.toml uv.lock

define sync
$(UV) sync --frozen --quiet $(1) || { \
	$(UV) python find '>=3.11' >/dev/null 2>&1 \
		|| echo 'Understudy needs Python 3.11 or newer; uv found none and could not fetch one.' >&2; \
	echo 'The set-up did not finish; the lines above say why.' >&2; exit 1; }
endef

.PHONY: help run test coverage check fmt bench clients site dist setup lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: .venv/.run ## Install and start the daemon (ARGS='--bind 127.0.0.1:4700')
	@exec $(BIN)/understudy serve $(ARGS)

test: .venv/.dev .venv/.browser ## Install and run every test (ARGS='tests/unit -k journal', TEST_WORKERS=0)
	@$(BIN)/python -m pytest -p tests.support.rerun_failed -n $(TEST_WORKERS) --maxprocesses 4 $(ARGS)

coverage: .venv/.dev .venv/.browser ## Run the tests and report branch coverage
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -n $(TEST_WORKERS) --maxprocesses 4 $(ARGS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

check: .venv/.dev ## Check format, lint, types, import order, spelling and the lock
	@scripts/check

fmt: .venv/.dev ## Format the code and apply safe fixes
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format --quiet .

bench: .venv/.dev ## Print the performance table (ARGS='runs --quick' for one benchmark, ARGS=all)
	@test -d bench || { echo 'There is no bench/ directory in this tree.' >&2; exit 1; }
	@$(BIN)/python -m bench $(or $(ARGS),summary)

# Real coding agents, for the tests that are marked `clients` and skipped without them.
CLAUDE_CODE := @anthropic-ai/claude-code@2.1.327
CODEX := @openai/codex@0.169.0

clients: ## Install Claude Code and Codex below .clients/ for the tests with them (needs npm; 760 MB)
	@mkdir -p .clients
	@npm install --prefix .clients --ignore-scripts --no-audit --no-fund --loglevel=error $(CLAUDE_CODE) $(CODEX)

site: .venv/.run ## Write the documentation as a static site into site/
	@scripts/site

dist: .venv/.run ## Build wheel, sdist and the list of what they install (SBOM) into dist/
	@$(UV) build --quiet --out-dir dist
	@$(UV) export --frozen --quiet --no-dev --all-extras --no-emit-project --format cyclonedx1.5 \
		--preview-features sbom-export -o dist/understudy.cdx.json >/dev/null

setup: .venv/.dev ## Install everything and start nothing
	@:

lock: $(BOOTSTRAP) ## Resolve the dependencies again
	@$(UV) lock

clean: ## Remove what these targets made
	@rm -rf .venv .uv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis \
		.coverage .coverage.* dist build site .clients
	@find src tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +

.uv/bin/uv: scripts/get_uv.py
	@$(PYTHON) scripts/get_uv.py --install .uv $(UV_VERSION)
	@touch $@

.venv/.run: $(INPUTS) $(BOOTSTRAP)
	@$(call sync,--no-dev --inexact --all-extras)
	@touch $@

.venv/.dev: $(INPUTS) $(BOOTSTRAP)
	@$(call sync,--all-extras)
	@touch .venv/.run $@

.venv/.browser: .venv/.dev scripts/get_chromium.py
	@$(PYTHON) scripts/get_chromium.py
	@touch $@
