"""Whether the numbers of a claim are those of a text, absent from it, or other ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from case_tables import each_case

from ragassay.text.number_comparison import compare_numbers, count_slip_digits
from ragassay.text.number_mentions import read_mentions

SAME = (
    ("Nearly 600 patients were enrolled.", "We randomly assigned 594 patients at 31 sites."),
    ("More than half of the patients were women.", "Of the patients, 57% were women."),
    ("About 9 in 10 patients were cured.", "Cure was seen in 90.4% of patients."),
    ("Nausea was seen in 5 in 100 patients.", "Nausea was seen in 5% of patients."),
    ("Fewer than 10% of patients stopped treatment.", "Treatment was stopped by 7.4% of patients."),
    ("A quarter of the infants were born preterm.", "Of the infants, 24.6% were born preterm."),
    ("One in ten patients had nausea.", "Nausea occurred in 10.2% of patients."),
    (
        "The drug halved the rate of relapse.",
        "The relapse rate ratio was 0.50 (95% CI 0.38 to 0.66).",
    ),
    ("Patients were treated for six months.", "Treatment lasted 26 weeks."),
    ("Body weight fell by 2 kg.", "Weight decreased by 2000 g on average."),
    (
        "The risk of stroke was reduced by 34%.",
        "The relative risk of stroke was 0.66 (95% CI 0.51 to 0.85).",
    ),
    (
        "Smokers had a 60% higher risk of fracture.",
        "Fracture risk was raised in smokers (HR 1.60, 95% CI 1.21 to 2.12).",
    ),
    (
        "The absolute risk reduction was 4 percentage points.",
        "Events occurred in 8% of the treated and 12% of the controls.",
    ),
    ("Overall, 350 children took part.", "The study comprised 175 boys and 175 girls."),
    ("About 40% of the patients responded.", "A response was seen in 48 of 120 patients."),
    ("The risk doubled.", "The hazard ratio was 2.04 (95% CI 1.5 to 2.8)."),
    (
        "Mortality was threefold higher in the frail group.",
        "Frail patients had higher mortality (HR 3.1, 95% CI 2.2 to 4.4).",
    ),
    ("Half-lives ranged from 6 to 9 hours.", "The half-life was 6\u20139 h."),
    ("The 95% confidence interval excluded one.", "The odds ratio was 1.5 (95% CI 1.1 to 2.0)."),
    (
        "The result was statistically significant (p < 0.05).",
        "The difference was significant (p = 0.03).",
    ),
    (
        "GLP-1 receptor agonists lower weight in type 2 diabetes.",
        "Weight fell with incretin mimetics in people with diabetes.",
    ),
    (
        "Patients with NYHA class II or III heart failure benefited.",
        "Patients with mild or moderate heart failure had benefits.",
    ),
    ("Grade 3 or 4 neutropenia was rare.", "Severe neutropenia was uncommon."),
    (
        "CD4 counts rose and PM2.5 exposure fell.",
        "T-helper cell counts rose and exposure to fine particles fell.",
    ),
    ("Step 3: Rinse the wound.", "The wound should then be rinsed."),
    ("2) Bleeding is the main risk.", "Bleeding is the main risk of treatment."),
    ("Bleeding is common (see Table 4 and section 2.3).", "Bleeding is common."),
    ("Kim and colleagues (2019) found that bleeding is common.", "Bleeding is common."),
    ("Bleeding is common (PMID: 31234567).", "Bleeding is common."),
    ("First, stop the drug; second, call a doctor.", "Stop the drug and call a doctor."),
    ("Bleeding is common [12-14].", "Bleeding is common."),
    ("Close to 2,000 nurses answered.", "Replies came from 1,987 nurses."),
    ("No more than 4 g a day should be taken.", "The maximum daily dose is 4 g."),
    ("Three quarters of the sample were white.", "White participants made up 75.2% of the sample."),
    ("Four out of five patients were satisfied.", "Satisfaction was reported by 81% of patients."),
    ("Most effects last a year.", "Effects last for 12 months."),
    ("The dose was 200 micrograms.", "Participants inhaled 0.2 mg twice daily."),
    ("The bag holds one litre.", "The bag holds 1000 mL."),
    (
        "Vaccination cut admissions by 71%.",
        "Vaccination was followed by fewer admissions (IRR 0.29, 95% CI 0.2 to 0.4).",
    ),
    (
        "Women had a 22% lower hazard of death.",
        "The hazard of death was lower in women (adjusted HR, 0.78).",
    ),
    (
        "Weight fell by 3.2 kg more than with placebo.",
        "Weight fell by 5.1 kg with the drug and by 1.9 kg with placebo.",
    ),
    (
        "The two cohorts had 900 members altogether.",
        "One cohort had 620 members and the other 280.",
    ),
    ("One quarter of the patients (25%) died.", "Of 200 patients, 50 died."),
    ("Obese men had more than double the risk.", "The relative risk in obese men was 2.31."),
    ("Rates were five times as high in prisons.", "The incidence rate ratio for prisons was 5.2."),
    (
        "Blood pressure above 140/90 mm Hg is hypertension.",
        "Hypertension is a pressure of at least 140/90 mm Hg.",
    ),
    ("The confidence interval (95%) was wide.", "The odds ratio was 3.1 (95% CI 0.4 to 21)."),
    (
        "CYP3A4 inhibitors raise levels; 5-HT3 antagonists do not.",
        "Strong inhibitors of the enzyme raise levels, setrons do not.",
    ),
    (
        "This was a phase II study in stage III disease.",
        "This was an early study in advanced disease.",
    ),
    ("Type 1 and type 2 errors were discussed.", "The errors of the test were discussed."),
    ("3. Take the tablet with water.", "The tablet is taken with water."),
    ("Secondly, as Figure 3B shows, swelling falls.", "Swelling falls."),
    ("Swelling falls (Lopez & Chan, 2017; doi: 10.1000/xyz123).", "Swelling falls."),
    ("Swelling falls (version 2.1 of the guideline; call 1-800-222-1222).", "Swelling falls."),
    ("One in eight women is affected.", "The prevalence in women was 12.4%."),
    ("1 in 4 women is affected.", "The prevalence in women was 24.7%."),
    ("Three out of four patients responded.", "A response was seen in 75.3% of patients."),
    ("Glucose was above 126 mg/dL.", "Fasting glucose was at least 7.0 mmol/L."),
    ("Creatinine was 177 \u00b5mol/L.", "Serum creatinine was 2.0 mg/dL."),
    ("Fever is a temperature above 38 \u00b0C.", "Fever is a temperature above 100.4 \u00b0F."),
    ("Patients lost 10 kg.", "Patients lost 22 lb on average."),
    ("Platelets were 150,000/\u00b5L.", "The platelet count was 150 \u00d7 10^9/L."),
    ("CD4 counts were 350 cells/mm3.", "The CD4 count was 350 cells per \u00b5L."),
    ("Sensitivity was 87%.", "The sensitivity was 0.87 (95% CI 0.80 to 0.92)."),
    ("Not more than 10% had nausea.", "Nausea occurred in 9.5% of patients."),
    ("The trial enrolled 12.345 patients.", "The trial enrolled 12,345 patients."),
    ("Trisomy 21 is common.", "Down syndrome is common."),
    ("Mortality did not differ (P = .52).", "Mortality was similar (p=0.52)."),
    ("The effect was not significant (p > 0.05).", "It was not significant (P = .43)."),
    ("Incidence was 12/100,000.", "Incidence was 120 per million."),
    ("BMI of 30 kg/m^2 or more is obesity.", "Obesity is a BMI \u226530 kg/m2."),
    ("Take 500 mg TID for 7 days.", "The dose was 500 mg three times a day for one week."),
    ("Efficacy was 94,1 % (CI 89,3-96,8).", "Efficacy was 94.1% (95% CI, 89.3 to 96.8%)."),
    ("One month later, 12% had relapsed.", "Relapse was seen in 12% of patients."),
    ("At week 12, 40% had responded.", "After 12 weeks, 40% had responded."),
    ("The LDL-C target is < 70 mg/dL (1.8 mmol/L).", "LDL-C should be below 1.8 mmol/L."),
    ("Sodium may rise by 8 mmol/L.", "Sodium should not rise by more than 8 mmol/L."),
    # The numbers of both groups, and a limit of an interval.
    (
        "With placebo, 17% died, 12% in the drug group.",
        "In the drug group 12% died, and 17% with placebo.",
    ),
    (
        "Relapse-free and overall survival on placebo were 6 and 8 months.",
        "Relapse-free survival was 6 and 9 months, and overall survival 8 and 13 months.",
    ),
    ("Mortality fell to 12% compared with placebo.", "It was 12% on the drug, 17% on placebo."),
    ("The upper limit of the interval was 1.3.", "The risk ratio was 1.1 (95% CI 0.8 to 1.3)."),
    (
        "The Apgar score at 1 and 5 min and resuscitation did not differ.",
        "Neither resuscitation nor the 1- or 5-min Apgar score differed.",
    ),
)
ABSENT = (
    (
        "About 1.5 billion people are infected worldwide.",
        "The infection is common worldwide, above all in the tropics.",
    ),
    (
        "The hazard ratio for stroke was 0.80.",
        "The hazard ratio for myocardial infarction was 0.91.",
    ),
    (
        "Adverse events were seen in 31% of patients on 50 mg.",
        "Patients received 50 mg of the drug.",
    ),
    ("Cough was seen in 14% and rash in 3%.", "Rash was seen in 3% of patients."),
    ("The sensitivity of the test is 92%.", "The specificity of the test is 85%."),
    ("Men were followed for 10 years.", "Women were followed for 6 years."),
    ("The price is $1,200 per month.", "The drug is expensive for most patients."),
    ("The cohort had 5,210 men.", "The cohort had 4,870 women."),
    # A follow-up, or a period of it, beside the duration of something else.
    ("The hospital stay was shorter over 24 months.", "The hospital stay was 4.6 days shorter."),
    ("Symptoms resolved within 24 months.", "Symptoms resolved after 4.6 days."),
    ("The hospital stay was shorter after 2 weeks.", "The hospital stay was 6 days shorter."),
    ("The 24-month follow-up showed benefits.", "The follow-up of 4.6 days showed benefits."),
    # Within the bound, but far from it.
    ("Fewer than 5% of patients had bleeding.", "Bleeding occurred in 1.2% of patients."),
    ("Over 1,000 patients were enrolled.", "The trial enrolled 4,744 patients."),
    # A change and a level.
    ("Survival increased by 3 months.", "Median survival was 15 months."),
    ("LDL fell by 50 mg/dL.", "LDL was 130 mg/dL at baseline."),
    ("Costs rose by $500.", "Costs were $4,200 per patient."),
    # Another group, dose, time or analysis.
    ("At 12 weeks, 45% had responded.", "At 24 weeks, 62% had responded."),
    ("Pain fell by 2 points at month 3.", "Pain fell by 4 points at month 12."),
    ("Patients on 20 mg lost 5 kg.", "Patients on 10 mg lost 3 kg."),
    ("In 2015, prevalence was 8%.", "In 2010, prevalence was 6%."),
    ("Men had a mean age of 60 years.", "The women's mean age was 55 years."),
    ("The dose was 10 mg in adults.", "Children were given 5 mg."),
    ("Stage I survival is 90%.", "Stage IV survival is 15%."),
    ("Group A had 12% mortality.", "Group B had 20% mortality."),
    ("Survival was 70% with surgery.", "Survival was 50% without surgery."),
    ("Efficacy against infection was 60%.", "Efficacy against death was 90%."),
    ("Serious adverse events occurred in 5%.", "Adverse events occurred in 60%."),
    ("Acute infection lasts 2 weeks.", "Chronic infection lasts 26 weeks."),
    ("Fasting glucose was 100 mg/dL.", "Postprandial glucose was 180 mg/dL."),
    ("Statins reduce LDL by 30%.", "Ezetimibe reduces LDL by 18%."),
    ("The relative risk reduction was 30%.", "The absolute risk reduction was 2.1%."),
    ("Mortality fell by 3 percentage points.", "Mortality fell by 30%."),
    ("Patients took 10 mg three times a day.", "Patients took 30 mg per day."),
    ("Treatment lasted 12 weeks.", "Patients were followed for 52 weeks."),
    ("It is not true that 90% recover.", "60% recover."),
    ("Prevalence in men was 1492 per 100,000.", "Among infected men, prevalence was 61%."),
    ("The difference was significant (p < 0.05).", "The groups did not differ (p = 0.62)."),
    ("At week 12, 40% of patients responded.", "At week 52, 61% of patients responded."),
    ("Vaccine A prevented 30% of cases.", "Vaccine B prevented 50% of cases."),
    ("Immune-mediated adverse events occurred in 9%.", "Adverse events occurred in 72%."),
    ("Salivary flow was 0.34 in the patients.", "Salivary flow correlated with it (r = 0.69)."),
)
OTHER = (
    ("The trial enrolled 1,250 patients.", "A total of 1,520 patients were enrolled in the trial."),
    ("Headache occurred in 18% of patients.", "Headache occurred in 8% of patients."),
    ("Mean age was 64 years.", "The mean age of the participants was 46 years."),
    (
        "The odds ratio for pneumonia was 0.62.",
        "For pneumonia, the odds ratio was 1.62 (95% CI 1.2 to 2.1).",
    ),
    (
        "Remission was reached by 30% on tofanine and 45% on placebo.",
        "Remission was reached by 45% with tofanine and 30% with placebo.",
    ),
    ("The daily dose was 250 mcg.", "The daily dose was 250 mg."),
    ("Two thirds of the patients relapsed.", "One third of the patients relapsed."),
    (
        "The drug is contraindicated when creatinine clearance is below 60 mL/min.",
        "The drug is contraindicated when creatinine clearance is below 30 mL/min.",
    ),
    ("The relapse rate was 0.45 per year.", "The annual relapse rate was 4.5 per year."),
    (
        "A total of 86 patients were assigned to the drug.",
        "A total of 68 patients were assigned to the drug.",
    ),
    (
        "The sensitivity of the assay was 69%.",
        "The assay had a sensitivity of 96% and a specificity of 88%.",
    ),
    ("Median follow-up was 5.2 years.", "Patients were followed for a median of 2.5 years."),
    (
        "The hazard ratio for death was 1.21.",
        "The hazard ratio for death was 0.83 (95% CI 0.70 to 0.98).",
    ),
    ("Mean weight loss was 15 kg.", "Mean weight loss was 1.5 kg."),
    (
        "Death occurred in 12.1% of the aspirin group and 9.3% of the placebo group.",
        "Death occurred in 9.3% of the aspirin group and in 12.1% of the placebo group.",
    ),
    ("Children under 12 years should not take it.", "Children under 2 years should not take it."),
    ("Half of the patients responded.", "Responses were seen in 20% of the patients."),
    (
        "HbA1c fell by 1.8 percentage points with the drug.",
        "With the drug, HbA1c fell by 0.8 percentage points.",
    ),
    ("Patients fasted for 8 minutes.", "Patients fasted for 8 days."),
    ("Patients lost 10 kg.", "Patients lost 10 lb on average."),
    ("The vaccine is stored at -20 \u00b0C.", "The vaccine is stored at -70 \u00b0C."),
    ("One in three women relapsed.", "Relapse was seen in 13% of women."),
    ("In men, prevalence was 12%.", "Prevalence in men was 21%."),
    ("Grade 3 toxicity occurred in 30%.", "Grade 3 toxicity was seen in 13% of patients."),
    ("Fewer than 5% of patients had bleeding.", "Bleeding occurred in 25% of patients."),
    ("The CD4 count was 350 cells/mm3.", "The CD4 count was 200 cells/mm3."),
    ("The infusion is given over 4 hours.", "The infusion is given over 1 hour."),
    (
        "Fever is a temperature of 37.5 \u00b0C or higher.",
        "Fever is a temperature of 38.5 \u00b0C or higher.",
    ),
    ("The accuracy of the curve was 76%.", "The curve had an accuracy of 80.2 +/- 4.9%."),
    ("No more than 5% of patients relapsed.", "Relapse was seen in 18% of patients."),
    ("The maximum daily dose is 6 g.", "The dose should not be more than 4 g a day."),
    (
        "The blood pressure goal is below 120/70 mmHg.",
        "The blood pressure goal is below 140/90 mm Hg.",
    ),
    # The number of another group, dose or limit.
    (
        "Mortality was 12.3% in the placebo group.",
        "Mortality was 12.3% in the drug group and 17.1% in the placebo group.",
    ),
    (
        "Efficacy after two doses was 52%.",
        "Efficacy was 52% after one dose and 95% after two doses.",
    ),
    ("The upper limit of the interval was 0.8.", "The risk ratio was 1.1 (95% CI 0.8 to 1.3)."),
)


def verdict(claim: str, text: str) -> str:
    """The gravest verdict on the numbers of a claim; one without numbers has none to object to."""
    found = {one.verdict for one in compare_numbers(claim, text)}
    return next((name for name in ("other", "absent") if name in found), "same")


@pytest.mark.parametrize(
    ("expected", "pairs"),
    [("same", SAME), ("absent", ABSENT), ("other", OTHER)],
    ids=["same", "absent", "other"],
)
def test_numbers_of_a_claim_are_the_same_absent_or_other(expected, pairs):
    assert [pair for pair in pairs if verdict(*pair) != expected] == []


def test_the_cases_at_hand_are_told_apart(shared: Path):
    path = shared / "cases" / "numbers.jsonl"
    cases = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert len(cases) == 27
    wrong = [one for one in cases if verdict(one["claim"], one["passage"]) != one["numbers"]]
    assert wrong == []


def test_a_text_of_something_else_is_silent():
    text = "The drug was given to 40 dogs for 3 days; 12% of them recovered within 2 hours."
    for claim, _ in OTHER:
        assert verdict(claim, text) != "other", claim


def test_the_place_of_the_other_value_is_told():
    claim, text = "Mean age was 64 years.", "We enrolled 120 men. Their mean age was 46 years."
    (one,) = compare_numbers(claim, text)
    assert one.stated
    assert (claim[one.start : one.end], text[slice(*one.stated)]) == ("64 years", "46 years")


def test_swapped_values_name_the_arm():
    claim = "Relapse was seen in 12% on alphanol and in 30% on betanol."
    text = "Relapse was seen in 30% with alphanol and 12% with betanol."
    found = compare_numbers(claim, text)
    assert [(one.verdict, one.arm) for one in found] == [
        ("other", "alphanol"),
        ("other", "betanol"),
    ]
    assert verdict(text, text) == "same"
    in_order = "Relapse was seen in 30% and 12% with alphanol and betanol, respectively."
    assert verdict(text, in_order) == "same"


@pytest.mark.parametrize(
    ("one", "other", "n"),
    [
        ("1,520 mg", "1,250 mg", 4),
        ("94.4 mg", "9.44 mg", 3),
        ("29 mg", "19 mg", 2),
        ("5 mg", "50 mg", 1),
        ("95 mg", "59 mg", 0),
        ("5 mg", "6 mg", 0),
        ("812 mg", "455 mg", 0),
    ],
)
def test_a_slip_is_one_digit_two_swapped_or_the_point(one: str, other: str, n: int):
    assert count_slip_digits(read_mentions(one)[0], read_mentions(other)[0]) == n


def test_a_small_count_in_words_is_not_looked_for():
    assert compare_numbers("The drug has two effects.", "The drug has effects.") == []


def test_a_confidence_level_is_no_number_of_the_claim():
    kinds = [one.kind for one in read_mentions("RR 1.60, 95% CI 1.21 to 2.12")]
    assert kinds[0] == "ratio" and "share" not in kinds


@each_case(
    ("claim", "text", "verdict"),
    [
        ("Surgery is offered for a BMI > 40.", "Surgery is offered for a BMI > 35.", "other"),
        ("Aspirin harms adults over 75.", "Aspirin harms adults over 60.", "other"),
        ("Take at most 4 g a day.", "Take at most 3 g a day.", "other"),
        ("Give it within 4.5 h of onset.", "Give it within 3 h of onset.", "other"),
        ("Take at most 4 g a day.", "Take at most 4 g a day.", "same"),
        ("More than 60% improved.", "More than 62% improved.", "same"),
        ("More than 60% improved.", "In all, 65% improved.", "same"),
    ],
)
def test_two_thresholds_are_compared_by_their_values(claim: str, text: str, verdict: str):
    assert {one.verdict for one in compare_numbers(claim, text)} == {verdict}
