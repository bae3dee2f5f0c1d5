"""Pooling, words before a text and cosine threshold of embedding models, by name."""

from __future__ import annotations

import re

import pytest

from ragassay.prompts.model_forms import find_embedder_form, load_embedders

FORMS = [
    # (model, pooling, before a query, before a passage, before texts compared with their like)
    ("all-MiniLM-L6-v2", "mean", "", "", ""),
    ("sentence-transformers/all-mpnet-base-v2", "mean", "", "", ""),
    ("princeton-nlp/sup-simcse-roberta-large", "pooler", "", "", ""),
    ("princeton-nlp/sup-simcse-bert-base-uncased", "pooler", "", "", ""),
    ("models/sup-simcse-roberta-base/", "pooler", "", "", ""),
    # SimCSE's program takes the first token before the pooler for the unsupervised models.
    ("princeton-nlp/unsup-simcse-roberta-large", "cls", "", "", ""),
    ("intfloat/e5-small-v2", "mean", "query: ", "passage: ", "query: "),
    ("intfloat/multilingual-e5-base", "mean", "query: ", "passage: ", "query: "),
    ("models/e5-large/", "mean", "query: ", "passage: ", "query: "),
    ("Intfloat/E5-Base", "mean", "query: ", "passage: ", "query: "),
    ("thenlper/gte-small", "mean", "", "", ""),
    ("Alibaba-NLP/gte-base-en-v1.5", "cls", "", "", ""),
    ("Alibaba-NLP/gte-multilingual-base", "cls", "", "", ""),
    ("BAAI/bge-m3", "cls", "", "", ""),
    ("allenai/specter2_base", "cls", "", "", ""),
    ("allenai/specter", "cls", "", "", ""),
    ("malteos/scincl", "cls", "", "", ""),
    ("allenai/scibert_scivocab_uncased", "mean", "", "", ""),
    ("dmis-lab/biobert-base-cased-v1.2", "mean", "", "", ""),
    ("microsoft/BiomedNLP-BiomedBERT-base-uncased-abstract", "mean", "", "", ""),
    ("ncbi/MedCPT-Query-Encoder", "cls", "", "", ""),
    ("ncbi/MedCPT-Article-Encoder", "cls", "", "", ""),
    ("cambridgeltl/SapBERT-from-PubMedBERT-fulltext", "cls", "", "", ""),
    ("cambridgeltl/SapBERT-from-PubMedBERT-fulltext-mean-token", "mean", "", "", ""),
    ("facebook/contriever", "mean", "", "", ""),
    (
        "nomic-ai/nomic-embed-text-v1.5",
        "mean",
        "search_query: ",
        "search_document: ",
        "clustering: ",
    ),
    # Not of the family, whatever the folder is called.
    ("e5/all-MiniLM-L6-v2", "mean", "", "", ""),
    ("sup-simcse-x/other", "mean", "", "", ""),
    ("acme/core5-small", "mean", "", "", ""),
    ("acme/e512-base", "mean", "", "", ""),
    ("acme/other-instruct", "mean", "", "", ""),
    ("acme/bgenie", "mean", "", "", ""),
    ("acme/spectral", "mean", "", "", ""),
]


def test_a_models_name_tells_its_form() -> None:
    for model, pooling, query, passage, same in FORMS:
        form = find_embedder_form(model)
        sides = tuple(form.build_prefix(role) for role in ("query", "passage", "text"))
        assert (form.pooling, *sides) == (pooling, query, passage, same), model


@pytest.mark.parametrize(
    ("model", "pooling"),
    [
        ("intfloat/e5-mistral-7b-instruct", "lasttoken"),
        ("e5-mistral-7b-instruct", "lasttoken"),
        ("intfloat/multilingual-e5-large-instruct", "mean"),
        ("Alibaba-NLP/gte-Qwen2-1.5B-instruct", "lasttoken"),
        ("Qwen/Qwen3-Embedding-0.6B", "lasttoken"),
    ],
)
def test_a_model_with_instructions_is_told_the_task_of_what_searches(model, pooling) -> None:
    form, tasks = find_embedder_form(model), load_embedders().tasks
    assert form.pooling == pooling
    for role in ("text", "query", "question", "answer", "pair"):
        assert form.build_prefix(role).startswith(f"Instruct: {tasks[role]}\nQuery:")
    assert form.build_prefix("passage") == form.build_prefix("sentence") == ""


def test_only_the_query_of_bge_has_words_before_it() -> None:
    for model in (
        "BAAI/bge-small-en-v1.5",
        "BAAI/bge-large-en",
        "mixedbread-ai/mxbai-embed-large-v1",
    ):
        form = find_embedder_form(model)
        assert (
            form.build_prefix("query")
            == "Represent this sentence for searching relevant passages: "
        )
        assert (form.pooling, form.build_prefix("passage"), form.build_prefix("text")) == (
            "cls",
            "",
            "",
        )


def test_every_form_is_the_first_that_matches_its_examples_and_names_its_source() -> None:
    for name, form in load_embedders().forms.items():
        assert form.examples and form.source, name
        assert all(find_embedder_form(model) is form for model in form.examples), name
        assert re.compile(form.pattern), name


def test_forms_that_embed_otherwise_have_other_digests() -> None:
    assert find_embedder_form("all-mpnet-base-v2").digest == ""
    models = ("sup-simcse-roberta-large", "unsup-simcse-roberta-large", "e5-small", "bge-small-en")
    assert (
        len({find_embedder_form(model).digest for model in (*models, "other")}) == len(models) + 1
    )


def test_the_threshold_of_simcse_is_bioaces_and_stands_for_what_has_none() -> None:
    assert find_embedder_form("princeton-nlp/sup-simcse-roberta-large").threshold == 0.75
    assert find_embedder_form("intfloat/e5-small-v2").threshold == load_embedders().plain.threshold
