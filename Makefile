# One word for each habit. Everything runs in .venv, made on first use from the pinned versions.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed
WORKERS ?= 2

.PHONY: demo test lint format bench build clean
.DEFAULT_GOAL := demo

$(INSTALLED): setup.cfg setup.py pyproject.toml constraints.txt speechiq.pth
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "speechiq needs Python >= 3.11; run make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[demo,questions,test,lint]'
	touch $@

demo: $(INSTALLED)  ## real models on the bundled set, then their SIQ
	$(BIN)/siq demo fetch
	$(BIN)/siq demo run --output runs/demo
	@echo 'To run these commands by hand: source $(BIN)/activate'

test: $(INSTALLED)  ## all tests, a thread a worker
	$(BIN)/siq demo fetch
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(INSTALLED)  ## ratios, two ways of one work in one run
	$(BIN)/python benchmarks/prepare_subset.py
	$(BIN)/python benchmarks/score_scale.py

build: $(INSTALLED)  ## wheel and sdist, into dist/
	$(BIN)/python -m build --outdir dist .

clean:
	rm -rf $(VENV) build dist *.egg-info
