"""Check, before a run begins, its folder and its models' keys and endpoints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ragassay.errors import SettingsError
from ragassay.model_names import (
    INSTRUMENTS,
    MINILM,
    PROVIDER,
    SHIPPED_VERIFIERS,
    SIGNALS_VERIFIER,
    is_local,
)
from ragassay.models.probe import check_judges
from ragassay.retrievers.reranked import EMBEDDED, NONE
from ragassay.runs.endpoints import recall_endpoints
from ragassay.runs.folder import (
    RunFolder,
    check_same_settings,
    check_writable,
    digest_of,
    mismatch,
)
from ragassay.runs.installed import check_installed
from ragassay.settings import Settings, noted_settings

DONE = ("summary.json", "rationales.csv", "strategies.csv")
"""Files of a folder whose run has ended."""

JUDGE_FIELDS = ("model", "panel_names", "escalated_to", "escalated_when")
"""Settings that every run keeps as they are given."""


def check_ready(
    settings: Settings,
    options: Mapping[str, Any],
    *,
    others: Iterable[str] = (),
    file: Path | None = None,
    answers: Path | None = None,
    fields: Iterable[str] = JUDGE_FIELDS,
) -> None:
    """Refuse a run that cannot work, before anything is read, loaded or computed.

    A hosted model is asked for one token; where the run has ended already, none is.

    Args:
        settings: Those of the run.
        options: Its options: `out`, `retry_failed`, `paraphraser`, `corpus`, and files that it
            reads.
        others: Models that are asked besides the judges, as NAME or NAME@URL.
        file: The file that is written, where it is no folder.
        answers: The file that is judged; a run in the same folder must have judged it too.
        fields: The settings that a run in the same folder must have had.

    Raises:
        ExtraError: A library, or the package of a model's weights, is not installed.
        InputError: Nothing can be written where the run is to be kept.
        RunMismatchError: The folder has a run of another judge or other settings.
        SettingsError: A model of ours is unknown.
        FatalModelError: A hosted model cannot be asked.
    """
    judges = judges_of(settings, [name for name in (options.get("paraphraser"), *others) if name])
    check_installed(settings, judges, options)
    out = options.get("out")
    folder = Path(out) if out else None
    if folder or file:
        check_writable(folder or (file or Path()).parent)
    if folder and (folder / "run.json").is_file():
        _check_same_run(folder, settings, fields, answers)
    if folder:
        recall_endpoints(folder, judges)
    for one in judges:
        check_known(one.judge.model)
    check_known(settings.chosen_verifier, (*SHIPPED_VERIFIERS, SIGNALS_VERIFIER))
    for name in (settings.literature.embedder, settings.literature.reranker):
        if name not in (MINILM, EMBEDDED, NONE):
            from ragassay.models.hub import check_hub

            check_hub(name)
    is_done = folder and any((folder / name).is_file() for name in DONE)
    if options.get("retry_failed") or not (is_done or (file and file.is_file())):
        check_judges(judges)
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)


def _check_same_run(
    folder: Path, settings: Settings, fields: Iterable[str], answers: Path | None
) -> None:
    found, wanted = RunFolder(folder).manifest(), noted_settings(settings)
    if answers and answers.exists() and found.answers.sha256 != digest_of(answers):
        raise mismatch(folder, "the file of answers", found.answers.name, answers.name)
    known = [name for name in fields if name in found.settings]
    check_same_settings(
        {name: found.settings[name] for name in known},
        {name: wanted[name] for name in known},
        folder,
    )


def judges_of(settings: Settings, others: Iterable[str] = ()) -> list[Settings]:
    """Return the settings of each model that a run asks, as for a judge of a panel."""
    judges = [
        settings.of_judge(n)
        for n in range(len(settings.judge.judges))
        if settings.judge.names_model
    ]
    seconds = [settings.of_second()] if settings.judge.escalate else []
    for name in others:
        seated = settings.model_copy(update={"panel": (*settings.judge.panel, name)})
        seconds.append(seated.of_judge(len(seated.judge.judges) - 1))
    return [*judges, *seconds]


def check_known(model: str, besides: tuple[str, ...] = ()) -> None:
    """Refuse a name under `ragassay/` that is no model, no folder and no name on a hub.

    Args:
        model: A model's name in the settings.
        besides: Models that do not write, and may stand there.

    Raises:
        SettingsError: It names those that there are.
    """
    name = model.removeprefix(f"{PROVIDER}/")
    is_folder = bool(name) and Path(name).exists()
    if not is_local(model) or model == INSTRUMENTS or is_folder or model in besides:
        return
    from ragassay.models.hub import check_hub
    from ragassay.models.shelf import served_models

    if model in SHIPPED_VERIFIERS:
        raise SettingsError(
            f"{model} compares a claim with a passage and writes nothing: name it as --verifier"
        )
    is_on_hub = len(name.split("/")) == 2 and all(name.split("/"))
    if model not in (known := (*served_models(), *besides)) and not is_on_hub:
        raise SettingsError(
            f"there is no model {model}: there are {', '.join(known)}, a folder that `ragassay "
            f"finetune` wrote ({PROVIDER}/FOLDER), and models of a hub ({PROVIDER}/ORG/NAME)"
        )
    if model not in known:
        check_hub(name)
