"""All settings. Nothing else reads the environment: each field can be set as `RAGASSAY_<FIELD>`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from platformdirs import user_cache_path
from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from ragassay.errors import SettingsError
from ragassay.metrics.uncertainty import parse_condition
from ragassay.model_names import (
    DEFAULT_MODEL,
    EMBEDDED,
    MINILM_VERIFIER,
    is_local,
    is_ours,
    provider_of,
    split_endpoint,
)
from ragassay.prompts import RubricSet, Strategy
from ragassay.records import PARTS

SOURCE_CHARS_LOCAL = 9_000
"""About 2,200 tokens: five abstracts, on which the embedded judge spends seconds."""

SOURCE_CHARS_HOSTED = 200_000


class Settings(BaseSettings):
    """What a run can be told.

    Attributes:
        model: LiteLLM name of the judge; `ragassay/...` is answered in this process.
        panel: Further judges: each rates the rubrics beside `model`, which does all else alone. A
            judge at another place than `api_base` is named with it: `NAME@https://HOST/v1`.
        api_base: Endpoint of the judge, where it is not the provider's own; also of the judges of
            a panel that share the first hosted judge's provider.
        escalate: A second judge that is asked again what `model` was not sure of: a LiteLLM name,
            perhaps with its endpoint as in a panel; empty for none.
        when: What counts as not sure: "entropy>X" in bits, "confidence<X", "unscored", joined by
            "and" or "or".
        embedder: "all-MiniLM-L6-v2" (packaged) or any sentence-transformers model.
        only: What to find out: nuggets, rubrics, sentences, evidence, correctness, citations; empty
            for all.
        rubric_set: Which rubrics there are: YESciEval's nine, SummEval's four or USR's six.
        rubrics: Names of the rubrics to judge; empty for all of the set.
        rubric_files: YAML files with rubrics of the user's own, judged beside those of the set.
        evaluators: The user's own evaluators, each as "package.module:name" or as the name of an
            entry point of the group "ragassay.evaluators".
        strategy: How the judge is asked to rate: with the rubric's name and range alone
            ("zero_shot"), with what it means and what each rating shows ("knowledge"), with two
            examples besides ("few_shot"), or to think step by step first ("chain_of_thought").
        signals: Whether answers are measured before their rubrics are judged: a hosted judge is
            told what was measured, beside the embedded one it rates.
        verifier: What compares sentences with passages: "judge" asks the judging model, "embedded"
            the verifier that is installed with ragassay, "ragassay/mean-verifier" that and another
            one, slower and right more often, "ragassay/FOLDER" one that was fine-tuned, any other
            name a model of natural language inference on Hugging Face's hub; "auto" is "embedded"
            beside an embedded judge and "judge" beside a hosted one.
        verdict_labels: How many labels a verdict is chosen from: 2 (supports or not), 3 (and
            contradicts) or 4 (and not relevant).
        citation_evidence: What of a cited document is compared with the sentence: its closest
            "passage" of three sentences, the whole "document", its closest "sentence", or its
            "nuggets" with those of the sentence.
        correctness: What says whether a sentence is correct: "embedded" or another verifier by its
            name, "judge", "cosine", or the .json of a classifier that was fitted.
        concurrency: Most model calls under way at a time, of each judge; 0 chooses by the judge:
            64 for the embedded one, which answers them in one batch, else 16.
        timeout_s: Longest wait for one call.
        max_attempts: How often a call is tried that fails for a passing reason.
        max_reply_tokens: Longest reply.
        max_source_chars: Budget of source text in a prompt; 0 chooses by the judges.
        max_sentences: An answer with more is refused, by name, before any call.
        nugget_threshold: Least cosine similarity at which two nuggets count as the same fact.
        nugget_matcher: A file that `ragassay nuggets fit` wrote, which decides that in place of the
            threshold; empty for the threshold.
        evidence_threshold: Least cosine similarity of a passage that is worth a verdict.
        evidence: Who looks for evidence: "search" has the judge write the queries, "agent" hands
            it tools and lets it search on its own (it must be able to call tools).
        evidence_rounds: How often queries are written for a sentence; 0 searches with the sentence
            and its question alone, and asks no model.
        evidence_turns: Most turns of an agent that searches for a sentence.
        evidence_tokens: Tokens after which no further round or turn is begun, for each answer.
        evidence_passages: How many passages for a sentence, and how many against it, are judged.
        evidence_enough: Cosine similarity of a passage at which a search ends.
        search: How a corpus with vectors is searched; "auto" is "hybrid" where it has them, and
            "bm25" where it has none.
        reranker: What looks at hits again: "embedded", "none", or a cross-encoder that
            sentence-transformers can load, such as "cross-encoder/ms-marco-MiniLM-L6-v2" or
            "ncbi/MedCPT-Cross-Encoder".
        chroma_url: Address of a Chroma server that keeps the vectors; empty keeps them in the
            corpus.
        cluster_user: For a corpus in a cluster.
        cluster_password: For a corpus in a cluster.
        cache_dir: Where converted weights live, and what PubMed answered.
        ncbi_api_key: For `--corpus pubmed`: 10 requests a second instead of 3.
        ncbi_email: For `--corpus pubmed`: whom NCBI can write to.
        prompts: Files that `ragassay optimize` wrote; each takes the place of an agent's prompt.
        local_dtype: Arithmetic of the embedded judge; "float32" repeats bit by bit.
        server_key: What clients of `ragassay serve` must show; one is made where there is none.
    """

    model_config = SettingsConfigDict(
        env_prefix="RAGASSAY_", extra="forbid", frozen=True, protected_namespaces=()
    )

    model: str = Field(default=DEFAULT_MODEL, min_length=1)
    panel: tuple[str, ...] = ()
    escalate: str = ""
    when: str = "entropy>1.0"
    api_base: str | None = None
    embedder: str = "all-MiniLM-L6-v2"
    only: tuple[str, ...] = ()
    rubric_set: RubricSet = "yescieval"
    rubrics: tuple[str, ...] = ()
    rubric_files: tuple[Path, ...] = ()
    evaluators: tuple[str, ...] = ()
    strategy: Strategy = "knowledge"
    signals: bool = True
    verifier: str = Field(default="auto", min_length=1)
    verdict_labels: Literal[2, 3, 4] = 4
    citation_evidence: Literal["passage", "document", "sentence", "nuggets"] = "passage"
    correctness: str = Field(default=EMBEDDED, min_length=1)
    concurrency: int = Field(default=0, ge=0, le=4096)
    timeout_s: float = Field(default=600.0, gt=0)
    max_attempts: int = Field(default=5, ge=1, le=20)
    max_reply_tokens: int = Field(default=256, ge=16)
    max_source_chars: int = Field(default=0, ge=0)
    max_sentences: int = Field(default=200, ge=1)
    nugget_threshold: float = Field(default=0.6, ge=-1, le=1)
    nugget_matcher: str = ""
    evidence_threshold: float = Field(default=0.0, ge=-1, le=1)
    evidence: Literal["search", "agent"] = "search"
    evidence_rounds: int = Field(default=2, ge=0, le=10)
    evidence_turns: int = Field(default=8, ge=1, le=50)
    evidence_tokens: int = Field(default=100_000, ge=0)
    evidence_passages: int = Field(default=1, ge=1, le=100)
    evidence_enough: float = Field(default=0.6, ge=-1, le=1)
    search: Literal["auto", "bm25", "dense", "hybrid"] = "auto"
    reranker: str = Field(default="embedded", min_length=1)
    chroma_url: str = ""
    cluster_user: str = ""
    cluster_password: SecretStr | None = None
    cache_dir: Path = Field(default_factory=lambda: user_cache_path("ragassay"))
    ncbi_api_key: SecretStr | None = None
    ncbi_email: str = ""
    prompts: tuple[Path, ...] = ()
    local_dtype: Literal["auto", "bfloat16", "float32"] = "auto"
    server_key: SecretStr | None = None

    @model_validator(mode="after")
    def _seated_once(self) -> Settings:
        seats = (self.model, *self.panel_names)
        if "" in seats or len(set(seats)) < len(seats):
            raise ValueError(f"a panel has each judge once, not {', '.join(seats)}")
        return self

    @field_validator("when")
    @classmethod
    def _is_condition(cls, text: str) -> str:
        return parse_condition(text).text

    @model_validator(mode="after")
    def _second_beside_one(self) -> Settings:
        if self.escalate and self.panel:
            raise ValueError(
                f"a cascade begins with one judge, not with a panel of {', '.join(self.judges)}: "
                f"leave out escalate ({self.escalate}) or the further judges"
            )
        if self.escalate and self.escalated_to in ("", self.model):
            raise ValueError(f"escalate: {self.escalate} is no second judge beside {self.model}")
        return self

    @property
    def escalated_to(self) -> str | None:
        """LiteLLM name of the second judge; None without one."""
        return split_endpoint(self.escalate)[0] if self.escalate else None

    @property
    def escalated_when(self) -> str | None:
        """What counts as not sure; None without a second judge."""
        return self.when if self.escalate else None

    @property
    def panel_names(self) -> tuple[str, ...]:
        """LiteLLM names of the further judges."""
        return tuple(split_endpoint(seat)[0] for seat in self.panel)

    @property
    def judges(self) -> tuple[str, ...]:
        """All that rate the rubrics, the run's judge first."""
        return self.model, *self.panel_names

    def of_judge(self, place: int) -> Settings:
        """The settings by which one judge of the panel is asked.

        Args:
            place: Its place among `judges`, 0 for the run's judge.
        """
        hosted = [provider_of(judge) for judge in self.judges if not is_local(judge)]
        name, own = (self.model, None) if not place else split_endpoint(self.panel[place - 1])
        shares = not place or provider_of(name) in hosted[:1]
        api_base = own or (self.api_base if shares else None)
        return self.model_copy(update={"model": name, "panel": (), "api_base": api_base})

    def of_second(self) -> Settings:
        """The settings by which the second judge is asked: it verifies too, and searches nothing.

        Raises:
            SettingsError: There is none.
        """
        name, own = split_endpoint(self.escalate)
        if not name:
            raise SettingsError("there is no second judge: set escalate")
        shares = is_local(self.model) or provider_of(name) == provider_of(self.model)
        given: dict[str, object] = {
            "model": name,
            "api_base": own or (self.api_base if shares else None),
            "escalate": "",
            "signals": False,
            "verifier": "judge",
            "correctness": "judge",
            "nugget_matcher": "",
            "evidence": "search",
        }
        return self.model_copy(update=given)

    @property
    def n_slots(self) -> int:
        """Most model calls under way at a time."""
        return self.concurrency or (64 if is_ours(self.model) else 16)

    @property
    def chosen_verifier(self) -> str:
        """The verifier, "auto" decided."""
        chosen = self.verifier
        if chosen == "auto":
            chosen = EMBEDDED if is_ours(self.model) else "judge"
        return MINILM_VERIFIER if chosen == EMBEDDED else chosen

    @property
    def parts(self) -> tuple[str, ...]:
        """What is to be found out."""
        return self.only or PARTS

    def wants(self, part: str) -> bool:
        """Whether a part is to be found out."""
        return part in self.parts

    @property
    def measures(self) -> bool:
        """Whether answers are to be measured; signals are known of YESciEval's rubrics alone."""
        return self.signals and self.wants("rubrics") and self.rubric_set == "yescieval"

    @property
    def looks_for_evidence(self) -> bool:
        """Whether passages are to be found for the sentences."""
        return self.wants("evidence") or self.wants("correctness")

    @property
    def verifies_evidence(self) -> bool:
        """Whether the sentences are to be compared with the passages that were found for them."""
        return self.wants("evidence") or (self.wants("correctness") and self.correctness == "judge")

    @property
    def cites_by_nuggets(self) -> bool:
        """Whether citations are checked nugget by nugget."""
        return self.wants("citations") and self.citation_evidence == "nuggets"

    @property
    def source_chars(self) -> int:
        """The budget of source text in a prompt, in characters."""
        if self.max_source_chars:
            return self.max_source_chars
        return SOURCE_CHARS_LOCAL if any(map(is_ours, self.judges)) else SOURCE_CHARS_HOSTED

    @property
    def nugget_matcher_sha256(self) -> str:
        """What the matcher's file holds, whatever its name; empty where there is none.

        Raises:
            SettingsError: It cannot be read.
        """
        if not self.nugget_matcher:
            return ""
        try:
            return hashlib.sha256(Path(self.nugget_matcher).read_bytes()).hexdigest()
        except OSError as error:
            raise SettingsError(
                f"nugget_matcher: {self.nugget_matcher} cannot be read: {error.strerror}"
            ) from error


RESULT_FIELDS = (
    "model",
    "panel_names",
    "escalated_to",
    "escalated_when",
    "embedder",
    "only",
    "rubric_set",
    "rubrics",
    "strategy",
    "signals",
    "chosen_verifier",
    "verdict_labels",
    "citation_evidence",
    "correctness",
    "max_reply_tokens",
    "source_chars",
    "max_sentences",
    "nugget_threshold",
    "nugget_matcher_sha256",
    "evidence_threshold",
    "evidence",
    "evidence_rounds",
    "evidence_turns",
    "evidence_tokens",
    "evidence_passages",
    "evidence_enough",
    "search",
    "reranker",
    "local_dtype",
)
"""The settings that bear on a result; a manifest keeps these, and no key or endpoint."""


def seated(judges: Sequence[str], api_base: str | None = None) -> dict[str, object]:
    """The fields that seat judges as a user lists them, for `load_settings`.

    Args:
        judges: LiteLLM names, each perhaps with its endpoint; the first is the run's judge. Where
            none is named, the settings stay as they are.
        api_base: The endpoint that was given beside them.

    Raises:
        SettingsError: The first has an endpoint of its own, and it is open whether another judge of
            its provider shares it.
    """
    if not judges:
        return {"api_base": api_base}
    model, own = split_endpoint(judges[0])
    for judge in judges[1:]:
        if own and provider_of(judge) == provider_of(model) and not split_endpoint(judge)[1]:
            raise SettingsError(f"{judge}: name its endpoint too, as {judges[0]} has one")
    return {"model": model, "panel": tuple(judges[1:]), "api_base": own or api_base}


def load_settings(**given: object) -> Settings:
    """Settings from arguments, then environment, then defaults.

    Args:
        given: Fields by name; None means "not given".

    Raises:
        SettingsError: A value is wrong; the message names the field.
    """
    try:
        return Settings(**{key: value for key, value in given.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"setting {name!r}: {first['msg']}") from error
