"""Which files and settings belong to which job of eeg.smk."""

EEG = config.get("eeg", {})
DOMAIN_FILES["eeg"] = []
