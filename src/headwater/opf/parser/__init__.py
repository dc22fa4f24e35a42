"""The offline baseline: a request read with a lexicon and a small grammar, no model, no learning.

It sees the text and the networks, never the answers. It is what a language model has to beat.
"""

from .answer import answer, parse

__all__ = ["answer", "parse"]
