"""Where a sentence ends, or does not, other than where sentencex says: rules as data.

Each rule has a pattern for the text before the boundary, one for the text behind it, and examples
in which "|" is a boundary. To teach the splitter another abbreviation, add it to the rule whose
examples behave like it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class BoundaryRule:
    """A place between two words at which a sentence ends, or at which it goes on.

    Attributes:
        before: Matches the text before the boundary; it ends with `$`.
        after: Matches the text behind the boundary and its white space.
        examples: Texts, with "|" where a sentence ends.
    """

    before: re.Pattern[str]
    after: re.Pattern[str]
    examples: tuple[str, ...]


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
"""Words that open a sentence far more often than they are names."""

STARTER = re.compile(rf"[\"'\u201c\u2018]?(?:{STARTERS.replace(' ', '|')})(?![^\W_]|-\d)")
CAPITAL = re.compile(r"[\"'\u201c\u2018]?(?:[A-Z\u00c0-\u00de]|\\[(\[])")
WORD = re.compile(r"[\"'\u201c\u2018]?(?:[A-Z\u00c0-\u00de][a-z\u00df-\u00ff']|A )")
LOWER = re.compile(r"[a-z\u00df-\u00ff]+(?![A-Z0-9])")
NUMBER = re.compile(r"[(\[]?\d")
LABEL = re.compile(r"[(\[]?(?:\d|[A-Z]\d|[IVX]{2,5}\b|[B-HJ-Z]\b|[AI][.,;)])")
ANYTHING = re.compile(r"\S")

SPLITS: tuple[BoundaryRule, ...] = (
    BoundaryRule(
        re.compile(
            r"\d[\s-]?(?:d|h|s|mins?|secs?|hrs?|wks?|mos?|mths?|yrs?|[kmn\u00b5\u03bc]?g|mcg"
            r"|[md\u00b5\u03bc]?[lL]|[ckmn\u00b5\u03bc]?m|in|ft|oz|lbs?|tabs?|caps|pts)\.$"
        ),
        re.compile(
            r"[\"'\u201c\u2018]?[A-Z\u00c0-\u00de]|\\[(\[]"
            r"|\d{1,4}\s(?!seconds|minutes|inches)[a-z]{5}"
        ),
        ("It took 5 d.| Then it fell.", "We waited 5 min.| 20 patients died.", "At 5 min. 20 sec."),
    ),
    BoundaryRule(
        re.compile(
            r"(?<![^\W_])(?:[bqt]\.?i\.?d|q\.?d|q\.?o\.?d|[qo]\.?[hdn]|q\.?h\.?s|b\.?d|t\.?d\.?s"
            r"|q\.?\s?\d{1,2}\s?h|p\.?r\.?n|a\.c|p\.c|h\.s|n\.?p\.?o|stat)\.$"
        ),
        CAPITAL,
        ("Take 5 mg q.i.d.| Do not stop.", "It was given q.i.d. for a week."),
    ),
    BoundaryRule(
        re.compile(r"(?<![^\W_])[ap]\.m\.$"),
        WORD,
        ("He came at 5 p.m.| Blood was drawn.",),
    ),
    BoundaryRule(
        re.compile(
            r"(?:\d\s?[a-z\u00b5\u03bc]{1,3}(?:/kg)?|daily|twice|once|weekly|given|administered"
            r"|injected|taken|infused|dosed|nothing|dose|doses)\s"
            r"(?:p\.?o|i\.?v|i\.?m|s\.?c|s\.?q|i\.?p|i\.?t|i\.?d|p\.?r|p\.?v|s\.?l|n\.?g)\.$"
        ),
        WORD,
        ("They got 5 mg p.o.| Rats got none.", "He had i.v. Ringer solution."),
    ),
    BoundaryRule(
        re.compile(
            r"(?<![^\W_])(?:p\.?o|i\.?v|i\.?m|s\.?c|i\.?p|i\.?t|p\.?r|s\.?l|U\.S|U\.S\.A|U\.K|E\.U"
            r"|U\.N|D\.C|Ph\.?D|M\.?D|M\.?Sc|B\.?Sc|M\.?P\.?H|R\.?N|al|sp|spp|ssp|subsp|nov|var"
            r"|Inc|Ltd|Co|Corp|LLC|GmbH|Jr|Sr|resp|UU|[AaBd]\.C|n\.Chr|ibid|Dept|Univ|Assoc|Dec"
            r"|Jan|Feb|Aug|Sept|Oct|Nov|eds?|max)\.$"
        ),
        STARTER,
        ("It is sold in the U.S.| Patients pay.", "The U.S. Army said so.", "Smith et al.| We do."),
    ),
    BoundaryRule(
        re.compile(r"(?<![^\W_])(?:etc|usw|usf|u\.\s?a\.\s?m|u\.\s?\u00e4|i\.\s?d\.\s?R)\.$"),
        WORD,
        ("Fever, cough etc.| Aspirin helps.", "Fieber usw.| Kinder genasen."),
    ),
    BoundaryRule(
        re.compile(
            r"(?<![^\W_])(?:groups?|types?|class|grade|stage|phase|arms?|cohort|level|part|table"
            r"|panel|appendix|category|vitamins?|hepatitis|influenza|complex|factor|collagen|score"
            r"|protein|strain|serotype|subtype|subgroup|isoform|ha?emophilia|cyclosporine?|zone|plan"
            r"|amphotericin|toxin|coenzyme|polymerase|topoisomerase|immunoglobulin|chromosome|step"
            r"|site|region|model|box|case|patient|option|variant|compound|solution|buffer|antigen"
            r"|angiotensin|interferon|troponin|cathepsin|tumou?rs?|lesions?|blood"
            r"|Gruppe|Typ|Klasse|Stadium|grupo|tipo|grado|fase|vitamina|groupe|stade)"
            r"\s(?:[A-Z]|[IVX]{1,4})\.$",
            re.IGNORECASE,
        ),
        re.compile(r"[\"\u201c]?(?:[A-Z][a-z']|[AI] )"),
        ("They had type I.| Patients died.", "They lacked vitamin D.| Men had it."),
    ),
    BoundaryRule(
        re.compile(
            r"\s(?!(?:etc|Inc|Ltd|Corp|vols?|eds?|approx|max|min|refs?|figs?)\.)"
            r"(?!\S{0,3}[A-Za-z]\.[A-Za-z])(?:[^\s()\[\]]{2,30}[\w%]|\d{1,2})"
            r"[.!?][\"'\u201d\u2019]?\\?[)\]]$"
        ),
        CAPITAL,
        ("It fell (see below.)| Then it rose.", r"It fell \(p < .05.\)| Then it rose."),
    ),
    BoundaryRule(
        re.compile(r"(?:[^\W\d_]\u2026|\w\s?\.\.\.)[\"'\u201d\u2019)]?$"),
        CAPITAL,
        ("It grew\u2026| Then it fell.", "It grew\u2026 and then it fell."),
    ),
    BoundaryRule(
        re.compile(r"\w\s\u2026$"),
        STARTER,
        ("It grew \u2026| Then it fell.", "It grew \u2026 Berlin."),
    ),
    BoundaryRule(
        re.compile(
            r"(?:[\u3002\uff01\uff1f\uff61]|[^0-9\uff10-\uff19]\uff0e)"
            r"[\"'\u201d\u2019\u300d\u300f\uff09\u3011\u300b]{0,2}$"
        ),
        re.compile(r"[^\s\u3002\uff01\uff1f\uff61\uff0e,\uff0c)]"),
        ("\u60a3\u800540\u4eba\u3002|5\u4eba\u6b7b\u4ea1\u3002",),
    ),
)
"""Boundaries that sentencex misses."""

JOINS: tuple[BoundaryRule, ...] = (
    BoundaryRule(
        re.compile(
            r"(?<![^\W_])(?:[Aa]pprox|[Ee]xcl|[Ii]ncl|[Vv]it|vs|[Ee]\.?\s?g|[Ii]\.?\s?e|viz|[Cc]f"
            r"|bzw|[Vv]gl|ggf|inkl|exkl|einschl|evtl|sog|insb|insbes|[Bb]spw|zzgl|abz\u00fcgl|entspr"
            r"|[Zz]\.\s?B|[Dd]\.\s?h|[Pp]\.\s?ej|[Pp]\.\s?ex|[Pp]\.\s?es|[Aa]prox|[Ss]ra|[Ss]rta"
            r"|[Dd]ra|Dres|Sres|[Uu]ds?|Vd|Mme|Mlle|Hrn)\.$"
        ),
        ANYTHING,
        ("It was approx. Half of it.", "Frauen bzw. Kinder.", "Se dio p. ej. Aspirina."),
    ),
    BoundaryRule(
        re.compile(
            r"(?<![^\W_])(?:ch|chap|eqs?|figs?|refs?|suppl|suppls|tabs?|vols?|sect|secs|pp|abb|nr"
            r"|kap|lfd|aufl|n\u00fams?|p\u00e1gs?|l\u00e1m|tbl|ziff|appx|ca|circa|env|ungef|mind)\.$",
            re.IGNORECASE,
        ),
        LABEL,
        ("See Eq. 4 and Tab. A5.", "Siehe Abb. 3.", "V\u00e9ase la p\u00e1g. 3."),
    ),
    BoundaryRule(
        re.compile(
            r"(?:(?<![^\W_])(?:el|los|del|al|y|en|v\u00e9ase|der|dem|nach|siehe|an|of|[Tt]he)\s"
            r"(?:art|cap|sec|par|abs|max|min)|(?<![^\W_])(?:Art|Cap|Sec|Par|Abs|Bd|Max|Min)"
            r"|[^\d\s]\s(?:max|min))\.$"
        ),
        NUMBER,
        ("El art. 5 y el cap. 3 lo dicen.", "Nach Abs. 2 sind es max. 5 mg."),
    ),
    BoundaryRule(
        re.compile(
            r"(?<![^\W_])(?:avg|conc|cv|diff|est|max|min|resp|seq|spp?|ssp|subsp|temp|var|nov|wt"
            r"|pts?|al|etc|nos?|tot|std|dept|abs|rel|obs|pred|corr|sens|spec|hosp|usw|UU|EE|Inc"
            r"|Ltd|Co|Corp|Jr|Sr|Hz|rpm|r\.p\.m|[ap]\.m|art|arts|caps?)\.$",
            re.IGNORECASE,
        ),
        LOWER,
        ("In all 20 pts. had fever.", "Lactobacillus sp. were found.", "Fieber usw. traten auf."),
    ),
    BoundaryRule(
        re.compile(
            r"\d\s?(?:d|h|s|mins?|secs?|hrs?|wks?|mos?|mths?|yrs?|[kmn\u00b5\u03bc]?g|mcg|J|Jh"
            r"|[md\u00b5\u03bc]?[lL]|[ckmn\u00b5\u03bc]?m|in|ft|oz|lbs?|tabs?|caps|Std|Tg|Mio|IU)\.$"
        ),
        LOWER,
        ("It was 5 cm. in length.", "It took 5 wk. in adults."),
    ),
    BoundaryRule(
        re.compile(r"(?<![^\W_])[B-DF-HJ-NP-TV-XZb-df-hj-np-tv-xz][b-df-hj-np-tv-xz]{1,4}\.$"),
        LOWER,
        ("In the 3rd wk. they died.", "It is a pkg. of ten.", "I saw it.| then it went."),
    ),
    BoundaryRule(
        re.compile(r"\d\s?[ap]\.?m\.$"),
        re.compile(r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|[A-Z]{1,3}T\b|GMT|UTC"),
        ("It was at 5 p.m. EST.", "It was at 5 p.m. Monday."),
    ),
    BoundaryRule(
        re.compile(r"(?<![^\W_])(?:EE|FF|RR|CC)\.$"),
        re.compile(r"(?:UU|AA|HH|OO)\."),
        ("Se vende en EE. UU. y Cuba.",),
    ),
    BoundaryRule(
        re.compile(r"(?<![^\W_])(?:Hr|Fr|Frl|Sen|Gov|Rep|Gen|Col|Capt|Lt|Sgt|Maj|Rev|Hon)\.$"),
        re.compile(r"(?!(?:The|This|That|There|It|In)\b)[A-Z\u00c0-\u00de][a-z\u00df-\u00ff]"),
        ("Sen. Brown and Hr. Maier came.",),
    ),
    BoundaryRule(
        re.compile(r"(?<![^\W_.])\d{1,2}\.$"),
        re.compile(
            r"(?:J\u00e4nner|Januar|Februar|M\u00e4rz|Mai|Juni|Juli|Oktober|Dezember)(?![a-z])"
        ),
        ("Sie endete: 3. Mai 2020.",),
    ),
    BoundaryRule(
        re.compile(
            r"(?<!\bI )\b(?:am|im|vom|zum|zur|beim|der|die|das|dem|den|des|bis|seit|jede[rms]?)"
            r"\s\d{1,2}\.$"
        ),
        re.compile(r"(?!(?:The|It|In|This|He|She|They|We|But|And)\b)[A-Za-z\u00c0-\u00ff]{3}"),
        ("Sie starben am 12. Tag nach der 2. Dosis.",),
    ),
)
"""Boundaries of sentencex at which a sentence goes on."""

BULLETS = (
    "\u2022\u2023\u2043\u2219\u00b7\u204c\u2024\u25a0\u25a1\u25aa\u25ab\u25ba\u25b6\u25b8\u25b7"
    "\u25cb\u25cf\u25e6\u25c6\u25c7\u25fe\u25fd\u2b25\u2605\u2606\u2713\u2714\u2717\u2718\u2610"
    "\u2611\u2612\u2705\u274c\u27a4\u2794\u2192\u21d2\u2756\u00bb\u203a\uf0b7\uf0a7"
)
"""Characters that open an item of a list at the beginning of a line, whatever follows."""

ITEM = re.compile(
    rf"(?:(?P<sure>[{BULLETS}])|(?P<dash>[-*+\u2013\u2014])"
    r"|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)])[^\S\n]{1,8}(?=\S)"
)
"""What opens an item of a list at the beginning of a line."""
