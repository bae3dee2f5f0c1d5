"""Find the reasoning that a model wrote before its answer: it is not judged."""

from __future__ import annotations

import re

_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|seed:think|mm:think"

TAGS: tuple[tuple[str, str, str], ...] = (
    # (opening, closing, example); the opening may be absent where a chat template writes it.
    (rf"<(?:{_NAMES})>", rf"</(?:{_NAMES})>", "<think>It may rise.</think> It falls."),
    (r"\[THINK\]", r"\[/THINK\]", "[THINK]It may rise.[/THINK] It falls."),
    ("\u25c1think\u25b7", "\u25c1/think\u25b7", "\u25c1think\u25b7Hm.\u25c1/think\u25b7 It falls."),
    (
        r"<\|begin_of_thought\|>",
        r"<\|end_of_thought\|>",
        "<|begin_of_thought|>Hm.<|end_of_thought|> It falls.",
    ),
    (
        r"(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)<\|message\|>",
        r"(?:<\|end\|>(?:<\|start\|>assistant)?)?<\|channel\|>final<\|message\|>",
        "<|channel|>analysis<|message|>Hm.<|end|><|channel|>final<|message|>It falls.",
    ),
    (
        r"<details type=\"reasoning\"[^<>]{0,200}>",
        r"</details>",
        '<details type="reasoning" done="true">Hm.</details> It falls.',
    ),
)
"""How models mark their reasoning: DeepSeek, Qwen and others; Magistral; Kimi; OpenThinker;
gpt-oss; Open WebUI."""

_PAIRS = tuple(
    (re.compile(opening, re.IGNORECASE), re.compile(closing, re.IGNORECASE))
    for opening, closing, _ in TAGS
)
_GENERIC_END = "</details>"
"""Closes other things than reasoning: it counts after its opening alone."""


def find_reasoning(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of the stretches of reasoning, tags included, in order.

    An opening tag without a closing one makes reasoning of the rest: the model was cut off. A
    closing tag without an opening one makes reasoning of all before it: chat templates write the
    opening tag into the prompt.

    Args:
        text: An answer as the model wrote it.

    Example:
        >>> find_reasoning("<think>It may rise.</think> It falls.")
        [(0, 27)]
        >>> find_reasoning("It may rise.</think> It falls.")
        [(0, 20)]
        >>> find_reasoning("It falls.")
        []
    """
    spans: list[tuple[int, int]] = []
    for opening, closing in _PAIRS:
        position = 0
        while True:
            first, last = opening.search(text, position), closing.search(text, position)
            if last and (first is None or last.start() < first.start()):
                if last[0].lower() != _GENERIC_END:
                    spans.append((0, last.end()))
                position = last.end()
            elif first:
                end = closing.search(text, first.end())
                position = end.end() if end else len(text)
                spans.append((first.start(), position))
            else:
                break
    return _merge_spans(spans)


def blank_spans(text: str, spans: list[tuple[int, int]]) -> str:
    """Return a text with some stretches overwritten by spaces, so that offsets and lines stay."""
    pieces, position = [], 0
    for start, end in spans:
        pieces += [text[position:start], re.sub(r"[^\n]", " ", text[start:end])]
        position = end
    return "".join([*pieces, text[position:]])


def _merge_spans(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged
