"""Check libraries, folder, models and endpoints before a run, and estimate its cost."""

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
from ragassay.models.call_parameters import describe_refusals, learn, list_learned_parameters
from ragassay.models.litellm_library import (
    compute_price_usd,
    estimate_batch_price_usd,
    import_litellm,
)
from ragassay.models.probe import check_judges
from ragassay.models.prompt_caching import detect_caching_way, find_min_cached_tokens
from ragassay.retrievers.reranked_literature import EMBEDDED, NONE
from ragassay.runs.folder import (
    RunFolder,
    build_mismatch_error,
    check_same_settings,
    check_writable,
    hash_files,
    write_atomically,
)
from ragassay.settings import Settings, format_settings


@dataclass(frozen=True)
class SharedCalls:
    """The calls that an evaluator makes for one answer. Their prompts share the answer's context.

    Attributes:
        n_shared_tokens: Approximate number of tokens in the context.
        n_own_tokens: Approximate number of tokens in the rest of each prompt.
    """

    n_calls: int
    n_shared_tokens: int
    n_own_tokens: int


@dataclass(frozen=True)
class Estimate:
    """Maximum cost of a run's calls at LiteLLM's prices, if all replies have the maximum length.

    Attributes:
        usd: Cost if no prompt cache is used. The cost of local models is 0, and None means that a
            price is unknown.
        cached_usd: Cost if the providers' prompt caches are used.
        batch_usd: Cost if batch APIs are used. None if a batch price is unknown.
    """

    usd: float | None = 0.0
    cached_usd: float | None = 0.0
    batch_usd: float | None = 0.0

    def __add__(self, other: Estimate) -> Estimate:
        """Add two estimates. A cost is None if it is unknown in either estimate."""
        return Estimate(
            add_costs(self.usd, other.usd),
            add_costs(self.cached_usd, other.cached_usd),
            add_costs(self.batch_usd, other.batch_usd),
        )


def estimate_cost(calls: Sequence[SharedCalls], settings: Settings) -> Estimate:
    """Estimate the cost of calls that are split equally among the judges of a run."""
    import_litellm()
    n_judges = len(settings.judge.judges)
    return sum(
        (
            _estimate_judge(calls, settings.build_judge_settings(n), n_judges)
            for n in range(n_judges)
        ),
        Estimate(),
    )


def _estimate_judge(calls: Sequence[SharedCalls], settings: Settings, n_judges: int) -> Estimate:
    judge = settings.judge
    is_cached = detect_caching_way(judge.model, judge.api_base or "") != "none"
    least = find_min_cached_tokens(judge.model) if is_cached else 0
    n_sent = n_received = n_read = n_written = 0
    for shared in calls:
        n_calls = -(-shared.n_calls // n_judges)
        n_sent += n_calls * (shared.n_shared_tokens + shared.n_own_tokens)
        n_received += n_calls * settings.prompting.max_reply_tokens
        if is_cached and n_calls and shared.n_shared_tokens >= least:
            n_written += shared.n_shared_tokens
            n_read += (n_calls - 1) * shared.n_shared_tokens
    price: Callable[..., float | None] = compute_price_usd
    return Estimate(
        price(judge.model, n_sent, n_received),
        price(judge.model, n_sent, n_received, n_read, n_written),
        estimate_batch_price_usd(judge.model, n_sent, n_received),
    )


def add_costs(first: float | None, second: float | None) -> float | None:
    """Add two costs. The sum is None if one of them is unknown."""
    return None if first is None or second is None else first + second


FILE = "endpoints.json"
"""File that lists the call parameters that each model refuses. `call_parameters.REFUSABLE` has all
names."""


def recall_endpoints(folder: Path, judges: Sequence[Settings]) -> None:
    """Load the call parameters that the endpoints refused in an earlier start.

    A file that cannot be read is ignored.
    """
    with suppress(OSError, ValueError, AttributeError, TypeError):
        refused = json.loads((folder / FILE).read_text(encoding="utf-8"))
        for judge in (settings.judge for settings in judges):
            learn(judge.model, judge.api_base, *map(str, refused.get(judge.model, ())))


def keep_endpoints(folder: Path, judges: Sequence[Settings]) -> None:
    """Write the call parameters that the judges' endpoints refuse, if any."""
    known = {
        judge.model: list(refused)
        for judge in (settings.judge for settings in judges)
        if (refused := list_learned_parameters(judge.model, judge.api_base))
    }
    if known:
        write_atomically(folder / FILE, json.dumps(known, indent=2) + "\n")


def list_endpoint_notes(judges: Sequence[Settings]) -> tuple[str, ...]:
    """Return a note for each judge whose endpoint refuses some call parameters."""
    notes = (
        describe_refusals(judge.model, list_learned_parameters(judge.model, judge.api_base))
        for judge in (settings.judge for settings in judges)
    )
    return tuple(note for note in notes if note)


TABLES = {"parquet": "pyarrow", "excel": "openpyxl"}
"""Python module that reading each kind of table requires."""


def check_installed(
    settings: Settings, judges: Iterable[Settings] = (), options: Mapping[str, Any] | None = None
) -> None:
    """Check that the libraries and model weights needed by a run are installed.

    Raises:
        ExtraError: A required package is not installed. The message says what to install.
    """
    if settings.output.tracing:
        need(*EXTRAS["tracing"])
    if settings.limits.engine == "ray":
        need(*EXTRAS["ray"] if settings.limits.address.startswith("ray://") else ["ray"])
    if settings.retrieval.evidence == "agent":
        need("langchain")
    for judge in (judge_settings.judge for judge_settings in judges):
        need_judge(judge.model)
        if judge.form is not None:
            from ragassay.agents.published_judge import describe_prompt_texts

            describe_prompt_texts(judge.form)
    for name in (settings.chosen_verifier, settings.evaluation.correctness):
        need_verifier(name)
    models = {settings.literature.embedder, settings.literature.reranker}
    if is_of_hub(settings.chosen_grader) or models - {MINILM, EMBEDDED, NONE}:
        need(*EXTRAS["hub"])
    _need_corpus((options or {}).get("corpus"), settings)
    _need_tables((options or {}).values())


def _need_corpus(corpus: object, settings: Settings) -> None:
    if isinstance(corpus, str | Path) and Path(corpus).is_dir():
        need("tantivy")
        if settings.literature.search in ("dense", "hybrid"):
            need("chromadb")


def _need_tables(values: Iterable[object]) -> None:
    for value in values:
        for path in value if isinstance(value, list | tuple) else (value,):
            if isinstance(path, Path) and path.is_file() and _starts_as_table(path):
                from ragassay.formats.tables import detect_table_kind

                kind = detect_table_kind(path)
                if kind in TABLES:
                    need(TABLES[kind])


def _starts_as_table(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) in (b"PAR1", b"PK\x03\x04")


DONE = ("summary.json", "rationales.csv", "strategies.csv")
"""Files that only the folder of a finished run contains."""

JUDGE_FIELDS = ("model", "panel_names", "escalated_to", "escalated_when")
"""Settings that must not change when a run is resumed."""


def check_ready(
    settings: Settings,
    options: Mapping[str, Any],
    *,
    others: Iterable[str] = (),
    file: Path | None = None,
    answers: Path | None = None,
    fields: Iterable[str] = JUDGE_FIELDS,
) -> None:
    """Before anything is read, loaded or computed, check that a run can succeed.

    A one-token test request is sent to each hosted model, unless the run is already finished.

    Args:
        options: Options of the run: `out`, `retry_failed`, `paraphraser`, `corpus` and input files.
        others: Models other than the judges, as NAME or NAME@URL.
        file: Output file, if the run writes a file instead of a folder.
        answers: File of answers. An earlier run in the same folder must have used the same file.
        fields: Settings that must be the same as in an earlier run in the same folder.

    Raises:
        ExtraError: A library or a package with model weights is not installed.
        InputError: The output folder is not writable.
        RunMismatchError: The folder contains a run with another judge or other settings.
        SettingsError: A `ragassay/` model is unknown.
        FatalModelError: A hosted model is unavailable.
    """
    judges = list_judge_settings(
        settings, [name for name in (options.get("paraphraser"), *others) if name]
    )
    check_installed(settings, judges, options)
    out = options.get("out")
    folder = Path(out) if out else None
    if folder or file:
        check_writable(folder or (file or Path()).parent)
    if folder and (folder / "run.json").is_file():
        _check_same_run(folder, settings, fields, answers)
    if folder:
        recall_endpoints(folder, judges)
    for judge in judges:
        check_known(judge.judge.model)
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
    manifest, new = RunFolder(folder).read_manifest(), format_settings(settings)
    if answers and answers.exists() and manifest.answers.sha256 != hash_files(answers):
        raise build_mismatch_error(folder, "the answers file", manifest.answers.name, answers.name)
    known = [name for name in fields if name in manifest.settings]
    check_same_settings(
        {name: manifest.settings[name] for name in known},
        {name: new[name] for name in known},
        folder,
    )


def list_judge_settings(settings: Settings, others: Iterable[str] = ()) -> list[Settings]:
    """Return settings for each model that a run calls, in which this model is the only judge."""
    judges = [
        settings.build_judge_settings(n)
        for n in range(len(settings.judge.judges))
        if settings.judge.names_model
    ]
    seconds = [settings.build_second_settings()] if settings.judge.escalate else []
    for name in others:
        with_panel = settings.model_copy(update={"panel": (*settings.judge.panel, name)})
        seconds.append(with_panel.build_judge_settings(len(with_panel.judge.judges) - 1))
    return [*judges, *seconds]


def check_known(model: str, besides: tuple[str, ...] = ()) -> None:
    """Check that a name starting with `ragassay/` is a known model, a folder or a hub model.

    Args:
        besides: Names of other known models, which do not generate text.

    Raises:
        SettingsError: The model is unknown. The message lists the known models.
    """
    name = model.removeprefix(f"{PROVIDER}/")
    is_folder = bool(name) and Path(name).exists()
    if not is_local(model) or model == INSTRUMENTS or is_folder or model in besides:
        return
    from ragassay.models.registry import list_served_models
    from ragassay.models.weights import check_hub

    if model in SHIPPED_VERIFIERS:
        raise SettingsError(
            f"{model} is a verifier and cannot generate text; use it with --verifier"
        )
    is_on_hub = len(name.split("/")) == 2 and all(name.split("/"))
    if model not in (known := (*list_served_models(), *besides)) and not is_on_hub:
        raise SettingsError(
            f"unknown model {model}; use {', '.join(known)}, a folder written by `ragassay "
            f"finetune` ({PROVIDER}/FOLDER), or a hub model ({PROVIDER}/ORG/NAME)"
        )
    if model not in known:
        check_hub(name)
