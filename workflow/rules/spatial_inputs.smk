"""Which files and settings belong to which job of spatial.smk."""

SPATIAL = config.get("spatial", {})
DOMAIN_FILES["spatial"] = []
