"""The judges of a run: one or a panel, a fine-tuned one, signals in a judge's place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ragassay.agents.published_prompts import is_rated_by, words_of
from ragassay.errors import FatalModelError, SettingsError
from ragassay.evaluators.building import build_panel
from ragassay.instruments.signal_judge import SignalJudge
from ragassay.judge_forms import JudgeForm, form_of
from ragassay.metrics.joint import BEYOND_SENTENCES
from ragassay.model_names import INSTRUMENTS, is_embedded_base
from ragassay.models.gateway import NEEDS_JUDGE, JudgeLM
from ragassay.models.signal_rater import shipped_rater
from ragassay.models.tuned import note_of, untuned
from ragassay.prompts import Rubric, load_rubrics
from ragassay.settings import Settings

TUNED_RUBRICS = "yescieval"
"""The rubrics that fine-tuned judges know; others are left to the model below them."""


@dataclass(frozen=True)
class Jury:
    """The judges of a run.

    Attributes:
        settings: The settings.
        rubrics: Names of the rubrics that are rated.
        lm: Answers all but the rubrics; of a fine-tuned judge the model below it. None without a
            judge, and with a published one: instruments decide what they can tell.
        rating_lm: Rates the rubrics; None where `lm` does, or nobody.
        panel: All judges that rate the rubrics, `rating_lm` first; empty where it rates alone.
        rater: Rates by signals, without a judge, in the embedded model's place or with a tuned
            judge; None where nothing is measured.
        known: The rubrics that are rated, by name.
    """

    settings: Settings
    rubrics: tuple[str, ...]
    lm: JudgeLM | None
    rating_lm: JudgeLM | None = None
    panel: tuple[JudgeLM, ...] = ()
    rater: SignalJudge | None = None
    known: Mapping[str, Rubric] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings, known: Mapping[str, Rubric]) -> Jury:
        """Return the judges that the settings name; no model is loaded yet.

        Args:
            settings: The settings.
            known: The rubrics of the run, by name.

        Raises:
            SettingsError: There is a rubric that neither a judge nor signals can rate.
            ExtraError: A published judge's words are not installed.
        """
        rubrics = tuple(known)
        rater = SignalJudge(shipped_rater()) if settings.measures else None
        if not settings.names_model:
            jury = cls(settings, rubrics, None, rater=rater, known=known)
        else:
            own = settings.of_judge(0)
            lm = JudgeLM(untuned(own)) if settings.has_judge else None
            rates = lm and (lm.model == own.model or settings.rubric_set != TUNED_RUBRICS)
            rating_lm = lm if lm and rates else JudgeLM(own)
            panel = build_panel(settings, rating_lm)
            jury = cls(settings, rubrics, lm, rating_lm, panel, rater, known)
        jury._refuse_unrated()
        return jury

    def _refuse_unrated(self) -> None:
        """Refuse a rubric that a judge cannot rate, and a published judge without its words.

        Raises:
            SettingsError: There is no judge, or a published one of other rubrics.
            ExtraError: A published judge's words are not installed.
        """
        for judge in self.seats:
            form = self.form_of(judge)
            if form is not None:
                words_of(form)
            if form is None and self.lm_of(judge) is not None:
                continue
            for name in self.rubrics:
                if not self.rates_published(judge, name) and self.rater_of(judge, name) is None:
                    raise SettingsError(f"rubric {name}: {self._why_unrated(judge)}")

    def _why_unrated(self, judge: str) -> str:
        form = self.form_of(judge)
        if form is None:
            return NEEDS_JUDGE
        rated = f"the rubrics of {form.rubric_set}" if form.rubric_set else "scales from 1 to 5"
        return (
            f"{self.name_of(judge)} is {form.title}, which rates {rated} only: choose those with "
            "--rubrics, or name another judge"
        )

    def form_of(self, judge: str) -> JudgeForm | None:
        """Return the form in which a published judge is asked; None for any other judge."""
        name = self.name_of(judge)
        return self.settings.form if name == self.settings.model else form_of(name)

    def rates_published(self, judge: str, rubric: str) -> bool:
        """Return whether a published judge rates a rubric in the form that it was trained on."""
        form = self.form_of(judge)
        known = self.known.get(rubric)
        return bool(form and known and is_rated_by(form, known, self.settings.rubric_set))

    @property
    def judge(self) -> JudgeLM:
        """Return the judge of all but the rubrics.

        Raises:
            SettingsError: There is no judge.
        """
        if self.lm is None:
            raise SettingsError(NEEDS_JUDGE)
        return self.lm

    @property
    def name(self) -> str:
        """Name of what answers all but the rubrics."""
        return self.lm.model if self.lm else INSTRUMENTS

    @property
    def judges(self) -> tuple[str, ...]:
        """Names of the panel's judges; empty where one judge rates alone."""
        return tuple(lm.model for lm in self.panel)

    @property
    def seats(self) -> tuple[str, ...]:
        """The panel's judges; "" alone for a single judge."""
        return self.judges or ("",)

    @property
    def fatal(self) -> FatalModelError | None:
        """Why the run cannot go on: the error of the first judge that cannot be asked."""
        judges = (self.lm, self.lm_of(""), *self.panel)
        return next((lm.fatal for lm in judges if lm and lm.fatal is not None), None)

    @property
    def n_slots(self) -> int:
        """Most model calls under way at a time: each judge of a panel has its own slots."""
        return sum(self.settings.of_judge(n).n_slots for n in range(len(self.settings.judges)))

    def name_of(self, judge: str) -> str:
        """Return the name of what rates the rubrics at a seat."""
        lm = self.lm_of(judge)
        return lm.model if lm else self.settings.model

    def lm_of(self, judge: str) -> JudgeLM | None:
        """Return what rates the rubrics at a seat; the run's own judge where no name is given."""
        own = self.rating_lm or self.lm
        return next((lm for lm in self.panel if lm.model == judge), own)

    def lm_for(self, judge: str, rubric: str) -> JudgeLM | None:
        """Return what rates one rubric: of a tuned judge the model below it for a user's own."""
        is_own = self.is_tuned(judge) and not self.rates_tuned(judge, rubric)
        return self.lm if is_own else self.lm_of(judge)

    def is_tuned(self, judge: str) -> bool:
        """Return whether a judge was fine-tuned to rate the rubrics of this run."""
        note = note_of(self.name_of(judge))
        is_known = self.settings.rubric_set == TUNED_RUBRICS
        return note is not None and note.task == "judge" and is_known

    def source_chars_of(self, judge: str) -> int:
        """Return how much of the sources a fine-tuned judge reads; 0 for none."""
        note = note_of(self.name_of(judge))
        return note.source_chars if note else 0

    def rates_tuned(self, judge: str, rubric: str) -> bool:
        """Return whether a judge rates a rubric as it was fine-tuned to."""
        return self.is_tuned(judge) and rubric in load_rubrics(TUNED_RUBRICS)

    def rater_of(self, judge: str, rubric: str) -> SignalJudge | None:
        """Return what rates a rubric by signals; None where a judge rates, whatever was measured.

        They rate without a judge, in the embedded model's place, with a tuned one, and what a
        published one was not trained on.
        """
        lm = self.lm_of(judge)
        is_ours = lm is None or is_embedded_base(lm.model) or self.is_tuned(judge)
        if self.form_of(judge) is not None:
            is_ours = not self.rates_published(judge, rubric)
        if not is_ours or self.rater is None:
            return None
        return self.rater if self.rater.knows(rubric) else None

    def asks(self, judge: str, rubric: str) -> bool:
        """Return whether a rating takes a model call."""
        if self.rater_of(judge, rubric) is None:
            return True
        return self.rates_tuned(judge, rubric) and rubric not in BEYOND_SENTENCES

    def listens(self, judge: str, rubric: str) -> bool:
        """Return whether a judge can be told what others say."""
        has_own_form = self.rates_tuned(judge, rubric) or self.rates_published(judge, rubric)
        return not has_own_form and self.rater_of(judge, rubric) is None

    @property
    def readers(self) -> tuple[str, ...]:
        """Seats of the judges that read answers before they rate: those fine-tuned for it."""
        seats = (seat for seat in self.seats if self.is_tuned(seat))
        return tuple(seat for seat in seats if any(self.asks(seat, r) for r in self.rubrics))

    @property
    def rater_name(self) -> str:
        """Name of the signal rater that stands in for a judge; empty where none does."""
        is_asked = any(self.rater_of(seat, r) for seat in self.seats for r in self.rubrics)
        return self.rater.rater.model if self.rater and is_asked else ""

    @property
    def rated_by(self) -> str:
        """Name of the rater of the rubrics where there is no panel."""
        own = self.name_of("")
        if self.form_of("") is not None and self.rater_name:
            return f"{own}, or {self.rater_name} what it was not trained on"
        if not self.is_tuned(""):
            return self.rater_name or own
        return f"{own} with {self.rater_name}" if self.rater_name else own
