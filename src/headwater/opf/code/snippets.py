"""MATLAB lines of single extensions, on MATPOWER's optimisation model (manual, chapter 7).

Costs and constraints are per unit there: a cost of c $/MVAr^2 is c base^2 in p.u., a limit of
r MW is r/base.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy.stats import norm

Values = Mapping[str, Any]
FLOWS = (
    "[Bb, Bf, Pb, Pfi] = makeBdc(base, mpc.bus, mpc.branch);",
    "H = makePTDF(base, mpc.bus, mpc.branch);",
    "s = find(mpc.branch(:, RATE_A) > 0); rt = mpc.branch(:, RATE_A) / base;",
)


class NotExpressible(ValueError):
    """The request has no program of this kind; the message names the part."""


@dataclass(frozen=True)
class Snippet:
    """Lines of one extension.

    Attributes
    ----------
    before : changes of the case, before the model is set up
    model : lines on the model `om`
    solve : lines that take the place of the solve
    """

    before: Sequence[str] = ()
    model: Sequence[str] = ()
    solve: Sequence[str] = ()


def literal(value: Any) -> str:
    """Return a number or a list of numbers as MATLAB writes them."""
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(literal(v) for v in value) + "]"
    number = float(value)
    return repr(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def _column(value: Any, count: str) -> str:
    """Return one value per row: a list as a column, or a number repeated."""
    if isinstance(value, (list, tuple)):
        return f"{literal(list(value))}'"
    return f"{literal(value)} * ones({count}, 1)"


def _angle_difference(v: Values, formulation: str) -> Snippet:
    if formulation != "DCOPF":
        raise NotExpressible("angle_difference_penalty outside DCOPF")
    return Snippet(
        model=(
            "E = sparse(1:nl, mpc.branch(:, F_BUS), 1, nl, nb)"
            " - sparse(1:nl, mpc.branch(:, T_BUS), 1, nl, nb);",
            f"om.add_quad_cost('angles', 2 * {literal(v['beta'])} * (E' * E),"
            " zeros(nb, 1), 0, {'Va'});",
        )
    )


def _voltage_deviation(v: Values, formulation: str) -> Snippet:
    beta, ref = literal(v["beta"]), literal(v["v_ref"])
    return Snippet(
        model=(
            f"om.add_quad_cost('voltages', 2 * {beta} * speye(nb),"
            f" -2 * {beta} * {ref} * ones(nb, 1), {beta} * nb * {ref}^2, {{'Vm'}});",
        )
    )


def _reactive_cost(v: Values, formulation: str) -> Snippet:
    if "pu" in str(v.get("unit", "")).lower() or "p.u." in str(v.get("unit", "")):
        raise NotExpressible("reactive_generation_cost per unit")
    c2, c1 = _column(v.get("c2", 0.0), "ng"), _column(v.get("c1", 0.0), "ng")
    c0 = v.get("c0", 0.0)
    total = f"sum({literal(c0)})" if isinstance(c0, (list, tuple)) else f"ng * {literal(c0)}"
    return Snippet(
        model=(
            f"c2 = {c2}; c1 = {c1};",
            "om.add_quad_cost('reactive', spdiags(2 * c2 * base^2, 0, ng, ng), c1 * base,"
            f" {total}, {{'Qg'}});",
        )
    )


def _reserve(name: str) -> Callable[[Values, str], Snippet]:
    def make(v: Values, formulation: str) -> Snippet:
        if v.get("zones"):
            raise NotExpressible(f"zones of {name}")
        cap, need = _column(v["unit_cap_mw"], "ng"), literal(v["requirement_mw"])
        price = v.get("price", 0.0)
        lines = [
            f"om.add_var('{name}', ng, zeros(ng, 1), zeros(ng, 1), {cap} / base);",
            f"om.add_lin_constraint('{name}_room', [speye(ng) speye(ng)], [],"
            f" mpc.gen(:, PMAX) / base, {{'Pg', '{name}'}});",
            f"om.add_lin_constraint('{name}_need', sparse(ones(1, ng)), {need} / base, [],"
            f" {{'{name}'}});",
        ]
        if price:
            lines.append(
                f"om.add_quad_cost('{name}_price', [], base * {_column(price, 'ng')}, 0,"
                f" {{'{name}'}});"
            )
        return Snippet(model=lines)

    return make


def _n1(v: Values, formulation: str) -> Snippet:
    if v.get("contingencies", "all_non_islanding_branches") != "all_non_islanding_branches":
        raise NotExpressible("a list of contingencies")
    k = literal(v["emergency_factor"])
    return Snippet(
        model=(
            *FLOWS,
            "LODF = makeLODF(mpc.branch, H);",
            "for c = 1:nl",
            "  if any(~isfinite(LODF(:, c))) || max(abs(LODF(:, c))) > 1e6, continue; end",
            "  kk = s(s ~= c); A = Bf(kk, :) + LODF(kk, c) * Bf(c, :);",
            "  b0 = Pfi(kk) + LODF(kk, c) * Pfi(c);",
            f"  om.add_lin_constraint(sprintf('n1_%d', c), sparse(A), -{k} * rt(kk) - b0,"
            f" {k} * rt(kk) - b0, {{'Va'}});",
            "end",
        )
    )


def _shedding(v: Values, formulation: str) -> Snippet:
    if v.get("power_factor", "constant") != "constant" or v.get("max_fraction", 1.0) != 1.0:
        raise NotExpressible("load_shedding that is not at constant power factor")
    if isinstance(v["voll"], (list, tuple)):
        raise NotExpressible("a value of lost load for each bus")
    return Snippet(
        before=(
            "% every positive load becomes a dispatchable load at constant power factor",
            f"ix = find(mpc.bus(:, PD) > 0); nd = length(ix); voll = {literal(v['voll'])};",
            "g = zeros(nd, size(mpc.gen, 2)); g(:, GEN_BUS) = mpc.bus(ix, BUS_I);",
            "g(:, MBASE) = mpc.baseMVA; g(:, GEN_STATUS) = 1; g(:, VG) = 1;",
            "g(:, PMIN) = -mpc.bus(ix, PD); g(:, PG) = g(:, PMIN); q = -mpc.bus(ix, QD);",
            "g(:, QG) = q; g(:, QMIN) = min(q, 0); g(:, QMAX) = max(q, 0);",
            "c = zeros(nd, size(mpc.gencost, 2)); c(:, MODEL) = 2; c(:, NCOST) = 2;",
            "c(:, COST) = voll; c(:, COST + 1) = voll * mpc.bus(ix, PD);",
            "mpc.gen = [mpc.gen; g]; mpc.gencost = [mpc.gencost; c]; mpc.bus(ix, [PD QD]) = 0;",
        )
    )


def _emission_cap(v: Values, formulation: str) -> Snippet:
    rates = v["rates_t_per_mwh"]
    row = f"({_column(rates, 'ng')})'"
    return Snippet(
        model=(
            f"om.add_lin_constraint('emissions', sparse({row}) * base, [],"
            f" {literal(v['cap_t_per_h'])}, {{'Pg'}});",
        )
    )


def _emission_cost(v: Values, formulation: str) -> Snippet:
    if any(_nonzero(v.get(k, 0.0)) for k in ("zeta", "gamma")):
        raise NotExpressible("emission_cost with exponential or constant terms")
    price = literal(v["price"])
    alpha, beta = _column(v.get("alpha", 0.0), "ng"), _column(v.get("beta", 0.0), "ng")
    return Snippet(
        model=(
            f"al = {alpha}; be = {beta};",
            f"om.add_quad_cost('emissions', spdiags(2 * {price} * al * base^2, 0, ng, ng),"
            f" {price} * be * base, 0, {{'Pg'}});",
        )
    )


def _nonzero(value: Any) -> bool:
    values = value if isinstance(value, (list, tuple)) else [value]
    return any(float(x) != 0 for x in values)


def _switching(v: Values, formulation: str) -> Snippet:
    if v["max_open"] != 1 or v.get("candidates", "all") != "all":
        raise NotExpressible("switching of more than one branch, or of a list")
    return Snippet(
        solve=(
            "% at most one open branch: all are tried",
            "best = Inf;",
            "for o = 0:size(mpc.branch, 1)",
            "  m2 = mpc; if o > 0, m2.branch(o, BR_STATUS) = 0; end",
            "  rr = runopf(m2, mpopt);",
            "  if rr.success && rr.f < best, best = rr.f; results = rr; end",
            "end",
        )
    )


def _listed(value: Any) -> list[float]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _margin(lines: Sequence[str]) -> tuple[str, ...]:
    return (
        *FLOWS,
        *lines,
        "om.add_lin_constraint('margins', Bf(s, :), -rt(s) + mar(s) - Pfi(s),"
        " rt(s) - mar(s) - Pfi(s), {'Va'});",
    )


def _chance(v: Values, formulation: str) -> Snippet:
    if v.get("response", "reference") != "reference" or ("sided" in v and "two" in v["sided"]):
        raise NotExpressible("chance_line_limits that are shared or two-sided")
    buses, std = _listed(v["bus"]), _listed(v["std_mw"])
    mean = _listed(v["mean_mw"])
    mean = mean * len(buses) if len(mean) == 1 else mean
    std = std * len(buses) if len(std) == 1 else std
    before = tuple(
        f"k = find(mpc.bus(:, BUS_I) == {literal(b)}); mpc.bus(k, PD) = mpc.bus(k, PD) -"
        f" {literal(m)};"
        for b, m in zip(buses, mean, strict=True)
    )
    z = repr(float(norm.ppf(1 - v["epsilon"])))
    lines = ["var = zeros(nl, 1);"]
    lines += [
        f"w = find(mpc.order.bus.i2e == {literal(b)}); var = var + (H(:, w) * {literal(s)}).^2;"
        for b, s in zip(buses, std, strict=True)
    ]
    lines.append(f"mar = {z} * sqrt(var) / base;")
    return Snippet(before=before, model=_margin(lines))


def _robust(v: Values, formulation: str) -> Snippet:
    if v.get("budget") is not None:
        raise NotExpressible("robust_line_limits with a budget")
    buses, delta = _listed(v["buses"]), _listed(v["delta_mw"])
    delta = delta * len(buses) if len(delta) == 1 else delta
    lines = ["mar = zeros(nl, 1);"]
    lines += [
        f"w = find(mpc.order.bus.i2e == {literal(b)}); mar = mar + abs(H(:, w)) * {literal(d)}"
        " / base;"
        for b, d in zip(buses, delta, strict=True)
    ]
    return Snippet(model=_margin(lines))


def _soft(v: Values, formulation: str) -> Snippet:
    if formulation != "DCOPF" or v.get("branches", "all") != "all" or v.get("max_excess"):
        raise NotExpressible("soft_line_limits outside DCOPF, of a list or with a bound")
    return Snippet(
        before=("rs = mpc.branch(:, RATE_A); mpc.branch(:, RATE_A) = 0;",),
        model=(
            "[Bb, Bf, Pb, Pfi] = makeBdc(base, mpc.bus, mpc.branch);",
            "rs = rs(mpc.order.branch.status.on); s = find(rs > 0); ns = length(s);"
            " rt = rs / base;",
            "om.add_var('excess', ns, zeros(ns, 1), zeros(ns, 1), Inf(ns, 1));",
            "om.add_lin_constraint('soft_up', [Bf(s, :) -speye(ns)], [], rt(s) - Pfi(s),"
            " {'Va', 'excess'});",
            "om.add_lin_constraint('soft_down', [-Bf(s, :) -speye(ns)], [], rt(s) + Pfi(s),"
            " {'Va', 'excess'});",
            f"om.add_quad_cost('excess', [], base * {literal(v['penalty'])} * ones(ns, 1), 0,"
            " {'excess'});",
        ),
    )


SNIPPETS: dict[str, Callable[[Values, str], Snippet]] = {
    "angle_difference_penalty": _angle_difference,
    "voltage_deviation_penalty": _voltage_deviation,
    "reactive_generation_cost": _reactive_cost,
    "spinning_reserve_requirement": _reserve("Rspin"),
    "regulation_up_requirement": _reserve("Rreg"),
    "n1_security": _n1,
    "load_shedding": _shedding,
    "emission_cap": _emission_cap,
    "emission_cost": _emission_cost,
    "transmission_switching": _switching,
    "chance_line_limits": _chance,
    "robust_line_limits": _robust,
    "soft_line_limits": _soft,
}
