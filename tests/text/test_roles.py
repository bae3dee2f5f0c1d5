"""Comparisons whose sides are turned are not confirmed; rewordings are."""

from __future__ import annotations

from case_tables import each_case

from ragassay.text.roles import explain_unconfirmed

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
    ("Warfarin was superior to apixaban in reducing major bleeding.", APIXABAN),
    ("Patients were switched from bivalirudin to heparin.", SWITCH),
    ("Placebo reduced the incidence of diabetes versus metformin.", VERSUS),
    ("Liraglutide led to more weight loss than semaglutide.", SUPERIOR),
    ("Semaglutide was inferior to liraglutide for weight loss.", SUPERIOR),
    ("Relapse was seen in 30% of patients with alphanol and in 12% with betanol.", SHARES),
    ("Alphanol had a relapse rate of 30%, betanol of 12%.", SHARES),
    ("Relapse rates with betanol and alphanol were 12% and 30%, respectively.", SHARES),
    ("Relapse was seen in 12% with betanol and 30% with alphanol.", RESPECTIVELY),
    ("Mortality was higher with betanol than with alphanol (9% vs. 20%).", BRACKETS),
    ("Midazolam inhibits the metabolism of ketoconazole.", INHIBITS),
    ("Metabolism of ketoconazole is inhibited by midazolam.", INHIBITS),
    ("Before the operation vancomycin was given rather than cefazolin.", CHOICE),
    ("There is a preference for dopamine over norepinephrine.", PREFERRED),
    ("Direct laryngoscopy outperformed video laryngoscopy.", OUTPERFORMED),
]

REWORDED = [
    ("Apixaban lowered major bleeding relative to warfarin.", APIXABAN),
    ("Warfarin reduced major bleeding less than apixaban.", APIXABAN),
    ("Mortality was higher with usual care than with dexamethasone.", MORTALITY),
    ("Usual care led to higher mortality than dexamethasone.", MORTALITY),
    ("The incidence of diabetes was lower with metformin than in controls.", VERSUS),
    ("Diabetes was more common with placebo than with metformin.", VERSUS),
    ("The risk of stroke is lower in men with diabetes than in women with diabetes.", MEN),
    ("Semaglutide led to more weight loss than liraglutide.", SUPERIOR),
    ("Liraglutide was worse than semaglutide for weight loss.", SUPERIOR),
    ("With alphanol 12% relapsed, and with betanol 30%.", SHARES),
    ("Relapse was seen in 30% with betanol and in 12% with alphanol.", RESPECTIVELY),
    ("Mortality was higher with betanol than with alphanol (20% vs. 9%).", BRACKETS),
    ("Before the operation cefazolin was given rather than vancomycin.", CHOICE),
    ("More than 12% relapsed on alphanol.", SHARES),
]

TRIPLES = """
The probiotic group had fewer days of diarrhoea than those in the placebo group.
The placebo group had fewer days of diarrhoea than those in the probiotic group.
Diarrhoea lasted fewer days with probiotics than with placebo.

Empagliflozin lowered HbA1c by 0.7% versus 0.3% for sitagliptin.
Sitagliptin lowered HbA1c by 0.7% versus 0.3% for empagliflozin.
HbA1c fell by 0.7% with empagliflozin and by 0.3% with sitagliptin.

Smokers had a higher rate of wound infection than non-smokers.
Non-smokers had a higher rate of wound infection than smokers.
Wound infection was more common among smokers than among non-smokers.

Gabapentin outperformed placebo, while amitriptyline did not.
Placebo outperformed gabapentin, while amitriptyline did not.
Gabapentin was better than placebo, while amitriptyline was not.

Rifampicin decreases the plasma concentration of dolutegravir.
Dolutegravir decreases the plasma concentration of rifampicin.
The plasma concentration of dolutegravir is decreased by rifampicin.

The switch from adalimumab to ustekinumab improved skin scores.
The switch from ustekinumab to adalimumab improved skin scores.
Skin scores improved after a switch from adalimumab to ustekinumab.

Intensive blood pressure control reduced strokes compared with standard control.
Standard blood pressure control reduced strokes compared with intensive control.
Strokes were fewer with intensive than with standard blood pressure control.

Ticagrelor was superior to clopidogrel in preventing stent thrombosis.
Clopidogrel was superior to ticagrelor in preventing stent thrombosis.
Ticagrelor prevented stent thrombosis better than clopidogrel.

CT detected more nodules than chest radiography did.
Chest radiography detected more nodules than CT did.
Fewer nodules were detected by chest radiography than by CT.

Guideline panels recommend oxytocin over misoprostol for postpartum haemorrhage.
Guideline panels recommend misoprostol over oxytocin for postpartum haemorrhage.
For postpartum haemorrhage, oxytocin is recommended over misoprostol.

Men developed myocarditis more often than women after the second dose.
Women developed myocarditis more often than men after the second dose.
After the second dose, myocarditis was more frequent in men than in women.

Relative to placebo, zinc shortened the duration of colds.
Relative to zinc, placebo shortened the duration of colds.
Zinc shortened colds compared with placebo.

Blood loss was 300 ml in the tranexamic acid group and 450 ml in the saline group.
Blood loss was 450 ml in the tranexamic acid group and 300 ml in the saline group.
Blood loss with tranexamic acid was 300 ml, and 450 ml with saline.

Fluoxetine raises the serum level of clozapine.
Clozapine raises the serum level of fluoxetine.
The serum level of clozapine is raised by fluoxetine.

Early palliative care improved quality of life over usual oncology care.
Usual oncology care improved quality of life over early palliative care.
Quality of life was better with early palliative care than with usual oncology care.

Allopurinol should be preferred to febuxostat in patients with heart disease.
Febuxostat should be preferred to allopurinol in patients with heart disease.
In heart disease, allopurinol is preferred to febuxostat.

Women were less likely than men to receive thrombolysis.
Men were less likely than women to receive thrombolysis.
Men were more likely than women to receive thrombolysis.

Gabapentin outperformed placebo, while amitriptyline did not.
Placebo outperformed gabapentin, while amitriptyline did not.
Gabapentin was better than placebo, while amitriptyline was not.

Serotonin syndrome occurred in 2 of 40 patients on linezolid and in 6 of 41 on tramadol.
Serotonin syndrome occurred in 6 of 41 patients on linezolid and in 2 of 40 on tramadol.
Serotonin syndrome occurred in 6 of 41 patients on tramadol and in 2 of 40 on linezolid.

High-dose vaccine produced higher titres than standard-dose vaccine.
Standard-dose vaccine produced higher titres than high-dose vaccine.
Titres were higher after high-dose vaccine than after standard-dose vaccine.

Patients on haemodialysis had more infections than patients on peritoneal dialysis.
Patients on peritoneal dialysis had more infections than patients on haemodialysis.
Infections were more common with haemodialysis than with peritoneal dialysis.

Grapefruit juice increases exposure to simvastatin.
Simvastatin increases exposure to grapefruit juice.
Exposure to simvastatin is increased by grapefruit juice.
"""
"""A source, a claim turned round, and a rewording."""


@each_case("claim, source", TURNED)
def test_turned_sides_are_not_confirmed(claim, source):
    assert explain_unconfirmed(claim, ["Adults took part in this trial.", source])


@each_case("claim, source", REWORDED)
def test_a_rewording_is_confirmed(claim, source):
    assert explain_unconfirmed(claim, ["Adults took part in this trial.", source]) == ""


@each_case("source, turned, reworded", [one.splitlines() for one in TRIPLES.strip().split("\n\n")])
def test_turned_and_reworded_claims_are_told_apart(source, turned, reworded):
    sentences = ["Adults took part in this trial.", source]
    assert explain_unconfirmed(turned, sentences)
    assert explain_unconfirmed(reworded, sentences) == explain_unconfirmed(source, sentences) == ""


def test_a_text_without_sentences_confirms_nothing():
    assert explain_unconfirmed(APIXABAN, [])
    assert explain_unconfirmed("Apixaban is a tablet.", []) == ""
