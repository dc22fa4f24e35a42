"""One seed in the configuration, one derived seed per job."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def job_seed(seed: int, rule: str, wildcards: Mapping[str, Any] | None = None) -> int:
    """Return a seed in [0, 2**31) from the run's seed, the rule and its wildcards.

    A hash, so that adding a fold or a data set leaves the seeds of all other jobs as they are.
    """
    key = json.dumps(
        [int(seed), rule, {k: str(v) for k, v in sorted((wildcards or {}).items())}],
        separators=(",", ":"),
    )
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") >> 1


def seed_everything(seed: int) -> None:
    """Seed `random`, numpy and - where they are already imported - torch and pyro."""
    import random
    import sys

    import numpy as np

    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - libraries that use the global generator
    if "torch" in sys.modules:
        import torch

        torch.manual_seed(seed)
    if "pyro" in sys.modules:
        import pyro

        pyro.set_rng_seed(seed)
