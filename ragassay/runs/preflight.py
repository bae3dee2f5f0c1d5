"""Check before a run its libraries, folder, models and endpoints, and estimate its cost."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragassay.errors import SettingsError
from ragassay.extras import EXTRAS, need
from ragassay.model_names import (
    INSTRUMENTS,
    MINILM,
    PROVIDER,
    SHIPPED_VERIFIERS,
    SIGNALS_VERIFIER,
    is_local,
)
from ragassay.models.availability import is_of_hub, need_judge, need_verifier
from ragassay.models.call_parameters import learn, learnt_note, learnt_of
from ragassay.models.litellm_library import batch_tokens_usd, import_litellm, listed_price_usd
from ragassay.models.probe import check_judges
from ragassay.models.prompt_caching import least_cached_tokens, way_of
from ragassay.retrievers.reranked_literature import EMBEDDED, NONE
from ragassay.runs.folder import (
    RunFolder,
    check_same_settings,
    check_writable,
    digest_of,
    mismatch,
    write_whole,
)
from ragassay.settings import Settings, noted_settings


@dataclass(frozen=True)
class SharedCalls:
    """The calls of an evaluator on one answer, which share the answer's context.

    Attributes:
        n_shared_tokens: Approximate length of the context.
        n_own_tokens: Approximate length of the rest of each prompt.
    """

    n_calls: int
    n_shared_tokens: int
    n_own_tokens: int


@dataclass(frozen=True)
class Estimate:
    """The most that a run's calls cost, by LiteLLM's price list, every reply at full length.

    Attributes:
        usd: No token cached; 0 for local models, None where a price is unknown.
        cached_usd: With each provider's cache of prompts, where it has one.
        batch_usd: Through batch interfaces; None where a model's price there is not listed.
    """

    usd: float | None = 0.0
    cached_usd: float | None = 0.0
    batch_usd: float | None = 0.0

    def __add__(self, other: Estimate) -> Estimate:
        """Return the sum of two estimates; what one does not know, the sum does not know."""
        return Estimate(
            _sum((self.usd, other.usd)),
            _sum((self.cached_usd, other.cached_usd)),
            _sum((self.batch_usd, other.batch_usd)),
        )


def estimate_cost(calls: Sequence[SharedCalls], settings: Settings) -> Estimate:
    """Estimate the cost of calls that the judges of a run share equally."""
    import_litellm()
    judges = [settings.of_judge(n) for n in range(len(settings.judge.judges))]
    found = Estimate()
    for one in judges:
        found += _estimate(calls, one, len(judges))
    return found


def _estimate(calls: Sequence[SharedCalls], settings: Settings, n_judges: int) -> Estimate:
    """Estimate one judge's share of the calls."""
    judge = settings.judge
    is_cached = way_of(judge.model, judge.api_base or "") != "none"
    least = least_cached_tokens(judge.model) if is_cached else 0
    n_sent = n_received = n_read = n_written = 0
    for one in calls:
        n_calls = -(-one.n_calls // n_judges)
        n_sent += n_calls * (one.n_shared_tokens + one.n_own_tokens)
        n_received += n_calls * settings.prompting.max_reply_tokens
        if is_cached and n_calls and one.n_shared_tokens >= least:
            n_written += one.n_shared_tokens
            n_read += (n_calls - 1) * one.n_shared_tokens
    price: Callable[..., float | None] = listed_price_usd
    return Estimate(
        price(judge.model, n_sent, n_received),
        price(judge.model, n_sent, n_received, n_read, n_written),
        batch_tokens_usd(judge.model, n_sent, n_received),
    )


def _sum(costs: Iterable[float | None]) -> float | None:
    known = list(costs)
    return None if None in known else sum(cost or 0.0 for cost in known)


FILE = "endpoints.json"
"""{model: [what its endpoint refuses, by the names of `models.call_parameters.REFUSABLE`]}"""


def recall_endpoints(folder: Path, judges: Sequence[Settings]) -> None:
    """Take up what an earlier start of a run learnt; a file that cannot be read teaches nothing."""
    with suppress(OSError, ValueError, AttributeError, TypeError):
        known = json.loads((folder / FILE).read_text(encoding="utf-8"))
        for one in judges:
            learn(one.judge.model, one.judge.api_base, *map(str, known.get(one.judge.model, ())))


def keep_endpoints(folder: Path, judges: Sequence[Settings]) -> None:
    """Write what was learnt of the judges' endpoints; nothing where nothing was."""
    learnt = {one.judge.model: learnt_of(one.judge.model, one.judge.api_base) for one in judges}
    if any(learnt.values()):
        known = {model: list(names) for model, names in learnt.items() if names}
        write_whole(folder / FILE, json.dumps(known, indent=2) + "\n")


def endpoint_notes(judges: Sequence[Settings]) -> tuple[str, ...]:
    """Return what was left out of the judges' calls, a line a judge, for a person."""
    notes = (
        learnt_note(one.judge.model, learnt_of(one.judge.model, one.judge.api_base))
        for one in judges
    )
    return tuple(note for note in notes if note)


TABLES = {"parquet": "pyarrow", "excel": "openpyxl"}
"""Kinds of tables, and the module that reads each."""


def check_installed(
    settings: Settings, judges: Iterable[Settings] = (), options: Mapping[str, Any] | None = None
) -> None:
    """Refuse a run for which a library, or the package of a model's weights, is not installed.

    Raises:
        ExtraError: It says what to install.
    """
    if settings.output.tracing:
        need(*EXTRAS["tracing"])
    if settings.limits.engine == "ray":
        need(*EXTRAS["ray"] if settings.limits.address.startswith("ray://") else ["ray"])
    if settings.retrieval.evidence == "agent":
        need("langchain")
    for one in judges:
        need_judge(one.judge.model)
        if one.judge.form is not None:
            from ragassay.agents.published_judge import words_of

            words_of(one.judge.form)
    for name in (settings.chosen_verifier, settings.evaluation.correctness):
        need_verifier(name)
    texts = (settings.literature.embedder, settings.literature.reranker)
    if is_of_hub(settings.chosen_grader) or set(texts) - {MINILM, EMBEDDED, NONE}:
        need(*EXTRAS["hub"])
    _need_corpus((options or {}).get("corpus"), settings)
    _need_tables((options or {}).values())


def _need_corpus(corpus: object, settings: Settings) -> None:
    """Ask for what searches a corpus, if it is a folder."""
    if isinstance(corpus, str | Path) and Path(corpus).is_dir():
        need("tantivy")
        if settings.literature.search in ("dense", "hybrid"):
            need("chromadb")


def _need_tables(values: Iterable[object]) -> None:
    """Ask for what reads the Parquet files and workbooks among files."""
    for value in values:
        for path in value if isinstance(value, list | tuple) else (value,):
            if isinstance(path, Path) and path.is_file() and _starts_as_table(path):
                from ragassay.formats.tables import table_kind

                kind = table_kind(path)
                if kind in TABLES:
                    need(TABLES[kind])


def _starts_as_table(path: Path) -> bool:
    """Return whether a file may be a Parquet file or a workbook; a look costs no import."""
    with path.open("rb") as file:
        return file.read(4) in (b"PAR1", b"PK\x03\x04")


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
            from ragassay.models.weights import check_hub

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
        with_panel = settings.model_copy(update={"panel": (*settings.judge.panel, name)})
        seconds.append(with_panel.of_judge(len(with_panel.judge.judges) - 1))
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
    from ragassay.models.registry import served_models
    from ragassay.models.weights import check_hub

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
