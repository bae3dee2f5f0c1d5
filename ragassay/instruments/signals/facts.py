"""Convert signals to text: facts for a judge's prompt, and reasons for the embedded judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragassay.prompts.texts import load_signals
from ragassay.records import Signals

SOURCED = "mean_source_support"
"""Name of a signal that only answers with sources have."""

AGGREGATES = ("least_", "most_", "mean_", "all_")
"""Prefixes of answer signals that summarize a sentence measure."""

N_QUOTED = 5
"""Number of words of a sentence that are quoted to identify it."""


@dataclass(frozen=True)
class Reason:
    """Description of a measurement, and the numbers of the sentences that it is about."""

    text: str
    sentences: tuple[int, ...] = ()


def format_facts(signals: Signals, rubric: str, sentences: Sequence[str] = ()) -> str:
    """Return a rubric's facts: a line per sentence, one for the answer, and uncovered sources.

    The first words of each sentence are quoted, because the judge sees the answer without numbers.
    The result is "" for a rubric without signals or an empty answer.
    """
    words = load_signals()
    if rubric not in words.rubrics or not signals.sentences:
        return ""
    chosen = words.rubrics[rubric]
    lines = []
    for sentence in signals.sentences:
        measures = [
            f"{words.sentence[name]} {format_measure(sentence.values[name])}"
            for name in chosen.shown
            if name in sentence.values
        ]
        quoted = _quote_opening(sentences[sentence.sentence - 1]) if sentences else ""
        lines.append(f"sentence {sentence.sentence}{quoted}: {', '.join(measures)}")
    named = [words.answer[name].shown or name for name in chosen.rated]
    whole = [
        f"{words.answer[name].about} {format_measure(signals.values[name])}"
        for name in named
        if name in signals.values and measure_of(name) not in words.sentence
    ]
    if whole:
        lines.append(f"answer: {'; '.join(whole)}")
    if "coverage" in chosen.rated:
        lines += [
            f"{words.gap} (closest sentence {format_measure(gap.nearness)}): {gap.text}"
            for gap in signals.gaps
        ]
    return "\n".join(lines)


def explain_signal(signals: Signals, name: str) -> Reason:
    """Describe a signal of an answer, or the worst sentence if the signal summarizes sentences."""
    words = load_signals()
    name = words.answer[name].shown or name
    measure = measure_of(name)
    values = {s.sentence: s.values[measure] for s in signals.sentences if measure in s.values}
    if not values or measure not in words.sentence:
        signal = words.answer[name]
        wrong = "low" if signal.better == "high" else "high"
        about = signal.about[0].upper() + signal.about[1:]
        return Reason(words.reasons.answer.get(name, f"{about}: {wrong}."))
    number = _find_worst(values, words.answer[name].better == "high")
    twin = signals.sentences[number - 1].twin
    if measure == "redundancy" and twin:
        return Reason(words.reasons.twin.format(n=number, twin=twin), (number, twin))
    return Reason(words.reasons.sentence[measure].format(n=number), (number,))


def _quote_opening(sentence: str) -> str:
    words = sentence.split()
    more = "..." if len(words) > N_QUOTED else ""
    return f' ("{" ".join(words[:N_QUOTED])}{more}")'


def measure_of(name: str) -> str:
    """Return the sentence measure that an answer signal summarizes, or the name unchanged."""
    start = next((one for one in AGGREGATES if name.startswith(one)), "")
    return name.removeprefix(start)


def format_measure(value: float) -> str:
    """Format a measure with two decimals and no leading zero: ".08", "-1.20"."""
    text = f"{value:.2f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def _find_worst(values: Mapping[int, float], is_high_better: bool) -> int:
    """Return the sentence with the worst value, or the last of several such sentences."""
    sign = 1 if is_high_better else -1
    return min(values, key=lambda number: (sign * values[number], -number))
