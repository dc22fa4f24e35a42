"""What at least two domains use: files, errors, seeds, metrics, provenance, pages."""
