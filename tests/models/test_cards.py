"""Cards of models, shipped and in folders of the user's."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragassay.errors import SettingsError
from ragassay.models.adapters import SHAPE, Shape, read_shape
from ragassay.models.cards import load_card, write_card
from ragassay.records import Bound, CardFigure, ModelCard

FIGURE = CardFigure(task="verdicts", data="dev", metric="accuracy", value=0.5, n=10, command="run")


def test_a_card_of_a_folder_is_read_back_under_the_folders_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    card = ModelCard(model="elsewhere", description="é: a test.", limits=("One: two",))
    card = card.model_copy(update={"figures": (FIGURE,)})
    (tmp_path / "mine").mkdir()
    write_card(Path("mine"), card)
    assert load_card("ragassay/mine") == card.model_copy(update={"model": "ragassay/mine"})
    assert load_card(f"ragassay/{tmp_path / 'mine'}") is not None
    for unknown in ("mine", "other/mine", "ragassay/none", "ragassay/", ""):
        assert load_card(unknown) is None


def test_a_shipped_card_is_not_hidden_by_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "judge").mkdir()
    write_card(Path("judge"), ModelCard(model="x", description="Another."))
    card = load_card("ragassay/judge")
    assert card is not None and card.description != "Another."


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("description: no name", "card.yaml: model: it is missing"),
        ("- a list", "card.yaml: the card: "),
        ("a: b: c", "card.yaml is not a card: "),
        ("model: x\ndescription: y\nfigures: [{task: t}]", "card.yaml: figures.0."),
    ],
)
def test_a_card_that_cannot_be_read_is_an_error_that_names_it(
    text: str, problem: str, tmp_path: Path
):
    (tmp_path / "card.yaml").write_text(text)
    with pytest.raises(SettingsError) as caught:
        load_card(f"ragassay/{tmp_path}")
    assert problem in str(caught.value) and len(str(caught.value).splitlines()) == 1


def test_a_card_has_the_bounds_of_its_adapters_note(tmp_path: Path):
    bound = Bound(label="supports", threshold=0.8, risk=0.2, delta=0.1, n=90, data="made up")
    shape = Shape(base_sha256="", weights_sha256="", scale=1, n_tokens=64, bounds=(bound,))
    (tmp_path / SHAPE).write_text(shape.model_dump_json(exclude_none=True), encoding="utf-8")
    assert read_shape(tmp_path).bounds == (bound,)
    write_card(tmp_path, ModelCard(model="x", description="A test."))
    card = load_card(f"ragassay/{tmp_path}")
    assert card is not None and card.bounds == (bound,)
    # One of before there were any has none.
    (tmp_path / SHAPE).write_text(shape.model_dump_json(exclude={"bounds"}, exclude_none=True))
    card = load_card(f"ragassay/{tmp_path}")
    assert card is not None and card.bounds == ()
