"""Settings for retrieval, literature, limits and output."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from platformdirs import user_cache_path
from pydantic import Field, SecretStr

from ragassay.files import MAX_LINE_BYTES
from ragassay.model_names import BATCH_PROVIDERS
from ragassay.settings.group import RESULT, Flag, SettingsGroup

EvidenceMode = Literal["search", "agent"]
Search = Literal["auto", "bm25", "dense", "hybrid"]
EngineName = Literal["local", "ray"]


class RetrievalSettings(SettingsGroup):
    """Settings of the search for evidence."""

    evidence: Annotated[EvidenceMode, RESULT] = "search"
    """How to search for evidence: with search, the judge writes queries; with agent, the judge gets
    tools to search, read and cite, if it supports tool calls."""
    evidence_rounds: Annotated[int, RESULT, Field(ge=0, le=10)] = 2
    """Maximum number of search rounds per sentence. The search ends as soon as the judge decides
    that the passages are sufficient; local judges (ragassay/...) only search once. 0 searches with
    the sentence and its question, without a model."""
    evidence_turns: Annotated[int, RESULT, Field(ge=1, le=50)] = 8
    """Maximum number of turns of the search agent per sentence."""
    evidence_tokens: Annotated[int, RESULT, Field(ge=0)] = 100_000
    """Number of tokens per answer after which no new search round or agent turn starts."""
    evidence_passages: Annotated[int, RESULT, Field(ge=1, le=100)] = 1
    """Number of supporting passages, and of opposing passages, to judge per sentence."""
    evidence_threshold: Annotated[float, RESULT, Field(ge=-1, le=1)] = 0.0
    """Minimum cosine similarity between a sentence and a passage that is used as evidence."""


class LiteratureSettings(SettingsGroup):
    """Settings for searching literature and ranking the results."""

    embedder: Annotated[str, RESULT, Flag(metavar="NAME")] = "all-MiniLM-L6-v2"
    """Embedding model: all-MiniLM-L6-v2 (installed with ragassay), or any sentence-transformers
    model."""
    search: Annotated[Search, RESULT, Flag(("--by",))] = "auto"
    """Search method: keywords (bm25), embeddings (dense), or both (hybrid). auto uses hybrid if the
    corpus has vectors from `ragassay corpus embed`, and otherwise bm25."""
    reranker: Annotated[str, RESULT, Flag(metavar="NAME"), Field(min_length=1)] = "embedded"
    """Reranker for search results: embedded, none, or a sentence-transformers cross-encoder, e.g.
    cross-encoder/ms-marco-MiniLM-L6-v2 or ncbi/MedCPT-Cross-Encoder."""
    chroma_url: str = ""
    """URL of a Chroma server for the vectors. By default, vectors are stored in the corpus
    folder."""
    cache_dir: Path = Field(default_factory=lambda: user_cache_path("ragassay"))
    """Cache folder for converted weights, PubMed responses, and results of the packaged models."""
    computed_mb: Annotated[int, Field(ge=0)] = 1024
    """Maximum size, in megabytes, of the cached vectors and probabilities of the packaged models; 0
    disables this cache."""
    ncbi_api_key: SecretStr | None = None
    """NCBI API key for the pubmed corpus; allows 10 requests per second instead of 3."""
    ncbi_email: str = ""
    """Your email address, which is sent to NCBI when the pubmed corpus is used."""


class LimitSettings(SettingsGroup):
    """Settings for limits on model calls, and for the processes that make the calls."""

    concurrency: Annotated[int, Field(ge=0, le=4096)] = 0
    """Maximum number of concurrent calls per judge; 0 uses 64 for the embedded judge, which
    processes concurrent calls in one batch, and 16 for other judges."""
    batch: bool = Field(
        default=False,
        description="Call hosted judges through the batch API of their provider "
        f"({', '.join(BATCH_PROVIDERS)}), at half the price. Replies arrive within a day, and most "
        "within an hour. Run the same command to resume a stopped run. `concurrency`, `max_rpm` "
        "and `timeout_s` are ignored.",
    )
    max_rpm: Annotated[int, Field(ge=0)] = 0
    """Maximum number of model calls per minute to each endpoint, across all workers; 0 for no
    limit."""
    max_usd: Annotated[float | None, Field(gt=0)] = None
    """Maximum cost of the run in US dollars, at LiteLLM's prices. The run stops before it exceeds
    this cost. Run the same command with a higher limit to continue."""
    engine: EngineName = "local"
    """Where to evaluate answers: in this process (local) or on a Ray cluster (ray)."""
    address: Annotated[str, Flag(metavar="ADDRESS"), Field(min_length=1)] = "local"
    """Address of the Ray cluster: local starts a cluster on this machine, auto joins the cluster
    that this machine belongs to, ray://HOST:10001 connects to a remote cluster."""
    workers: Annotated[int, Field(ge=0)] = 0
    """Number of Ray worker processes; 0 for one per core. All workers together observe the limit on
    concurrent calls."""
    max_line_bytes: Annotated[int, Field(ge=1)] = MAX_LINE_BYTES
    """Maximum length of a line in an input file, in bytes. Longer lines are rejected."""


class OutputSettings(SettingsGroup):
    """Settings for traces, and the API key of `ragassay serve`."""

    tracing: bool = False
    """Send OpenTelemetry spans for answers, questions and model calls to the application's tracer
    provider, or to the collector in OTEL_EXPORTER_OTLP_ENDPOINT."""
    tracing_content: bool = False
    """Include questions, answers, prompts, replies and ids in the spans."""
    server_key: SecretStr | None = None
    """API key required from clients of `ragassay serve`. By default, a new key is generated."""
