"""The crate is read back by the rocrate package and held against the profile's musts."""

import base64
import hashlib
import json

import pytest
from rocrate.rocrate import ROCrate

from headwater.core import crate
from headwater.core.errors import InputError


def record(folder, target, **values):
    """Write a metadata record as Snakemake 9.27 does (names cut at 254 characters)."""
    name = base64.urlsafe_b64encode(target.encode()).decode()
    parts = [name[i : i + 254] for i in range(0, len(name), 254)]
    parts = ["@" + p for p in parts[:-1]] + parts[-1:]
    path = folder.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"incomplete": False} | values))


@pytest.fixture
def records(tmp_path):
    folder = tmp_path / ".snakemake" / "metadata"
    record(folder, "results/demo/a b.tsv", rule="prepare", starttime=10.0, endtime=12.0)
    record(folder, "results/demo/" + "x" * 300, rule="fit", starttime=12.0, endtime=20.5)
    record(folder, "results/demo/m.tsv", rule="fit", starttime=13.0, endtime=22.0, incomplete=True)
    record(folder, "results/other/z", rule="other", starttime=1.0, endtime=2.0)
    (folder / "not a record").write_text("{")
    return folder


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "results" / "demo"
    (root / "counts").mkdir(parents=True)
    for name in ("Snakefile", "config.yaml", "a b.tsv", "m.tsv"):
        (root / name).write_text(f"content of {name}")
    return root


def build(root, records=None, **changes):
    values = {
        "name": "demo",
        "description": "a demo run",
        "workflow": "Snakefile",
        "config": "config.yaml",
        "outputs": ["m.tsv", "a b.tsv"],
        "inputs": [
            {
                "name": "mice.tsv",
                "sha256": "0" * 64,
                "bytes": 3,
                "licence": "CC-BY-4.0",
                "source": "https://example.org/mice.tsv",
            },
            {"name": "local <b>.nc", "sha256": "1" * 64},
        ],
        "software": {"snakemake": "9.27.1", "absent": None, "python": "3.11.7"},
        "records": records,
        "citations": [{"id": "https://doi.org/10.1/x", "text": "A paper"}],
        "licence": "https://spdx.org/licenses/CC-BY-4.0",
        "version": "abc123",
        "prefix": "results/demo/",
    }
    return crate.build_crate(root, **(values | changes))


def test_records_are_read_with_long_names_and_filtered_by_prefix(records):
    table = crate.read_metadata(records, prefix="results/demo/")
    assert list(table["rule"]) == ["prepare", "fit", "fit"]
    assert table["target"].str.len().max() == len("results/demo/") + 300
    assert list(table["complete"]) == [True, False, True]


def test_no_records_is_an_empty_table(tmp_path):
    table = crate.read_metadata(tmp_path / "absent")
    assert table.empty
    assert list(table.columns) == list(crate.RECORD_COLUMNS)


def test_crate_reloads_with_what_the_profile_demands(root, records):
    table = crate.read_metadata(records, prefix="results/demo/")
    crate.write_crate(root / "ro-crate-metadata.json", build(root, table))
    loaded = ROCrate(root)
    main = loaded.mainEntity
    assert main.id == "Snakefile"
    assert {"File", "SoftwareSourceCode", "ComputationalWorkflow"} <= set(main.type)
    assert "snakemake" in main["programmingLanguage"].id.lower()
    profiles = {p.id for p in loaded.root_dataset["conformsTo"]}
    assert {
        "https://w3id.org/ro/wfrun/process/0.6",
        "https://w3id.org/ro/wfrun/workflow/0.6",
        "https://w3id.org/workflowhub/workflow-ro-crate/1.1",
    } <= profiles
    run = loaded.dereference("#run")
    assert run.type == "CreateAction"
    assert run["instrument"] is main
    assert {e.id for e in run["result"]} == {"m.tsv", "a%20b.tsv"}
    assert {"config.yaml", "#data/mice.tsv"} <= {e.id for e in run["object"]}
    assert run["startTime"] == "1970-01-01T00:00:10+00:00"
    assert run in loaded.root_dataset["mentions"]


def test_rules_have_times_and_status(root, records):
    table = crate.read_metadata(records, prefix="results/demo/")
    made = build(root, table)
    fit, prepare = made.dereference("#action/fit"), made.dereference("#action/prepare")
    assert fit["endTime"] == "1970-01-01T00:00:22+00:00"
    assert fit.properties()["actionStatus"]["@id"] == crate.FAILED
    assert prepare.properties()["actionStatus"]["@id"] == crate.COMPLETED
    assert [e.id for e in prepare["result"]] == ["a%20b.tsv"]


def test_files_and_data_have_checksums_licences_and_versions(root):
    made = build(root)
    expected = hashlib.sha256(b"content of m.tsv").hexdigest()
    assert made.dereference("m.tsv")["sha256"] == expected
    assert made.dereference("m.tsv")["encodingFormat"] == "text/tab-separated-values"
    data = made.dereference("#data/mice.tsv")
    assert (data["license"], data["sha256"]) == ("CC-BY-4.0", "0" * 64)
    assert made.dereference("#software/snakemake")["softwareVersion"] == "9.27.1"
    assert made.dereference("#software/absent") is None
    assert [c.id for c in made.root_dataset["citation"]] == ["https://doi.org/10.1/x"] or (
        made.root_dataset["citation"].id == "https://doi.org/10.1/x"
    )


def test_same_results_give_the_same_bytes(root, records):
    table = crate.read_metadata(records, prefix="results/demo/")
    for name in ("one", "two"):
        crate.write_crate(root.parent / name, build(root, table))
    assert (root.parent / "one").read_bytes() == (root.parent / "two").read_bytes()


def test_every_reference_leads_somewhere(root, records):
    table = crate.read_metadata(records, prefix="results/demo/")
    graph = build(root, table).metadata.generate()["@graph"]
    ids = [e["@id"] for e in graph]
    assert len(ids) == len(set(ids))

    def references(value):
        if isinstance(value, dict):
            if set(value) == {"@id"}:
                yield value["@id"]
            for v in value.values():
                yield from references(v)
        elif isinstance(value, list):
            for v in value:
                yield from references(v)

    inner = {r for e in graph for r in references(e) if not r.startswith("http")}
    assert inner <= set(ids)


def test_a_missing_output_is_named(root):
    with pytest.raises(InputError, match=r"gone\.tsv"):
        build(root, outputs=["gone.tsv"])
