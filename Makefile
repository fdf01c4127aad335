# One word for each habit. Everything runs in .venv, made on first use from the pinned versions.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MADE := $(VENV)/made
INSTALLED := $(VENV)/installed
WORKSHOP := $(VENV)/workshop
# What an installation depends on.
SOURCES := setup.cfg setup.py pyproject.toml constraints.txt speechiq.pth
UPSTREAM := .venv-upstream
# The build of torch: `make demo TORCH=cpu` takes the one without CUDA, which is not on PyPI; uv knows where it is.
TORCH ?=
# One more than the two cores of a small machine: tests wait for processes and servers.
WORKERS ?= 3
# A thread a worker.
TEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest
# Packages are compiled when they are first imported, so compiled files are kept, also where a machine keeps none.
export PYTHONDONTWRITEBYTECODE :=
BENCHMARKS := hand_overs forked devices busy_neighbor prepare_subset score_scale startup stage_memory growth long_form \
	decoding resume shards latency suite_vs_request_at_a_time suite_vs_limit report_size site_size commands recognizers

# What the site shows of the demo: its report, and pictures of it.
EXAMPLE := build/example
IMAGES := docs/images

.PHONY: demo test checks test-fast test-upstream lint format hooks fuzz bench bench-coverage bench-kills build \
	docs docs-serve docs-images example clean
.DEFAULT_GOAL := demo

$(MADE): constraints.txt
	@echo 'Installing into $(VENV), once: 0.5 GB to download with TORCH=cpu, 3.1 GB without it on Linux; some minutes'
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "speechiq needs Python >= 3.11; run make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
ifneq ($(TORCH),)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt uv
	$(BIN)/uv pip install --python $(BIN)/python --torch-backend $(TORCH) --constraint constraints.txt torch
endif
	touch $@

$(INSTALLED): $(MADE) $(SOURCES)
	$(BIN)/python tools/install.py --constraint constraints.txt --editable '.[demo]'
	touch $@

# With what the demo does not need: tools for tests, documentation and style.
$(WORKSHOP): $(MADE) $(SOURCES)
	$(BIN)/python tools/install.py --constraint constraints.txt --editable '.[demo,docs,lint,questions,test]'
	touch $(INSTALLED) $@

demo: $(INSTALLED)  ## real models on the bundled set, then their SIQ
	$(BIN)/siq demo fetch
	$(BIN)/siq demo run --output runs/demo --force
	@echo 'To run these commands by hand: source $(BIN)/activate'

# The demo is computed once with all cores, before the workers, of which each has one, use its rows.
test: $(WORKSHOP) runs/demo/report.html  ## all tests of what the product does
	$(BIN)/siq demo fetch
	$(TEST) -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m 'not checks'

checks: docs  ## tests of the package, its types, the notebooks, the benchmarks and the site
	$(BIN)/siq demo fetch
	$(TEST) -n 2 --dist loadgroup -m checks tests/benchmarks tests/test_*.py

test-upstream:  ## what we need of lm-eval and transformers, against the newest versions of all dependencies
	$(PYTHON) -m venv --clear $(UPSTREAM)
	$(UPSTREAM)/bin/python -m pip install --quiet --upgrade $$($(PYTHON) tests/newest.py) pytest hypothesis
	$(UPSTREAM)/bin/python -m pip install --quiet --no-deps --editable .
	$(UPSTREAM)/bin/python -m pip freeze --exclude-editable
	$(UPSTREAM)/bin/python -m pytest tests/engines/test_transformers_contract.py tests/harness_patch/test_lm_eval_contract.py

test-fast: $(WORKSHOP)  ## what needs no model, process, browser, download or accelerator
	$(TEST) -n 2 -m 'not slow and not network and not gpu'

fuzz: export FUZZ_SECONDS ?= 35
fuzz: $(WORKSHOP)  ## damaged input of every kind, for ten minutes, and many examples of what holds for all input
	$(BIN)/python -m pytest tests/fuzz -s
	$(BIN)/python -m pytest -m hypothesis

lint: $(WORKSHOP)  ## style, types, spelling and words
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell
	$(BIN)/python tests/vocabulary.py

format: $(WORKSHOP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

hooks: $(WORKSHOP)  ## lint what is committed, before each commit
	$(BIN)/pre-commit install

bench: $(WORKSHOP)  ## ratios, two ways of one work in one run
	for name in $(BENCHMARKS); do \
		$(BIN)/python benchmarks/$$name.py || exit 1; done

bench-kills: $(WORKSHOP)  ## runs and shards killed at random moments
	$(BIN)/python benchmarks/resume.py --kills 20
	$(BIN)/python benchmarks/shards.py --kills 10

bench-coverage: $(WORKSHOP)  ## how often intervals hold the true score; after `make demo`
	$(BIN)/python benchmarks/coverage.py --clips 5 10 14 20 30 50 100 200 800 --runs runs/demo
	$(BIN)/python benchmarks/coverage.py --clusters 6 10 20 50 200 --name coverage_clusters
	$(BIN)/python benchmarks/proportions.py
	$(BIN)/python benchmarks/listening.py
	$(BIN)/python benchmarks/sample_size.py
	$(BIN)/python benchmarks/group_gaps.py

build: $(WORKSHOP)  ## wheel and sdist, into dist/
	$(BIN)/python -m build --outdir dist .

docs: example  ## the documentation site, into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

docs-serve: example  ## the same on http://127.0.0.1:8000, rebuilt whenever a page changes
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve

example: $(WORKSHOP) runs/demo/report.html
	mkdir -p $(EXAMPLE)
	$(BIN)/siq score runs/demo -o $(EXAMPLE)/report.html --force
	$(BIN)/python tools/screenshots.py runs/demo $(EXAMPLE)

runs/demo/report.html: | $(WORKSHOP)
	$(BIN)/siq demo fetch
	$(BIN)/siq demo run --output $(@D) --force

docs-images: example  ## the pictures of the README and the start page, anew
	mkdir -p $(IMAGES)
	cp $(EXAMPLE)/report.png $(IMAGES)/report.png
	$(BIN)/siq score runs/demo -o build/siq.json --force
	$(BIN)/python tools/scale_picture.py build/siq.json $(IMAGES)

clean:
	rm -rf $(VENV) $(UPSTREAM) .editable build dist site *.egg-info
