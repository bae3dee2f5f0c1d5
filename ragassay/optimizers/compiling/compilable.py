"""The agents that `ragassay optimize` compiles, and why it does not compile the others."""

from __future__ import annotations

from collections.abc import Mapping

from ragassay.errors import InputError

AGENTS = (
    "rubric_judge",
    "verifier",
    "sentence_labeller",
    "nugget_assigner",
    "nugget_writer",
    "query_writer",
)

_WRITES = "it writes text of its own, and no file holds its right replies"
_MEASURED = "no data for it are read here; `ragassay meta-evaluate` compares it with people"
_UNLABELLED = "no file holds its right replies"
_TUNED = "a fine-tuned model knows its prompt by heart"

UNCOMPILED: Mapping[str, str] = {
    "answer_checker": _MEASURED,
    "answer_extractor": _MEASURED,
    "answer_nuggetizer": _WRITES,
    "answer_reader": _TUNED,
    "asker": "its question is the user's own",
    "evidence_searcher": "it calls tools, and no file holds its right searches",
    "exam_writer": _WRITES,
    "fact_lister": _WRITES,
    "importance_scorer": _UNLABELLED,
    "intent_comparer": _UNLABELLED,
    "nugget_creator": _WRITES,
    "nugget_extractor": _MEASURED,
    "nugget_rater": _MEASURED,
    "paraphraser": _WRITES,
    "qa_mender": _WRITES,
    "qa_writer": _WRITES,
    "question_rater": _MEASURED,
    "racar_accuracy": _MEASURED,
    "racar_agnosticism": _MEASURED,
    "racar_completeness": _MEASURED,
    "racar_reasonableness": _MEASURED,
    "racar_relevance": _MEASURED,
    "rationale_auditor": _UNLABELLED,
    "relevance_grader": _MEASURED,
    "self_questioner": _WRITES,
    "sufficiency_judge": _UNLABELLED,
    "synthesizer": _WRITES,
    "tuned_judge": _TUNED,
    "tuned_verifier": _TUNED,
    "verifier_binary": "name it verifier, with --labels 2",
    "verifier_ternary": "name it verifier, with --labels 3",
}
"""Why an agent cannot be compiled, by the key of its prompt."""


def check_agent(name: str) -> None:
    """Refuse an agent that cannot be compiled.

    Raises:
        InputError: The message says why, and names those that can.
    """
    if name in AGENTS:
        return
    known = f"`ragassay optimize` compiles {', '.join(AGENTS)}"
    if name in UNCOMPILED:
        raise InputError(f"{name} cannot be compiled: {UNCOMPILED[name]}; {known}")
    raise InputError(f"there is no agent {name!r}; {known}")
