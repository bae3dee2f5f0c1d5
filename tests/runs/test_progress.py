"""The bar names what a run is doing."""

from __future__ import annotations

import pytest

from ragassay.runs.progress import Event, show_progress


def test_the_bar_names_the_latest_phase(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(2, enabled=True) as listen:
        listen(Event(phase="searching"))
        listen(Event(n_records=1))
    assert "searching" in capsys.readouterr().err


def test_a_finished_bar_names_the_whole(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(1, enabled=True, description="evaluating") as listen:
        listen(Event(phase="measuring"))
        listen(Event(n_records=1))
    shown = capsys.readouterr().err
    assert "evaluating" in shown and "measuring" not in shown.splitlines()[-1]
