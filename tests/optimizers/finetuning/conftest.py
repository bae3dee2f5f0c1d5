"""Made-up answers in YESciEval's form, for the tests in this folder."""

from yescieval import answers

__all__ = ["answers"]
