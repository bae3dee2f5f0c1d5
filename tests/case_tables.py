"""Tests over a table of cases: one test that tries every row and names all that failed.

`@each_case("text, expected", TABLE)` stands where `@pytest.mark.parametrize` would, for tables
whose rows need no test of their own: that costs more than most rows take.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

Table = Iterable[Any] | Callable[[], Iterable[Any]]
Names = str | tuple[str, ...] | list[str]
Ids = Callable[[Any], Any] | Iterable[str] | None


class Failures:
    """The cases of a table that failed, raised as one error after the last."""

    def __init__(self) -> None:
        self.n_cases = 0
        self.errors: dict[str, BaseException] = {}
        self.skips: list[BaseException] = []

    @contextlib.contextmanager
    def case(self, label: str) -> Iterator[None]:
        """Try one case; a failure is kept and the next case goes on."""
        self.n_cases += 1
        try:
            yield
        except pytest.skip.Exception as skip:
            self.skips.append(skip)
        except (Exception, pytest.fail.Exception) as error:
            error.add_note(f"in case {label}")
            self.errors[f"{self.n_cases}: {label}"] = error

    def raise_any(self) -> None:
        """Raise an error that names every failed case; an empty table is one, too."""
        assert self.n_cases, "the table has no case"
        if self.errors:
            lines = [
                f"[{label}] {type(error).__name__}: {error}" for label, error in self.errors.items()
            ]
            heading = f"{len(lines)} of {self.n_cases} cases failed"
            group = BaseExceptionGroup(heading, list(self.errors.values()))
            raise AssertionError("\n".join([heading, *lines])) from group
        if len(self.skips) == self.n_cases:
            raise self.skips[0]


def check_each(cases: Iterable[Any], check: Callable[[Any], object]) -> None:
    """Call `check` with each case.

    Raises:
        AssertionError: a check failed, named with all others that did; or there is no case.
    """
    failures = Failures()
    for case in cases:
        with failures.case(repr(case)):
            check(case)
    failures.raise_any()


def each_case(names: Names, table: Table, ids: Ids = None) -> Callable[[Any], Any]:
    """Make one test of a function that tries each row of a table.

    Each row has a `tmp_path`, a `monkeypatch`, and an empty `capsys`, `caplog` and `recwarn` of its
    own; all other fixtures are shared by the rows.

    Args:
        names: the arguments that a row gives, as `pytest.mark.parametrize` takes them.
        table: the rows, or a function that returns them, called when the test runs.
        ids: names of the rows, or a function that makes one of a value.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    single = isinstance(names, str) and "," not in names

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        rows = functools.partial(_read_rows, keys, table, ids, single)

        def run(*instance: Any, **fixtures: Any) -> None:
            failures = Failures()
            for n, (label, values) in enumerate(rows()):
                with failures.case(label), _refresh(fixtures, n) as own:
                    test(*instance, **own, **values)
            failures.raise_any()

        async def run_async(*instance: Any, **fixtures: Any) -> None:
            failures = Failures()
            for n, (label, values) in enumerate(rows()):
                with failures.case(label), _refresh(fixtures, n) as own:
                    await test(*instance, **own, **values)
            failures.raise_any()

        signature = inspect.signature(test)
        parameters = signature.parameters.values()
        missing = set(keys) - set(signature.parameters)
        assert not missing, f"{test.__name__} takes no {sorted(missing)}"
        wrapped = functools.wraps(test)(run_async if inspect.iscoroutinefunction(test) else run)
        wrapped.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[one for one in parameters if one.name not in keys]
        )
        return wrapped

    return decorate


def _read_rows(
    keys: list[str], table: Table, ids: Ids, single: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the label of each row and its values by name."""
    names = None if ids is None or callable(ids) else iter(ids)
    for row in table() if callable(table) else table:
        label = None if names is None else next(names)
        if isinstance(row, ParameterSet):
            assert not row.marks, "a row of a table takes no mark"
            label, values = row.id or label, tuple(row.values)
        else:
            values = (row,) if single else tuple(row)
        assert len(values) == len(keys), f"{values!r} does not fit {keys}"
        if label is None:
            label = "-".join(_label_value(one, ids if callable(ids) else None) for one in values)
        yield str(label), dict(zip(keys, values, strict=True))


def _label_value(value: object, ids: Callable[[Any], Any] | None) -> str:
    name = ids(value) if ids else None
    return str(name if name is not None else getattr(value, "__name__", None) or repr(value))[:100]


@contextlib.contextmanager
def _refresh(fixtures: Mapping[str, Any], n: int) -> Iterator[dict[str, Any]]:
    """Give a row its own of what pytest makes for a test."""
    own = dict(fixtures)
    if "tmp_path" in own:
        own["tmp_path"] = own["tmp_path"] / f"case-{n}"
        own["tmp_path"].mkdir()
    if "capsys" in own:
        own["capsys"].readouterr()
    for name in ("caplog", "recwarn"):
        if name in own:
            own[name].clear()
    with contextlib.ExitStack() as stack:
        if "monkeypatch" in own:
            own["monkeypatch"] = stack.enter_context(pytest.MonkeyPatch.context())
        yield own
