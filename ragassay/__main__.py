"""Run `python -m ragassay`."""

from ragassay.cli import app

app()
