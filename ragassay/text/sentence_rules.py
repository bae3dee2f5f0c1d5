"""Rules by which the sentence boundaries that sentencex finds are corrected.

To add an abbreviation, extend the rule whose examples behave like it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class BoundaryRule:
    """A rule for positions between two words at which a sentence ends or continues.

    Attributes:
        before: Pattern for the text before the position. Must end with `$`.
        after: Pattern for the text after the position and its white space.
        examples: Texts for tests, with "|" between two sentences.
    """

    before: re.Pattern[str]
    after: re.Pattern[str]
    examples: tuple[str, ...]


def _compile_rule(before: str, after: str, examples: tuple[str, ...]) -> BoundaryRule:
    return BoundaryRule(re.compile(before), re.compile(after), examples)


def _build_pattern(names: str) -> str:
    """Return a pattern for a text that ends in one of the abbreviations.

    Abbreviations in lower case may start with a capital letter, and white space may follow periods
    inside an abbreviation.
    """
    patterns = (
        (f"[{name[0].upper()}{name[0]}]" if name[0].islower() else name[0])
        + re.escape(name[1:]).replace(r"\.", r"\.\s?")
        for name in names.split()
    )
    return rf"(?<![^\W_])(?:{'|'.join(patterns)})\.$"


STARTERS = (
    "The A An This That These Those It Its He She They We I You His Her Their Our My Your In On At "
    "By For From With Without Within After Before During Since Until When While Where Whereas "
    "Although Though Because If Unless As Of To Then Thus Therefore Hence However Moreover "
    "Furthermore Additionally Also But And Or Yet So Nevertheless Nonetheless Meanwhile Finally "
    "First Second Third Next Later Overall Instead Otherwise Indeed Similarly Conversely "
    "Consequently Accordingly Both Each Every All Some Most Many Few Several Other Others Another "
    "Any None Neither Either One Two Three Four Five Six Ten Half There Here What Who Which Why "
    "How Patients Participants Subjects Results Studies Data Treatment Women Men Children Adults "
    "Controls Symptoms Survival Mortality Side Not Nobody Nothing Only Such More Less About Among "
    "Between Compared Despite Given Based According Using Adverse Mean Median Total Over Under Per "
    "Through Once Again Now Today Recently Currently Do Does Did Is Are Was Were Can Could Should "
    "Would Might Must Take Der Die Das Den Dem Des Ein Eine Es Er Sie Wir Man Im Am Bei Nach Vor "
    "Mit F\u00fcr Ohne Von Zu Auf Aus Dies Diese Dieser Aber Und Oder Auch Wenn Als Danach El La "
    "Los Las Un Una Se En Con Sin Por Para De Del Al Su Sus Este Esta Estos Estas Pero Si Cuando "
    "Tambi\u00e9n Le Les Ce Cette Ces Il Elle Ils Elles Dans Pour Mais"
)
"""Words that usually start a sentence and are rarely names."""

_UNITS = (
    r"(?:\d[\s-]?|/)(?:d|h|s|mins?|secs?|hrs?|wks?|mos?|mths?|yrs?|[kmn\u00b5\u03bc]?g|mcg|IU|Std"
    r"|[md\u00b5\u03bc]?[lL]|[ckmn\u00b5\u03bc]?m|in|ft|oz|lbs?|tabs?|caps|pts)\.$"
)
_PERSONS = (
    "authors?|doctors?|professors?|president|director|editors?|senator|founder|inventor|composer"
    "|writers?|scientists?|physicians?|surgeons?|physicist|biologist|chemist|psychologist"
    "|psychiatrist|pioneer|researchers?|colleagues?|husband|wife|sir|late|called|named"
)
_PREPOSITIONS = (
    "and|with|for|the|from|via|nor|but|than|that|who|whom|are|was|were|has|had|see|both|under|over"
    "|after|before|without|between|against"
)

_STARTER = rf"[\"'\u201c\u2018]?(?:{STARTERS.replace(' ', '|')})(?![^\W_]|\.|-\d)"
_CAPITAL = r"[\"'\u201c\u2018]?(?:[A-Z\u00c0-\u00de]|\\[(\[])"
_CAPITAL_OR_COUNT = (
    r"[\"'\u201c\u2018]?[A-Z\u00c0-\u00de]|\\[(\[]|\d{1,4}\s(?!seconds|minutes|inches)[a-z]{5}"
)
_WORD = r"[\"'\u201c\u2018]?(?:[A-Z\u00c0-\u00de][a-z\u00df-\u00ff']|A )"
_LOWER = r"[a-z\u00df-\u00ff]+(?![A-Z0-9])"
_NUMBER = r"[(\[]?\d"
_LABEL = r"[(\[]?(?:\d|[A-Z]\d|[IVX]{2,5}\b|[B-HJ-Z]\b|[AI][.,;)])"
_ANYTHING = r"\S"

SPLITS: tuple[BoundaryRule, ...] = (
    _compile_rule(
        _UNITS,
        _CAPITAL_OR_COUNT,
        ("It took 5 d.| Then it fell.", "We waited 5 min.| 20 patients died.", "At 5 min. 20 sec."),
    ),
    _compile_rule(
        _build_pattern(
            "b.i.d t.i.d q.i.d q.d q.o.d q.h q.h.s q.n o.d o.n b.d t.d.s p.r.n a.c p.c h.s"
            " n.p.o bid tid qid qod prn tds npo stat"
        ),
        _CAPITAL_OR_COUNT,
        ("Take 5 mg q.i.d.| Do not stop.", "It was given q.i.d. for a week."),
    ),
    _compile_rule(
        _build_pattern("a.m p.m etc usw usf u.a.m u.ä i.d.R"),
        _WORD,
        ("He came at 5 p.m.| Blood was drawn.", "Fieber usw.| Kinder genasen."),
    ),
    _compile_rule(
        r"(?<!\bof\s)(?<!\bwith\s)(?<!\bhad\s)(?<!\bgot\s)(?<!\bthe\s)(?<!\breceived\s)"
        + _build_pattern("p.o i.v i.m s.c s.q i.p i.t i.d p.r p.v s.l n.g i.c.v"),
        _WORD,
        ("They got 5 mg p.o.| Rats got none.", "He had i.v. Ringer solution.", "By i.v. PCA."),
    ),
    _compile_rule(
        _build_pattern(
            "p.o i.v i.m s.c i.p i.t p.r s.l U.S U.S.A U.K E.U U.N D.C Ph.D PhD M.D M.Sc B.Sc"
            " M.P.H MPH R.N al sp spp ssp subsp nov var Inc Ltd Co Corp LLC Jr Sr resp EE.UU UU"
            " A.C B.C a.C d.C n.Chr ibid dept univ assoc Jan Feb Aug Sept Oct Nov Dec eds max"
        ),
        _STARTER,
        ("It is sold in the U.S.| Patients pay.", "The U.S. Army said so.", "Smith et al.| We do."),
    ),
    _compile_rule(
        rf"(?<![^\W_])(?!(?:{_PERSONS}|{_PREPOSITIONS})\s)[a-z]{{3,24}}\s[A-HJ-Z]\.$",
        r"(?!Typh|Paratyph|Enterit|Dublin)[\"\u201c]?(?:[A-Z][a-z']|[AI] )",
        ("They lacked vitamin D.| Men had it.", "It was found by J. Smith.", "It killed S. Typhi."),
    ),
    _compile_rule(
        r"(?i:(?<![^\W_])(?:types?|class|grades?|stages?|phase|parts?|tables?|complex|factor|collagen"
        r"|angiotensin|category|level|schedule|topoisomerase|polymerase|group|virus|cohort|tipo"
        r"|grado|fase|grade|stade|Typ|Grad|Stadium|Klasse)\s[IVX]{1,4}[ab]?\.$)",
        _WORD,
        ("They had type I.| Patients died.",),
    ),
    # The bracket contains a sentence or its end, not an abbreviation.
    _compile_rule(
        r"\s(?!(?:etc|Inc|Ltd|Corp|vols?|eds?|approx|max|min|refs?|figs?)\.)"
        r"(?!\S{0,3}[A-Za-z]\.[A-Za-z])(?:[^\s()\[\]]{2,30}[\w%]|\d{1,2})"
        r"[.!?][\"'\u201d\u2019]?\\?[)\]]$",
        _CAPITAL,
        ("It fell (see below.)| Then it rose.", r"It fell \(p < .05.\)| Then it rose."),
    ),
    _compile_rule(
        r"(?:[^\W\d_]\u2026|\w\s?\.\.\.)[\"'\u201d\u2019)]?$",
        _CAPITAL,
        ("It grew\u2026| Then it fell.", "It grew\u2026 and then it fell."),
    ),
    _compile_rule(
        r"\w\s\u2026$", _STARTER, ("It grew \u2026| Then it fell.", "It grew \u2026 Berlin.")
    ),
    # Full-width punctuation needs no white space after it. Between digits it is a decimal point.
    _compile_rule(
        r"(?:[\u3002\uff01\uff1f\uff61]|[^0-9\uff10-\uff19]\uff0e)"
        r"[\"'\u201d\u2019\u300d\u300f\uff09\u3011\u300b]{0,2}$",
        r"[^\s\u3002\uff01\uff1f\uff61\uff0e,\uff0c)]",
        ("\u60a3\u800540\u4eba\u3002|5\u4eba\u6b7b\u4ea1\u3002",),
    ),
)
"""Rules for sentence boundaries that sentencex misses."""

JOINS: tuple[BoundaryRule, ...] = (
    _compile_rule(
        _build_pattern(
            "excl incl vit vs e.g i.e viz cf z.B d.h bzw vgl ggf inkl exkl einschl evtl sog"
            " insb insbes bspw zzgl abzügl entspr p.ej p.ex p.es sra srta dra Dres Sres ud uds"
            " Vd Vds Mme Mlle Hrn Mio Mrd Av Avda"
        ),
        _ANYTHING,
        ("Vit. D was given.", "Frauen bzw. Kinder.", "Se dio p. ej. Aspirina."),
    ),
    # "5 kg aprox." may end a sentence.
    _compile_rule(
        r"(?<!\d\s)(?<!\d\s[a-z]\s)(?<!\d\s[a-z]{2}\s)[Aa]pp?rox\.$",
        _ANYTHING,
        ("The dose was approx. Half of it.",),
    ),
    _compile_rule(
        _build_pattern(
            "approx aprox ca circa env ungef mind insg ch chap eq eqs fig figs ref refs suppl"
            " suppls tab tabs vol vols sect secs pp abb nr kap lfd aufl núm núms pág págs lám"
            " tbl ziff appx gr wt"
        ),
        _LABEL,
        ("See Eq. 4 and Tab. A5.", "Siehe Abb. 3.", "V\u00e9ase la p\u00e1g. 3."),
    ),
    # In English, "the state of the art. 5 patients" is two sentences.
    _compile_rule(
        r"(?:\b(?:el|los|del|al|y|en|v\u00e9ase|der|dem|nach|siehe)\s(?:art|cap|sec|par|abs)"
        r"|\b(?:Art|Cap|Sec|Par|Abs|Bd|Max|Min)|[^\d\s]\s(?:max|min))\.$",
        _NUMBER,
        ("El art. 5 y el cap. 3 lo dicen.", "Nach Abs. 2 sind es max. 5 mg."),
    ),
    _compile_rule(
        _build_pattern(
            "avg conc cv diff est max min resp seq sp spp ssp subsp temp var nov wt pt pts al"
            " etc no nos tot std dept abs rel obs pred corr sens spec pos neg usw UU EE Inc Ltd"
            " Co Corp Jr Sr Hz rpm r.p.m a.m p.m art arts cap caps tab vol suppl tr aprox"
        ),
        _LOWER,
        ("In all 20 pts. had fever.", "Lactobacillus sp. were found.", "Fieber usw. traten auf."),
    ),
    _compile_rule(_UNITS, _LOWER, ("It was 5 cm. in length.", "It took 5 wk. in adults.")),
    _compile_rule(_build_pattern("pt pts no nos"), r"\(", ("It fell in 12 of 20 pts. (60%).",)),
    _compile_rule(r"(?<![^\W_])[*_]{1,3}[A-Z]\.$", _LOWER, ("*H. pylori* was found.| It grew.",)),
    _compile_rule(r"\w\.$", r"[,;:](?!\))", ("No. of pts.: 20",)),
    # Abbreviations without a vowel.
    _compile_rule(
        r"(?<![^\W_])[B-DF-HJ-NP-TV-XZb-df-hj-np-tv-xz][b-df-hj-np-tv-xz]{1,4}\.$",
        _LOWER,
        ("In the 3rd wk. they died.", "It is a pkg. of ten.", "I saw it.| then it went."),
    ),
    _compile_rule(
        r"\d\s?[ap]\.?m\.$",
        r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|[A-Z]{1,3}T\b|GMT|UTC",
        ("It was at 5 p.m. EST.", "It was at 5 p.m. Monday."),
    ),
    _compile_rule(
        _build_pattern("suppl ext"),
        r"(?:Table|Fig|Material|Data|Note|Method|File|Text|Video|Information)",
        ("It is listed in Suppl. Table 3.",),
    ),
    # Russian: that is, see, for example, figure, table.
    _compile_rule(
        _build_pattern(
            "\u0442.\u0435 \u0442 \u0441\u043c \u043d\u0430\u043f\u0440 \u0440\u0438\u0441"
            " \u0442\u0430\u0431\u043b"
        ),
        r"[\u0430-\u044f\d]",
        ("\u042d\u0442\u043e \u0442. \u0435. \u0434\u043e\u0437\u0430.",),
    ),
    _compile_rule(
        _build_pattern("EE FF RR CC"), r"(?:UU|AA|HH|OO)\.", ("Se vende en EE. UU. y Cuba.",)
    ),
    # German dates and ordinals.
    _compile_rule(
        r"(?<![^\W_.])\d{1,2}\.$",
        r"(?:J\u00e4nner|Januar|Februar|M\u00e4rz|Mai|Juni|Juli|Oktober|Dezember)\b",
        ("Sie endete: 3. Mai 2020.",),
    ),
    _compile_rule(
        r"(?<!\bI )\b(?:[AaIi]m|[Vv]om|[Zz]u[mr]|[Bb]eim|[Dd](?:er|ie|as|em|en|es)|bis|seit"
        r"|[Jj]ede[rms]?)\s\d{1,2}\.$",
        r"(?!(?:The|It|In|This|He|She|They|We|But|And)\b)[A-Za-z\u00c0-\u00ff]{3}",
        ("Sie starben am 12. Tag nach der 2. Dosis.",),
    ),
)
"""Rules for false boundaries of sentencex, at which the sentence continues."""

BULLETS = (
    "\u2022\u2023\u2043\u204c\u2024\u25a0\u25a1\u25aa\u25ab\u25ba\u25b6\u25b7\u25b8\u25cb\u25cf\u25e6"
    "\u25c6\u25c7\u25fe\u25fd\u2b25\u2605\u2606\u2610\u2611\u2612\u2713\u2714\u2717\u2718\u2705\u274c"
    "\u2756\u2794\u27a4\uf0a7\uf0b7\u2460-\u2473\u2776-\u277f"
)
"""Characters that always start a list item at the beginning of a line, in the syntax of a regular
expression character class."""

ITEM = re.compile(
    rf"(?:(?P<sure>[{BULLETS}]\ufe0f?|\d\ufe0f?\u20e3)[^\S\n]{{0,8}}"
    r"|(?P<dash>[-*+\u2013\u2014\u00b7\u2219\u2192\u21d2\u00bb\u203a])[^\S\n]{1,8}"
    r"|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)][^\S\n]{1,8}"
    r"|\d{1,2}(?:\.\d{1,2}){1,3}\.?[^\S\n]{1,8}(?=[A-Z])|[-\u2013](?=[^\W\d_]))(?=\S)"
)
"""Matches the start of a list item at the beginning of a line."""
