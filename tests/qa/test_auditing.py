"""Pairs are damaged on purpose, and a judge is certified by dimension."""

from __future__ import annotations

import pytest
from qa_pairs import PAIRS, PAPER, judged

from ragassay.errors import InputError
from ragassay.evaluators.build_run import build_run
from ragassay.process import run_sync
from ragassay.qa.audit import PAIR_ATTACKS, build_pairs_audit_job
from ragassay.qa.evaluate import match_pairs_to_papers
from ragassay.records import Audit
from ragassay.runs.audit_job import AuditOptions
from ragassay.settings import load_settings
from ragassay.studies.audit import run_audit
from ragassay.testing import ScriptedModel

pytestmark = pytest.mark.integration

PAPERS = [PAPER.model_copy(update={"id": name}) for name in "abcd"]
MORE = [
    pair.model_copy(update={"id": f"{paper.id}/{pair.id}", "paper": paper.id})
    for paper in PAPERS
    for pair in (PAIRS[0], PAIRS[2])
]
GIVEN = match_pairs_to_papers(PAPERS, MORE)


def audited(**settings: object) -> Audit:
    job = build_pairs_audit_job(GIVEN, AuditOptions(limit=0))
    run = build_run(load_settings(only=("racar",), **settings))
    return run_sync(run_audit(job, run)).audit


def test_each_attack_is_aimed_at_its_dimension_and_rated_alone_with_the_paper():
    job = build_pairs_audit_job(GIVEN, AuditOptions(limit=0))
    aims = {one.attack: one.targets for one in job.perturbed}
    assert aims == {name: (f"racar.{a.dimension}",) for name, a in PAIR_ATTACKS.items()}
    assert {len(ask.record.pairs) for ask in job.asks} == {1}
    ids = [ask.record.id for ask in job.asks]
    assert len(set(ids)) == len(ids)
    with pytest.raises(InputError, match="unknown attack"):
        build_pairs_audit_job(GIVEN, AuditOptions(attacks=("nonsense",)))


def test_a_judge_that_sees_figures_only_is_blind_to_the_rest():
    with ScriptedModel(judged) as model:
        found = audited(model=model.model_name, api_base=model.base_url)
    trust = {line.target: line for line in found.certificate}
    assert set(trust) == {f"racar.{a.dimension}" for a in PAIR_ATTACKS.values()}
    assert trust["racar.completeness"].trust == "blind"
    assert {line.family for line in found.certificate} == {"pair"}


def test_without_a_judge_a_wrong_number_and_a_question_elsewhere_are_seen():
    found = audited()
    by_attack = {figure.attack: figure for figure in found.figures}
    # Whole pairs are left open where no rule speaks: such a pair is neither found nor missed.
    assert by_attack["wrong_number"].n_undecided == by_attack["wrong_number"].detection.n_unscored
    assert "racar.completeness" not in {line.target for line in found.certificate}
