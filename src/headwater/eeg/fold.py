"""One fold and seed: all methods on the same rows, normalisation and number of steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from headwater.core.errors import InputError
from headwater.core.seeds import job_seed

from . import training
from .methods import CLASSICAL, METHODS, OBJECTIVES, PLANS
from .normalise import normalised
from .partition import Partition, diagnostics, make_partition, prototype_table
from .protocol import rows_of
from .samples import Samples
from .training import Data, Settings

BACKBONE_SHARE = 1 / 3  # of a MixEmo run's steps; the rest is stage D


@dataclass(frozen=True)
class PartitionSettings:
    """Settings of stage B; see `partition.make_partition`. K None chooses by the data."""

    K: int | None = 6
    min_per_class: int = 8


@dataclass
class Fitted:
    """What a fold leaves: states by method, training log, prototypes."""

    states: dict[str, Any] = field(default_factory=dict)
    log: list[dict[str, Any]] = field(default_factory=list)
    prototypes: list[dict[str, Any]] = field(default_factory=list)
    partitions: dict[str, Any] = field(default_factory=dict)


def fold_data(
    samples: Samples, folds: Mapping[str, Any], fold: str, mode: str
) -> tuple[Data, np.ndarray, np.ndarray]:
    """Return what methods may learn from, the normalised test rows (n, d) and their mask.

    Under ``train`` normalisation nothing of the first depends on the tested subjects.
    """
    masks = rows_of(samples, folds, fold)
    X = normalised(samples.X, samples.subject, masks["train"], mode)
    train, validation, test = masks["train"], masks["validation"], masks["test"]
    for part, mask in masks.items():
        if not mask.any():
            raise InputError(None, f"folds.json, {fold}", f"no sample in {part}", "some")
    _, unit = np.unique(samples.subject[train], return_inverse=True)
    data = Data(
        X=X[train],
        y=samples.y[train],
        unit=unit.astype(np.int64),
        X_validation=X[validation],
        y_validation=samples.y[validation],
        w_validation=balanced_weights(samples.subject[validation], samples.y[validation]),
        classes=samples.n_classes,
        grid=(len(samples.channels), len(samples.bands)),
    )
    return data, X[test], test


def balanced_weights(subject: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return weights (n,) float32 of sum 1 that are equal over subjects and classes in each."""
    cells = np.array([f"{s}|{c}" for s, c in zip(subject, y, strict=True)])
    _, code, size = np.unique(cells, return_inverse=True, return_counts=True)
    return (1.0 / (len(size) * size[code])).astype(np.float32)


class Stage:
    """Backbone and partitions of a fold, made once and shared by all MixEmo plans."""

    def __init__(
        self, data: Data, settings: Settings, partition: PartitionSettings, seed: int
    ) -> None:
        self.data, self.settings, self.partition, self.seed = data, settings, partition, seed
        self.steps = round(settings.steps * BACKBONE_SHARE)
        network = training.new_network(data, settings, seed)
        objective = OBJECTIVES["erm"](data, settings)
        self.backbone, self.log = training.fit(network, objective, data, settings, self.steps, seed)
        self.z = training.represented(self.backbone, data.X)
        self.partitions: dict[str, Partition] = {}

    def prototypes(self, mode: str) -> Partition:
        """Return the partition of a mode."""
        if mode not in self.partitions:
            options = {"K": self.partition.K, "min_per_class": self.partition.min_per_class}
            self.partitions[mode] = make_partition(
                self.z, self.data.y, self.data.unit, mode=mode, seed=self.seed, **options
            )
        return self.partitions[mode]

    def fit(self, name: str) -> tuple[training.Network, list[dict[str, Any]]]:
        """Train a MixEmo plan from the shared backbone."""
        kind, plan = PLANS[name]
        network = training.new_network(self.data, self.settings, self.seed)
        network.load_state_dict(self.backbone.state_dict())
        objective = kind(self.data, self.settings, self.prototypes(plan.partition).k, plan)
        steps = self.settings.steps - self.steps
        return training.fit(network, objective, self.data, self.settings, steps, self.seed)


def fit_fold(
    samples: Samples,
    folds: Mapping[str, Any],
    fold: str,
    mode: str,
    methods: Sequence[str],
    settings: Settings,
    partition: PartitionSettings,
    seed: int,
    done: Callable[[str], Mapping[str, Any] | None] = lambda method: None,
    keep: Callable[[str, Mapping[str, Any]], None] = lambda method, part: None,
) -> Fitted:
    """Fit all methods on one fold.

    Parameters
    ----------
    mode : train | per_subject
    done, keep : callable
        Return what an earlier, killed job kept of a method, or None; keep a finished one.

    Raises
    ------
    InputError
        If a method is unknown or a loss is not finite (with method and fold).
    """
    unknown = [m for m in methods if m not in METHODS]
    if unknown:
        raise InputError(
            None, "eeg.methods", ", ".join(unknown), f"names among {', '.join(METHODS)}"
        )
    data, _, _ = fold_data(samples, folds, fold, mode)
    seed = job_seed(seed, "fold", {"fold": fold})
    stage: Stage | None = None
    result = Fitted()
    for method in methods:
        kept = done(method)
        if kept is None:
            if method in PLANS and stage is None:
                stage = Stage(data, settings, partition, seed)
            try:
                kept = _fit_one(method, data, settings, stage, seed)
            except training.TrainingError as error:
                raise InputError(
                    None, f"method {method}, {fold}", str(error), "a finite loss"
                ) from None
            keep(method, kept)
        result.states[method] = kept["state"]
        result.log += [{"method": method, **row} for row in kept["log"]]
    if any(m in PLANS for m in methods):
        stage = stage or Stage(data, settings, partition, seed)
        _describe(result, stage, samples, [m for m in methods if m in PLANS])
    return result


def _fit_one(
    method: str, data: Data, settings: Settings, stage: Stage | None, seed: int
) -> dict[str, Any]:
    if method in CLASSICAL:
        return {"state": dict(CLASSICAL[method][0](data, seed)), "log": []}
    if method in OBJECTIVES:
        network = training.new_network(data, settings, seed)
        objective = OBJECTIVES[method](data, settings)
        network, log = training.fit(network, objective, data, settings, settings.steps, seed)
    else:
        network, log = stage.fit(method)
        log = [{**row, "step": row["step"] + stage.steps} for row in log]
    return {"state": {k: v.numpy() for k, v in network.state_dict().items()}, "log": log}


def _describe(result: Fitted, stage: Stage, samples: Samples, methods: Sequence[str]) -> None:
    result.log += [{"method": "backbone", **row} for row in stage.log]
    for mode in dict.fromkeys(PLANS[m][1].partition for m in methods):
        found = stage.prototypes(mode)
        about = diagnostics(found, stage.z, stage.data.y, stage.data.unit, stage.seed)
        result.partitions[mode] = about
        rows = prototype_table(found, stage.data.y, stage.data.unit, samples.label_names)
        result.prototypes += [{"mode": mode, **row} for row in rows]


def predict_fold(
    samples: Samples,
    folds: Mapping[str, Any],
    fold: str,
    mode: str,
    states: Mapping[str, Mapping[str, np.ndarray]],
    settings: Settings,
) -> dict[str, np.ndarray]:
    """Return method -> class probabilities of the fold's test rows, (n_test, C)."""
    data, X, _ = fold_data(samples, folds, fold, mode)
    result = {}
    for method, state in states.items():
        if method in CLASSICAL:
            result[method] = CLASSICAL[method][1](state, X)
        else:
            result[method] = training.probabilities(_loaded(data, settings, state), X)
    return result


def represent_fold(
    samples: Samples,
    folds: Mapping[str, Any],
    fold: str,
    mode: str,
    state: Mapping[str, np.ndarray],
    settings: Settings,
) -> tuple[np.ndarray, np.ndarray]:
    """Return normalised features and representations of all rows under a fold's network."""
    masks = rows_of(samples, folds, fold)
    X = normalised(samples.X, samples.subject, masks["train"], mode)
    data, _, _ = fold_data(samples, folds, fold, mode)
    return X, training.represented(_loaded(data, settings, state), X)


def _loaded(data: Data, settings: Settings, state: Mapping[str, np.ndarray]) -> training.Network:
    import torch

    network = training.new_network(data, settings, 0)
    network.load_state_dict({k: torch.as_tensor(v) for k, v in state.items()})
    return network


def with_budget(settings: Settings, n: int, epochs: int) -> Settings:
    """Return settings whose steps are `epochs` passes over n training samples, looked at each."""
    per_epoch = max(1, n // settings.batch)
    return replace(settings, steps=epochs * per_epoch, check_every=per_epoch)
