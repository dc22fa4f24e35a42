"""Subjects with style shift and known class sources: embedded data and ground truth.

`simulate_samples` draws features directly, in two modes of design §3.7: ``shares`` (class shares
follow the style and turn round in test: balancing can help) and ``styles`` (equal class
shares, test subjects combine styles in ways never seen together: balancing cannot help).
`simulate_recording` draws EEG-like signals whose alpha power at known channels tells the class.
"""

from __future__ import annotations

import numpy as np

from .samples import Samples, make_samples

MODES = ("shares", "styles")
CHANNELS = (
    *("Fp1", "Fp2", "F3", "F4", "C3", "C4", "P3", "P4", "O1", "O2"),
    *("F7", "F8", "T7", "T8", "P7", "P8", "Fz", "Cz", "Pz"),
)
SOURCES = {"P3": 1.0, "P4": 1.0, "Pz": 1.0, "O1": 0.7, "O2": 0.7}  # where alpha tells the class


def simulate_samples(
    mode: str = "shares",
    *,
    train: int = 12,
    test: int = 12,
    per_subject: int = 60,
    features: int = 16,
    effect: float = 0.9,
    seed: int = 0,
) -> Samples:
    """Return samples of train + test subjects (``a..`` train, ``b..`` test), two classes.

    The class moves the first four features. A subject's style is an offset along nuisance
    directions and a gain; noise is standard normal.

    Parameters
    ----------
    mode : shares | styles
        ``shares``: one of three offsets along one nuisance direction that overlaps the class
        direction; P(class 1) is 0.3, 0.5 or 0.7 by style in training and the reverse in test.
        ``styles``: equal shares; each of three binary factors moves its own nuisance direction,
        training subjects show one factor at a time, test subjects two or three.
    """
    rng = np.random.default_rng(seed)
    direction = np.zeros(features)
    direction[:4] = 1.0 / 2.0
    nuisance = rng.standard_normal((3, features))
    nuisance += 1.0 * direction * np.sign(nuisance @ direction)[:, None]
    nuisance /= np.linalg.norm(nuisance, axis=1, keepdims=True)
    blocks = []
    for index in range(train + test):
        fresh = index >= train
        offset, share = _style(mode, index, fresh, nuisance, rng)
        y = (rng.random(per_subject) < share).astype(np.int64)
        y[:2] = 0, 1  # every subject shows both classes
        gain = np.exp(0.15 * rng.standard_normal(features))
        noise = rng.standard_normal((per_subject, features))
        x = gain * (noise + effect * (2 * y[:, None] - 1) * direction) + offset
        blocks.append((f"{'b' if fresh else 'a'}{index % train:02d}", x, y))
    return make_samples(
        np.concatenate([x for _, x, _ in blocks]),
        np.concatenate([y for _, _, y in blocks]),
        np.repeat([s for s, _, _ in blocks], per_subject),
        ("low", "high"),
        trial=np.tile(np.arange(per_subject) // 5, len(blocks)).astype(str),
        window=np.tile(np.arange(per_subject) % 5, len(blocks)),
        dataset=f"simulated_{mode}",
    )


def _style(
    mode: str, index: int, fresh: bool, nuisance: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    if mode == "shares":
        style = index % 3
        share = (0.2, 0.5, 0.8)[style]
        return 2.0 * (style - 1) * nuisance[0], 1 - share if fresh else share
    if mode == "styles":
        factors = np.zeros(3)
        if fresh:
            factors[rng.permutation(3)[: 2 + index % 2]] = 1.0
        elif index % 4:
            factors[index % 4 - 1] = 1.0
        return 2.0 * factors @ nuisance, 0.5
    raise ValueError(f"mode {mode!r}: expected one of {', '.join(MODES)}")


def simulate_recording(
    subject: int, label: int, *, seconds: float = 60.0, fs: float = 128.0, seed: int = 0
) -> np.ndarray:
    """Return (channels, samples) of one EEG-like recording in uV.

    Pink background (power ~ 1/f) mixed between neighbouring channels, alpha at 10 Hz that is
    1.0 nepers weaker in class 1 at `SOURCES`, and the subject's own gain per channel and slope.
    """
    own = np.random.default_rng([seed, subject])
    rng = np.random.default_rng([seed, subject, label])
    n = round(seconds * fs)
    frequency = np.fft.rfftfreq(n, 1 / fs)
    slope = own.normal(1.0, 0.15)
    shape = np.where(frequency >= 0.5, np.maximum(frequency, 0.5) ** (-slope / 2), 0.0)
    spectrum = rng.standard_normal((len(CHANNELS), len(frequency), 2)) @ np.array([1, 1j])
    pink = np.fft.irfft(spectrum * shape, n, axis=1)
    pink /= pink.std(axis=1, keepdims=True)
    mixing = 0.6 * np.eye(len(CHANNELS)) + 0.4 / len(CHANNELS)
    signal = 10.0 * mixing @ pink
    alpha = own.normal(1.2, 0.4)
    time = np.arange(n) / fs
    wave = np.sin(2 * np.pi * own.uniform(9.0, 11.0) * time + rng.uniform(0, 2 * np.pi))
    burst = 1.0 + 0.5 * np.sin(2 * np.pi * 0.1 * time + rng.uniform(0, 2 * np.pi))
    for channel, weight in SOURCES.items():
        size = 6.0 * weight * np.exp(alpha - 1.0 * label - 1.0)
        signal[CHANNELS.index(channel)] += size * burst * wave
    return signal * np.exp(0.25 * own.standard_normal((len(CHANNELS), 1)))
