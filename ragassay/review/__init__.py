"""Web page for the human review of verdicts, grades and test banks.

`server` opens a source of review items, `session` stores reviews in the journal next to the
source, and `app` serves the `pages` with the access control of `access`.
"""
