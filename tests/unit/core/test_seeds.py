"""A job's seed depends on its own name only."""

import numpy as np

from headwater.core.seeds import job_seed, seed_everything


def test_seeds_differ_by_seed_rule_and_wildcards_and_repeat():
    seeds = {job_seed(s, r, {"fold": f}) for s in range(10) for r in ("a", "b") for f in range(100)}
    assert len(seeds) == 2000
    assert job_seed(1, "a", {"x": 1, "y": 2}) == job_seed(1, "a", {"y": "2", "x": "1"})
    assert all(0 <= s < 2**31 for s in seeds)


def test_known_value_stays_the_same_on_every_machine():
    # sha256('[1,"fit",{"fold":"fold00"}]'), first four bytes, halved; by sha256sum
    import hashlib

    text = b'[1,"fit",{"fold":"fold00"}]'
    assert (
        job_seed(1, "fit", {"fold": "fold00"}) == int(hashlib.sha256(text).hexdigest()[:8], 16) // 2
    )


def test_seed_everything_repeats():
    seed_everything(3)
    first = np.random.rand(3)  # noqa: NPY002
    seed_everything(3)
    assert (np.random.rand(3) == first).all()  # noqa: NPY002
