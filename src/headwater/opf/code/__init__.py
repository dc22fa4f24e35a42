"""Programs for a request: MATLAB code for MATPOWER, and a Python script for this package.

Both come from one set of templates, so that a request, its patch and its programs say the same.
"""

from __future__ import annotations

from .matlab import NotExpressible, matpower_code
from .python import python_code

__all__ = ["NotExpressible", "matpower_code", "python_code"]
