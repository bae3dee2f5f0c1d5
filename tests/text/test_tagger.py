"""Parts of speech, beside those of TextBlob's own package."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ragassay.text.tagger import tag_words

SENTENCES = (
    "Nausea was common (12%; n = 31); however, two patients stopped the drug.",
    "It is n't so, and the \u03b2-blocker 's \u201cquoted\u201d dose of 5 / 10 mg was NOT given .",
    "Although Metformin lowers HbA1c, it may not prevent strokes in New York.",
    "A | B \\/ C &slash; D // e.g. www.example.org/x",
    "x" * 300,
    "'s",
)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_tags_are_those_of_textblob(sentence):
    from textblob.en import tag

    words = sentence.split()
    assert tag_words(words) == [kind for _, kind in tag(" ".join(words), tokenize=False)]


def test_tagging_imports_none_of_textblobs_libraries():
    program = (
        "import json, sys\n"
        "from ragassay.text.tagger import tag_words\n"
        "tag_words(['Two', 'patients', 'died', '.'])\n"
        "print(json.dumps(sorted({'nltk', 'sklearn', 'pandas', 'scipy'} & set(sys.modules))))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert json.loads(done.stdout) == [], done.stderr
