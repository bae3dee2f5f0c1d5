"""The words and patterns of the rules that turn a sentence into a question: data, no logic."""

from __future__ import annotations

import re

LEXICAL: dict[str, tuple[str, str, str]] = {
    form: (auxiliary, base, after)
    for auxiliary, forms in {
        "does": "consists consist of|depends depend on|leads lead to|results result in|"
        "contains contain |requires require |causes cause |induces induce |produces produce |"
        "inhibits inhibit |comprises comprise |originates originate from|arises arise from|"
        "stems stem from|refers refer to|involves involve |belongs belong to|acts act as|"
        "serves serve as|binds bind to|reacts react with|affects affect |regulates regulate |"
        "mediates mediate |catalyzes catalyze |catalyses catalyse |encodes encode |"
        "activates activate |stimulates stimulate |suppresses suppress |promotes promote |"
        "facilitates facilitate |prevents prevent |increases increase |decreases decrease |"
        "reduces reduce |improves improve |enhances enhance |includes include |"
        "generates generate |releases release |absorbs absorb |undergoes undergo |"
        "influences influence |relies rely on|focuses focus on|deals deal with|"
        "corresponds correspond to|differs differ from|varies vary with|acts act on|"
        "enables enable |allows allow |permits permit |offers offer |provides provide |"
        "possesses possess |minimizes minimize |hinders hinder |avoids avoid |"
        "eliminates eliminate |triggers trigger |determines determine |"
        "combines combine |utilizes utilize |employs employ |"
        "plays play ",
        "do": "consist consist of|depend depend on|contain contain |require require |"
        "comprise comprise |originate originate from|arise arise from|inhibit inhibit |"
        "belong belong to|affect affect |include include |enable enable |generate generate |"
        "rely rely on|differ differ from|undergo undergo |exhibit exhibit |play play |"
        "provide provide |offer offer |allow allow |possess possess |produce produce ",
    }.items()
    for form, base, after in (entry.split(" ") for entry in forms.split("|"))
}
HAVING = {"has": "does", "have": "do"}
AUXILIARY = (
    *("is", "are", "was", "were", "can", "could", "may", "might", "should"),
    *("must", "has", "have", "had"),
)
BE = ("is", "are", "was", "were")
PAST = ("was", "were")
"""The past belongs to one experiment, which a question would have to tell: it is left alone."""
FINITE = re.compile(rf"\b(?:{'|'.join((*AUXILIARY, *LEXICAL))})\b")
ADVERBS = r"(?:(?:\w+ly|often|also|most|widely|well)\s+)?"
NUMBER = r"(?:[<>~\u2248\u2264\u2265]\s*)?[+\u2212\u2013-]?\d[\d.,]*"
VALUE = re.compile(
    r"(?:(?:found|estimated|reported|measured|calculated|determined|observed) to be )?"
    r"(?:(?:about|approximately|around|only|up to|at least|roughly|nearly|almost|ca\.) )?"
    rf"{NUMBER}(?:\s?(?:\u00b1|\u2013|-|to|\u00d7)\s?{NUMBER})*\s?"
    r"(?:%|\u00b0[CF]?|(?:days?|hours?|years?|minutes?)\b|"
    r"[\u03bc\u00b5]?[A-Za-z]{1,4}\b(?!\s+(?:of|and)\b)(?:/[A-Za-z]+|\s[a-z]{1,3}[\u2212-]\d)*)"
)
HAS_NUMBER = re.compile(
    rf"an? (?P<what>(?:[\w-]+ ){{0,3}}[\w-]+) of (?:about |approximately )?{NUMBER}"
)
AFTER_VALUE = re.compile(r"\s*+(?:\([^()]*\)\s*+)?(?:[.,;]|and\b|which\b)")
QUANTITY = re.compile(
    r"\b(?:rate|temperature|concentration|limit|value|sensitivity|proportion|percentage|fraction|"
    r"ratio|yield|diameter|thickness|length|width|size|area|volume|mass|weight|density|content|"
    r"level|energy|potential|voltage|conductivity|resistance|resistivity|pressure|power|efficiency|"
    r"accuracy|recovery|recoveries|range|time|duration|lifetime|half-life|ph|point|gap|constant|"
    r"coefficient|number|dose|prevalence|incidence|mortality|age|cost|capacity|strength|modulus|"
    r"hardness|speed|velocity|frequency|wavelength|distance|angle|deviation|score|index|variance|"
    r"amplitude|solubility|height|depth|intake|span|loading|coverage|permeability|viscosity)s?"
    r"(?=$|\s+(?:of|for|in|between|at|on)\b)",
    re.IGNORECASE,
)
PASSIVE = re.compile(
    rf"^(?P<kept>(?:be |been )?{ADVERBS}"
    r"(?!(?:reported|described|discussed|observed|expected|considered|believed|assumed|compared|"
    r"supposed|needed|followed|based|concerned|noted|studied|proposed|demonstrated|investigated|"
    r"performed|recommended|refined|marginalized|carried|presented|evaluated|published|listed|"
    r"summarized|expressed|introduced|"
    r"developed|tested|examined|reviewed|confirmed|explored|recorded|monitored|repeated)\b)"
    r"(?:\w+ed|found|known|made|given|grown|built|driven|bound|taken)\s+"
    r"(?P<how>by|from|into|as|with|onto))\s+"
    r"(?P<object>(?!\w+(?:ed|ly)\b|[A-Z][a-z]+ and [A-Z]|the (?:\w+ )?(?:method|procedure|equation)"
    r"|an? (?:\w+ )?(?:method|procedure|equation)|respect|regard|consideration|account"
    r"|the \w+(?:[,.;]| and\b))\w.+)"
)
PROPERTY = re.compile(
    r"^(?:the|an?|one) (?:of the )?(?:[\w-]+ ){0,2}(?:advantage|disadvantage|drawback|limitation|"
    r"purpose|aim|role|function|reason|principle|goal|feature|criterion|challenge|problem|"
    r"requirement|difference|benefit|mechanism|source|cause|effect|product|component|origin|basis|"
    r"application|symptom|consequence|treatment|target|substrate)s? (?:of|for|between|in) \S"
)
IDENTITY = re.compile(
    r"(?:that|to|an?|the|its|their)\b(?! (?:\w+ )?(?:issue|matter|challenge|topic|problem|focus)\b)"
)
MODALS = ("can", "could", "may", "might", "should", "must")
BASES = sorted({(base, after) for _, base, after in LEXICAL.values() if base != "play"})
BASE = re.compile(
    rf"(?P<kept>{ADVERBS}(?:"
    rf"(?:{'|'.join(base for base, after in BASES if not after)})"
    rf"|(?P<after>{'|'.join(f'{base} {after}' for base, after in BASES if after)})))\s+"
    r"(?P<object>\S+ \S.*)"
)
HAS_OBJECT = re.compile(r"\b(?:of|for|in|to|with|by|from|on|at|than|against) \S")
TOLD_APART = re.compile(r"\b(?:of|for|in|between|against) \S{4}")
MANY = re.compile(r"(?:(?! (?:of|in|for|on|to|used) ).)*[^su]s(?= (?:of|in|for|on|to|used) |$)")
ROLE = re.compile(r"(?P<kept>an? (?:[\w-]+ ){0,3}role in)\s+\w")
VAGUE_OBJECT = re.compile(
    r"the \w+(?:[,.;]| and\b)|(?:many|several|various|multiple|different|numerous) "
    r"(?:\w+ )?(?:factors|reasons|causes|ways|conditions|mechanisms)\b|.*\bvariety of ways\b"
)
RELATED = re.compile(
    rf"^(?P<kept>(?:be |been )?{ADVERBS}(?:attributed to|ascribed to|related to|due to|caused by|"
    r"composed of|made of|made up of|based on|known as|defined as|characterized by|"
    r"dominated by|limited by|controlled by|governed by|responsible for|associated with|"
    r"accompanied by|influenced by|affected by|induced by|derived from|correlated with|"
    r"proportional to|dependent on|followed by|sensitive to|resistant to|susceptible to|"
    r"capable of|involved in|replaced by|mediated by|"
    r"(?:essential|important|necessary|crucial|suitable|useful|effective|harmful|beneficial) for|"
    r"(?:toxic|harmful|superior|inferior|equivalent|vulnerable|susceptible|adjacent) to|"
    r"(?:soluble|insoluble|rich|located|contained|embedded|abundant|deficient) in|"
    r"stable at|free of|independent of))\s+(?P<object>.+)"
)
USED = re.compile(
    rf"^(?P<kept>(?:be |been )?{ADVERBS}(?:used|employed))\s+"
    r"(?P<how>for|as|to(?! the\b))\s+(?P<object>.+)"
)
WAY = re.compile(
    rf"^(?P<kept>(?:be |been )?{ADVERBS}(?:prepared|synthesi[sz]ed|obtained|measured|determined|"
    r"produced|formed|made|achieved|removed|detected|estimated|calculated|improved|reduced|enhanced|"
    r"prevented|avoided|overcome|separated|isolated|purified|generated|deposited|grown))\s+"
    r"(?P<how>by(?= \w+ing\b)|using|via|through)\s+(?P<object>.+)"
)
CAUSE = re.compile(
    r"^(?P<kept>[^,;:]{3,90}?),?\s+(?:because of|because|due to|owing to|as a result of)\s+"
    r"(?P<object>.+)"
)
RANK = re.compile(
    r"^(?P<kept>(?:one of )?the (?:most|main|major|primary|key|only|first|largest|smallest|"
    r"highest|lowest|best|principal|dominant|simplest|leading|commonest) [^,;:]+?)"
    r"(?:,| (?:because|since|due to|owing to|which|and)\b|\.$)"
)
KINDS = (
    "disease|disorder|syndrome|condition|infection|tumou?r|cancer|neoplasm|agent|drug|medication|"
    "compound|substance|material|element|metal|mineral|salt|acid|polymer|protein|peptide|enzyme|"
    "receptor|hormone|gene|molecule|metabolite|antibody|antibiotic|vaccine|virus|bacterium|fungus|"
    "parasite|organism|plant|species|cell|tissue|organ|technique|method|procedure|process|reaction|"
    "model|algorithm|theory|device|sensor|instrument|measure|scale|test|assay|particle|crystal|"
    "solvent|surfactant|semiconductor|catalyst|form|type|class|group|family|inhibitor|agonist|"
    "antagonist|analogue|derivative|glycoside|polyglucoside|modification|mechanism|pathway"
)
MEANING = re.compile(
    rf"^an? (?:[\w-]+ ){{0,6}}(?:{KINDS})s?\s+"
    r"(?:that|which|used|consisting|resulting|of|for|containing|in which|characterized|caused|by)\b"
)
WEAK_WAY = re.compile(
    r"^(?:(?:an?|the|two|three|several|different|standard|modified|usual|common) (?:\S+ ){0,3})?"
    r"(?:approach(?:es)?|procedures?|methods?|techniques?|protocols?|equations?|ways?|means|"
    r"process(?:es)?)\b"
)
HEDGED_END = re.compile(
    r"\b(?:most likely|likely|mainly|mostly|partly|probably|possibly|primarily|largely|"
    r"in part|perhaps|either|presumably|simply|just|not only|only|be|been)$"
)
LONGEST_HEDGE = 12
ADJUNCT = re.compile(
    r"^(?P<where>(?:In|For|At|During|Under|Among|Within) (?!addition|general|contrast|"
    r"fact|particular|comparison|example|instance|turn|summary|conclusion|principle|"
    r"practice|order|this|these|our|the (?:same|present|case)|most|some|many|such|all|both|recent)"
    r"[^,;:()]{3,60}), "
    r"(?P<clause>.+)$"
)

NO_SUBJECT = re.compile(
    r"^(?:\d+\.\s|\w+ly|\w+ing (?:the|of|an?)|\w+ing$|"
    r"(?:the |an? )?(?:\w+ )?(?:majority|number|amounts?|lack|presence|absence|rest|remainder|"
    r"importance)\b|"
    r"in|at|on|for|with|by|to|from|under|after|before|during|as|if|when|while|since|"
    r"although|though|because|however|therefore|thus|hence|moreover|furthermore|finally|"
    r"then|there|here|it|he|she|they|we|i|you|this|that|these|those|such|what|which|who|"
    r"how|no|none|nothing|each|both|some|any|several|many|most|much|few|all|every|either|"
    r"neither|another|other|others|one|two|three|similar|same|different|only|even|whereas|"
    r"whether|also|"
    r"again|now|first|second|third|next|so|yet|but|and|or|not|among|between|according|"
    r"based|using|compared|unlike|like|its|their|our|his|her|my|results?|"
    r"conclusions?|background|objectives?|methods?|purpose|aims?|introduction|data|analysis|"
    r"examples?|further|addition|figs?|tables?|section)\b",
    re.IGNORECASE,
)
NOT_IN_SUBJECT = re.compile(
    r"\b(?:that|which|who|whose|whom|when|where|while|if|because|although|as|than|we|our|us|it|its|"
    r"they|their|them|this|these|those|such|here|above|below|following|same|other|former|latter|"
    r"present|latest|show\w*|suggest\w*|indicat\w*|reveal\w*|demonstrat\w*|confirm\w*|impl(?:y|ies)"
    r"|report\w*|said|not)\b|\b(?:and|or|but|of|the|a|an|to|by|with|in|for)$",
    re.IGNORECASE,
)
POINTS = re.compile(
    r"\b(?:we|our|us|it|its|they|their|them|this|these|those|such|here|herein|above|below|"
    r"following|previous(?:ly)?|same|other|another|former|latter|present|current|respectively|"
    r"stud(?:y|ies)|works?|papers?|authors?|figs?|figures?|tables?|sections?|eqs?|equations?|refs?|"
    r"et al|i\.e|e\.g|experiments?|samples?|one|each|both|similar|obtained|proposed|resulting|"
    r"corresponding|observed|various|different|certain|described|mentioned|shown|reported|"
    r"however|therefore|also|thus|then|instead|too|so|example|et|in turn)\b|\[\]",
    re.IGNORECASE,
)
LEADS_ON = re.compile(r"^(?:whether|not|no|the (?:same|following))\b", re.IGNORECASE)
PREPOSITION = re.compile(
    r"(?:with|by|from|as|at|to|when|in|on|of|for|until|after|during|over|and|or|"
    r"were|was|are|is|have|had|\w+ly|somewhat|\w+fold)\b"
)
BRACKETS = re.compile(r"\s\([^()]*\)")
LISTED = re.compile(r"(?:[\w-]+(?: [\w-]+)?, )+[\w-]+(?: [\w-]+)?,? and [\w-]+(?: [\w-]+)?")
BARE_PLURAL = re.compile(r"[A-Z]?[a-z]+(?<![usi])s")
AMOUNT = re.compile(r"\(n\s?=|\d\s?(?:%|[a-z\u03bc\u00b5\u00b0]{1,3}\b)|\([^()]*[,;][^()]*\)")
BARE_COUNT = re.compile(
    r"(?:^|\b(?:of|in|for|with|by) )(?!(?:the|an?|one|each|some|any|no|every) )(?:[\w-]+ ){0,3}"
    r"(?:approach|method|technique|system|use|sensor|electrode|procedure|model|nanowire|film|"
    r"structure|device|membrane|surface|test|assay|sample|tool|step|cell|column|group|"
    r"algorithm|degree|rate|range)\b",
    re.IGNORECASE,
)
DEFINITE = re.compile(r"\bthe\s+", re.IGNORECASE)
NP_END = frozenset(
    """of for between in on to with by at from and or is are was were be been due because than as
    used using during under after before via through can may be""".split()
)
RANKED = re.compile(
    r"(?:most|main|major|primary|key|only|leading|principal|(?!test|forest|harvest)\w+est)$"
)
RANKED_WORDS = 5
RANK_IN = frozenset(("of", "in", "for", "on"))
COMPLEMENT = frozenset(("of", "between"))
UNIQUE = frozenset(
    "world environment atmosphere air sun earth body brain liver blood ocean sea literature".split()
)
IN_ANSWER = re.compile(
    r"\b(?:we|our|us|this|these|those|here|herein|above|below|figs?|figures?|tables?|refs?|eqs?|"
    r"equations?|et al|stud(?:y|ies)|paper|work|authors?|previous(?:ly)?|aforementioned|latter|"
    r"former|such(?! as)|schemes?|sections?|"
    r"as (?:shown|described|mentioned|discussed|illustrated|seen))\b"
    r"|\[\]|\(\s*\)",
    re.IGNORECASE,
)
TOKEN = re.compile(r"[^\s,;:()\[\]]+")
FEWEST, MOST = 3, 24
