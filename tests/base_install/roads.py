"""Every command, and every option that takes another road, in an environment without extras.

A road works with the base dependencies alone, or it says in one line, before any work, what to
install. MODEL is the address of a scripted judge, LEARNER that of one which a better prompt makes
better.
"""

from __future__ import annotations

from dataclasses import dataclass

JUDGE = "--model openai/scripted --api-base MODEL --quiet"


@dataclass(frozen=True)
class Road:
    """A command line that works.

    Attributes:
        call: The words after `ragassay`.
        writes: A file that it must have written.
        codes: Its exit codes: 3 too where the scripted judge's replies leave something out.
    """

    call: str
    writes: str = ""
    codes: tuple[int, ...] = (0,)


SOME = (0, 3)

WORKING = (
    Road(
        f"evaluate answers.jsonl --only rubrics {JUDGE} --out runs/a", writes="runs/a/report.html"
    ),
    Road("evaluate one.jsonl --only citations --out runs/b --quiet", writes="runs/b/report.html"),
    Road("evaluate one.jsonl --batch --model openai/scripted --api-base BATCHES --out runs/e"),
    Road(f"evaluate one.jsonl --only citations --attribution {JUDGE} --out runs/f"),
    Road(
        f"evaluate one.jsonl --only evidence --evidence agent --corpus documents.jsonl {JUDGE} "
        "--out runs/h",
        codes=SOME,
    ),
    Road(f"run rag:answer questions.jsonl --only rubrics {JUDGE} --out runs/c"),
    Road(f"audit one.jsonl --only rubrics --attacks rubric {JUDGE} --out runs/d", codes=SOME),
    Road("report runs/a", writes="runs/a/report.html"),
    Road("runs list runs"),
    Road("runs open a --in runs --no-open"),
    Road("compare runs/a --out compared", writes="compared/leaderboard.csv"),
    Road("compare runs/a --system alpha --system beta --html changes.html", writes="changes.html"),
    Road("meta-evaluate runs/a --human labels.jsonl --out trust", writes="trust/agreement.csv"),
    Road("matrix runs/a"),
    Road("rationales runs/a", codes=SOME),
    Road(f"rationales runs/a --out reasons {JUDGE}", codes=SOME),
    Road(f"strategies answers.jsonl --rubric cohesion {JUDGE} --out ways", codes=SOME),
    Road(f"synthesize answers.jsonl {JUDGE} --out written.jsonl", codes=SOME),
    Road("convert answers.jsonl converted.csv --to ragas", writes="converted.csv"),
    Road("corpus get documents.jsonl 101"),
    Road("corpus search documents.jsonl zinc"),
    Road("corpus search documents.jsonl zinc --rerank embedded"),
    Road("corpus evaluate documents.jsonl --queries queries.tsv --qrels qrels.txt"),
    Road(
        f"nuggets create one.jsonl --accept-all {JUDGE} --out gold.jsonl",
        codes=SOME,
        writes="gold.jsonl",
    ),
    Road(f"nuggets assign one.jsonl {JUDGE} --out assigned.jsonl", writes="assigned.jsonl"),
    Road(
        f"grade passages.jsonl --testbank bank.jsonl {JUDGE} --out runs/g",
        writes="runs/g/graded.jsonl.gz",
    ),
    Road(f"grade passages.jsonl --grade thomas {JUDGE} --out runs/t", codes=SOME),
    Road("grades merge runs/g/graded.jsonl.gz --out merged.jsonl.gz", writes="merged.jsonl.gz"),
    Road("grades passages passages.jsonl --out plain.jsonl.gz", writes="plain.jsonl.gz"),
    Road("grades filter runs/g/graded.jsonl.gz --out fewer.jsonl.gz", writes="fewer.jsonl.gz"),
    Road("grades qrels runs/g/graded.jsonl.gz --out exam.qrels", writes="exam.qrels"),
    Road("grades cover runs/g/graded.jsonl.gz"),
    Road("grades leaderboard runs/g/graded.jsonl.gz"),
    Road("grades annotators runs/g/graded.jsonl.gz"),
    Road("grades verify runs/g/graded.jsonl.gz"),
    Road("grades grid runs/g/graded.jsonl.gz"),
    Road("grades missing runs/g/graded.jsonl.gz"),
    Road("grades spurious runs/g/graded.jsonl.gz"),
    Road("grades agreement runs/g/graded.jsonl.gz"),
    Road(f"testbank create queries.json --per-query 1 {JUDGE} --out new.jsonl.gz", codes=SOME),
    Road("testbank import items.txt --query q1 --out imported.jsonl.gz"),
    Road("testbank queries queries.json --out plain.json"),
    Road("testbank show bank.jsonl"),
    Road("testbank edit imported.jsonl.gz --who ann --add q1 'Is it so?'"),
    Road("testbank split bank.jsonl --out open.jsonl.gz --secret-out secret.jsonl.gz"),
    Road("testbank merge bank.jsonl --out all.jsonl.gz"),
    Road("testbank lint bank.jsonl --quiet", codes=SOME),
    Road("qa read paper.xml --keywords --out read.jsonl", writes="read.jsonl"),
    Road(f"qa generate papers.jsonl {JUDGE} --n 2 --out made.jsonl", codes=SOME),
    Road("qa export pairs.jsonl --papers papers.jsonl --as ragas --out testset.jsonl"),
    Road(f"qa evaluate pairs.jsonl --papers papers.jsonl {JUDGE} --out runs/q", codes=SOME),
    Road(f"qa audit pairs.jsonl --papers papers.jsonl {JUDGE} --out runs/r", codes=SOME),
    Road("qa filter runs/q --out kept.jsonl", codes=SOME),
    Road("models list"),
    Road("models show ragassay/judge"),
    Road("models find --port 9"),
    Road("models check all-MiniLM-L6-v2"),
    Road("models get nothing", codes=(1,)),
    Road("prompts list"),
    Road("prompts show verifier_ternary"),
    Road("verifiers kinds"),
    Road("verifiers measure claims.jsonl --out measured"),
    Road(
        "verifiers fit claims.jsonl --dev others.jsonl --verifier embedded --out fitted.json",
        writes="fitted.json",
    ),
    Road("verifiers separate answers.jsonl --labels-of cited.jsonl --verifier embedded --quiet"),
    Road("verifiers support one.jsonl --embedder all-MiniLM-L6-v2 --quiet"),
    Road(
        "verifiers at-k one.jsonl --corpus documents.jsonl --k 1 --embedder all-MiniLM-L6-v2 "
        "--out curve --quiet",
        writes="curve/curve.csv",
    ),
    *(
        Road(
            "optimize verifier --labels 3 --data claims.jsonl --dev others.jsonl --budget 12 "
            f"--optimizer {name} --model openai/scripted --api-base LEARNER --work work/{name}"
            f" --out prompts/{name}.json --keep-anyway --quiet",
            codes=SOME,
            writes=f"prompts/{name}.json",
        )
        for name in ("bootstrap", "copro", "gepa")
    ),
    Road("prompts diff prompts/copro.json"),
)

UNHEARD = {
    "demo": "tests/test_wheel.py runs it from a wheel, without extras",
    "review": "a server: a test of its own",
}
"""Commands that work and stand in no row, and where they are run."""

REFUSED = {
    "serve --port 0": "ragassay[server]",
    "corpus build documents.jsonl --out corpus": "ragassay[corpus]",
    "corpus embed built": "ragassay[dense]",
    "corpus embed built --tokens": "ragassay[dense]",
    "corpus info built": "ragassay[corpus]",
    "corpus get built 101": "ragassay[corpus]",
    "corpus search built zinc --by hybrid": "ragassay[corpus]",
    "corpus evaluate built --queries queries.tsv --qrels qrels.txt": "ragassay[corpus]",
    "nuggets fit nuggets.jsonl --out matcher.json": "ragassay[optimize]",
    "models merge ragassay/judge --hf merged": "ragassay[local]",
    "models merge ragassay/judge --gguf merged.gguf": "ragassay[local]",
    "finetune judge --data answers.jsonl --out tuned": "ragassay[train]",
    "finetune judge --data answers.jsonl --out tuned --method cpo": "ragassay[train]",
    "finetune completeness --data answers.jsonl --out tuned": "ragassay[train]",
    "finetune qa --data pairs.jsonl --papers papers.jsonl --out tuned": "ragassay[train]",
    "finetune correctness --data claims.jsonl --out tuned --method head": "ragassay[local]",
    "finetune completeness --data answers.jsonl --out tuned --method head": "ragassay[local]",
    "finetune verifier --data claims.jsonl --out tuned": "ragassay[local]",
    "finetune verifier --data claims.jsonl --out tuned --method sft": "ragassay[train]",
    "finetune verifier --data claims.jsonl --out tuned --base all-MiniLM-L6-v2": "ragassay[local]",
    "matrix runs/a --out matrix": "ragassay[plots]",
    "matrix --generate questions.jsonl --generator openai/a": "ragassay[plots]",
    "similarity answers.jsonl": "ragassay[similarity]",
    "similarity answers.jsonl --metric wer": "ragassay[similarity]",
    "similarity answers.jsonl --metric wmd --wmd-vectors folder": "ragassay[similarity]",
    "similarity answers.jsonl --metric meteor --out alike": "ragassay[similarity]",
    "qa generate papers.jsonl --out x.jsonl --evaluator ragassay/judge": "ragassay[local]",
}
"""Commands that need more than the base dependencies, and what they say to install."""

NEEDING = {
    "--model": {"ragassay/judge": "ragassay[local]", "vertex_ai/gemini": "litellm[google]"},
    "--escalate": {"ragassay/judge": "ragassay[local]"},
    "--paraphraser": {"ragassay/judge": "ragassay[local]"},
    "--reflection-model": {"ragassay/judge": "ragassay[local]"},
    "--verifier": {
        "ragassay/smollm2-verifier": "ragassay[local]",
        "ragassay/mean-verifier": "ragassay[local]",
        "made/nli": "ragassay[hub]",
        "minicheck": "ragassay[hub]",
    },
    "--correctness": {
        "ragassay/smollm2-verifier": "ragassay[local]",
        "made/nli": "ragassay[hub]",
    },
    "--embedder": {"made/encoder": "ragassay[hub]"},
    "--rerank": {"made/reranker": "ragassay[hub]"},
    "--reranker": {"made/reranker": "ragassay[hub]"},
    "--grader": {"made/flan-t5": "ragassay[hub]"},
    "--judge-form": {"yescieval": "pip install yescieval"},
    "--optimizer": {"miprov2": "ragassay[optimize]"},
    "--corpus": {"built": "ragassay[corpus]"},
    "--engine": {"ray": "ragassay[ray]", "ray --address ray://127.0.0.1:9": "ragassay[ray]"},
    "--tracing": {"": "ragassay[tracing]"},
    "--map": {"question=q,answer=a": "ragassay[tables]"},
}
"""Options, each value that needs more, and what it is then to say; --map reads a Parquet file."""

ELSEWHERE = {
    "grades": {"--model": "names who graded"},
    "matrix": dict.fromkeys(("--corpus", "--engine"), "with --generate, which needs plots first"),
    "serve": {"--model": "the server itself needs more"},
}
"""Options that need nothing in a group or command, and why."""

HIDING = {"--evidence": {"agent": "langchain>=1.2,<2"}}
"""The same of options that need a base dependency which is not installed."""

PLAIN = frozenset(
    """
    --address --against --answer --answer-class --answers --at --at-once --attack --audit
    --baseline --by-facet --cap --citations --clusters --collection --concurrency --csv
    --decisions --depth --direct-class --documents --dry-run --dtype --epochs
    --evidence-rounds --evidence-turns --facet --facets --fail-if --fail-under --finding
    --folds --found-by --from --gold --history --host --instruction
    --inversion --item --items --items-per-call --json --judge --judge-seed --keep-empty
    --kind --label --labeller --later-wins --latex --layers --tentative --learning-rate
    --like-original --limit --long --lower-case --margin --max --max-calls --max-rpm
    --max-tokens --max-usd --measure --metrics --min-answers --min-judgment --min-rating
    --min-relevant --min-score --model-option --no-retracted --nuggets --official --pairs-per-call
    --perturbed
    --prompt-class --prompts --qa-coverage --questions --raise-on-failure --rank --ratings
    --relevant-from --remove --repeat --retries --retry-failed --review --rounds
    --row-tokens --rubric-set --rubric-text --runs --same --samples --score --secret
    --section-chars --seed --self-rated --share --signals --since --skip-empty
    --source-chars --start --steps --strategy --strict --systems --targets --team --text
    --timeout --tracing-content --trials --type --undo --until --url --use-perturbed --when
    --where --why
    --window --wmd-words --words --workers
    """.split()
)
"""Options that need nothing, whatever their value."""
