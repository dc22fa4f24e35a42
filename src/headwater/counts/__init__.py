"""Poisson log-normal ICA for temporal counts (Chaussard, Bonnet, Le Corff; arXiv 2601.21696)."""
