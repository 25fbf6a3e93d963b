# headrace: the commands of daily work. `make demo` and `make test` start from nothing but git, make and Debian's apt.
VENV ?= .venv
PYTHON ?= $(VENV)/bin/python
JOBS ?= $(shell nproc)
# make says SECONDS through the environment's name too, which bash uses for something else: only a command-line value counts.
FUZZ_SECONDS = $(if $(filter command line,$(origin SECONDS)),$(SECONDS),20)

BUILD := build/dev
export PYTHONPATH := $(CURDIR)/python
export VENV

.PHONY: help bootstrap configure build test native-test python-test test-oldest-jax demo bench lint format stubs asan tsan arm64 fuzz clean

help:
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 26

bootstrap: ## installs what is missing: system packages, .venv
	tools/bootstrap

configure: bootstrap
	@mkdir -p build
	cmake --preset dev -DPython_EXECUTABLE=$(abspath $(PYTHON)) >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }

build: configure ## the libraries, the native tests and the Python module
	cmake --build $(BUILD) -j $(JOBS)

test: native-test python-test ## all tests

native-test: build
	ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

python-test: build
	$(PYTHON) -m pytest tests/python

test-oldest-jax: build ## the plugins' tests with the JAX of tools/oldest_jax.txt
	test -x build/oldest_jax/bin/python || $(PYTHON) -m venv build/oldest_jax
	build/oldest_jax/bin/python -m pip install -q --disable-pip-version-check -r tools/oldest_jax.txt
	build/oldest_jax/bin/python -m pytest tests/python/plugin

demo: configure ## trains the MNIST model of examples/mnist_flax
	cmake --build $(BUILD) -j $(JOBS) --target _core
	$(PYTHON) examples/mnist_flax/demo.py

bench: build ## the tables of benchmarks/
	$(PYTHON) benchmarks/run.py
	$(PYTHON) benchmarks/ops/run.py

lint: build ## format, names, types, walls, sizes, compile times
	tools/bootstrap lint
	tools/lint

format: ## formats C++ and Python files
	tools/bootstrap lint
	git ls-files '*.cc' '*.h' | xargs clang-format-14 -i
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

stubs: build ## writes the .pyi files and docs/operators.md from the schemas
	$(PYTHON) tools/gen_stubs.py
	$(PYTHON) tools/gen_operator_docs.py

asan: bootstrap ## native tests with AddressSanitizer and UBSan
	tools/sanitize asan

tsan: bootstrap ## native tests with ThreadSanitizer
	tools/sanitize tsan

arm64: bootstrap ## native tests of vector code for 64-bit ARM, in an emulator
	tools/arm64

fuzz: bootstrap ## each fuzz target for SECONDS=20 seconds
	tools/bootstrap fuzz
	tools/fuzz $(FUZZ_SECONDS)

clean: ## removes what make built (not .venv)
	rm -rf build dist python/headrace/_core*.so python/headrace/include
