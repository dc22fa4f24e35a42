"""The bank of sentences, numbers in texts, requests composed from records, fidelity."""

import copy
import json
import re
import string

import numpy as np
import pytest

from headwater.opf.case import read_case, shipped_case
from headwater.opf.extensions import REGISTRY
from headwater.opf.fields import FIELDS
from headwater.opf.language import bank, compose, fidelity, numbers
from headwater.opf.structure import empty
from headwater.opf.synth.structures import MAKERS

BRANCHES = """weather outage market demand renewables maintenance policy cyber ev storage"""


@pytest.fixture(scope="module")
def case39():
    return read_case(shipped_case("case39"))


def kinds(text, **options):
    return [(n.value, n.kind) for n in numbers.numbers(text, **options)]


# ---- the bank -------------------------------------------------------------------------------


def test_every_field_that_a_formulation_uses_has_twelve_sentences():
    used = {name for (_, name), field in FIELDS.items() if field.used}
    counted = {name: sum(map(len, forms.values())) for name, forms in bank.fields().items()}
    assert used <= set(counted)
    assert {name: n for name, n in counted.items() if n < 12} == {}
    for name, forms in bank.fields().items():
        sentences = [t for group in forms.values() for t in group]
        assert len(set(sentences)) == len(sentences), name


def test_the_scenario_tree_has_forty_leaves_on_ten_branches():
    leaves = bank.scenarios()
    assert len(leaves) >= 40
    assert {s.branch for s in leaves.values()} == set(BRANCHES.split())
    assert {s.branch for s in leaves.values() if s.held_out} == set(BRANCHES.split())


def test_effects_are_fields_and_directions_that_there_are():
    names = {name for _, name in FIELDS}
    for scenario in bank.scenarios().values():
        assert len(scenario.lead) >= 3
        for effect in scenario.effects:
            assert effect.field in names
            assert effect.direction in ("increase", "decrease", "set_zero")
            assert len(effect.text) >= 2
            assert all(t.count("{o}") == 1 for t in effect.text), (scenario.name, effect.text)
            switch = effect.field.endswith("STATUS") or effect.direction == "set_zero"
            assert switch == (effect.direction == "set_zero")


def test_a_sentence_holds_no_number_of_its_own():
    for text in bank.texts():
        words = re.sub(r"\$/[\w./]+(\^2)?|\{\w+\}|N-1", "", text)
        assert not re.search(r"\d", words), text


def test_every_extension_that_is_drawn_says_all_it_needs():
    drawn = [n for n in MAKERS if n in REGISTRY] + ["real_reserve_cost", "ramp_limits", "storage"]
    assert set(bank.structures()) == set(drawn)
    for name in drawn:
        entry = bank.structures()[name]
        assert len(entry["frames"]) >= 4, name
        for text in [*entry["frames"], *entry.get("replace", ())]:
            slots = {p[1] for p in string.Formatter().parse(text) if p[1]}
            roots = {s.removesuffix("_words").removesuffix("_pct") for s in slots}
            roots |= {"epsilon"} if "confidence" in roots else set()
            needed = set(REGISTRY[name].REQUIRED)
            assert "each" in slots or needed <= roots, (name, text)


@pytest.mark.parametrize(
    ("text", "form"),
    [("set {o} to {p}", "set"), ("raise {o}", "up"), ("scale {o} by {v}", "scale")],
)
def test_a_sentence_with_the_wrong_slots_is_refused(text, form):
    with pytest.raises(ValueError, match="slots"):
        bank._check_slots("here", text, form)


# ---- numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the demand at bus 9 is 12.5 MW", [(9, "bus"), (12.5, "MW")]),
        ("the 2-3 line carries 1,250 MVA", [(2, "bus"), (3, "bus"), (1250, "MVA")]),
        (
            "buses 3, 17 and 9 deviate by -0.5 MW",
            [(3, "bus"), (17, "bus"), (9, "bus"), (-0.5, "MW")],
        ),
        ("from bus 2 to bus 30 at 0.98 p.u.", [(2, "bus"), (30, "bus"), (0.98, "p.u.")]),
        ("move the tap at bus 11 to 0.98", [(11, "bus"), (0.98, "")]),
        ("grows by 7%, then by 12 per cent", [(7, "percent"), (12, "percent")]),
        ("grows by one quarter", [(25, "percent")]),
        ("a tolerance of 10^-8 or 1e-06", [(1e-8, ""), (1e-6, "")]),
        ("circuit 2 between buses 89 and 90", [(2, "circuit"), (89, "bus"), (90, "bus")]),
        ("charge 20 $/MWh and 3 $/p.u.^2", [(20, "$/MWh"), (3, "$/p.u.^2")]),
        ("N-1 secure with input bus_PD_18", []),
        ("rates 0.9, 0.5, 1 t/MWh", [(0.9, ""), (0.5, ""), (1, "t/MWh")]),
    ],
)
def test_numbers_are_found_with_what_they_count(text, expected):
    assert kinds(text) == expected


def test_digits_in_names_are_no_numbers():
    text = "In pglib_opf_case30_as bus 3 takes 30 MW."
    assert kinds(text, without=["pglib_opf_case30_as"]) == [(3, "bus"), (30, "MW")]


@pytest.mark.parametrize("unit", sorted({f.unit for f in FIELDS.values() if f.unit}))
def test_a_value_written_with_its_unit_is_read_back(unit):
    rng = np.random.default_rng(3)
    for value in (0.00235, 0.94, 7.0, -12.5, 999.0, 1234.0, 25000.5, -40000.0):
        for _ in range(6):
            text = f"becomes {numbers.with_unit(value, unit, rng)}, as told."
            assert kinds(text) == [(value, numbers.SHOWN.get(unit, unit))], text


def test_percent_and_tolerance_are_read_back():
    rng = np.random.default_rng(0)
    for value in (1.0, 10.0, 12.5, 20.0, 25.0):
        texts = {numbers.percent(value, rng) for _ in range(60)}
        assert all(kinds(f"grows by {t}.") == [(value, "percent")] for t in texts), texts
    for value in (1e-6, 1e-8, 5e-7):
        texts = {numbers.tolerance(value, rng) for _ in range(40)}
        for text in texts:
            (found,) = kinds(f"to {text}.")
            assert found[0] == pytest.approx(value, rel=1e-12)


# ---- requests -------------------------------------------------------------------------------


def record(parameters=(), bindings=(), structure=None, name="case39"):
    return {
        "id": "t",
        "base_system": name,
        "parameters": list(parameters),
        "bindings": list(bindings),
        "structure": structure or empty(),
        "solver": {"violation": 1e-7},
    }


OBJECTS = {
    "bus": {"bus": 18},
    "gen": {"bus": 31},
    "branch": {"fbus": 2, "tbus": 30},
}


@pytest.mark.parametrize("key", [k for k, f in FIELDS.items() if f.used], ids="_".join)
def test_every_sentence_of_a_field_says_its_change(key, case39):
    component, field = key
    rng = np.random.default_rng(1)
    values = [("set", 0.0)] if FIELDS[key].switch else [("set", 1.07), ("scale", 1.17)]
    if "scale" in bank.fields()[field]:
        values.append(("scale", 0.83))
    elif not FIELDS[key].switch:
        values = values[:1]
    for op, value in values:
        item = {"component": component, **OBJECTS[component], "field": field, "op": op}
        for _ in range(12):
            asked = record([item | {"value": value}])
            text = compose.request(asked, case39, rng)
            assert fidelity.check(asked, text) == [], text
            assert fidelity.check(record([item | {"value": 0.7}]), text) or value == 0


def test_the_words_for_an_object_fit_the_network(case39):
    rng = np.random.default_rng(0)
    line = {"component": "branch", "fbus": 1, "tbus": 2, "field": "RATE_A"}
    transformer = line | {"fbus": 2, "tbus": 30}
    words = {
        k: {compose.thing(case39, i, rng) for _ in range(40)}
        for k, i in (("line", line), ("transformer", transformer))
    }
    assert not any("transformer" in t for t in words["line"])
    assert not any(re.search("line|connection", t) for t in words["transformer"])
    case = read_case(shipped_case("case5"))  # two units at bus 1
    unit = {"component": "gen", "bus": 1, "field": "PMAX"}
    assert all(re.match("every|each", compose.thing(case, unit, rng)) for _ in range(20))


def abstract():
    def one(name, component, field, direction, **keys):
        return {
            "name": name,
            "component": component,
            **keys,
            "field": field,
            "direction": direction,
            "values": [1.0, 2.0],
        }

    return record(
        bindings=[
            one("bus_PD_20", "bus", "PD", "increase", bus=20),
            one("branch_RATE_A_2_3", "branch", "RATE_A", "decrease", fbus=2, tbus=3),
        ]
    )


def test_an_abstract_request_names_placeholders_and_no_value(case39):
    texts = {
        compose.request(abstract(), case39, np.random.default_rng(k), "weather.heat_wave")
        for k in range(40)
    }
    assert len(texts) > 35
    for text in texts:
        assert fidelity.check(abstract(), text) == []
        there = [n for n in numbers.numbers(text, without=["case39"]) if n.kind != "size"]
        assert {(n.value, n.kind) for n in there} - {(1e-7, "")} == {
            (20, "bus"),
            (2, "bus"),
            (3, "bus"),
        }
        names = numbers.placeholders(text)
        assert names == ["bus_PD_20", "branch_RATE_A_2_3"] or "component_FIELD_bus" in text


def test_a_scenario_without_the_effect_is_refused(case39):
    with pytest.raises(ValueError, match="no sentence"):
        compose.request(abstract(), case39, np.random.default_rng(0), "weather.fog_day")


def test_one_stream_gives_one_text(case39):
    asked = record([{"component": "bus", "bus": 3, "field": "PD", "op": "scale", "value": 1.1}])
    first = compose.request(asked, case39, np.random.default_rng(5))
    assert compose.request(asked, case39, np.random.default_rng(5)) == first
    assert compose.request(asked, case39, np.random.default_rng(6)) != first


# ---- fidelity -------------------------------------------------------------------------------

TEXT = (
    "In case39, raise the real demand at bus 18 by 12 percent, and the unit at bus 31 may not"
    " exceed 500 MW. Hold spinning reserve: each unit offers at most 40 MW, 450 MW in total."
)
ASKED = record(
    [
        {"component": "bus", "bus": 18, "field": "PD", "op": "scale", "value": 1.12},
        {"component": "gen", "bus": 31, "field": "PMAX", "op": "set", "value": 500.0},
    ],
    structure=empty("DCOPF")
    | {
        "constraints": [
            {
                "op": "add",
                "name": "spinning_reserve_requirement",
                "unit_cap_mw": 40.0,
                "requirement_mw": 450.0,
            }
        ]
    },
)


def test_a_text_that_says_its_record_passes():
    assert fidelity.check(ASKED, TEXT) == []


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        ("bus 18", "bus 81", {"missing_in_text", "not_in_record"}),
        ("12 percent", "13 percent", {"missing_in_text", "not_in_record"}),
        ("bus 18 by 12 percent", "bus 12 by 18 percent", {"missing_in_text", "not_in_record"}),
        ("500 MW", "500 MVAr", {"missing_in_text", "not_in_record"}),
        (", 450 MW in total", "", {"missing_in_text"}),
        ("case39", "the network", {"missing_base_system"}),
        ("in total", "in total for 3 h", {"not_in_record"}),
        ("in total", "in total as bus_PD_18", {"wrong_placeholder"}),
    ],
)
def test_what_a_text_lost_or_invented_is_named(old, new, codes):
    assert {f.code for f in fidelity.check(ASKED, TEXT.replace(old, new))} == codes


def test_a_paraphrase_that_keeps_everything_survives():
    after = (
        "For case39 please let at most 500 MW come from the unit at bus 31, and let demand at node"
        " 18 go up 12 %. Reserve: 450 MW overall, no more than 40 MW each."
    )
    assert fidelity.survives(TEXT, after, ["case39"]) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("500 MW", "half a gigawatt"),
        ("bus 31", "bus 13"),
        ("bus 18 by 12 percent", "bus 12 by 18 percent"),
        ("at most 40 MW", "at most 40 MW of its 100 MW"),
        ("case39", "case57"),
    ],
)
def test_a_paraphrase_that_loses_something_does_not(old, new):
    assert fidelity.survives(TEXT, TEXT.replace(old, new), ["case39"])


def test_a_lost_placeholder_does_not_survive():
    text = "Use bus_PD_18 and gen_PMAX_31 as inputs."
    assert fidelity.survives(text, text.replace("gen_PMAX_31", "gen_PMAX_13"))
    assert fidelity.survives(text, "Use bus_PD_18 as input.")


def test_requests_written_by_hand_agree_with_their_records(mirror):
    """The check was written against our own bank; here it meets sentences of other people."""
    lines = (mirror / "opf/requests.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert len(records) == 21
    for asked in records:
        found = [f.message for f in fidelity.check(asked) if f.code != "missing_base_system"]
        assert found == [], asked["request"]
        spoilt = copy.deepcopy(asked)
        items = spoilt["parameters"] or spoilt["bindings"]
        if items[0].get("bus") != "*":
            key = "bus" if "bus" in items[0] else "fbus"
            items[0][key] = 987
            assert any(f.code == "missing_in_text" for f in fidelity.check(spoilt))
