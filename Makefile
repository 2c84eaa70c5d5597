# Every command of the project, one line each. Each one does its own set-up in .venv.
#
#   TORCH_INDEX=https://download.pytorch.org/whl/cpu make report     a smaller install, without CUDA
#   PYTHON=python3.12 make report                                    another interpreter (3.11 or newer)

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
# Some environments force an OpenBLAS kernel; what is measured is the one that the processor would get.
UNFORCED := env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE

.PHONY: report test check bench refresh install clean help

help:  ## list the commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 10

report: $(VENV)/installed  ## run every experiment of the suite and write results/report.html
	$(UNFORCED) $(BIN)/python -m pocket bench make

refresh: $(VENV)/installed  ## the same, and redo the runs whose code has changed since
	$(UNFORCED) $(BIN)/python -m pocket bench refresh

bench: $(VENV)/installed  ## engine against PyTorch in one interleaved run: results/bench.json
	$(UNFORCED) $(BIN)/python -m pocket bench contest

test: $(VENV)/installed-dev  ## every test, an end-to-end report in a browser included
	$(BIN)/python -m pytest

check: $(VENV)/installed-dev  ## lint, format, types, Snakefile format, architecture and size
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/snakefmt --check Snakefile workflows
	$(BIN)/mypy && $(BIN)/python -m pytest -q tests/test_architecture.py

install: $(VENV)/installed-dev  ## only the set-up

clean:  ## remove .venv and every result, but not results/reference
	rm -rf $(VENV) .snakemake && find results -mindepth 1 -maxdepth 1 ! -name reference ! -name README.md -exec rm -rf {} +

$(VENV)/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is older than 3.11; name a newer one: make PYTHON=python3.12" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV) && touch $@

$(VENV)/installed: pyproject.toml $(VENV)/created
	$(if $(TORCH_INDEX),$(PIP) --index-url $(TORCH_INDEX) 'torch>=2.9$(comma)<2.15')
	$(PIP) --editable . && touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(PIP) --editable '.[dev]' && touch $@

comma := ,
