"""Spatial: sections with images -> features, folds, fits, predictions -> scores, report.

Rules stand in the order in which data flows; docs/spatial.md describes every file.
"""


include: "spatial_inputs.smk"
