"""Genomic foundation models: collect, tune, infer, benchmark, interpret (Genome-Factory)."""
