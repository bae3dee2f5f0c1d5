"""Tell which English words can stand in a noun phrase, by lists of words and by endings."""

from __future__ import annotations

from typing import Literal

WordKind = Literal["noun", "adjective", "participle", "opener", "other"]
"""An opener is a word that a noun phrase follows: an article, a preposition, an "and"."""

_OPENERS = frozenset(
    "a an the this that these those its their our your his her each every any some no all both "
    "several many various such of in on at by for with from into onto between among through "
    "during under over without within via per and or as to using than like including against "
    "across upon after before one two three four five six seven eight nine ten".split()
)
_OTHERS = frozenset(
    "i we you he she it they them us me him who whom whose which what when where why how there "
    "here is are was were be been being am has have had having do does did done doing can could "
    "may might must shall should will would not nor but if because while whereas although though "
    "however therefore thus hence moreover furthermore also then so yet only just even still "
    "very more most less least much few fewer little other another others same own too quite "
    "rather almost already again often always never ever once twice later further about above "
    "below around near out off up down until since due whether either neither else instead "
    "together well as e.g i.e etc vs et al cf ca fig figs figure figures table tables eq eqs "
    "equation ref refs section respectively according based given able unable first second third "
    "last next new good better best different certain possible many "
    "present previous recent current main major similar high higher highest low lower lowest "
    "large larger largest small smaller smallest great greater greatest long longer short "
    "shorter important interesting suitable available necessary whole entire "
    "become becomes became give gives gave take takes took taken make makes made get gets got "
    "show shows showed shown find finds found see sees saw seen use uses used know known "
    "lead leads led keep keeps kept seem seems think say says said go goes went come comes came "
    "begin begins began begun allow allows let means consist consists contain contains remain "
    "remains require requires provide provides need needs depend depends involve involves occur "
    "occurs suggest suggests indicate indicates describe describes demonstrate demonstrates "
    "reveal reveals represent represents appear appears belong belongs obtain obtains achieve "
    "achieves exhibit exhibits possess possesses enable enables follow follows include includes "
    "increase increases decrease decreases reduce reduces produce produces arise arises correspond "
    "corresponds perform carry carries carried employ employs apply applies compare confirm "
    "confirms explain explains assume assumes believe consider considers determine determines "
    "improve improves investigate examine lie lies serve serves propose proposes "
    "written put set run ran held built fell grew grown rose risen chosen dried "
    "way ways case cases fact kind kinds sort lot aim aims order thing things part parts "
    "example examples instance author authors paper work works study studies result results "
    "use addition terms term view number numbers amount amounts value values day days year "
    "years hour hours time times today mm cm nm km mg kg ml mol ppm ppb rpm min hz wt vol".split()
)
"""Function words, verbs that are no nouns, and nouns that name nothing."""

_NO_ADVERBS = frozenset("family assembly anomaly supply reply fly monopoly".split())
_ADJECTIVE_ENDINGS = (
    *("al", "ic", "ous", "ive", "able", "ible", "ful", "less", "ary", "ish", "esque", "oid"),
)
_ADJECTIVES = frozenset(
    "significant relevant different efficient sufficient consistent dependent independent apparent "
    "constant dominant abundant resistant convenient excellent subsequent frequent permanent "
    "prominent equivalent transparent inherent persistent coherent adjacent transient elegant "
    "low-cost strong weak simple complex rapid fast slow wide broad narrow deep thick thin "
    "hard soft hot cold warm dry wet pure clean fresh raw rich poor heavy light clear "
    "early late old young common rare full empty free safe sensitive stable accurate precise "
    "appropriate adequate complete absolute relative".split()
)
_NOUNS_LIKE_THEM = frozenset(
    "signal metal material crystal animal interval trial potential mineral chemical hospital "
    "capital total arsenal journal individual approval removal survival arrival renewal withdrawal "
    "manual protocol alcohol rival betrayal proposal referral denial menthol "
    "clinic topic plastic ceramic antibiotic arsenic fabric metric mechanic logic panic critic "
    "traffic music magic epidemic pandemic academic basic statistic characteristic dynamic "
    "additive derivative adhesive preservative alternative objective initiative motive olive "
    "representative native archive drive hive "
    "table variable vegetable cable library boundary summary itinerary salary estuary "
    "fish dish radish finish polish british "
    "steroid thyroid asteroid colloid alkaloid opioid amyloid cannabinoid".split()
)
_NO_PARTICIPLES = frozenset(
    "bed speed feed seed need breed weed reed shed red hundred indeed embed kindred biomed "
    "king ring ping thing string spring wing sting bring morning evening ceiling sibling".split()
)


def kind_of_word(word: str) -> WordKind:
    """Return what a word can be in a noun phrase; "other" cannot stand in one.

    Args:
        word: In lower case; a compound with hyphens is what its last part is.

    Example:
        >>> [kind_of_word(word) for word in ("electrode", "optical", "modified", "the", "rapidly")]
        ['noun', 'adjective', 'participle', 'opener', 'other']
    """
    if word in _OPENERS:
        return "opener"
    if word in _OTHERS or not any(c.isalpha() for c in word) or len(word) < 2:
        return "other"
    last = word.rpartition("-")[2]
    if last.endswith("ly") and last not in _NO_ADVERBS and len(last) > 4:
        return "other"
    if last.endswith("ed") and len(last) > 4 and last not in _NO_PARTICIPLES:
        return "adjective" if last != word else "participle"
    is_like_one = last.endswith(_ADJECTIVE_ENDINGS) and last not in _NOUNS_LIKE_THEM
    return "adjective" if last in _ADJECTIVES or (is_like_one and len(last) > 4) else "noun"
