"""Model cards: description, limits and results on held-out data.

Cards of shipped models are here. Each figure comes from a command of the repository, and is
recorded with its interval and its n. A user's adapter has its card in its folder: `ragassay
finetune` writes a verifier's, and anyone can write or extend one in the same form.
"""

from __future__ import annotations

import functools
from importlib.resources import files
from pathlib import Path

import yaml
from pydantic import ValidationError

from ragassay.errors import SettingsError, first_problem
from ragassay.model_names import MINILM, PROVIDER
from ragassay.models.adapters import adapter_of, bounds_of_means, read_shape
from ragassay.models.fitted_models import CLASSIFIER, PairClassifier
from ragassay.prompts.model_forms import PublishedChecker, load_verifier_kinds
from ragassay.records import ModelCard

CARD = "card.yaml"
"""The card's file name in the folder of a user's adapter."""


def load_card(model: str) -> ModelCard | None:
    """Load the card of a model, by its LiteLLM name; None where there is none.

    Args:
        model: A shipped model's name, `ragassay/FOLDER`, or a published fact checker's name.

    Raises:
        SettingsError: A folder's card cannot be read.
    """
    if found := load_verifier_kinds().facts.find_published(model):
        return _checker_card(*found)
    if model == MINILM:
        return _shipped_card(MINILM)
    provider, _, name = model.partition("/")
    if provider != PROVIDER or not name:
        return None
    if f"{name}.yaml" in _list_shipped_files():
        return _add_bounds(_shipped_card(name))
    own = Path(name) / CARD
    return _add_bounds(_read_card(own, model)) if own.is_file() else None


@functools.cache
def _list_shipped_files() -> frozenset[str]:
    return frozenset(file.name for file in files(__name__).iterdir())


@functools.cache
def _shipped_card(name: str) -> ModelCard:
    text = (files(__name__) / f"{name}.yaml").read_text(encoding="utf-8")
    return ModelCard.model_validate(yaml.safe_load(text))


def _add_bounds(card: ModelCard) -> ModelCard:
    """Return a card with the bounds that its adapter's note has: they stand there alone."""
    adapter = adapter_of(card.model)
    fitted = Path(card.model.removeprefix(f"{PROVIDER}/")) / CLASSIFIER
    if adapter:
        own = read_shape(adapter.folder).bounds
    else:
        own = PairClassifier.read(fitted).bounds if fitted.is_file() else ()
    bounds = own or bounds_of_means().get(card.model, ())
    return card.model_copy(update={"bounds": bounds}) if bounds else card


def _checker_card(short: str, published: PublishedChecker) -> ModelCard:
    """Return the card of a published fact checker: its origin, licence and cut."""
    kind = load_verifier_kinds().facts.checkers[published.kind]
    size = f", {published.size}" if published.size else ""
    return ModelCard(
        model=published.repository,
        description=(
            f"{published.repository}, a fact checker made from {published.base}{size}; licence "
            f"{published.licence}, as its card names it ({kind.source}). It says whether a passage "
            f"supports a claim, and knows no contradiction. Its cut is that of its program "
            f"({kind.chosen}); `ragassay verifiers fit --verifier {short}` fits one to labelled "
            "claims."
        ),
        limits=(
            "Nobody measured it here: its published weights were not at hand. Its input, labels, "
            "chunks and cut were compared with its program on tiny models of its architecture.",
        ),
    )


def write_card(folder: Path, card: ModelCard) -> None:
    """Write an adapter's card into its folder."""
    fields = card.model_dump(mode="json", exclude_defaults=True)
    text = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=120)
    (folder / CARD).write_text(text, encoding="utf-8")


def _read_card(path: Path, model: str) -> ModelCard:
    """Read a folder's card, under the folder's current name."""
    try:
        card = ModelCard.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        where, problem = first_problem(error)
        raise SettingsError(f"{path}: {where or 'the card'}: {problem}") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"{path} is not a card: {' '.join(str(error).split())}") from error
    return card.model_copy(update={"model": model})
