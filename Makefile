# Everything here also works without make: each line is the command itself.
.PHONY: check test

check:
	ruff check .
	ruff format --check .
	pyright
	lint-imports
	python -m pytest

test:
	python -m pytest
