"""Table tests fail for bad rows and for empty tables."""

from __future__ import annotations

import asyncio
import inspect

import pytest
from case_tables import check_each, each_case


def test_every_failed_case_is_named_and_the_others_are_tried():
    tried = []

    @each_case("text, expected", [("a", 1), ("b", 2), ("c", 3)])
    def run(text, expected):
        tried.append(text)
        assert expected == 2, "no two"

    with pytest.raises(AssertionError) as caught:
        run()
    first, *lines = str(caught.value).splitlines()
    assert first == "2 of 3 cases failed"
    assert any("1: 'a'-1" in line for line in lines)
    assert any("3: 'c'-3" in line for line in lines)
    assert not any("'b'-2" in line for line in lines)
    assert tried == ["a", "b", "c"]
    assert len(caught.value.__cause__.exceptions) == 2


@pytest.mark.parametrize("failure", [AssertionError, ValueError, pytest.fail.Exception])
def test_any_kind_of_failure_counts(failure):
    def fail(case):
        raise failure("no")

    with pytest.raises(AssertionError, match="1 of 1 cases failed"):
        check_each(["one"], fail)
    with pytest.raises(AssertionError, match="1 of 1 cases failed"):
        each_case("case", ["one"])(fail)()


def test_an_empty_table_fails():
    with pytest.raises(AssertionError, match="no case"):
        check_each([], print)
    with pytest.raises(AssertionError, match="no case"):
        each_case("case", list)(lambda case: None)()


def test_a_coroutine_is_awaited_for_each_case():
    @each_case("n", [0, 1])
    async def run(n):
        await asyncio.sleep(0)
        assert n

    assert inspect.iscoroutinefunction(run)
    with pytest.raises(AssertionError, match="1 of 2 cases failed"):
        asyncio.run(run())


def test_a_skip_of_all_cases_is_a_skip_and_hides_no_failure():
    def skip(n):
        if n == 0:
            raise ValueError
        pytest.skip("not here")

    with pytest.raises(pytest.skip.Exception):
        check_each([1, 2], skip)
    with pytest.raises(AssertionError, match="1 of 2 cases failed"):
        check_each([0, 1], skip)


def test_tables_multiply():
    pairs = []

    @each_case("a", [1, 2])
    @each_case("b", lambda: "xy")
    def run(a, b):
        pairs.append((a, b))

    run()
    assert sorted(pairs) == [(1, "x"), (1, "y"), (2, "x"), (2, "y")]


def test_a_row_that_does_not_fit_fails():
    for table in ([(1,)], [(1, 2, 3)]):
        with pytest.raises(AssertionError, match="does not fit"):
            each_case("a, b", table)(lambda a, b: None)()
    with pytest.raises(AssertionError, match="takes no"):
        each_case("a", [1])(lambda b: None)


class TestOfAClass:
    @each_case("n", [0, 1])
    def test_a_case_has_the_instance(self, n, tmp_path):
        assert isinstance(self, TestOfAClass) and n in (0, 1) and tmp_path.is_dir()


@each_case("n", [0, 1, 2])
def test_a_case_has_its_folder_and_its_patches(n, tmp_path, monkeypatch, capsys):
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    assert not hasattr(check_each, "patched")
    monkeypatch.setattr(check_each, "patched", n, raising=False)
    assert capsys.readouterr().out == ""
    print(n)
