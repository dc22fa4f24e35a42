# Two commands on a fresh clone: `make demo` and `make test`. `make help` lists the others.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3.11
VENV ?= .venv
BIN := $(VENV)/bin
CORES ?= 2
# One domain, or all that are built.
DOMAIN ?= all
DOMAINS := counts opf spatial genomics eeg
$(if $(filter-out $(DOMAINS) all,$(DOMAIN)),$(error DOMAIN=$(DOMAIN) is not built; choose from: $(DOMAINS) all))
WANTED := $(if $(filter all,$(DOMAIN)),$(DOMAINS),$(DOMAIN))
# More options for pip, for example an index that offers CPU builds of torch.
PIP_ARGS ?=
LOCK := locks/py311.txt

comma := ,
empty :=
space := $(empty) $(empty)
EXTRAS := $(subst $(space),$(comma),$(strip $(WANTED)))
TARGETS := $(if $(filter all,$(DOMAIN)),all,$(DOMAIN))
REAL := $(foreach d,$(WANTED),config/real/$(d).yaml)
SNAKEMAKE := $(BIN)/snakemake --cores $(CORES)
# Whole files of tests on as many processes as there are cores; the order is the same each time.
SPREAD := PYTHONHASHSEED=0 $(BIN)/pytest -n $(CORES) --dist loadfile
ifneq ($(HEADWATER_MIRROR),)
export HEADWATER_MIRROR := $(abspath $(HEADWATER_MIRROR))
endif

define installed
$(BIN)/.headwater-$(1)
endef

.PHONY: help setup demo real test test-all slurm-test lint docs bench doctor retrieve envs keys lock unlock clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(BIN)/python:
	@$(PYTHON) --version >/dev/null 2>&1 || { echo "Headwater needs Python 3.11: install it or set PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(BIN)/.headwater-%: pyproject.toml $(LOCK) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) -c $(LOCK) -e ".[$*]"
	@touch $@

setup: $(foreach d,$(WANTED),$(call installed,$(d))) ## create .venv with what DOMAIN needs

demo: setup ## embedded data to report page, minutes (DOMAIN=counts for one domain)
	$(SNAKEMAKE) $(TARGETS)
	@$(BIN)/python -m headwater.core.where demo $(WANTED)

real: setup ## the same on real data: HEADWATER_MIRROR or the network
	$(SNAKEMAKE) $(TARGETS) --configfile $(REAL)
	@$(BIN)/python -m headwater.core.where real $(WANTED)

retrieve: $(call installed,counts) ## fetch all files that CONFIG needs, ahead of a run
	$(SNAKEMAKE) retrieve_all --configfile $(or $(CONFIG),$(REAL))

test: setup $(call installed,dev) $(call installed,slurm) ## tests, without those marked slow
	$(SPREAD) -m "not slow" $(if $(filter all,$(DOMAIN)),tests,tests/unit/core tests/unit/$(DOMAIN) tests/scripts/$(DOMAIN) tests/workflow)

test-all: setup $(call installed,dev) $(call installed,slurm) ## all tests
	$(SPREAD) tests

slurm-test: setup $(call installed,dev) $(call installed,slurm) ## a real SLURM on this machine, results compared with a local run (root)
	HEADWATER_NEEDS_SLURM=1 $(BIN)/pytest tests/slurm

lint: setup $(call installed,dev) ## ruff, snakefmt, snakemake --lint, layers, files in step
	bash .ci/lint

docs: $(call installed,docs) ## build the documentation into site/
	$(BIN)/mkdocs build --strict --quiet
	@echo "Documentation: site/index.html"

# Peers get an environment of their own: their versions are not ours.
$(VENV)-bench/.opf: tests/bench/opf_peers.txt
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) -r $<
	@touch $@

bench: setup $(call installed,dev) $(if $(filter opf,$(WANTED)),$(VENV)-bench/.opf) ## speed as ratios against a peer, one run
	status=0; for d in $(WANTED) plan; do OMP_NUM_THREADS=1 $(BIN)/python tests/bench/bench_$$d.py --out results/bench/$$d || status=1; done; exit $$status

doctor: | $(BIN)/python ## look at the machine: versions, disk, scheduler, GPU
	$(BIN)/python src/headwater/core/doctor.py

envs: ## rewrite envs/ from pyproject.toml and the lock
	$(BIN)/python workflow/envs.py

keys: ## rewrite the table of keys in config/README.md from the schemas
	$(BIN)/python workflow/keys.py

lock: ## resolve all extras together anew (needs uv)
	uv pip compile pyproject.toml --all-extras --python-version 3.11 --no-header --no-annotate --upgrade -o $(LOCK)

unlock: ## after a killed run: remove Snakemake's lock
	$(SNAKEMAKE) --unlock

clean: ## remove all results and downloads
	rm -rf results resources/downloads .snakemake
