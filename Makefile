# `make help` lists what there is. Everything runs in .venv, made from locks with hashes.
#
# There is no uv.lock: it would write the address of the package index that it was made with into the repository. The
# locks here hold names, versions and hashes only, so any mirror serves them and none has to be trusted.

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory

PY := .venv/bin/python
LOCK := UV_NO_CONFIG=1 UV_CUSTOM_COMPILE_COMMAND='make lock' .venv/bin/uv pip compile --quiet --universal \
	--python-version 3.11 --generate-hashes --no-emit-index-url --no-header --exclude-newer '7 days'
# A tool that is missing is a failure, never a skip.
TEST := CI=true PYTHONHASHSEED=0 $(PY) -m pytest
# Most tests wait for a process or a clock: two at a time take half as long, on two cores too.
PARALLEL := -n 2 --dist worksteal
ENGINE := PYTHONPATH=tests $(PY) -m support.dockerd --

.PHONY: help setup demo test test-unit test-flow test-contract test-meta test-e2e test-libraries cases lint format docs lock image-locks bench clean

help: ## Show this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | awk -F'\t' '{printf "  make %-14s %s\n", $$1, $$2}'

.venv/.local-ready: entrypoint/requirements-local.txt scripts/venv.sh
	@echo "hf-train: setting up .venv (once)"
	@scripts/venv.sh entrypoint/requirements-local.txt
	@touch $@

.venv/.dev-ready: requirements-dev.txt scripts/venv.sh
	@echo "hf-train: setting up .venv for development (once)"
	@scripts/venv.sh requirements-dev.txt
	@touch $@ .venv/.local-ready

setup: .venv/.dev-ready ## Make .venv with everything that developers need

demo: .venv/.local-ready ## Train a small real model on the local Hub and show the report: no account, no Docker
	@$(PY) -I -m hf_train demo

test: .venv/.dev-ready ## Run every test, with all that they need (as root on Debian: installs and starts it)
	@scripts/system-packages.sh
	@$(ENGINE) env CI=true PYTHONHASHSEED=0 $(PY) -m pytest $(PARALLEL) $(PYTEST_ARGS)

test-unit: .venv/.dev-ready ## Run the unit tests (no world, seconds)
	@$(TEST) $(PARALLEL) tests/unit $(PYTEST_ARGS)

test-flow: .venv/.dev-ready ## Run the tests of pipeline and watch on fakes
	@$(TEST) tests/flow $(PYTEST_ARGS)

test-contract: .venv/.dev-ready ## Run the adapters against the local Hub and the GitHub stub
	@$(TEST) tests/contract $(PYTEST_ARGS)

test-meta: .venv/.dev-ready ## Check that action.yml, inputs, README, Dockerfile and locks agree
	@$(TEST) tests/meta $(PYTEST_ARGS)

test-e2e: .venv/.dev-ready ## Run the three entrances for real (Docker, act)
	@scripts/system-packages.sh
	@$(ENGINE) env CI=true PYTHONHASHSEED=0 $(PY) -m pytest tests/e2e $(PYTEST_ARGS)

test-libraries: .venv/.dev-ready ## Train with Axolotl and Unsloth for real (7 GB in ~/.cache, once; not part of test)
	@$(TEST) tests/libraries --durations=0 $(PYTEST_ARGS)

cases: .venv/.dev-ready ## Print the register of cases with the tests that hold each
	@$(PY) -I scripts/cases.py

lint: .venv/.dev-ready ## Run every linter and the house rules
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy --config-file pyproject.toml -p hf_train
	MYPYPATH=entrypoint:tests .venv/bin/mypy --config-file pyproject.toml tests
	.venv/bin/lint-imports
	$(PY) -I scripts/action.py --check
	$(PY) -I scripts/readme.py --check
	.venv/bin/zizmor --pedantic --offline --quiet action.yml */action.yml .github/workflows
	$(PY) -I scripts/blocks.py build/blocks
	.venv/bin/zizmor --pedantic --offline --quiet --config docs/zizmor.yml build/blocks/*.yml docs/workflows/*.yml
	.venv/bin/actionlint build/blocks/*.yml docs/workflows/*.yml
	.venv/bin/actionlint
	.venv/bin/check-jsonschema --builtin-schema vendor.github-actions action.yml */action.yml
	.venv/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(TEST) -q tests/meta/test_house_rules.py

format: .venv/.dev-ready ## Format the code and mend what ruff can mend
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix-only .

docs: .venv/.dev-ready ## Renew what is generated from the table of inputs (action.yml, README)
	$(PY) -I scripts/action.py
	$(PY) -I scripts/readme.py

lock: .venv/.dev-ready ## Renew the locks from pyproject.toml (packages at least 7 days old)
	$(LOCK) pyproject.toml -o entrypoint/requirements.txt
	$(LOCK) --extra local -c entrypoint/requirements.txt pyproject.toml -o entrypoint/requirements-local.txt
	$(LOCK) --extra local --group dev -c entrypoint/requirements-local.txt pyproject.toml -o requirements-dev.txt
	@echo hatchling | $(LOCK) - -o requirements-build.txt

image-locks: .venv/.dev-ready ## Renew the locks of the training images (images/*/requirements.txt)
	@scripts/image-locks.sh

bench: .venv/.dev-ready ## Run the benchmarks against the real hf on the local Hub
	@for file in bench/bench_*.py; do echo "== $$file"; $(PY) -I "$$file"; done

clean: ## Remove .venv and every cache in this folder
	rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist report demo-report
	find . -name __pycache__ -prune -exec rm -rf {} +
