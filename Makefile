# Everything here also works without make: each line is the command itself.
.PHONY: base-install build check docs lint test transcript

check: lint
	python -m pytest

lint:
	ruff check .
	ruff format --check .
	pyright
	lint-imports

test:
	python -m pytest

docs:
	python -m mkdocs build --strict

build:
	python -m build
	python -m twine check --strict dist/*

# A wheel alone, without extras, in an environment of its own: it works, or says what to install.
base-install:
	python -m build --wheel --outdir build/base
	python -m venv --clear build/base/environment
	build/base/environment/bin/python -m pip install --quiet build/base/ragassay-*.whl
	RAGASSAY_BASE_PYTHON=$(CURDIR)/build/base/environment/bin/python python -m pytest tests/base_install

transcript:
	python docs/transcript.py
