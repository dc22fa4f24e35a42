"""What every rule and every configuration must have."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = sorted(ROOT.glob("config/*.yaml")) + sorted(ROOT.glob("config/*/*.yaml"))
VERBS = ("retrieve", "prepare", "split", "fit", "predict", "evaluate", "plot", "report")
TARGETS = {"all", "counts", "opf", "spatial", "genomics", "eeg", "retrieve_all"}

pytestmark = pytest.mark.workflow


def rules():
    """Yield (file, name, text) of every rule that is written out."""
    for path in [ROOT / "Snakefile", *sorted((ROOT / "workflow/rules").glob("*.smk"))]:
        parts = re.split(r"^rule (\w+):\n", path.read_text(), flags=re.M)
        for name, text in zip(parts[1::2], parts[2::2], strict=True):
            yield pytest.param(path.name, name, re.split(r"^\S", text, flags=re.M)[0], id=name)


@pytest.mark.parametrize(("file", "name", "text"), list(rules()))
def test_rules_have_every_directive_and_a_verb(file, name, text):
    if name in TARGETS or name.startswith("paper_"):
        assert "message:" in text
        return
    assert name.split("_")[0] in VERBS
    for directive in ("output", "log", "params", "threads", "resources", "conda", "message"):
        assert f"    {directive}:" in text, f"{name} lacks {directive}"
    for resource in ("mem_mb=", "runtime="):
        assert resource in text
    assert "script:" in text or "shell:" in text
    assert "    run:" not in text
    assert "retries:" not in text


def test_every_script_belongs_to_a_rule():
    text = "".join(p.read_text() for p in (ROOT / "workflow/rules").glob("*.smk"))
    for path in (ROOT / "workflow/scripts").rglob("*.py"):
        name = str(path.relative_to(ROOT / "workflow/scripts"))
        assert f'"../scripts/{name}"' in text, f"no rule runs {name}"


def test_scripts_hold_no_science():
    for path in (ROOT / "workflow/scripts").rglob("*.py"):
        if path.parent.name == "methods":
            continue
        text = path.read_text()
        assert len(text.splitlines()) <= 60, f"{path.name} is too long for glue"
        assert "import torch" not in text
        assert "import numpy" not in text


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: str(p.relative_to(ROOT / "config")))
def test_every_configuration_plans(path, snakemake, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWATER_OFFLINE", "1")
    job = snakemake("-n", "-q", "rules", "--configfile", path, directory=tmp_path)
    assert "Job stats" in job.stdout + job.stderr or "total" in job.stdout + job.stderr


def test_demo_configuration_uses_known_keys_only():
    for path in CONFIGS:
        assert set(yaml.safe_load(path.read_text())) <= {
            "run",
            "seed",
            "mirror",
            "offline",
            "counts",
            "opf",
            "spatial",
            "genomics",
            "eeg",
        }
