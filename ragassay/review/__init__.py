"""The page where people review verdicts, grades and test banks.

`sources` opens what is reviewed as `items`; `session` keeps what people say in the journal beside
it; `queue` puts the items in order; `app` serves the `pages`, behind the control of `access`.
"""
