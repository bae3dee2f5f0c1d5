"""Models of another process: what it computes is what they compute here, and it makes each once."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_graders import tiny_reader
from tiny_verifiers import tiny_alignscore, tiny_causal, tiny_inference, tiny_writer

from ragassay.errors import SettingsError
from ragassay.models import adapters
from ragassay.models.entailment import NliModel
from ragassay.models.hosting import OwnModels, Recipe, run_on_host, use_host
from ragassay.models.local_readers import SpanReader, Text2Text
from ragassay.models.scorers import AlignScore
from ragassay.models.verifiers import AdaptedVerifier, open_entailment_model
from ragassay.models.written_labels import CausalText

PAIR = ("alpha lowers pressure .", "A trial.\nalpha lowers pressure in adults .")
PROMPT = ("Claim :", " alpha lowers pressure in adults .", "attributable")


@dataclass
class Elsewhere(OwnModels):
    """Computes as another process would: with what was pickled, and by itself."""

    asked: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, recipe: Recipe, method: str, given: Sequence[Any]) -> Future[Any]:
        self.asked.append((recipe.kind.__name__, method))
        sent, found = pickle.loads(pickle.dumps((recipe, method, given))), Future[Any]()
        try:
            with use_host(None):
                found.set_result(pickle.loads(pickle.dumps(self.compute(*sent))))
        except SettingsError as error:
            found.set_exception(error)
        return found


def nli(folder: Path) -> Any:
    return NliModel(tiny_inference(folder)).predict_probabilities([PAIR])


def adapted(folder: Path) -> Any:
    return AdaptedVerifier(adapters.WHOLE, folder).predict_probabilities([PAIR])


def writes(folder: Path) -> Any:
    model = Text2Text(tiny_writer(folder), is_halved=True)
    return (
        model.predict_word_shares([PROMPT], ["attributable", "not"]),
        model.write_replies([PROMPT]),
        model.can_fit_prompt(PROMPT),
    )


def goes_on(folder: Path) -> Any:
    model = CausalText(tiny_causal(folder), 64)
    return model.predict_word_shares([PROMPT], ["attributable", "not"])


def aligns(folder: Path) -> Any:
    checkpoint, base = tiny_alignscore(folder)
    return (AlignScore(Path(checkpoint), base).score(*PAIR),)


def reads(folder: Path) -> Any:
    return SpanReader(tiny_reader(folder)).read(["alpha lowers ?"], PAIR[1])


@pytest.mark.parametrize("ask", [nli, adapted, writes, goes_on, aligns, reads])
def test_another_process_computes_the_same(ask, tmp_path):
    here, host = ask(tmp_path), Elsewhere()
    with use_host(host):
        there = ask(tmp_path)
    assert host.asked, "it was asked"
    for one, other in zip(here, there, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("kind", ["", "summac-zs:", "flan:"])
def test_a_verifier_is_computed_elsewhere_whatever_its_name_says(kind, tmp_path):
    folder = (tiny_writer if kind == "flan:" else tiny_inference)(tmp_path)
    verifier, host = open_entailment_model(f"{kind}{folder}", tmp_path), Elsewhere()
    here = verifier.predict_probabilities([PAIR])
    with use_host(host):
        assert np.array_equal(verifier.predict_probabilities([PAIR]), here, equal_nan=True)
    assert {name for name, _ in host.asked} == {"Text2Text" if kind == "flan:" else "NliModel"}


def test_an_error_elsewhere_is_the_error_here(tmp_path):
    gone = Text2Text(str(tmp_path / "none"))
    with use_host(Elsewhere()), pytest.raises(SettingsError, match=r"the model .*none is"):
        gone.write_replies([PROMPT])


class Counted:
    """Counts how often it is made."""

    n_made = 0

    def __init__(self, name: str) -> None:
        type(self).n_made += 1
        self.made_of = (name,)

    @run_on_host
    def ask(self, text: str) -> str:
        return text.upper()


def test_a_model_is_made_once_for_all_threads_that_ask_at_the_same_time():
    own, recipe = OwnModels(), Recipe(Counted, ("a",))
    with ThreadPoolExecutor(8) as threads:
        said = list(threads.map(lambda _: own.compute(recipe, "ask", ("yes",)), range(32)))
    assert said == ["YES"] * 32 and Counted.n_made == 1
    own.compute(Recipe(Counted, ("b",)), "ask", ("yes",))
    assert Counted.n_made == 2
