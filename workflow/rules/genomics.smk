"""Genomics: genomes and labelled sequences -> models, predictions, concepts -> benchmark, report.

Rules stand in the order in which data flows; docs/genomics.md describes every file.
"""


include: "genomics_inputs.smk"
