"""Fits that share a job are the fits that each would be alone, also after a kill."""

import pytest
import torch

from headwater.core.errors import InputError
from headwater.core.io import read_torch, write_torch
from headwater.core.seeds import job_seed
from headwater.counts import batch
from headwater.counts.batch import clear_work, fit_batch, read_fits
from headwater.counts.fit import FitConfig, fit_plnica
from headwater.counts.simulate import simulate_scenario
from headwater.counts.split import make_folds, training_part

CONFIG = FitConfig.from_mapping({"d": 2, "C": 2, "epochs": 12, "warmup": 4, "init_epochs": 3})
FITS = [
    {"fold": fold, "start": start, "seed": job_seed(1, "fit", {"fold": fold, "seed": start})}
    for start in (0, 1)
    for fold in ("fold00", "fold01")
]


@pytest.fixture(scope="module")
def data():
    cube = simulate_scenario("tiny", 3)
    return cube, make_folds(cube, "kfold", 2, seed=0)


def same(a, b):
    """Return whether two states hold the same values, bit for bit."""
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return torch.equal(a, b) if torch.is_tensor(a) else a == b


def written(states, path):
    write_torch(path, states)
    return path.read_bytes()


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    return fit_batch(*data, CONFIG, FITS, tmp_path_factory.mktemp("work"))


def test_a_batch_holds_what_its_fits_are_alone(data, whole):
    cube, folds = data
    assert list(whole) == ["fold00/seed0", "fold01/seed0", "fold00/seed1", "fold01/seed1"]
    for fit in FITS:
        alone = fit_plnica(training_part(cube, folds, fit["fold"]), CONFIG, fit["seed"])
        assert same(whole[f"{fit['fold']}/seed{fit['start']}"], alone.model.state())


def test_smaller_batches_hold_the_same(data, whole, tmp_path):
    parts = {}
    for few in (FITS[:1], FITS[1:3], FITS[3:]):
        parts |= fit_batch(*data, CONFIG, few, tmp_path / "w")
    assert written(parts, tmp_path / "a.pt") == written(whole, tmp_path / "b.pt")


def stop_after(monkeypatch, count):
    """Let the fit after `count` fits die; return the list of the seeds that were fitted."""
    seeds = []

    def fit(cube, config, seed, **options):
        if len(seeds) == count:
            raise KeyboardInterrupt
        seeds.append(seed)
        return fit_plnica(cube, config, seed, **options)

    monkeypatch.setattr(batch, "fit_plnica", fit)
    return seeds


def test_after_a_kill_no_finished_fit_is_done_again(data, whole, tmp_path, monkeypatch):
    work = tmp_path / "work"
    stop_after(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        fit_batch(*data, CONFIG, FITS, work, "code")
    seeds = stop_after(monkeypatch, 9)
    again = fit_batch(*data, CONFIG, FITS, work, "code")
    assert seeds == [FITS[3]["seed"]]
    assert written(again, tmp_path / "a.pt") == written(whole, tmp_path / "b.pt")
    clear_work(FITS, work)
    assert not any(p.is_file() for p in work.rglob("*"))


def test_finished_fits_of_other_code_or_damaged_ones_are_not_taken(data, tmp_path, monkeypatch):
    work, two = tmp_path / "work", FITS[:2]
    fit_batch(*data, CONFIG, two, work, "old")
    seeds = stop_after(monkeypatch, 9)
    first = fit_batch(*data, CONFIG, two, work, "new")
    assert len(seeds) == 2
    done = next((work / "fold01-seed0").glob("done-*-new.pt"))
    done.write_bytes(done.read_bytes()[:50])
    second = fit_batch(*data, CONFIG, two, work, "new")
    assert seeds[2:] == [two[1]["seed"]]
    assert written(first, tmp_path / "a.pt") == written(second, tmp_path / "b.pt")


def test_only_its_own_files_are_cleared(data, tmp_path):
    fit_batch(*data, CONFIG, FITS[:2], tmp_path, "code")
    (tmp_path / "fold01-seed0/notes.txt").write_text("mine")
    clear_work(FITS[:1], tmp_path)
    assert not (tmp_path / "fold00-seed0").exists()
    assert {p.name.split("-")[0] for p in (tmp_path / "fold01-seed0").iterdir()} == {
        "notes.txt",
        "done",
    }


def test_batches_are_read_one_fit_at_a_time(whole, tmp_path):
    write_torch(tmp_path / "a.pt", dict(list(whole.items())[:3]))
    write_torch(tmp_path / "b.pt", dict(list(whole.items())[3:]))
    found = [(fold, start) for _, fold, start in read_fits([tmp_path / "a.pt", tmp_path / "b.pt"])]
    assert found == [(f["fold"], f["start"]) for f in FITS]
    write_torch(tmp_path / "c.pt", read_torch(tmp_path / "a.pt")["fold00/seed0"])
    with pytest.raises(InputError, match="a batch of fits"):
        list(read_fits([tmp_path / "c.pt"]))
