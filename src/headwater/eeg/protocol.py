"""Who is tested, who chooses the epoch and who is learned from: folds as plain data.

Protocols of design §6.4: `loso` (each subject in turn), `group_kfold` (k groups of subjects),
`fixed` (lists), `subject_dependent` (inside each subject, split by trial). Folds depend on
the ids alone, never on the order of rows. Validation subjects come from the training subjects.
Splits of windows at random are refused: windows of one trial would stand on both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from headwater.core.errors import InputError
from headwater.core.seeds import job_seed

from .samples import Samples

PROTOCOLS = ("loso", "group_kfold", "fixed", "subject_dependent")
LEAST_SUBJECTS = 4  # one tested, one for validation, two to partition


def make_folds(
    samples: Samples,
    protocol: str = "loso",
    *,
    k: int = 5,
    validation: float = 0.2,
    lists: Mapping[str, Sequence[str]] | None = None,
    train_trials: int | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Return ``{protocol, unit, folds: [{name, train, validation, test}]}``.

    Parts are sorted lists of subjects, or of trial keys ``subject|session|trial`` where `unit`
    is ``trial``.

    Parameters
    ----------
    k : int
        Groups of `group_kfold`.
    validation : float
        Share of the training subjects (at least one) that choose the epoch.
    lists : mapping
        For `fixed`: train, validation, test.
    train_trials : int, optional
        For `subject_dependent`: the first so many trials of each subject train; 60 % by default.

    Raises
    ------
    InputError
        If there are fewer than four subjects, one class, an unknown name or a mixed-up list.
    """
    if protocol not in PROTOCOLS:
        raise InputError(
            None,
            "eeg.protocol",
            repr(protocol),
            f"one of {', '.join(PROTOCOLS)}",
            "Splits of windows at random put windows of one trial on both sides.",
        )
    _check_classes(samples)
    subjects = samples.subjects
    if protocol == "subject_dependent":
        folds = [_by_trial(samples, s, train_trials) for s in subjects]
        return {"protocol": protocol, "unit": "trial", "folds": folds}
    if len(subjects) < LEAST_SUBJECTS:
        raise InputError(
            None,
            f"data set {samples.dataset}",
            f"{len(subjects)} subjects ({', '.join(subjects)})",
            f"at least {LEAST_SUBJECTS}: one tested, one for validation, two to partition",
            "Add recordings or use protocol subject_dependent.",
        )
    if protocol == "fixed":
        folds = [_fixed(subjects, lists or {}, samples.dataset)]
    else:
        groups = [[s] for s in subjects] if protocol == "loso" else _groups(subjects, k, seed)
        folds = [_fold(n, subjects, group, validation, seed) for n, group in enumerate(groups)]
    return {"protocol": protocol, "unit": "subject", "folds": folds}


def _check_classes(samples: Samples) -> None:
    found = sorted(set(samples.y.tolist()))
    if len(found) < 2:
        names = ", ".join(samples.label_names[c] for c in found)
        raise InputError(
            None, f"data set {samples.dataset}", f"one class only ({names})", "two or more classes"
        )


def _groups(subjects: Sequence[str], k: int, seed: int) -> list[list[str]]:
    if not 2 <= k <= len(subjects):
        raise InputError(
            None, "eeg.folds", f"{k} groups", f"2 to {len(subjects)}, the number of subjects"
        )
    shuffled = sorted(subjects, key=lambda s: job_seed(seed, "group", {"subject": s}))
    return [sorted(shuffled[i::k]) for i in range(k)]


def _fold(
    number: int, subjects: Sequence[str], test: Sequence[str], share: float, seed: int
) -> dict[str, Any]:
    rest = [s for s in subjects if s not in test]
    size = max(1, round(share * len(rest)))
    name = f"fold{number:02d}"
    drawn = sorted(rest, key=lambda s: job_seed(seed, "validation", {"fold": name, "subject": s}))
    return {
        "name": name,
        "train": sorted(drawn[size:]),
        "validation": sorted(drawn[:size]),
        "test": sorted(test),
    }


def _fixed(
    subjects: Sequence[str], lists: Mapping[str, Sequence[str]], dataset: str
) -> dict[str, Any]:
    parts = {p: sorted(map(str, lists.get(p, ()))) for p in ("train", "validation", "test")}
    for part, chosen in parts.items():
        unknown = sorted(set(chosen) - set(subjects))
        if not chosen or unknown:
            raise InputError(
                None,
                f"data set {dataset}, list {part}",
                f"unknown subjects {', '.join(unknown)}" if unknown else "no subject",
                f"some of {', '.join(subjects)}",
            )
    return {"name": "fold00", **parts}


def _by_trial(samples: Samples, subject: str, train_trials: int | None) -> dict[str, Any]:
    keys = samples.trial_keys()
    rows = samples.subject == subject
    trials = sorted(set(keys[rows].tolist()), key=_natural)
    size = train_trials or max(2, round(0.6 * len(trials)))
    if len(trials) < 3 or size >= len(trials):
        raise InputError(
            None,
            f"subject {subject}",
            f"{len(trials)} trials",
            f"more than {max(2, size)} to test on later ones",
            "Lower train_trials or use protocol loso.",
        )
    return {
        "name": f"fold{samples.subjects.index(subject):02d}",
        "train": trials[: size - 1],
        "validation": trials[size - 1 : size],
        "test": trials[size:],
    }


def _natural(text: str) -> list[tuple[int, str]]:
    """Return a key that sorts trial 10 after trial 9."""
    return [(int(p), "") if p.isdigit() else (-1, p) for p in text.split("|")]


def rows_of(samples: Samples, folds: Mapping[str, Any], fold: str) -> dict[str, np.ndarray]:
    """Return part -> boolean mask (n,) of a fold."""
    found = [f for f in folds["folds"] if f["name"] == fold]
    if not found:
        known = ", ".join(f["name"] for f in folds["folds"])
        raise InputError(None, "folds.json", f"no fold {fold}", f"one of {known}")
    ids = samples.subject if folds["unit"] == "subject" else samples.trial_keys()
    parts = ("train", "validation", "test")
    return {p: np.isin(ids, np.array(found[0][p], dtype=str)) for p in parts}


def check_leakage(
    samples: Samples, folds: Mapping[str, Any], stimulus: np.ndarray | None = None
) -> dict[str, Any]:
    """Return what was checked of every fold; raise where two parts share a trial.

    Checked: no (subject, session, trial) and - with `stimulus`, an id per sample - no stimulus
    in two parts; the tested rows of all folds are all rows, each once (unless `fixed`); the
    same feature row does not stand in two parts.

    Raises
    ------
    InputError
        Naming fold, parts and the first shared keys.
    """
    keys = samples.trial_keys()
    digests = np.array([hash(row.tobytes()) for row in samples.X])
    tested = np.zeros(len(keys), int)
    repeated = 0
    for fold in folds["folds"]:
        masks = rows_of(samples, folds, fold["name"])
        tested += masks["test"]
        for one, two in (("train", "test"), ("train", "validation"), ("validation", "test")):
            _refuse_shared(fold["name"], one, two, keys[masks[one]], keys[masks[two]], "trials")
            if stimulus is not None and two == "test":
                a, b = stimulus[masks[one]], stimulus[masks[two]]
                _refuse_shared(fold["name"], one, two, a, b, "stimuli")
        learned = set(digests[masks["train"] | masks["validation"]].tolist())
        repeated += sum(d in learned for d in digests[masks["test"]].tolist())
    whole = folds["protocol"] in ("loso", "group_kfold")
    if whole and not (tested == 1).all():
        raise InputError(
            None,
            "folds.json",
            f"{int((tested != 1).sum())} samples not tested exactly once",
            "each sample in the test part of one fold",
        )
    return {
        "protocol": folds["protocol"],
        "folds": len(folds["folds"]),
        "shared_trials": 0,
        "shared_stimuli": None if stimulus is None else 0,
        "tested_samples": int((tested > 0).sum()),
        "samples": len(keys),
        "equal_rows_in_train_and_test": int(repeated),
    }


def _refuse_shared(
    fold: str, one: str, two: str, a: Iterable[str], b: Iterable[str], kind: str
) -> None:
    shared = sorted(set(map(str, a)) & set(map(str, b)))
    if shared:
        raise InputError(
            None,
            f"folds.json, {fold}",
            f"{len(shared)} {kind} in both {one} and {two} ({', '.join(shared[:3])})",
            "none",
            "Split by subject or by trial, never by window.",
        )
