"""Eeg: recordings and feature tables -> folds, fits, predictions -> scores by subject, report.

Rules stand in the order in which data flows; docs/eeg.md describes every file.
"""


include: "eeg_inputs.smk"
