# `make demo` and `make test` do all of their own set-up on a machine with Python 3.11 or newer, pip, venv and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test browser check format fuzz docs site harnesses benchmarks dist clean

demo: $(VENV)/.run-ready
	$(BIN)/eyechart demo

# One thread a process: there are as many processes as cores, and threads of several would only wait for each other.
test: check browser
	OMP_NUM_THREADS=1 POLARS_MAX_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal  # neighbours share what they make: they stay together

# The tests of the page and the explorer use a real browser, and are skipped with a reason where there is none.
browser:
	command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium; } || true

check: $(VENV)/.dev-ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev-ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Damaged files of every kind, 10,000 for each reader, going on where the last run stopped; every property test on
# examples that no run has drawn before, those of tests/fuzz on 10,000 each.
fuzz: $(VENV)/.dev-ready
	$(BIN)/python benchmarks/inputs.py --record
	$(BIN)/python -m pytest tests/fuzz --numprocesses auto --hypothesis-profile fuzz
	$(BIN)/python -m pytest --ignore tests/fuzz -m hypothesis --numprocesses auto --hypothesis-profile fresh

docs: $(VENV)/.dev-ready
	$(BIN)/python docs/make_cli_page.py
	$(BIN)/python docs/make_tables.py

site: docs
	$(INSTALL) --editable '.[docs]'
	$(BIN)/mkdocs build --quiet

# Other people's harnesses ask what we export, each in an environment of its own (several GB, a quarter of an hour).
# None of them gets torchvision: that of the registry does not fit the torch they are given.
HARNESSES := evalscope helm inspect lighteval lm-eval lmms-eval vlmevalkit
HARNESS := $(VENV)/harness

harnesses: $(VENV)/.dev-ready $(HARNESSES:%=$(HARNESS)/%/.ready)
	EYECHART_EVALSCOPE=$(CURDIR)/$(HARNESS)/evalscope/bin/python \
	EYECHART_HELM=$(CURDIR)/$(HARNESS)/helm/bin/python \
	EYECHART_INSPECT=$(CURDIR)/$(HARNESS)/inspect/bin/python \
	EYECHART_LIGHTEVAL=$(CURDIR)/$(HARNESS)/lighteval/bin/python \
	EYECHART_LM_EVAL=$(CURDIR)/$(HARNESS)/lm-eval/bin/python \
	EYECHART_LMMS_EVAL=$(CURDIR)/$(HARNESS)/lmms-eval/bin/python \
	EYECHART_VLMEVALKIT=$(CURDIR)/$(HARNESS)/vlmevalkit/bin/python \
	$(BIN)/python -m pytest tests/harness

$(HARNESS)/%/.ready: tests/harness/%.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	$(@D)/bin/python -m pip uninstall --quiet --yes torchvision
	touch $@

# Those that need nothing brought along: no real data, no GPU, no folder to go on in.
BENCHMARKS := decoys decoys_world engines grounding grounding_world mining out_of_core perception perception_synthetic \
	predict read rules_world scoring splits splits_head_share splits_world view

benchmarks: $(VENV)/.dev-ready
	for script in $(BENCHMARKS); do $(BIN)/python benchmarks/$$script.py || exit 1; done

# What a release uploads: built, checked, and the wheel installed alone in a fresh environment and run there.
dist: $(VENV)/.dev-ready
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(INSTALL) twine
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv --clear $(VENV)/alone
	$(VENV)/alone/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt dist/*.whl
	cd $(VENV)/alone && bin/eyechart --version && bin/eyechart read world -o world --set images=20 \
		&& bin/eyechart audit world -a accuracy -m world:seer -o run && test -s run/report.html

clean:
	rm -rf $(VENV) demo dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run-ready: $(BIN)/python pyproject.toml constraints.txt
	$(INSTALL) --editable .
	touch $@

$(VENV)/.dev-ready: $(BIN)/python pyproject.toml constraints.txt
	$(INSTALL) --editable '.[dev]'
	touch $@ $(VENV)/.run-ready
