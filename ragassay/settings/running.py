"""Settings of a run: what it searches, how much it takes, and where it reports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from platformdirs import user_cache_path
from pydantic import Field, SecretStr

from ragassay.files import MAX_LINE_BYTES
from ragassay.model_names import BATCH_PROVIDERS
from ragassay.settings.group import RESULT, Flag, SettingsGroup

Look = Literal["search", "agent"]
Search = Literal["auto", "bm25", "dense", "hybrid"]
EngineName = Literal["local", "ray"]


class RetrievalSettings(SettingsGroup):
    """The search for evidence for a sentence."""

    evidence: Annotated[Look, RESULT] = Field(
        default="search",
        description="Way to search for evidence: with search the judge writes queries; with agent "
        "it gets tools to search, read and cite, if it can call tools.",
    )
    evidence_rounds: Annotated[int, RESULT] = Field(
        default=2,
        ge=0,
        le=10,
        description="Maximum number of search rounds per sentence. After each round, the judge "
        "says whether the passages found are enough, which ends the search. 0 searches with the "
        "sentence and its question only, and asks no model. Local judges (ragassay/...) write "
        "queries once, and the closest passages are used.",
    )
    evidence_turns: Annotated[int, RESULT] = Field(
        default=8, ge=1, le=50, description="Maximum turns of an agent for one sentence."
    )
    evidence_tokens: Annotated[int, RESULT] = Field(
        default=100_000,
        ge=0,
        description="Tokens per answer after which no round or turn begins.",
    )
    evidence_passages: Annotated[int, RESULT] = Field(
        default=1,
        ge=1,
        le=100,
        description="Number of passages to judge for a sentence, and the same number against it.",
    )
    evidence_threshold: Annotated[float, RESULT] = Field(
        default=0.0,
        ge=-1,
        le=1,
        description="Minimum cosine similarity of a passage to be judged.",
    )


class LiteratureSettings(SettingsGroup):
    """The literature that is searched, and its ranking."""

    embedder: Annotated[str, RESULT, Flag(metavar="NAME")] = Field(
        default="all-MiniLM-L6-v2",
        description="Embedding model: all-MiniLM-L6-v2, which is installed with ragassay, or any "
        "that sentence-transformers can load.",
    )
    search: Annotated[Search, RESULT, Flag(("--by",))] = Field(
        default="auto",
        description="Search a corpus by words (bm25), by meaning (dense), or by both, fused "
        "(hybrid); the latter two need vectors (`ragassay corpus embed`). auto is hybrid if "
        "there are vectors, else bm25.",
    )
    reranker: Annotated[str, RESULT, Flag(metavar="NAME")] = Field(
        default="embedded",
        min_length=1,
        description="The reranker of hits: embedded, none, or a cross-encoder that "
        "sentence-transformers can load, e.g. cross-encoder/ms-marco-MiniLM-L6-v2 or "
        "ncbi/MedCPT-Cross-Encoder.",
    )
    chroma_url: str = Field(
        default="",
        description="Address of a Chroma server that stores the vectors; by default the corpus "
        "stores them.",
    )
    cache_dir: Path = Field(
        default_factory=lambda: user_cache_path("ragassay"),
        description="Folder of converted weights, PubMed's replies, and results that the packaged "
        "models computed.",
    )
    computed_mb: int = Field(
        default=1024,
        ge=0,
        description="Maximum megabytes of vectors and probabilities by the packaged models that "
        "are kept in the cache folder for later runs; 0 keeps none.",
    )
    ncbi_api_key: SecretStr | None = Field(
        default=None,
        description="For the corpus pubmed: NCBI's key, for 10 requests per second instead of 3.",
    )
    ncbi_email: str = Field(
        default="", description="For the corpus pubmed: your e-mail address, for NCBI."
    )


class LimitSettings(SettingsGroup):
    """Limits of the calls, and the processes that make them."""

    concurrency: int = Field(
        default=0,
        ge=0,
        le=4096,
        description="Maximum concurrent model calls of each judge; 0 chooses by the judge: 64 "
        "for the embedded one, which answers them in one batch, else 16.",
    )
    batch: bool = Field(
        default=False,
        description="Ask hosted judges by their providers' batch interfaces, at half the price "
        f"({', '.join(BATCH_PROVIDERS)}): replies come within a day, most within an hour. A run "
        "that is stopped is resumed by the same command. `concurrency`, `max_rpm` and "
        "`timeout_s` do not apply to it.",
    )
    max_rpm: int = Field(
        default=0,
        ge=0,
        description="Maximum model calls per minute to each endpoint, evenly spaced, over all "
        "workers together; 0 for no limit except the endpoint's own.",
    )
    max_usd: float | None = Field(
        default=None,
        gt=0,
        description="Stop before the run costs more, by LiteLLM's price list. Finished work is "
        "kept; the same command with a higher limit continues.",
    )
    engine: EngineName = Field(
        default="local",
        description="Where answers are judged or written: in this process (local), or by the "
        "workers of a Ray cluster (ray).",
    )
    address: Annotated[str, Flag(metavar="ADDRESS")] = Field(
        default="local",
        min_length=1,
        description="The Ray cluster: local starts one on this machine, auto joins the one that "
        "this machine is part of, ray://HOST:10001 uses another one.",
    )
    workers: int = Field(
        default=0,
        ge=0,
        description="Number of worker processes of a Ray cluster; 0 for one per core. "
        "They share the concurrent calls of a judge.",
    )
    max_line_bytes: int = Field(
        default=MAX_LINE_BYTES,
        ge=1,
        description="Maximum bytes of a line of a file; a longer line is rejected while it is "
        "read.",
    )


class OutputSettings(SettingsGroup):
    """Traces, and the key of the server."""

    tracing: bool = Field(
        default=False,
        description="Send OpenTelemetry spans of answers, questions and model calls to the "
        "application's tracer provider, or to the collector that OTEL_EXPORTER_OTLP_ENDPOINT "
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
