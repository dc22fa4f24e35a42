"""Gene expression from histology on spot arrays (HEXST)."""
