"""Requests in words: sentences, scenarios, numbers, and the check that nothing was lost.

`bank` reads the sentences (YAML beside it), `compose` writes the request of a record, `numbers`
formats and finds numbers, `fidelity` holds a text against its record or against its paraphrase.
"""
