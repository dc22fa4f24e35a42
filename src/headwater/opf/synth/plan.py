"""What is fixed about an instance before anything is drawn: it depends on (seed, n) alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

LEVELS = (1, 2, 3, 4)
# One slot in six accepts an instance with an item that does not move the optimum, flagged; so
# five in six, more than the 80 percent that are wanted, have every item active.
LOOSE_EVERY = 6
TRIES_PER_SYSTEM = 5
SYSTEMS_TRIED = 6
# Chance of 1, 2, ... changes, at levels 1 and 2, and at 3 and 4 where a structure comes too.
CHANGES = (0.12, 0.22, 0.24, 0.18, 0.14, 0.10)
CHANGES_WITH_STRUCTURE = (0.22, 0.30, 0.22, 0.13, 0.08, 0.05)
OOD_SYSTEM_SHARE = 0.06
OOD_SCENARIO_SHARE = 0.10
SCENARIO_SHARE = {1: 0.35, 2: 1.0, 3: 0.35, 4: 1.0}
VIOLATIONS = (1e-8, 1e-7, 1e-6)
VIOLATION_CHANCE = (0.5, 0.25, 0.25)
# Text, draw and plan of one instance use streams of their own.
PLAN, DRAW, WORDS = 0, 1, 2


@dataclass(frozen=True)
class Settings:
    """What a synthesis is made of.

    Attributes
    ----------
    seed : int
    instances : int
        Instances to accept over all levels.
    systems, ood_systems : tuple of str
        Names of the networks; those of the second list are for the out-of-distribution test.
    dc_convention : str
    threshold : float
        Smallest relative change of the objective that counts as one.
    """

    seed: int
    instances: int
    systems: tuple[str, ...]
    ood_systems: tuple[str, ...] = ()
    dc_convention: str = "matpower"
    threshold: float = 1e-4
    weights: Mapping[str, float] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all networks."""
        return self.systems + tuple(n for n in self.ood_systems if n not in self.systems)


@dataclass(frozen=True)
class Slot:
    """The place of instance `n`: what every attempt at it has in common.

    Attributes
    ----------
    n, level : int
    strict : bool
        Whether every item has to be active.
    systems : tuple of str
        Networks in the order in which they are tried.
    changes : int
        Number of changes aimed at.
    scenario : str
        ``none``, ``known`` or ``held_out``.
    violation : float
        Tolerance that the request asks for, p.u.
    """

    n: int
    level: int
    strict: bool
    systems: tuple[str, ...]
    changes: int
    scenario: str
    violation: float

    @property
    def attempts(self) -> int:
        """Largest number of attempts."""
        return TRIES_PER_SYSTEM * len(self.systems)

    def system(self, attempt: int) -> str:
        """Return the network of an attempt."""
        return self.systems[attempt // TRIES_PER_SYSTEM]


def stream(seed: int, n: int, kind: int, attempt: int = 0) -> np.random.Generator:
    """Return the random numbers of one instance, one purpose, one attempt."""
    return np.random.default_rng(np.random.SeedSequence((seed, n, kind, attempt)))


def slot(settings: Settings, n: int) -> Slot:
    """Return the place of instance `n`."""
    rng = stream(settings.seed, n, PLAN)
    level = LEVELS[n % len(LEVELS)]
    outside = bool(settings.ood_systems) and rng.random() < OOD_SYSTEM_SHARE
    names = settings.ood_systems if outside else settings.systems
    chance = CHANGES if level < 3 else CHANGES_WITH_STRUCTURE
    changes = 1 + int(rng.choice(len(chance), p=chance))
    scenario = "none"
    if rng.random() < SCENARIO_SHARE[level]:
        # a network held out and a scenario held out are told apart
        held_out = not outside and rng.random() < OOD_SCENARIO_SHARE
        scenario = "held_out" if held_out else "known"
    return Slot(
        n=n,
        level=level,
        strict=(n // len(LEVELS)) % LOOSE_EVERY != LOOSE_EVERY - 1,
        systems=_order(names, settings.weights, rng),
        changes=changes,
        scenario=scenario,
        violation=VIOLATIONS[int(rng.choice(len(VIOLATIONS), p=VIOLATION_CHANCE))],
    )


def _order(
    names: Sequence[str], weights: Mapping[str, Any], rng: np.random.Generator
) -> tuple[str, ...]:
    """Return networks to try, drawn by weight without replacement."""
    share = np.array([float(weights.get(n, 1.0)) for n in names])
    count = min(SYSTEMS_TRIED, int((share > 0).sum()))
    drawn = rng.choice(len(names), size=count, replace=False, p=share / share.sum())
    return tuple(names[int(k)] for k in drawn)


def shard_range(instances: int, shard: int, shards: int) -> range:
    """Return the instances of a shard; levels are spread evenly over shards."""
    return range(instances * shard // shards, instances * (shard + 1) // shards)
