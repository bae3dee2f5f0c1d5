"""Read MedAESQA's published clusters of answer sentences.

    {question_id: {"required_answer_sentences_cluster": {"3": [{"answer_sentence_id": "M26-2"}]}}}

A sentence is named by its system and its number in the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, RootModel, ValidationError

from ragassay.errors import InputError, first_problem
from ragassay.formats.topics import whole_bytes


class _SentenceRow(BaseModel):
    model_config = ConfigDict(extra="allow")
    answer_sentence_id: str

    @property
    def place(self) -> tuple[str, int]:
        system, _, number = self.answer_sentence_id.rpartition("-")
        return system, int(number)


class _ClustersFile(RootModel[dict[str, dict[str, dict[str, list[_SentenceRow]]]]]):
    """By question, kind of cluster and cluster."""


def read_clusters(path: Path) -> dict[str, Mapping[str, Mapping[tuple[str, int], str]]]:
    """Read the clusters of each question's answer sentences.

    Returns:
        By question id and kind of cluster, the cluster of each sentence; a sentence is its system
        and its number, counted from 1.

    Raises:
        InputError: The file cannot be read, or is of another shape; names the place.
    """
    try:
        questions = _ClustersFile.model_validate_json(whole_bytes(path)).root
        return {
            question: {
                kind: {row.place: name for name, rows in clusters.items() for row in rows}
                for kind, clusters in kinds.items()
            }
            for question, kinds in questions.items()
        }
    except ValidationError as error:
        where, problem = first_problem(error)
        raise InputError(f"{path}: {where or 'the file'}: {problem}") from error
    except InputError:
        raise
    except ValueError as error:
        raise InputError(
            f"{path}: an answer_sentence_id is not a system and a number, as M26-2"
        ) from error
