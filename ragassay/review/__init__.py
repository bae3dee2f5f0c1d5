"""Web page for the human review of verdicts, grades and test banks.

`server` opens the run, graded file or test bank to review. `session` stores reviews in a file next
to it, the journal. `app` serves the HTML of `pages`, and `access` controls access.
"""
