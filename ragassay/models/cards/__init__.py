"""Model cards: description, limits and results on held-out data.

This folder contains the cards of the shipped models. Every result was produced by a command in the
repository, and is given with a confidence interval and a sample size. The card of a user's adapter
is in the adapter's folder. `ragassay finetune` writes the card of a verifier, and users can write
or extend cards.
"""

from __future__ import annotations

import functools
from importlib.resources import files
from pathlib import Path

import yaml
from pydantic import ValidationError

from ragassay.errors import SettingsError, find_first_problem
from ragassay.model_names import MINILM, PROVIDER
from ragassay.models.adapters import find_adapter, load_mean_bounds, read_shape
from ragassay.models.fitted_models import CLASSIFIER, PairClassifier
from ragassay.prompts.model_forms import PublishedChecker, load_verifier_kinds
from ragassay.records import ModelCard

CARD = "card.yaml"


def load_card(model: str) -> ModelCard | None:
    """Load a model's card, if there is one. Raises `SettingsError` if the card is invalid."""
    if found := load_verifier_kinds().facts.find_published(model):
        return _build_checker_card(*found)
    if model == MINILM:
        return _load_shipped_card(MINILM)
    provider, _, name = model.partition("/")
    if provider != PROVIDER or not name:
        return None
    if f"{name}.yaml" in _list_shipped_files():
        return _add_bounds(_load_shipped_card(name))
    own = Path(name) / CARD
    return _add_bounds(_read_card(own, model)) if own.is_file() else None


@functools.cache
def _list_shipped_files() -> frozenset[str]:
    return frozenset(file.name for file in files(__name__).iterdir())


@functools.cache
def _load_shipped_card(name: str) -> ModelCard:
    text = (files(__name__) / f"{name}.yaml").read_text(encoding="utf-8")
    return ModelCard.model_validate(yaml.safe_load(text))


def _add_bounds(card: ModelCard) -> ModelCard:
    """Add the bounds, which are stored in the adapter's files, to a card."""
    adapter = find_adapter(card.model)
    fitted = Path(card.model.removeprefix(f"{PROVIDER}/")) / CLASSIFIER
    if adapter:
        own = read_shape(adapter.folder).bounds
    else:
        own = PairClassifier.read(fitted).bounds if fitted.is_file() else ()
    bounds = own or load_mean_bounds().get(card.model, ())
    return card.model_copy(update={"bounds": bounds}) if bounds else card


def _build_checker_card(short: str, published: PublishedChecker) -> ModelCard:
    kind = load_verifier_kinds().facts.checkers[published.kind]
    size = f", {published.size}" if published.size else ""
    return ModelCard(
        model=published.repository,
        description=(
            f"{published.repository} is a fact checker based on {published.base}{size}. Licence: "
            f"{published.licence}, according to its model card ({kind.source}). It decides whether "
            "a passage supports a claim, and does not detect contradictions. The threshold comes "
            f"from its published code ({kind.chosen}); `ragassay verifiers fit --verifier {short}` "
            "fits a threshold to labelled claims."
        ),
        limits=(
            "ragassay did not measure its accuracy, because the published weights were not "
            "available. Tests with tiny models of the same architecture show that input format, "
            "labels, chunks and threshold are the same as in its published code.",
        ),
    )


def write_card(folder: Path, card: ModelCard) -> None:
    """Write the card to an adapter folder."""
    fields = card.model_dump(mode="json", exclude_defaults=True)
    text = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=120)
    (folder / CARD).write_text(text, encoding="utf-8")


def _read_card(path: Path, model: str) -> ModelCard:
    try:
        card = ModelCard.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        field, problem = find_first_problem(error)
        raise SettingsError(f"{path}: {field or 'the card'}: {problem}") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"{path} is not a card: {' '.join(str(error).split())}") from error
    return card.model_copy(update={"model": model})
