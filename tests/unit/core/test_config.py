"""Each fault of a configuration is one line that says what to write instead."""

import pytest

from headwater.core.config import (
    from_command_line,
    load_schema,
    merged,
    nearest,
    parse_settings,
    problems,
    repeated_keys,
    with_defaults,
)

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["run"],
    "properties": {
        "run": {"type": "string"},
        "counts": {
            "type": "object",
            "additionalProperties": False,
            "default": {},
            "properties": {
                "rank": {"type": "integer", "minimum": 1, "default": 3},
                "kind": {"enum": ["ar", "mf"], "default": "ar"},
                "event": {"oneOf": [{"required": ["threshold"]}, {"required": ["percentile"]}]},
                "d": {
                    "anyOf": [{"type": "integer", "minimum": 1}, {"type": "array"}],
                    "default": 2,
                },
            },
        },
    },
}


@pytest.mark.parametrize(
    ("config", "line"),
    [
        (
            {"run": "a", "counts": {"rank": 0}},
            "config: counts.rank: 0 is less than the minimum of 1 (mine.yaml)",
        ),
        (
            {"run": "a", "counts": {"rnak": 2}},
            "config: counts.rnak: unknown key; did you mean 'rank'? (mine.yaml)",
        ),
        (
            {"run": "a", "counts": {"kind": "arr"}},
            "config: counts.kind: 'arr' is none of ar, mf; did you mean 'ar'? (mine.yaml)",
        ),
        (
            {"run": "a", "counts": {"rank": "3"}},
            "config: counts.rank: '3' is not a whole number of at least 1 (mine.yaml)",
        ),
        (
            {"counts": {}},
            "config: (top level): missing 'run'; add it, config/README.md describes it (mine.yaml)",
        ),
        (
            {"run": "a", "counts": {"d": 0}},
            "config: counts.d: 0 is not a whole number of at least 1 or a list (mine.yaml)",
        ),
        (
            {"run": "a", "counts": {"event": {"percentile": 1, "threshold": 2}}},
            "config: counts.event: give exactly one of 'threshold' and 'percentile'; found"
            " 'threshold' and 'percentile' (mine.yaml)",
        ),
        (
            {"run": "a", "counts": {"event": {}}},
            "config: counts.event: give exactly one of 'threshold' and 'percentile'; found none"
            " of them (mine.yaml)",
        ),
        (
            {"run": "a", "counts": None},
            "config: counts: None is not a block of keys (mine.yaml)",
        ),
    ],
)
def test_one_line_per_problem(config, line):
    assert problems(config, SCHEMA, [("mine.yaml", config)]) == [line]


def test_several_problems_several_lines_and_the_file_that_set_the_key():
    first = {"run": 3, "counts": {"rank": 0}}
    second = {"counts": {"rank": -1}}
    lines = problems(merged(first, second), SCHEMA, [("a.yaml", first), ("b.yaml", second)])
    assert [line[-8:] for line in lines] == ["(b.yaml)", "(a.yaml)"]


def test_a_good_configuration_has_none_and_gets_defaults():
    assert problems({"run": "a"}, SCHEMA) == []
    assert with_defaults({"run": "a"}, SCHEMA) == {
        "run": "a",
        "counts": {"rank": 3, "kind": "ar", "d": 2},
    }


def test_a_key_that_stands_twice_is_named_with_its_lines():
    text = "run: a\ncounts:\n  d: 1\n  marks: [{time: 1, time: 2}]\n  d: 2\nrun: b\n"
    assert repeated_keys(text) == [
        "config: counts.marks.0.time: stands twice, in lines 4 and 4",
        "config: counts.d: stands twice, in lines 3 and 5",
        "config: run: stands twice, in lines 1 and 6",
    ]
    assert repeated_keys("run: a\ncounts: {d: 1}\n") == repeated_keys("") == []


def test_settings_of_a_table_row():
    assert parse_settings("select.d=2,3; split.folds=5;name=x;flag=true;low=0.001") == {
        "select": {"d": [2, 3]},
        "split": {"folds": 5},
        "name": "x",
        "flag": True,
        "low": 0.001,
    }
    assert parse_settings("") == {}
    with pytest.raises(ValueError, match="folds"):
        parse_settings("folds")


def test_numbers_in_settings_are_numbers():
    assert parse_settings("low=1e-3")["low"] == pytest.approx(0.001)


def test_schema_files_may_refer_to_others(tmp_path):
    (tmp_path / "a.yaml").write_text("properties:\n  b: {$ref: b.yaml}\n")
    (tmp_path / "b.yaml").write_text("type: integer\n")
    assert load_schema(tmp_path / "a.yaml") == {"properties": {"b": {"type": "integer"}}}


def test_entries_of_a_mapping_by_name_are_checked_and_filled():
    entry = SCHEMA["properties"]["counts"]
    schema = {
        "type": "object",
        "properties": {"models": {"type": "object", "additionalProperties": entry}},
    }
    filled = with_defaults({"models": {"a": {"rank": 1}}}, schema)
    assert filled == {"models": {"a": {"rank": 1, "kind": "ar", "d": 2}}}
    config = {"models": {"a": {"kin": "ar"}}}
    assert problems(config, schema, [("x.yaml", config)]) == [
        "config: models.a.kin: unknown key; did you mean 'kind'? (x.yaml)"
    ]


def test_a_hint_names_some_of_many():
    assert nearest("zzz", [f"sample{i}" for i in range(1000)]).endswith("sample19, ...")
    assert nearest("sampel7", [f"sample{i}" for i in range(1000)]) == "did you mean 'sample7'?"


def test_text_of_the_command_line_becomes_what_the_schema_wants():
    schema = {
        "properties": {
            "offline": {"type": "boolean"},
            "run": {"type": "string"},
            "a": {"properties": {"n": {"type": "integer"}, "lr": {"type": "number"}}},
            "d": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]},
        }
    }
    given = {"offline": "true", "run": "5", "a": {"n": "3", "lr": "1e-2"}, "d": ["2", "3"]}
    wanted = {"offline": True, "run": "5", "a": {"n": 3, "lr": 0.01}, "d": [2, 3]}
    assert from_command_line(given, schema) == wanted
    odd = {"offline": "maybe", "a": {"n": "x"}, "d": "2", "z": "1"}
    assert from_command_line(odd, schema) == {**odd, "d": 2}
