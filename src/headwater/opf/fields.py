"""The fields of a network that a request may change: unit, plausible range, who uses them.

Columns and their units are those of MATPOWER's case format (User's Manual 8.0, appendix B);
``COST_Ck`` is the coefficient of P^k of a polynomial cost, never a column position. The ranges
are ours: wide enough for every case of MATPOWER and PGLib, narrow enough to notice percent or
kilovolt in the place of per unit.
"""

from __future__ import annotations

from dataclasses import dataclass

COMPONENTS = ("bus", "gen", "branch")
AC = ("ACOPF", "SOCP")
NETWORK = ("ACOPF", "DCOPF", "SOCP")
ALL = ("ACOPF", "DCOPF", "ED", "SOCP")
# The convention P = (theta_f - theta_t) x / (r^2 + x^2) has the resistance and no transformer.
DC_FIELDS = {"matpower": ("TAP", "SHIFT"), "powermodels": ("BR_R",)}


@dataclass(frozen=True)
class Field:
    """One field.

    Attributes
    ----------
    component : str
        ``bus``, ``gen`` or ``branch``.
    name, title, unit : str
        Name in requests, in words, and its unit.
    low, high : float
        Plausible range, in the unit.
    used : tuple of str
        Formulations whose optimum depends on it.
    limit : bool
        Whether it is a limit, so that infinity means that there is none.
    zero : str
        What a zero means where it is no amount.
    """

    component: str
    name: str
    title: str
    unit: str
    low: float
    high: float
    used: tuple[str, ...] = ALL
    limit: bool = False
    zero: str = ""

    @property
    def power(self) -> int | None:
        """The power of P that a cost coefficient multiplies; None for other fields."""
        return int(self.name[-1]) if self.name.startswith("COST_C") else None

    @property
    def switch(self) -> bool:
        """Whether it is a status, 0 or 1."""
        return self.name.endswith("STATUS")

    @property
    def range(self) -> str:
        """The plausible range in words."""
        if self.switch:
            return "0 or 1"
        unit = f"{self.unit} " if self.unit else ""
        return f"{unit}{self.low:g} to {self.high:g}" + (", or Inf for none" if self.limit else "")


def _costs() -> list[Field]:
    words = ("constant", "linear", "quadratic", "cubic")
    units = ("$/h", "$/MWh", "$/MW^2 per hour", "$/MW^3 per hour")
    return [
        Field("gen", f"COST_C{k}", f"{words[k]} cost coefficient", units[k], -1e9, 1e9)
        for k in range(4)
    ]


_LIST = [
    Field("bus", "PD", "real power demand", "MW", -1e5, 1e5),
    Field("bus", "QD", "reactive power demand", "MVAr", -1e5, 1e5, AC),
    Field("bus", "GS", "shunt conductance", "MW at 1 p.u.", -1e5, 1e5),
    Field("bus", "BS", "shunt susceptance", "MVAr at 1 p.u.", -1e5, 1e5, AC),
    Field("bus", "VMAX", "upper voltage limit", "p.u.", 0.5, 1.5, AC),
    Field("bus", "VMIN", "lower voltage limit", "p.u.", 0.5, 1.5, AC, zero="no lower limit"),
    Field("bus", "VM", "voltage magnitude of the file", "p.u.", 0.5, 1.5, ()),
    Field("bus", "VA", "voltage angle of the file", "degrees", -360, 360, ()),
    Field("gen", "PMAX", "maximum real output", "MW", -1e5, 1e5, limit=True),
    Field("gen", "PMIN", "minimum real output", "MW", -1e5, 1e5, limit=True),
    Field("gen", "QMAX", "maximum reactive output", "MVAr", -1e5, 1e5, AC, limit=True),
    Field("gen", "QMIN", "minimum reactive output", "MVAr", -1e5, 1e5, AC, limit=True),
    Field("gen", "GEN_STATUS", "status", "", 0, 1),
    Field("gen", "RAMP_AGC", "ramp rate for regulation", "MW/min", 0, 1e5, ()),
    *_costs(),
    Field("branch", "BR_R", "resistance", "p.u.", -100, 100, AC),
    Field("branch", "BR_X", "reactance", "p.u.", -100, 100, NETWORK),
    Field("branch", "BR_B", "charging susceptance", "p.u.", -1000, 1000, AC),
    Field("branch", "RATE_A", "rating", "MVA", 0, 1e6, NETWORK, True, "no limit"),
    Field("branch", "TAP", "tap ratio", "p.u.", 0.3, 3, AC, zero="a line, ratio 1"),
    Field("branch", "SHIFT", "phase shift", "degrees", -360, 360, AC),
    Field("branch", "BR_STATUS", "status", "", 0, 1, NETWORK),
    Field("branch", "ANGMIN", "lower angle difference limit", "degrees", -360, 360, NETWORK, True),
    Field("branch", "ANGMAX", "upper angle difference limit", "degrees", -360, 360, NETWORK, True),
]
FIELDS: dict[tuple[str, str], Field] = {(f.component, f.name): f for f in _LIST}
# Other names of the same cost coefficients; one meaning for all: C<k> multiplies P^k.
ALIASES = {
    f"{prefix}_C{k}": f"COST_C{k}" for prefix in ("GENCOST", "COST_PARAMS") for k in range(4)
}


def names(component: str | None = None) -> tuple[str, ...]:
    """Return the names of the fields, of one component or all."""
    return tuple(n for c, n in FIELDS if component in (None, c))


def owner(name: str) -> str | None:
    """Return the component that has a field of this name, None where there is none."""
    return next((c for c, n in FIELDS if n == name), None)


def is_used(field: Field, formulation: str, dc_convention: str = "matpower") -> bool:
    """Return whether the optimum of a formulation can depend on the field."""
    if formulation == "DCOPF" and field.name in DC_FIELDS.get(dc_convention, ()):
        return True
    return formulation in field.used
