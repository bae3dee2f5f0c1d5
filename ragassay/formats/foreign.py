"""The shapes of other libraries' objects that `ragassay.evaluate` takes; none is imported."""

from __future__ import annotations

from typing import Any, Protocol


class Table(Protocol):
    """A frame of polars, an Arrow table, a dataset of Hugging Face."""

    @property
    def columns(self) -> Any:
        """The columns, or their names."""
        ...


class Sample(Protocol):
    """A single-turn sample of ragas."""

    @property
    def user_input(self) -> Any:
        """The question."""
        ...

    @property
    def response(self) -> Any:
        """The answer."""
        ...


class TestCase(Protocol):
    """A test case of DeepEval."""

    @property
    def input(self) -> Any:
        """The question."""
        ...

    @property
    def actual_output(self) -> Any:
        """The answer."""
        ...


class TestCases(Protocol):
    """A dataset of DeepEval."""

    @property
    def test_cases(self) -> Any:
        """Its test cases."""
        ...


class Response(Protocol):
    """A response of LlamaIndex."""

    @property
    def response(self) -> Any:
        """The answer."""
        ...

    @property
    def source_nodes(self) -> Any:
        """The nodes that it was written from."""
        ...


class Node(Protocol):
    """A node of LlamaIndex, with a score or without."""

    def get_content(self) -> str:
        """Return its text."""
        ...
