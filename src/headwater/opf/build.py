"""From a case and a structure to a program ready to be solved."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from headwater.core.errors import InputError

from .case import Case
from .model import Model
from .model_ac import AcModel
from .model_dc import DcModel
from .model_ed import EdModel
from .model_socp import SocpModel
from .network import Network, network_of, parameters, signature
from .program import Program, Raw

if TYPE_CHECKING:
    from .engine import Options

MODELS: dict[str, type[Model]] = {m.formulation: m for m in (AcModel, DcModel, EdModel, SocpModel)}
HORIZON = "horizon"
Item = tuple[ModuleType, dict[str, Any]]


@dataclass
class Built:
    """A program of a case and a structure, for all cases that differ in numbers alone.

    Attributes
    ----------
    network : Network
        Of the case it was built for.
    program, models
        The program and its periods.
    items : list of (module, values)
        The extensions in the order in which they were applied.
    reads : bool
        Whether an extension read numbers of the case: then it holds for that case only.
    """

    network: Network
    program: Program
    models: list[Model]
    items: list[Item]
    reads: bool
    cache: dict[str, Any] = field(default_factory=dict)

    def values(self, case: Case, network: Network) -> np.ndarray:
        """Return the parameters for another case with the same signature."""
        if case is self.network.source:
            return self.program.values()
        changes = parameters(case, network)
        for name, source in self.program.sources.items():
            with network.unwatched():
                changes[name] = np.asarray(source(network), dtype=float)
        return self.program.values(changes)

    def solver(self, options: Options) -> Any:
        """Return the compiled program for the solver that fits it.

        Raises
        ------
        InputError
            For integers in a nonlinear program.
        """
        if "solver" not in self.cache:
            self.cache["solver"] = self._compile(options)
        return self.cache["solver"]

    def _compile(self, options: Options) -> Any:
        from .solve_conic import Conic
        from .solve_linear import Linear, degree
        from .solve_nlp import Nlp

        settings = options.violation, options.max_iterations, options.time_limit_s
        power = degree(self.program)
        if self.program.cones:
            if power < 3:
                return Conic(self.program, *settings)
            found = "a cost or a limit that is neither linear nor quadratic"
            raise InputError(None, "structure", found, "quadratic costs in a SOCP")
        if power < 3:
            return Linear(self.program, *settings)
        if any(self.program.integer):
            found = "integer variables in a nonlinear program"
            hint = "Use DCOPF with linear or quadratic costs."
            raise InputError(None, "structure", found, "a linear or quadratic program", hint)
        return Nlp(self.program, *settings)


def items_of(structure: Mapping[str, Any]) -> list[tuple[dict[str, Any], Item]]:
    """Return the extensions of a structure as (item, (module, values)): variables first."""
    from .extensions import REGISTRY
    from .structure import values

    order = ("variables", "constraints", "objective")
    listed = [item for group in order for item in structure.get(group) or []]
    return [(dict(item), (REGISTRY[item["name"]], values(item))) for item in listed]


def replaces(item: Mapping[str, Any], module: ModuleType) -> bool:
    """Return whether an item takes the place of the cost of generation."""
    if module.GROUP != "objective":
        return False
    return item.get("op", getattr(module, "OPERATIONS", ("add",))[0]) == "replace"


def build(
    case: Case,
    structure: Mapping[str, Any],
    options: Options,
    network: Network | None = None,
    before_finish: Callable[[list[Model]], None] | None = None,
) -> Built:
    """Build the program of a case.

    Parameters
    ----------
    case : Case
    structure : mapping
        Checked against the vocabulary.
    options : Options
    network : Network, optional
        Of the case, where it is there already.
    before_finish : callable, optional
        Called with the models after the extensions.
    """
    network = network_of(case) if network is None else network
    program = Program()
    data = {k: program.parameter(k, v) for k, v in parameters(case, network).items()}
    listed = items_of(structure)
    horizon = next((v for _, (m, v) in listed if m.NAME == HORIZON), None)
    models = _models(MODELS[structure["formulation"]], program, network, data, horizon, options)
    network.watch["read"] = False
    for item, (module, values) in listed:
        for model in models:
            if replaces(item, module):
                model.generation = False
            if hasattr(module, "apply"):
                module.apply(model, values)
    for _, (module, values) in listed:
        if hasattr(module, "couple"):
            module.couple(models, values)
    if before_finish is not None:
        before_finish(models)
    for model in models:
        model.finish()
    items = [entry for _, entry in listed]
    return Built(network, program, models, items, network.watch["read"])


def _models(
    kind: type[Model],
    program: Program,
    network: Network,
    data: dict[str, ca.SX],
    horizon: Mapping[str, Any] | None,
    options: Options,
) -> list[Model]:
    """Return one model for each period."""
    settings = {"convention": options.dc_convention, "loads": options.dispatchable_loads}
    if horizon is None:
        return [kind(program, network, data, **settings)]
    hours = horizon.get("hours", 1.0)
    factors = horizon.get("load_multipliers")
    profiles = horizon.get("profiles") or []
    count = len(factors) if factors is not None else len(profiles[0]["pd_mw"])
    lengths = hours if isinstance(hours, list) else [hours] * count
    models = []
    for t in range(count):
        factor = 1.0 if factors is None else factors[t]
        pd, qd = factor * data["pd"], factor * data["qd"]
        for profile in profiles:
            if len(profile["pd_mw"]) != count:
                found = f"{len(profile['pd_mw'])} values for bus {profile['bus']}"
                raise InputError(None, "horizon, profiles", found, f"{count}, one a period")
            bus = network.bus_index(profile["bus"])
            real = profile["pd_mw"][t] / network.base
            old = data["pd"][bus]
            qd[bus] = ca.if_else(old == 0, data["qd"][bus], data["qd"][bus] * real / old)
            pd[bus] = real
        place = {"prefix": f"t{t}.", "period": t, "hours": lengths[t], "load": (pd, qd)}
        models.append(kind(program, network, data, **settings, **place))
    return models


def key(network: Network, reads: bool) -> tuple:
    """Return what a built program depends on."""
    base = signature(network)
    return (*base, digest(network.source)) if reads else base


def digest(case: Case) -> str:
    """Return a hash of all numbers of a case."""
    state = hashlib.sha256()
    for table in (case.bus, case.gen, case.branch):
        state.update(np.ascontiguousarray(table.to_numpy()).tobytes())
    state.update(np.ascontiguousarray(case.gencost).tobytes())
    return state.hexdigest()


def refine(built: Built, raw: Raw) -> bool:
    """Ask the extensions whether a solution calls for more constraints."""
    again = False
    for module, values in built.items:
        if hasattr(module, "refine"):
            again = bool(module.refine(built.models, values, raw)) or again
    if again:
        built.cache.clear()
    return again
