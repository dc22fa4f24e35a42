"""Branch limits that hold with a probability under uncertain injections."""

from __future__ import annotations

from ._schema import bus, choice, number, one_or_more, positive

NAME = "chance_line_limits"
GROUP = "constraints"
APPLIES_TO = ("DCOPF",)
PARAMETERS = {
    "bus": one_or_more(bus("Bus of an uncertain injection, or a list of them")),
    "mean_mw": one_or_more(number("Its expected value, injected there", "MW")),
    "std_mw": one_or_more(positive("Its standard deviation, Gaussian, independent", "MW")),
    "epsilon": number("Probability of a violation", "1", exclusiveMinimum=0, exclusiveMaximum=0.5),
    "sided": choice(
        "Each direction of a branch with epsilon, or both together",
        "individual one-sided",
        "individual two-sided",
    ),
    "response": choice(
        "Who takes up the forecast error: the reference bus, or all units by capacity",
        "reference",
        "proportional",
    ),
}
REQUIRED = ("bus", "mean_mw", "std_mw", "epsilon")
DEFINES = ("rate_margin",)
