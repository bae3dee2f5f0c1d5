# Everything here also works without make: each line is the command itself.
.PHONY: build check docs lint test transcript

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

transcript:
	python docs/transcript.py
