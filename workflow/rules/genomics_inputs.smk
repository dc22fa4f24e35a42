"""Which files and settings belong to which job of genomics.smk."""

GENOMICS = config.get("genomics", {})
DOMAIN_FILES["genomics"] = []
