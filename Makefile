# Every target makes .venv and installs what it needs, at the versions of constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
export SAFEGAIN_DATA ?= ../shared/data

.PHONY: demo test killed proofs engines hosts quickstart check bench mnist reproduce board numbers clean

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: .venv/installed
	rm -rf build/demo && mkdir -p build
	$(BIN)/safegain demo build/demo

# One torch thread per worker: two workers with two threads each fight over the cores.
test: .venv/installed
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

# kill -9 at twenty random moments of five kinds of fits, and at twenty clicks of "Prove it", in about ten minutes.
killed: .venv/installed
	SAFEGAIN_MOMENTS=4 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 tests/jobs/test_fitting.py tests/review/test_prove.py

# How often certificates are false where somebody could have broken them, by simulation, in some ten minutes.
proofs: .venv/installed
	$(BIN)/python -m benchmarks.proofs

# The README's quick start, line by line, in an empty folder and an environment of its own.
quickstart:
	.ci/quickstart

# The examples for Ray Train, Spark (which takes a Java runtime) and torchrun, in the environment of the tests.
engines: .venv/installed
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev,ray,spark]'
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -v tests/test_engines.py

# Two hosts, which are network namespaces: five cut cables and five killed hosts, at random moments of a fit.
hosts: .venv/installed
	SAFEGAIN_MOMENTS=5 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -s -v tests/test_two_hosts.py

check: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/installed
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev,bench]'
	$(BIN)/python -m benchmarks

# Some minutes: the paper's search with its defaults on three splits of MNIST; python -m benchmarks.mnist takes others.
mnist: .venv/installed
	$(BIN)/python -m benchmarks.mnist

# Every table and figure of docs/results.md: ONLY=table-mnist-noise for one of them, QUICK=1 for a rehearsal in build/.
reproduce: .venv/installed
	ONLY="$(ONLY)" QUICK="$(QUICK)" JOBS="$(JOBS)" $(BIN)/python -m experiments

# docs/board.md: ONLY=spambase for the cells with that word in their name, QUICK=1 to rehearse. FINAL=1 runs the final sets
# instead of the development sets, from a clean work tree at a tag board-*. ONLY=unlabelled is docs/unlabelled.md.
board: .venv/installed
	ONLY="$(ONLY)" QUICK="$(QUICK)" JOBS="$(JOBS)" FINAL="$(FINAL)" \
	$(BIN)/python -m experiments.$(if $(findstring unlabelled,$(ONLY)),unlabelled_board,board)

# docs/numbers.md: the same for numbers.
numbers: .venv/installed
	ONLY="$(ONLY)" QUICK="$(QUICK)" JOBS="$(JOBS)" FINAL="$(FINAL)" $(BIN)/python -m experiments.number_board

clean:
	rm -rf .venv build dist src/*.egg-info
