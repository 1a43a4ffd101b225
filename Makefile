# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
# Everything a person or a machine does here starts with `make`; `make help` lists it.
SHELL := /bin/sh
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.ready
DEMO_STAMP := $(VENV)/.ready-demo
ARGS ?=

.PHONY: help demo test check lint types fast sim records mutants regs native formal area route stops crashes faults bench fuzz pages pictures board-chroot board-units pynq-versions packages site clean

help: ## List what make can do
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml studies/pyproject.toml tools/bootstrap tools/constraints.txt
	@sh tools/bootstrap $(VENV) dev >&2

# The demo needs less than a developer does.
$(DEMO_STAMP): pyproject.toml tools/bootstrap tools/constraints.txt
	@sh tools/bootstrap $(VENV) demo >&2

demo: $(DEMO_STAMP) ## Build the simulated board, run three tenants' jobs over HTTP, check the results
	@$(PY) -m eddy.cli.main demo $(ARGS)

test: $(STAMP) ## Every test: lint, types, layering, unit, contract, API, RTL benches, proofs, system
	@$(PY) tools/test.py $(ARGS)

check: $(STAMP) ## Lint, types, layering, stale generated files and retired words only
	@$(PY) tools/test.py --only static

lint: $(STAMP) ## Lint, format and layering
	@$(PY) tools/test.py --only lint

types: $(STAMP) ## Types
	@$(PY) tools/test.py --only types

fast: $(STAMP) ## The tests that build no RTL: unit, contract, API; a few minutes
	@$(PY) -m pytest -n 2 --dist loadgroup -m "not rtl and not formal" tests/unit tests/studies tests/contract tests/api $(ARGS)

regs: $(STAMP) ## Regenerate RTL, Python, C and the tables of the manual from hw/regs/*.rdl
	@$(PY) tools/regs.py

native: $(STAMP) ## Compile what is shipped compiled again, for every platform
	@$(PY) tools/native_kernels.py $(ARGS)

formal: $(STAMP) ## Proofs of blocks, and of what the simulation leaves out
	@$(PY) -m pytest -m formal $(ARGS)

sim: $(STAMP) ## The RTL benches only
	@$(PY) -m pytest sim/rtl $(ARGS)

records: $(STAMP) ## Check every module that has no record of the build it is, and write its records
	@$(PY) tools/records.py $(ARGS)

mutants: $(STAMP) ## Put every known mistake into RTL, see benches and proofs find it, and record that
	@$(PY) tools/mutants.py $(ARGS)

area: $(STAMP) ## Synthesize what changed; LUT, FF, BRAM and DSP into docs/reference/area.md
	@$(PY) tools/area.py $(ARGS)

route: $(STAMP) ## Place and route a slot's path for an ECP5, and compare its clock with docs/reference/route.json; ARGS=--core
	@$(PY) tools/route.py $(ARGS)

stops: $(STAMP) ## Stop 40 servers at random moments and check how each one ended
	@$(PY) tests/system/crashes/stop_rig.py $(ARGS)

crashes: $(STAMP) ## Kill serve, boardd or both 100 times under load, and check every job
	@PYTHONPATH=tests $(PY) tests/system/crashes/crash_rig.py $(ARGS)

faults: $(STAMP) ## Seeds of the fault simulation: crashes, torn writes, a bad board; ARGS="--seeds 10000"
	@$(PY) tools/faults.py $(ARGS)

bench: $(STAMP) ## Speeds of the simulated board, printed with their ratios
	@$(PY) tools/bench.py $(ARGS)

fuzz: $(STAMP) ## Schemathesis against the HTTP API, as operator and as tenant, ten minutes each
	@$(PY) tools/fuzz.py $(ARGS)

pages: $(STAMP) ## The dashboard in Chromium (of the system), with screenshots in out/pages
	@$(PY) -c 'import playwright' 2>/dev/null || $(PY) -m pip install -q --disable-pip-version-check -e '.[pages]'
	@$(PY) -m pytest tests/browser/dashboard.py tests/browser/pages.py tests/browser/submit.py tests/browser/pool_head.py $(ARGS)

pictures: $(STAMP) ## README's pictures of the demo, the dashboard and `eddy top`, of today (needs Chromium)
	@$(PY) -c 'import playwright' 2>/dev/null || $(PY) -m pip install -q --disable-pip-version-check -e '.[pages]'
	@$(PY) tools/pictures.py

board-chroot: $(STAMP) ## Install on an emulated arm64 system, run a job, remove (needs root; ARGS=--wheels does not)
	@$(PY) tools/board_chroot.py $(ARGS)

board-units: $(STAMP) ## The services under systemd in a container: killed, hung, rebooted, removed (needs root)
	@$(PY) tools/board_units.py $(ARGS)

pynq-versions: $(STAMP) ## The releases of PYNQ that are supported, each on the faked kernel; ARGS="4.0.0" for one
	@$(PY) tools/pynq_versions.py $(ARGS)

packages: $(STAMP) ## Build what is committed, install and try it outside on each Python; ARGS="--bare bookworm" in bare Debian
	@$(PY) -c 'import cyclonedx' 2>/dev/null || $(PY) -m pip install -q --disable-pip-version-check -e '.[release]'
	@$(PY) tools/packages.py $(ARGS)

site: $(STAMP) ## The documentation as a site that needs no network, in out/site; its links and search are checked (needs npm once)
	@$(PY) -c 'import material, mkdocstrings' 2>/dev/null || $(PY) -m pip install -q --disable-pip-version-check -e '.[site]'
	@NO_MKDOCS_2_WARNING=1 $(PY) tools/docs_site/build.py $(ARGS)

clean: ## Remove what was built (not the virtual environment)
	rm -rf build out
