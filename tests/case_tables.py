"""Table tests that check all rows in one test and report all failures.

`@each_case("text, expected", TABLE)` replaces `@pytest.mark.parametrize` for tables whose rows need
no separate tests, because separate tests take longer than most rows.
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
    """Failures of a table's cases, raised as one error at the end."""

    def __init__(self) -> None:
        self.n_cases = 0
        self.errors: dict[str, BaseException] = {}
        self.skips: list[BaseException] = []

    @contextlib.contextmanager
    def case(self, label: str) -> Iterator[None]:
        """Run one case, and record a failure without stopping."""
        self.n_cases += 1
        try:
            yield
        except pytest.skip.Exception as skip:
            self.skips.append(skip)
        except (Exception, pytest.fail.Exception) as error:
            error.add_note(f"in case {label}")
            self.errors[f"{self.n_cases}: {label}"] = error

    def raise_any(self) -> None:
        """Raise an error that lists all failed cases, or an error for an empty table."""
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
        AssertionError: A check failed (all failures are listed), or there are no cases.
    """
    failures = Failures()
    for case in cases:
        with failures.case(repr(case)):
            check(case)
    failures.raise_any()


def each_case(names: Names, table: Table, ids: Ids = None) -> Callable[[Any], Any]:
    """Turn a function into one test that checks each row of a table.

    Each row gets a new `tmp_path` and `monkeypatch` and an empty `capsys`, `caplog` and `recwarn`.
    All other fixtures are shared by the rows.

    Args:
        names: Argument names, as in `pytest.mark.parametrize`.
        table: Rows, or a function that returns them when the test runs.
        ids: Names of the rows, or a function that converts a value to a name.
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
    """Give a row new per-test fixtures."""
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
