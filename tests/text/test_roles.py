"""Comparisons whose sides are turned are not confirmed; rewordings are."""

from __future__ import annotations

from case_tables import each_case

from ragassay.text.roles import unconfirmed_roles

APIXABAN = "Apixaban reduced major bleeding more than warfarin in adults with atrial fibrillation."
MORTALITY = "Mortality was lower with dexamethasone than with usual care."
SWITCH = "Patients were switched from heparin to bivalirudin on day 3."
VERSUS = "Compared with placebo, metformin reduced the incidence of diabetes."
MEN = "The risk of stroke is higher in women with diabetes than in men with diabetes."
SUPERIOR = "Semaglutide was superior to liraglutide for weight loss."
SHARES = "Relapse was seen in 12% of patients with alphanol and in 30% of patients with betanol."
RESPECTIVELY = "Relapse rates were 12% and 30% with alphanol and betanol, respectively."
BRACKETS = "Mortality was higher with betanol (20%) than with alphanol (9%)."
INHIBITS = "Ketoconazole inhibits the metabolism of midazolam."
CHOICE = "Cefazolin was given rather than vancomycin before the operation."
PREFERRED = "Guidelines state a preference for norepinephrine over dopamine."
OUTPERFORMED = "Video laryngoscopy outperformed direct laryngoscopy at the first attempt."

TURNED = [
    ("Warfarin reduced major bleeding more than apixaban.", APIXABAN),
    ("Major bleeding was less frequent with warfarin than with apixaban.", APIXABAN),
    ("Compared with apixaban, warfarin reduced major bleeding.", APIXABAN),
    ("Warfarin was superior to apixaban in reducing major bleeding.", APIXABAN),
    ("Mortality was lower with usual care than with dexamethasone.", MORTALITY),
    ("Usual care lowered mortality compared with dexamethasone.", MORTALITY),
    ("Usual care led to lower mortality than dexamethasone did.", MORTALITY),
    ("Patients were switched from bivalirudin to heparin.", SWITCH),
    ("On day 3 treatment changed from bivalirudin to heparin.", SWITCH),
    ("Compared with metformin, placebo reduced the incidence of diabetes.", VERSUS),
    ("Placebo reduced the incidence of diabetes versus metformin.", VERSUS),
    ("The incidence of diabetes was lower with placebo than with metformin.", VERSUS),
    ("The risk of stroke is higher in men with diabetes than in women with diabetes.", MEN),
    ("Stroke risk is greater in diabetic men than in diabetic women.", MEN),
    ("Women with diabetes have a lower risk of stroke than men with diabetes.", MEN),
    ("Liraglutide was superior to semaglutide for weight loss.", SUPERIOR),
    ("Liraglutide led to more weight loss than semaglutide.", SUPERIOR),
    ("Semaglutide was inferior to liraglutide for weight loss.", SUPERIOR),
    ("Relapse was seen in 30% of patients with alphanol and in 12% with betanol.", SHARES),
    ("Alphanol had a relapse rate of 30%, betanol of 12%.", SHARES),
    ("Relapse rates with betanol and alphanol were 12% and 30%, respectively.", SHARES),
    ("Relapse was seen in 30% with alphanol and in 12% with betanol.", RESPECTIVELY),
    ("Relapse was seen in 12% with betanol and 30% with alphanol.", RESPECTIVELY),
    ("Mortality was higher with betanol than with alphanol (9% vs. 20%).", BRACKETS),
    ("Midazolam inhibits the metabolism of ketoconazole.", INHIBITS),
    ("Metabolism of ketoconazole is inhibited by midazolam.", INHIBITS),
    ("Before the operation vancomycin was given rather than cefazolin.", CHOICE),
    ("There is a preference for dopamine over norepinephrine.", PREFERRED),
    ("Direct laryngoscopy outperformed video laryngoscopy.", OUTPERFORMED),
]

REWORDED = [
    ("Major bleeding was less frequent with apixaban than with warfarin.", APIXABAN),
    ("Compared with warfarin, apixaban reduced major bleeding.", APIXABAN),
    ("Apixaban lowered major bleeding relative to warfarin.", APIXABAN),
    ("Warfarin reduced major bleeding less than apixaban.", APIXABAN),
    ("Dexamethasone lowered mortality compared with usual care.", MORTALITY),
    ("Mortality was higher with usual care than with dexamethasone.", MORTALITY),
    ("Usual care led to higher mortality than dexamethasone.", MORTALITY),
    ("On day 3, anticoagulation was changed from heparin to bivalirudin.", SWITCH),
    ("Metformin reduced the incidence of diabetes versus placebo.", VERSUS),
    ("The incidence of diabetes was lower with metformin than with placebo.", VERSUS),
    ("The incidence of diabetes was lower with metformin than in controls.", VERSUS),
    ("Diabetes was more common with placebo than with metformin.", VERSUS),
    ("The risk of stroke is lower in men with diabetes than in women with diabetes.", MEN),
    ("Women with diabetes have a higher risk of stroke than men with diabetes.", MEN),
    ("Semaglutide led to more weight loss than liraglutide.", SUPERIOR),
    ("Liraglutide was inferior to semaglutide for weight loss.", SUPERIOR),
    ("Liraglutide was worse than semaglutide for weight loss.", SUPERIOR),
    ("With alphanol 12% relapsed, and with betanol 30%.", SHARES),
    ("Betanol had a relapse rate of 30%, alphanol of 12%.", SHARES),
    ("Relapse rates with alphanol and betanol were 12% and 30%, respectively.", SHARES),
    ("Relapse was seen in 30% with betanol and in 12% with alphanol.", RESPECTIVELY),
    ("Mortality was higher with betanol than with alphanol (20% vs. 9%).", BRACKETS),
    ("Ketoconazole inhibits how midazolam is metabolised.", INHIBITS),
    ("Metabolism of midazolam is inhibited by ketoconazole.", INHIBITS),
    ("Before the operation cefazolin was given rather than vancomycin.", CHOICE),
    ("There is a preference for norepinephrine over dopamine.", PREFERRED),
    ("At the first attempt, video laryngoscopy outperformed direct laryngoscopy.", OUTPERFORMED),
    ("More than 12% relapsed on alphanol.", SHARES),
    ("Bleeding is far from rare with apixaban.", APIXABAN),
]


@each_case("claim, source", TURNED)
def test_turned_sides_are_not_confirmed(claim, source):
    assert unconfirmed_roles(claim, ["Adults took part in this trial.", source])


@each_case("claim, source", REWORDED)
def test_a_rewording_is_confirmed(claim, source):
    assert unconfirmed_roles(claim, ["Adults took part in this trial.", source]) == ""
