"""Local models that grade passages; random ones, made here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lazy import LazyModule
from tiny_graders import tiny_reader, tiny_t5

from ragassay.errors import SettingsError
from ragassay.instruments.local_graders import (
    RATINGS,
    ReaderGrader,
    Text2TextGrader,
    grade_extracted_answer,
    open_local_grader,
)
from ragassay.models.local_readers import N_TOKENS, Span, Text2Text, fit_prompt
from ragassay.models.weights import load_pretrained
from ragassay.prompts.texts import fill_item_prompt, fill_relevance_prompt, load_grader_prompts
from ragassay.records import ExamItem

torch = LazyModule("torch")

QUERY = "what lowers pressure"
PASSAGE = "alpha lowers pressure in the trial ."
QUESTION = ExamItem(id="q/1", text="what does it lower ?", answers=("pressure",))
NUGGET = ExamItem(id="q/2", text="alpha lowers pressure", kind="nugget")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    made = {
        reply: tiny_t5(tmp_path_factory.mktemp("t5"), reply)
        for reply in ("", "4", "yes", "2", "pressure", "unanswerable")
    }
    return made | {"reader": tiny_reader(tmp_path_factory.mktemp("reader"))}


def test_a_rating_is_read_from_the_probabilities_of_the_scale(folders):
    grader = open_local_grader(folders["4"])
    for grade in grader.grade([QUESTION, NUGGET], PASSAGE):
        assert (grade.rating, grade.is_correct, grade.failure) == (4, True, None)
        assert grade.confidence is not None and grade.confidence > 0.8
        assert grade.score == pytest.approx(4, abs=0.5) and grade.score != 4
    assert [g.exam_item for g in grader.grade([NUGGET, QUESTION], PASSAGE)] == ["q/2", "q/1"]


def test_a_model_that_would_say_something_else_gives_no_rating(folders):
    (grade,) = open_local_grader(folders["pressure"]).grade([QUESTION], PASSAGE)
    assert grade.rating is None and grade.score is None and grade.is_correct is None
    assert grade.failure is not None and grade.failure.reason == "unparsable"


def test_shares_are_those_of_the_models_own_next_words(folders):
    model = Text2Text(folders[""])
    prompt = (*fill_item_prompt(QUESTION, "rating"),)
    (shares,) = model.predict_word_shares([(prompt[0], PASSAGE, prompt[1])], ["4", "alpha lowers"])
    tokenizer, inner = load_pretrained("AutoModelForSeq2SeqLM", folders[""], "float32")
    text = f"{prompt[0]}{PASSAGE}{prompt[1]}"
    # By hand: the first word's share, and the second's behind it.
    four, alpha, lowers = (tokenizer(word).input_ids[0] for word in ("4", "alpha", "lowers"))
    inputs = tokenizer(text, return_tensors="pt").input_ids
    with torch.inference_mode():
        logits = inner(input_ids=inputs, decoder_input_ids=torch.tensor([[0, alpha]])).logits[0]
    first, second = logits.double().softmax(-1)
    assert shares == pytest.approx([float(first[four]), float(first[alpha] * second[lowers])], 1e-4)


def test_grades_do_not_depend_on_what_shares_the_batch(folders):
    model = Text2Text(folders[""])
    prompts = [("rate : ", passage, " now") for passage in (PASSAGE, PASSAGE * 9, "zeta")]
    together = model.predict_word_shares(prompts, RATINGS)
    alone = np.concatenate([model.predict_word_shares([prompt], RATINGS) for prompt in prompts])
    np.testing.assert_allclose(together, alone, rtol=1e-4)
    assert model.write_replies(prompts) == [model.write_replies([prompt])[0] for prompt in prompts]


def test_the_passage_is_cut_and_never_the_question(folders):
    tokenizer, _ = load_pretrained("AutoModelForSeq2SeqLM", folders[""], "float32")
    before, after = fill_item_prompt(QUESTION, "rating")
    text = fit_prompt(tokenizer, (before, PASSAGE * 200, after))
    assert text.startswith(before + PASSAGE) and text.endswith(after)
    assert N_TOKENS - 3 <= len(tokenizer(text).input_ids) <= N_TOKENS


def test_an_item_without_room_for_a_passage_is_unscored(folders):
    long = ExamItem(id="q/3", text="alpha " * 600)
    found = open_local_grader(folders["4"]).grade([long, QUESTION], PASSAGE)
    assert found[0].failure is not None and found[0].failure.reason == "too_long"
    assert found[1].rating == 4


def test_an_empty_passage_is_not_graded(folders):
    for name, grader in (("4", "rating"), ("reader", "extraction")):
        (grade,) = open_local_grader(folders[name]).grade([QUESTION], " \n", grader=grader)  # type: ignore[arg-type]
        assert grade.failure is not None and grade.failure.reason == "empty_answer"
    assert open_local_grader(folders["4"]).grade([], PASSAGE) == []


def test_what_is_extracted_is_verified(folders):
    unknown = QUESTION.model_copy(update={"answers": ("zeta",)})
    anything = QUESTION.model_copy(update={"answers": ()})
    items = [QUESTION, unknown, anything, NUGGET]
    found = open_local_grader(folders["pressure"]).grade(items, PASSAGE, grader="extraction")
    assert {g.answer for g in found} == {"pressure"}
    assert [g.is_correct for g in found] == [True, False, True, True]
    refused = open_local_grader(folders["unanswerable"]).grade(items, PASSAGE, grader="extraction")
    assert [(g.answer, g.is_correct, g.failure) for g in refused] == [("", False, None)] * 4


def test_no_is_an_answer_where_it_can_be_one():
    asked = ExamItem(id="q/4", text="Does it lower pressure?")
    assert grade_extracted_answer(asked, "No.") == {"answer": "No.", "is_correct": True}
    assert grade_extracted_answer(QUESTION, "No.") == {"answer": "", "is_correct": False}


@pytest.mark.parametrize("grader", ["fagb", "fagb_few", "sun", "sun_few", "helm"])
def test_direct_graders_say_yes_or_no(folders, grader: str):
    found = open_local_grader(folders["yes"]).grade_relevance(QUERY, PASSAGE, grader)  # type: ignore[arg-type]
    assert (found.grader, found.rating, found.is_relevant) == (grader, 1, True)
    assert found.confidence is not None and found.confidence > 0.8


def test_thomas_rates_from_0_to_2(folders):
    found, off = (
        open_local_grader(folders[reply]).grade_relevance(QUERY, PASSAGE, "thomas")
        for reply in ("2", "yes")
    )
    assert (found.rating, found.is_relevant) == (2, True)
    assert off.rating is None and off.failure is not None and off.failure.reason == "unparsable"


def test_a_reader_gives_the_span_with_the_highest_score(folders):
    grader = open_local_grader(folders["reader"])
    assert isinstance(grader, ReaderGrader)
    (span,) = grader.model.read([QUESTION.text], PASSAGE)
    tokenizer, model = grader.model.model.load()
    pair = tokenizer(QUESTION.text, PASSAGE, return_tensors="pt", return_offsets_mapping=True)
    offsets = pair.pop("offset_mapping")[0].tolist()
    with torch.inference_mode():
        scores = model(**pair)
    starts, ends = scores.start_logits[0].double(), scores.end_logits[0].double()
    places = [i for i, part in enumerate(pair.sequence_ids(0)) if part == 1]
    # Brute force over all spans of the passage.
    best = max((float(starts[i] + ends[j]), i, j) for i in places for j in places if i <= j)
    assert span.text == PASSAGE[offsets[best[1]][0] : offsets[best[2]][1]]
    margin = best[0] - float(starts[0] + ends[0])
    assert span.probability == pytest.approx(1 / (1 + np.exp(-margin)), abs=1e-4)


class Fixed:
    name = "fixed"

    def __init__(self, *spans: Span) -> None:
        self.spans = list(spans)
        self.asked: list[str] = []

    def read(self, questions, passage):
        self.asked += questions
        return self.spans


def test_a_reader_leaves_nuggets_undecided_and_unlikely_spans_out():
    reader = Fixed(Span("pressure", 0.9), Span("trial", 0.2))
    other = QUESTION.model_copy(update={"id": "q/9", "text": "where ?"})
    found = ReaderGrader(reader).grade([QUESTION, NUGGET, other], PASSAGE)  # type: ignore[arg-type]
    assert [(g.answer, g.is_correct, g.confidence) for g in found] == [
        ("pressure", True, 0.9),
        ("", None, None),
        ("", False, 0.8),
    ]
    assert found[1].is_undecided
    assert reader.asked == [QUESTION.text, other.text]


def test_a_reader_refuses_what_it_cannot_grade(folders):
    grader = open_local_grader(folders["reader"])
    with pytest.raises(SettingsError, match="cannot grade by rating"):
        grader.grade([QUESTION], PASSAGE, grader="rating")
    with pytest.raises(SettingsError, match="cannot grade by sun"):
        grader.grade_relevance("what", PASSAGE, "sun")


def test_a_model_that_cannot_be_had_is_said_in_one_line(tmp_path: Path):
    for name in (str(tmp_path / "none"), "no/such-model-here"):
        with pytest.raises(SettingsError, match="is unavailable") as error:
            open_local_grader(name)
        assert "\n" not in str(error.value)


def test_a_model_of_another_kind_is_refused(tmp_path: Path):
    from transformers import BertConfig

    BertConfig(hidden_size=16, architectures=["BertForMaskedLM"]).save_pretrained(tmp_path)
    with pytest.raises(SettingsError, match="BertForMaskedLM; use an encoder-decoder"):
        open_local_grader(str(tmp_path))


def test_every_template_names_what_it_asks_for_and_is_short():
    hostile = "what {passage} is {scale} \\1 ?"
    for kind in ("question", "nugget"):
        item = ExamItem(id="q", text=hostile, kind=kind)  # type: ignore[arg-type]
        for grader in ("rating", "extraction"):
            before, after = fill_item_prompt(item, grader)  # type: ignore[arg-type]
            assert hostile in before + after
            assert len(f"{before}{after}".split()) < 120
    for grader in load_grader_prompts().relevance:
        before, after = fill_relevance_prompt(hostile, grader)
        assert hostile in before + after and "{" not in (before + after).replace(hostile, "")
        assert len(f"{before}{after}".split()) < 150


def test_an_instrument_says_what_its_grades_depend_on(folders):
    grader = open_local_grader(folders["4"])
    assert isinstance(grader, Text2TextGrader)
    assert grader.identity[0] == grader.name == folders["4"]
    assert len(grader.identity[1]) == 64
