"""The closed vocabulary of structural extensions: one module for each name.

A module of this package is an extension when its name does not begin with an underscore. It has

``NAME`` (str), ``GROUP`` (``objective``, ``constraints`` or ``variables``), ``APPLIES_TO``
(formulations), ``PARAMETERS`` (JSON schema of each parameter, its unit in the description),
``REQUIRED`` (names of those without a default) and ``apply(model, values)``. Where it is so:

``DEFINES``
    variables it defines; two extensions with one in common exclude each other.
``NEEDS``, ``EXCLUDES``
    one of these extensions has to be there too, none of these may.
``OPERATIONS``
    what ``op`` may be, the default first.
``check(values)``
    yields (parameter, found, expected) of what does not fit together.
``couple(models, values)``
    ties the periods of a horizon together.
``refine(models, values, raw) -> bool``
    adds rows that a solution violates.
``report(model, raw)``
    the extras of a solution.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

FORMULATIONS = ("ACOPF", "DCOPF", "ED", "SOCP")
GROUPS = ("objective", "constraints", "variables")


def _registry() -> dict[str, ModuleType]:
    found = {}
    for entry in sorted(pkgutil.iter_modules(__path__), key=lambda e: e.name):
        if not entry.name.startswith("_"):
            module = importlib.import_module(f"{__name__}.{entry.name}")
            found[module.NAME] = module
    return found


REGISTRY: dict[str, ModuleType] = _registry()
