"""All settings. Nothing else reads the environment: each field can be set as `RAGASSAY_<FIELD>`."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from platformdirs import user_cache_path
from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict
from pydantic_settings import SettingsError as UnreadableSettingError

from ragassay.errors import SettingsError, first_problem
from ragassay.judge_forms import FORMS, FormChoice, JudgeForm, form_of
from ragassay.limits import MAX_LINE_BYTES
from ragassay.metrics.uncertainty import parse_condition
from ragassay.model_names import (
    BATCH_PROVIDERS,
    DEFAULT_MODEL,
    EMBEDDED,
    INSTRUMENTS,
    MINILM_VERIFIER,
    is_local,
    is_ours,
    provider_of,
    split_endpoint,
)
from ragassay.model_options import noted_options, parse_options
from ragassay.prompts import RubricSet, Strategy
from ragassay.records import PARTS, GradeWay
from ragassay.redaction import keep_address, keep_secret, without_secrets
from ragassay.small_files import read_small

SOURCE_CHARS_LOCAL = 9_000
"""About 2,200 tokens: five abstracts, on which the embedded judge spends seconds."""

SOURCE_CHARS_HOSTED = 200_000


BATCH_SLOTS = 100_000
"""Most calls that wait for batches at a time: as many as the largest batch holds."""


Look = Literal["search", "agent"]
Search = Literal["auto", "bm25", "dense", "hybrid"]
EngineName = Literal["local", "ray"]
VerdictLabels = Literal[2, 3, 4]
CitationEvidence = Literal["passage", "document", "sentence", "nuggets", "nugget-lists"]


class Settings(BaseSettings):
    """All settings of a run; each field has a description."""

    model_config = SettingsConfigDict(
        env_prefix="RAGASSAY_", extra="forbid", frozen=True, protected_namespaces=()
    )

    model: str = Field(
        default=DEFAULT_MODEL,
        min_length=1,
        description="LiteLLM name of the judge, e.g. openai/gpt-4.1-mini or hosted_vllm/NAME; "
        "ragassay/judge is answered in this process. By default there is none: instruments decide "
        "what they can tell, and no language model is asked.",
    )
    panel: tuple[str, ...] = Field(
        default=(),
        description="Further judges make a panel: all rate the rubrics, the first does all else. "
        "NAME@URL is a judge at an endpoint of its own.",
    )
    escalate: str = Field(
        default="",
        description="A second judge that decides what the judge is not sure of (a cascade); "
        "NAME@URL has an endpoint of its own. The report shows how many verdicts it decided, their "
        "cost, and the cost of asking it for all.",
    )
    when: str = Field(
        default="auto",
        description="When to ask the second judge: entropy>X (bits, over the "
        "ratings or labels), confidence<X, undecided, joined by and/or. What is undecided or "
        "failed always goes there; auto sends nothing else with the embedded judge, and "
        "entropy>1.0 too with another.",
    )
    api_base: str | None = Field(
        default=None,
        description="Endpoint of the judge, if not the provider's own; also of the judges "
        "of a panel that share the first hosted judge's provider.",
    )
    model_options: tuple[str, ...] = Field(
        default=(),
        description="An option of the hosted judges' calls, as LiteLLM names it: temperature=1, "
        "reasoning_effort=low, max_tokens=2000, extra_body={...}, headers={...}; NAME= leaves one "
        "out.",
    )
    judge_form: FormChoice = Field(
        default="auto",
        description="How a published fine-tuned judge is asked to rate: as YESciEval's "
        "(yescieval) or Prometheus 2 (prometheus) was trained, or as any other model (plain); auto "
        "tells by the judge's name. Such a judge rates rubrics only; instruments decide the rest.",
    )
    embedder: str = Field(
        default="all-MiniLM-L6-v2",
        description="Embedding model: all-MiniLM-L6-v2, which is installed with ragassay, or any "
        "that sentence-transformers can load.",
    )
    only: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description=f"Evaluate only this: {', '.join(PARTS)}, or an evaluator of your own by its "
        "name; several with commas. By default all.",
    )
    rubric_set: RubricSet = Field(
        default="yescieval",
        description="The set of rubrics: YESciEval's nine, SummEval's four, USR's six.",
    )
    rubrics: tuple[str, ...] = Field(
        default=(),
        description="Judge only this rubric: a name, a set's name for all of its own, or a YAML "
        "file with rubrics of your own. By default all of the set.",
    )
    evaluators: tuple[str, ...] = Field(
        default=(),
        description="An evaluator of your own, besides the shipped ones: "
        "package.module:name, or the name of an entry point of the group ragassay.evaluators.",
    )
    strategy: Strategy = Field(
        default="knowledge",
        description="How the judge is asked to rate: with the rubric's name and range alone "
        "(zero_shot), with what it means and what each rating shows (knowledge), with two examples "
        "besides (few_shot), or to think step by step first (chain_of_thought).",
    )
    samples: int = Field(
        default=1,
        ge=1,
        le=100,
        description="Replies that are drawn at temperature 1 for a rating or a label of a judge "
        "that gives no log-probabilities: the share of each value is its probability, the score is "
        "the mean. A judge with log-probabilities is asked once. 1 draws none: the written value "
        "stands alone.",
    )
    decisions: Literal["auto", "on", "off"] = Field(
        default="auto",
        description="Ask the judge for the probability of each rating or label in a call of its "
        "own, by LiteLLM's decisions: auto where LiteLLM lists the model with that interface and "
        "its replies have no log-probabilities; on also for a server of your own that has it.",
    )
    judge_seed: int = Field(
        default=1,
        ge=0,
        description="Seed that is sent to a judge whose provider takes one; each of several "
        "samples has the next one.",
    )
    signals: bool = Field(
        default=True,
        description="Measure each answer before its rubrics are judged: a hosted judge is told the "
        "measurements; without one, or with the embedded one, they rate.",
    )
    verifier: str = Field(
        default="auto",
        min_length=1,
        description="The model that compares sentences with passages: judge, embedded (installed "
        "with ragassay), ragassay/mean-verifier (slower, more accurate), ragassay/FOLDER (a "
        "fine-tuned one), a natural language inference model on Hugging Face's hub, one that "
        "writes a label or scores, such as minicheck, hhem or lettucedetect (`ragassay verifiers "
        "kinds` lists them), or a file of `ragassay verifiers fit`; auto is embedded without a "
        "hosted judge, else that judge itself.",
    )
    verdict_labels: VerdictLabels = Field(
        default=4,
        description="Number of possible labels of a verdict: 2 (supports or not), 3 (and "
        "contradicts) or 4 (and not relevant).",
    )
    citation_evidence: CitationEvidence = Field(
        default="passage",
        description="The part of a cited document to compare with the sentence: the closest "
        "passage of three sentences, the whole document, the closest sentence, or the document's "
        "nuggets with those of the sentence, one by one or list with list.",
    )
    attribution: bool = Field(
        default=False,
        description="Also ask whether all documents that a sentence cites support it together, and "
        "without each: ALCE's citation recall and precision.",
    )
    nugget_support: Literal["all", "any"] = Field(
        default="all",
        description="How many nuggets of a sentence a cited document must support, where they are "
        "compared one by one.",
    )
    correctness: str = Field(
        default=EMBEDDED,
        min_length=1,
        description="The model that decides whether sentences are correct: embedded or another "
        "verifier by its name, judge, cosine (of the embedder; cosine:0.6 sets the threshold), or "
        "one of `ragassay finetune correctness` (ragassay/FOLDER).",
    )
    labeller: str = Field(
        default="judge",
        min_length=1,
        description="The model that labels sentences as required, borderline, unnecessary or "
        "inappropriate: judge, or an encoder of `ragassay finetune completeness --method head` "
        "(ragassay/FOLDER).",
    )
    grades: tuple[GradeWay, ...] = Field(
        default=("rating",),
        description="How a passage is graded: rating (0 to 5 by each item of a test bank), "
        "extraction (what it says on each item), or its relevance to the query without a bank: "
        "fagb, fagb_few, sun, sun_few, helm, thomas.",
    )
    grader: str = Field(
        default="auto",
        min_length=1,
        description="The model that grades passages: judge, embedded (installed with ragassay), or "
        "an encoder-decoder such as google/flan-t5-large or a SQuAD2 reader on Hugging Face's hub "
        "or in a folder; auto is embedded without a hosted judge, else that judge.",
    )
    items_per_call: int = Field(
        default=1,
        ge=1,
        le=50,
        description="Items of a test bank that a judge rates in one call: more is cheaper, and a "
        "rating may lean on its neighbours.",
    )
    pairs_per_call: int = Field(
        default=10,
        ge=1,
        le=50,
        description="Question-answer pairs of a paper that a judge rates in one call.",
    )
    concurrency: int = Field(
        default=0,
        ge=0,
        le=4096,
        description="Most concurrent model calls of each judge; 0 chooses by the judge: 64 for the "
        "embedded one, which answers them in one batch, else 16.",
    )
    batch: bool = Field(
        default=False,
        description="Ask hosted judges by their providers' batch interfaces, at half the price "
        f"({', '.join(BATCH_PROVIDERS)}): replies come within a day, most within an hour. A run "
        "that is stopped goes on by the same command. `concurrency`, `max_rpm` and `timeout_s` do "
        "not apply to it.",
    )
    max_rpm: int = Field(
        default=0,
        ge=0,
        description="Most model calls a minute to each endpoint, evenly spaced, over all workers "
        "together; 0 for no bound but what the endpoint itself asks for.",
    )
    max_usd: float | None = Field(
        default=None,
        gt=0,
        description="Stop before the run costs more, by LiteLLM's price list; what is done is "
        "kept, and the same command with more goes on from there.",
    )
    engine: EngineName = Field(
        default="local",
        description="Where answers are judged or written: in this process (local), or by the "
        "workers of a Ray cluster (ray).",
    )
    address: str = Field(
        default="local",
        min_length=1,
        description="The Ray cluster: local starts one on this machine, auto joins the one that "
        "this machine is part of, ray://HOST:10001 asks one elsewhere.",
    )
    workers: int = Field(
        default=0,
        ge=0,
        description="Processes of a Ray cluster that work; 0 takes one for each of its cores. "
        "They share the concurrent calls of a judge among them.",
    )
    timeout_s: float = Field(default=600.0, gt=0, description="Longest wait for one call.")
    max_attempts: int = Field(
        default=5,
        ge=1,
        le=20,
        description="Most attempts of a call that fails for a temporary reason.",
    )
    max_reply_tokens: int = Field(default=256, ge=16, description="Longest reply.")
    max_source_chars: int = Field(
        default=0, ge=0, description="Budget of source text in a prompt; 0 chooses by the judges."
    )
    max_sentences: int = Field(
        default=200,
        ge=1,
        description="Most sentences of an answer; a longer one is refused before any call.",
    )
    nugget_unit: Literal["sentence", "answer"] = Field(
        default="sentence",
        description="What a judge lists the nuggets of in one call: a sentence, at most two, or "
        "the whole answer, as many as it finds, as BioACE does.",
    )
    nugget_threshold: float = Field(
        default=0.6,
        ge=-1,
        le=1,
        description="Least cosine similarity at which two nuggets count as the same fact.",
    )
    nugget_alignment: Literal["greedy", "optimal"] = Field(
        default="greedy",
        description="Way to pair nuggets that may state the same fact, one to one: the most "
        "similar pair first, as BioACE does, or the most similar pairs in sum, which finds more.",
    )
    nugget_matcher: str = Field(
        default="",
        description="A file by `ragassay nuggets fit`, which decides when two nuggets are the same "
        "fact, in place of the threshold.",
    )
    qa_coverage: Literal["pair", "answer"] = Field(
        default="pair",
        description="What is compared with a paper's sentences to measure how much of it the "
        "question-answer pairs cover: question and answer together, as SciQAG's program does "
        "(pair), or the answer alone (answer).",
    )
    evidence_threshold: float = Field(
        default=0.0,
        ge=-1,
        le=1,
        description="Least cosine similarity of a passage to be judged.",
    )
    evidence: Look = Field(
        default="search",
        description="Way to search for evidence: with search the judge writes queries; with agent "
        "it gets tools to search, read and cite, if it can call tools.",
    )
    evidence_rounds: int = Field(
        default=2,
        ge=0,
        le=10,
        description="Most rounds of queries by the judge for a sentence; after each it says "
        "whether the passages found are enough, which ends the search. 0 searches with the "
        "sentence and its question only, and asks no model. Judges of ours (ragassay/...) write "
        "queries once, and the closest passages are taken.",
    )
    evidence_turns: int = Field(
        default=8, ge=1, le=50, description="Most turns of an agent that searches for a sentence."
    )
    evidence_tokens: int = Field(
        default=100_000,
        ge=0,
        description="Tokens per answer after which no further round or turn begins.",
    )
    evidence_passages: int = Field(
        default=1,
        ge=1,
        le=100,
        description="Number of passages to judge for a sentence, and as many against it.",
    )
    search: Search = Field(
        default="auto",
        description="Search a corpus by words (bm25), by meaning (dense), or by both, fused "
        "(hybrid); the latter two need vectors (`ragassay corpus embed`). auto is hybrid where "
        "there are vectors, else bm25.",
    )
    reranker: str = Field(
        default="embedded",
        min_length=1,
        description="The reranker of hits: embedded, none, or a cross-encoder that "
        "sentence-transformers can load, e.g. cross-encoder/ms-marco-MiniLM-L6-v2 or "
        "ncbi/MedCPT-Cross-Encoder.",
    )
    chroma_url: str = Field(
        default="",
        description="Address of a Chroma server that stores the vectors; else the corpus does.",
    )
    cache_dir: Path = Field(
        default_factory=lambda: user_cache_path("ragassay"),
        description="Folder of converted weights, of PubMed's replies, and of what the packaged "
        "models computed.",
    )
    computed_mb: int = Field(
        default=1024,
        ge=0,
        description="Most megabytes of vectors and probabilities that the packaged models computed "
        "and that later runs read, in the cache folder; 0 keeps none.",
    )
    ncbi_api_key: SecretStr | None = Field(
        default=None, description="For the corpus pubmed: 10 requests per second instead of 3."
    )
    ncbi_email: str = Field(
        default="", description="For the corpus pubmed: an address for NCBI to write to."
    )
    prompts: tuple[Path, ...] = Field(
        default=(), description="A compiled prompt by `ragassay optimize`."
    )
    max_line_bytes: int = Field(
        default=MAX_LINE_BYTES,
        ge=1,
        description="Longest line of a file in bytes; a longer one is rejected while it is read.",
    )
    local_dtype: Literal["auto", "bfloat16", "float32"] = Field(
        default="auto",
        description="Arithmetic of the embedded judge; float32 repeats bit by bit.",
    )
    tracing: bool = Field(
        default=False,
        description="Send OpenTelemetry spans of answers, questions and model calls to the "
        "application's tracer provider, else to the collector that OTEL_EXPORTER_OTLP_ENDPOINT "
        "names.",
    )
    tracing_content: bool = Field(
        default=False,
        description="Put questions, answers, prompts, replies and ids into the spans too.",
    )
    server_key: SecretStr | None = Field(
        default=None,
        description="The key that clients of `ragassay serve` must send; by default a new one.",
    )

    @model_validator(mode="after")
    def _hide_secrets(self) -> Settings:
        for secret in (self.ncbi_api_key, self.server_key):
            keep_secret(secret.get_secret_value() if secret else None)
        named = (self.escalate, *self.panel)
        addresses = (split_endpoint(judge)[1] for judge in named)
        for address in (self.api_base, self.chroma_url, *addresses):
            keep_address(address)
        return self

    def __repr__(self) -> str:
        """Return the settings without the users and passwords of addresses."""
        return without_secrets(super().__repr__())

    __str__ = __repr__

    @model_validator(mode="after")
    def _seated_once(self) -> Settings:
        seats = (self.model, *self.panel_names)
        if "" in seats or len(set(seats)) < len(seats):
            raise ValueError(f"a panel has each judge once, not {', '.join(seats)}")
        if self.panel and INSTRUMENTS in seats:
            raise ValueError(f"a panel is of judges, and {INSTRUMENTS} asks none: name two or more")
        return self

    @field_validator("only", mode="before")
    @classmethod
    def _split_at_commas(cls, given: object) -> object:
        if isinstance(given, str) and given.lstrip().startswith("["):  # As the environment has it.
            try:
                given = json.loads(given)
            except ValueError as error:
                raise ValueError("it must be names with commas, or a list in JSON") from error
        names = [given] if isinstance(given, str) else given
        if not isinstance(names, list | tuple):
            return names
        parts = [part.strip() for name in names for part in str(name).split(",")]
        return tuple(dict.fromkeys(parts))

    @field_validator("model_options")
    @classmethod
    def _are_options(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        parse_options(given)
        return given

    @model_validator(mode="after")
    def _asked_in_a_form(self) -> Settings:
        if self.judge_form in FORMS and not self.names_model:
            raise ValueError(f"judge_form {self.judge_form}: name the judge with model")
        second = form_of(self.escalated_to or "")
        if second is not None:
            raise ValueError(
                f"escalate: {self.escalated_to} is {second.title}, which rates rubrics only: name "
                "it as the judge or on the panel, and a judge for all questions as the second"
            )
        return self

    @model_validator(mode="after")
    def _batched_by_its_provider(self) -> Settings:
        if not self.batch:
            return self
        judges = (*self.judges, *filter(None, (self.escalated_to,)))
        hosted = [judge for judge in judges if not is_local(judge)]
        if not hosted:
            raise ValueError("batch: no hosted judge is asked: name one, or leave batch out")
        for judge in hosted:
            if provider_of(judge) not in BATCH_PROVIDERS:
                raise ValueError(
                    f"batch: {judge} cannot be asked in batches, only judges of "
                    f"{', '.join(BATCH_PROVIDERS)} can: leave batch out"
                )
        if self.engine != "local":
            raise ValueError("batch: a batch needs no cluster: leave out engine or batch")
        return self

    @field_validator("when")
    @classmethod
    def _is_condition(cls, text: str) -> str:
        return text if text == "auto" else parse_condition(text).text

    @model_validator(mode="after")
    def _second_beside_one(self) -> Settings:
        if self.escalate and self.panel:
            raise ValueError(
                f"a cascade begins with one judge, not with a panel of {', '.join(self.judges)}: "
                f"leave out escalate ({self.escalate}) or the further judges"
            )
        if self.escalate and self.escalated_to in ("", self.model):
            raise ValueError(
                f"escalate: {self.escalate} is not a second judge besides {self.model}"
            )
        return self

    @property
    def names_model(self) -> bool:
        """Return whether a model is named: else none is asked but a second judge."""
        return self.model != INSTRUMENTS

    @property
    def has_judge(self) -> bool:
        """Return whether a judge answers whatever it is asked; a published one rates rubrics."""
        return self.names_model and self.form is None

    @property
    def form(self) -> JudgeForm | None:
        """The form in which a published judge is asked; None for ragassay's own prompts."""
        return form_of(self.model, self.judge_form) if self.names_model else None

    @property
    def form_names(self) -> tuple[str, ...]:
        """The form of each judge of the rubrics, "plain" for ragassay's own prompts."""
        forms = (self.form, *map(form_of, self.panel_names))
        return tuple(form.name if form else "plain" for form in forms)

    @property
    def instruments_decide(self) -> bool:
        """Return whether instruments decide all but the rubrics where nothing else is chosen."""
        return is_ours(self.model) or not self.has_judge

    @property
    def escalated_to(self) -> str | None:
        """LiteLLM name of the second judge; None without one."""
        return split_endpoint(self.escalate)[0] if self.escalate else None

    @property
    def escalated_when(self) -> str | None:
        """The condition for a second judge, with "auto" resolved; None without one."""
        if self.when != "auto":
            return self.when if self.escalate else None
        chosen = "undecided" if self.instruments_decide else "entropy>1"
        return chosen if self.escalate else None

    @property
    def panel_names(self) -> tuple[str, ...]:
        """LiteLLM names of the further judges."""
        return tuple(split_endpoint(seat)[0] for seat in self.panel)

    @property
    def judges(self) -> tuple[str, ...]:
        """All judges of the rubrics, the run's judge first."""
        return self.model, *self.panel_names

    def of_judge(self, place: int) -> Settings:
        """Return the settings of one judge of the panel.

        Args:
            place: Its place among `judges`, 0 for the run's judge.
        """
        hosted = [provider_of(judge) for judge in self.judges if not is_local(judge)]
        name, own = (self.model, None) if not place else split_endpoint(self.panel[place - 1])
        shares = not place or provider_of(name) in hosted[:1]
        api_base = own or (self.api_base if shares else None)
        given: dict[str, object] = {"model": name, "panel": (), "api_base": api_base}
        if place:
            given["judge_form"] = "auto"
        return self.model_copy(update=given)

    def of_second(self) -> Settings:
        """Return the second judge's settings: it verifies too, and does not search.

        Raises:
            SettingsError: There is no second judge.
        """
        name, own = split_endpoint(self.escalate)
        if not name:
            raise SettingsError("there is no second judge: set escalate")
        shares = is_local(self.model) or provider_of(name) == provider_of(self.model)
        given: dict[str, object] = {
            "model": name,
            "api_base": own or (self.api_base if shares else None),
            "escalate": "",
            "judge_form": "auto",
            "signals": False,
            "verifier": "judge",
            "correctness": "judge",
            "labeller": "judge",
            "grader": "judge",
            "nugget_matcher": "",
            "evidence": "search",
        }
        return self.model_copy(update=given)

    @property
    def n_slots(self) -> int:
        """Most concurrent model calls."""
        if self.batch and not is_local(self.model):
            return BATCH_SLOTS
        return self.concurrency or (64 if is_ours(self.model) else 16)

    @property
    def chosen_verifier(self) -> str:
        """The verifier, with "auto" resolved."""
        chosen = self.verifier
        if chosen == "auto":
            chosen = EMBEDDED if self.instruments_decide else "judge"
        return MINILM_VERIFIER if chosen == EMBEDDED else chosen

    @property
    def chosen_grader(self) -> str:
        """The grader of passages, with "auto" resolved."""
        if self.grader != "auto":
            return self.grader
        return EMBEDDED if self.instruments_decide else "judge"

    @property
    def parts(self) -> tuple[str, ...]:
        """The requested parts of an evaluation."""
        return self.only or PARTS

    def wants(self, part: str) -> bool:
        """Return whether a part is requested."""
        return part in self.parts

    @property
    def measures(self) -> bool:
        """Return whether answers are measured; only YESciEval's rubrics have signals.

        Without a judge they also tell which sentences an answer does not need.
        """
        is_read = self.wants("rubrics") or (self.wants("sentences") and not self.has_judge)
        return self.signals and is_read and self.rubric_set == "yescieval"

    @property
    def looks_for_evidence(self) -> bool:
        """Return whether passages are searched for the sentences."""
        return self.wants("evidence") or self.wants("correctness")

    @property
    def verifies_evidence(self) -> bool:
        """Return whether the sentences are compared with the passages found for them."""
        return self.wants("evidence") or (self.wants("correctness") and self.correctness == "judge")

    @property
    def query_rounds(self) -> int:
        """Most rounds of queries by the judge; 0 without one, at most 1 by a small one of ours."""
        if not self.has_judge:
            return 0
        return min(self.evidence_rounds, 1) if is_ours(self.model) else self.evidence_rounds

    @property
    def judges_sufficiency(self) -> bool:
        """Return whether the judge says if what was found is enough; a small one cannot tell."""
        return self.query_rounds > 0 and not is_ours(self.model)

    @property
    def cites_by_nuggets(self) -> bool:
        """Return whether citations are checked by nuggets."""
        return self.wants("citations") and self.citation_evidence in ("nuggets", "nugget-lists")

    @property
    def source_chars(self) -> int:
        """The budget of source text in a prompt, in characters."""
        if self.max_source_chars:
            return self.max_source_chars
        readers = self.judges if self.names_model else (self.escalated_to or "",)
        is_small = any(map(is_ours, readers)) or any(name != "plain" for name in self.form_names)
        return SOURCE_CHARS_LOCAL if is_small else SOURCE_CHARS_HOSTED

    @property
    def nugget_matcher_sha256(self) -> str:
        """The hash of the matcher's file, whatever its name; empty without one.

        Raises:
            SettingsError: It cannot be read.
        """
        if not self.nugget_matcher:
            return ""
        try:
            return hashlib.sha256(read_small(Path(self.nugget_matcher))).hexdigest()
        except OSError as error:
            raise SettingsError(
                f"nugget_matcher: {self.nugget_matcher} cannot be read: {error.strerror}"
            ) from error


RESULT_FIELDS = (
    "model",
    "panel_names",
    "escalated_to",
    "escalated_when",
    "form_names",
    "embedder",
    "only",
    "rubric_set",
    "rubrics",
    "strategy",
    "samples",
    "decisions",
    "judge_seed",
    "signals",
    "chosen_verifier",
    "verdict_labels",
    "citation_evidence",
    "attribution",
    "nugget_support",
    "correctness",
    "labeller",
    "grades",
    "chosen_grader",
    "items_per_call",
    "pairs_per_call",
    "max_reply_tokens",
    "source_chars",
    "max_sentences",
    "nugget_unit",
    "nugget_threshold",
    "nugget_alignment",
    "qa_coverage",
    "nugget_matcher_sha256",
    "evidence_threshold",
    "evidence",
    "evidence_rounds",
    "evidence_turns",
    "evidence_tokens",
    "evidence_passages",
    "search",
    "reranker",
    "local_dtype",
)
"""The settings that affect a result; a manifest stores these, and no key or endpoint."""


def noted_settings(settings: Settings) -> dict[str, str | int | float | bool | None]:
    """Return the settings that affect a result, as a manifest stores them."""
    noted = {name: _plain(getattr(settings, name)) for name in RESULT_FIELDS}
    if given := noted_options(settings.model_options):
        noted["model_options"] = _plain(given)
    return noted


def default_of(name: str) -> str | int | float | bool | None:
    """Return a setting's default as a manifest stores it; None for one that is computed."""
    field = Settings.model_fields.get(name)
    return _plain(field.default) if field else None


def _plain(value: object) -> str | int | float | bool | None:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return ",".join(str(item) for item in value) if isinstance(value, tuple) else str(value)


def seated(judges: Sequence[str], api_base: str | None = None) -> dict[str, object]:
    """Return the settings' fields for a user's list of judges, for `load_settings`.

    Args:
        judges: LiteLLM names, optionally with an endpoint; the first is the run's judge. Without
            any, the settings stay unchanged.
        api_base: The endpoint that was given separately.

    Raises:
        SettingsError: The first has its own endpoint, and it is unclear whether another judge of
            its provider shares it.
    """
    if not judges:
        return {"api_base": api_base}
    model, own = split_endpoint(judges[0])
    for judge in judges[1:]:
        if own and provider_of(judge) == provider_of(model) and not split_endpoint(judge)[1]:
            raise SettingsError(f"{judge}: name its endpoint too, as {judges[0]} has one")
    return {"model": model, "panel": tuple(judges[1:]), "api_base": own or api_base}


def load_settings(
    _base: Settings | None = None, _spelled: Mapping[str, str] | None = None, /, **given: object
) -> Settings:
    """Make settings from the given values, then `_base`, else the environment, then the defaults.

    Args:
        _base: Settings to change; the environment is then ignored.
        _spelled: Returns the user's spelling of a field, for error messages.
        given: Fields by name; None means "not given".

    Raises:
        SettingsError: A value is wrong; the message names the field.
    """
    fields = {name: getattr(_base, name) for name in Settings.model_fields} if _base else {}
    fields |= {name: value for name, value in given.items() if value is not None}
    if _base is None:
        _check_variables(os.environ)
    try:
        return Settings(**fields)
    except ValidationError as error:
        where, problem = first_problem(error)
        name = where.partition(".")[0]
        in_environment = name and name not in fields
        spelled = (_spelled or {}).get(name) or (_variable(name) if in_environment else name)
        raise SettingsError(f"{spelled}: {problem}" if name else problem) from error
    except UnreadableSettingError as error:
        found = re.search(r'field "(\w+)"', str(error))
        name = found[1] if found else ""
        raise SettingsError(
            f'{_variable(name)}: it must be a list in JSON, such as ["rubrics", "citations"]'
        ) from error


def _check_variables(names: Iterable[str]) -> None:
    """Refuse a variable that is one of ours but for its spelling; others may be anybody's."""
    prefix = _variable("")
    for variable in names:
        name = variable.upper().removeprefix(prefix).lower()
        if variable.upper().startswith(prefix) and name not in Settings.model_fields:
            meant = difflib.get_close_matches(name, Settings.model_fields, n=1, cutoff=0.7)
            if meant:
                raise SettingsError(
                    f"{variable}: there is no such setting; {_variable(meant[0])} may be meant"
                )


def _variable(name: str) -> str:
    return f"RAGASSAY_{name.upper()}"
