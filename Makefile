# Assay's commands. `make help` lists them; docs/development.md explains them.
#
#   PYTHON=/path  an interpreter with torch and triton, used as it is (default: the project's .venv)
#   JOBS=n        parallel jobs (default: all cores)
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
SHELL := /bin/bash

JOBS ?= $(shell nproc)
export JOBS PYTHON
# Checkouts in different folders share what they compiled.
export CCACHE_BASEDIR := $(CURDIR)

launcher = $(if $(shell command -v ccache),-DCMAKE_C_COMPILER_LAUNCHER=ccache \
             -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
build_preset = cmake --preset $(1) -Wno-dev $(launcher) $(2) && $(NO_ASLR) cmake --build --preset $(1) -j $(JOBS)

.PHONY: help demo test test-e2e build setup format lint-cpp asan tsan wheel test-gpu clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1|/p' Makefile | column -t -s '|'

demo: build ## install what is missing, build, judge examples/relu.py, serve it to a client
	@scripts/demo

test: build ## format check, C++ tests, Python tests; says what was skipped and why
	scripts/format --check
	scripts/ctest release
	scripts/pytest

test-e2e: build ## the server with real clients from the package index; takes minutes
	ASSAY_TEST_E2E=1 scripts/pytest tests/e2e

build: setup ## the release build, in build/release
	$(call build_preset,release,-DASSAY_PYTHON="$$(. scripts/lib.sh && build_python)")

# Targets that need the test and lint tools hand --dev to the setup they depend on.
test test-e2e lint-cpp asan tsan: SETUP_FLAGS = --dev
setup: ## install what the build lacks (apt) and make .venv
	@scripts/setup $(SETUP_FLAGS)

format: ## format the C++ sources
	scripts/format

lint-cpp: build ## clang-tidy over all C++ sources (minutes)
	scripts/lint-cpp

asan: setup ## C++ tests under the address and undefined-behaviour sanitizers
	$(call build_preset,asan)
	scripts/ctest asan

# GCC's thread sanitizer does not start under the wide address randomisation of newer kernels.
tsan: NO_ASLR = $(shell setarch -R true 2>/dev/null && echo setarch -R)
tsan: setup ## C++ tests under the thread sanitizer
	$(call build_preset,tsan)
	$(NO_ASLR) scripts/ctest tsan

wheel: setup ## the Python wheel, in dist, installed and used in an empty environment
	scripts/wheel

test-gpu: ## GPU tests, on a machine that has an NVIDIA GPU
	tests/gpu/run

clean: ## remove builds (not .venv)
	rm -rf build dist .pytest_cache .hypothesis
