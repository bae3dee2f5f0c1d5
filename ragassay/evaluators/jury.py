"""The judges of a run: one or a panel, a fine-tuned one, signals in a judge's place."""

from __future__ import annotations

from dataclasses import dataclass

from ragassay.errors import FatalModelError, SettingsError
from ragassay.evaluators.building import build_panel
from ragassay.instruments.signal_judge import SignalJudge
from ragassay.metrics.joint import BEYOND_SENTENCES
from ragassay.model_names import is_embedded_base
from ragassay.models.gateway import NEEDS_JUDGE, JudgeLM
from ragassay.models.signal_rater import shipped_rater
from ragassay.models.tuned import note_of, untuned
from ragassay.prompts import load_rubrics
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
            judge: instruments decide what they can tell.
        rating_lm: Rates the rubrics; None where `lm` does, or nobody.
        panel: All judges that rate the rubrics, `rating_lm` first; empty where it rates alone.
        rater: Rates by signals, without a judge, in the embedded model's place or with a tuned
            judge; None where nothing is measured.
    """

    settings: Settings
    rubrics: tuple[str, ...]
    lm: JudgeLM | None
    rating_lm: JudgeLM | None = None
    panel: tuple[JudgeLM, ...] = ()
    rater: SignalJudge | None = None

    @classmethod
    def of(cls, settings: Settings, rubrics: tuple[str, ...]) -> Jury:
        """Return the judges that the settings name; no model is loaded yet.

        Raises:
            SettingsError: There is no judge, and a rubric that signals cannot rate.
        """
        rater = SignalJudge(shipped_rater()) if settings.measures else None
        if not settings.has_judge:
            beyond = [name for name in rubrics if rater is None or not rater.knows(name)]
            if beyond:
                raise SettingsError(f"rubric {beyond[0]}: {NEEDS_JUDGE}")
            return cls(settings=settings, rubrics=rubrics, lm=None, rater=rater)
        own = settings.of_judge(0)
        lm = JudgeLM(untuned(own))
        is_rated_by_it = lm.model == own.model or settings.rubric_set != TUNED_RUBRICS
        rating_lm = lm if is_rated_by_it else JudgeLM(own)
        return cls(
            settings=settings,
            rubrics=rubrics,
            lm=lm,
            rating_lm=rating_lm,
            panel=build_panel(settings, rating_lm),
            rater=rater,
        )

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
        return self.lm.model if self.lm else self.settings.model

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

        They rate without a judge, in the embedded model's place and with a tuned one.
        """
        lm = self.lm_of(judge)
        is_ours = lm is None or is_embedded_base(lm.model) or self.is_tuned(judge)
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
        return not self.rates_tuned(judge, rubric) and self.rater_of(judge, rubric) is None

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
        if not self.is_tuned(""):
            return self.rater_name or own
        return f"{own} with {self.rater_name}" if self.rater_name else own
