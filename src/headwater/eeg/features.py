"""Features of windows from whole recordings: differential entropy, band power, asymmetry.

DE of a Gaussian band signal is 0.5 ln(2 pi e sigma^2) nats, sigma^2 the variance in uV^2 over the
window (Shi et al. 2013). The whole recording is filtered once per band (Butterworth order 4 as
second-order sections, forward-backward); single windows never are: a 1 s window would be start-up
transient below 8 Hz.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

BANDS: dict[str, tuple[float, float]] = {
    "delta": (1.0, 4.0),
    "theta": (4.0, 8.0),
    "alpha": (8.0, 14.0),
    "beta": (14.0, 31.0),
    "gamma": (31.0, 50.0),
}
ORDER = 4
LEAST_VARIANCE = 1e-12  # uV^2; a flat window has no finite entropy
NARROWEST = 1.0  # Hz that must be left of a band after clipping
PAIRS = (
    ("Fp1", "Fp2"),
    ("F3", "F4"),
    ("F7", "F8"),
    ("C3", "C4"),
    ("T7", "T8"),
    ("P3", "P4"),
    ("P7", "P8"),
    ("O1", "O2"),
)


def clipped_bands(
    bands: Mapping[str, Sequence[float]], top: float
) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """Return the bands cut at `top` Hz (the recording's pass band), and the names that were cut."""
    kept = {
        n: (float(a), min(float(b), top)) for n, (a, b) in bands.items() if a + NARROWEST <= top
    }
    changed = [n for n, (_, b) in bands.items() if n not in kept or kept[n][1] < b]
    return kept, changed


def band_signal(signal: np.ndarray, fs: float, edges: Sequence[float]) -> np.ndarray:
    """Return the signal (channels, n) in one band, filtered forward and backward."""
    from scipy.signal import butter, sosfiltfilt

    sos = butter(ORDER, edges, btype="bandpass", fs=fs, output="sos")
    return sosfiltfilt(sos, signal, axis=-1)


def window_variance(signal: np.ndarray, length: int, step: int) -> np.ndarray:
    """Return the population variance of windows, (channels, windows)."""
    if step == length:  # no overlap: one view, no copy
        count = signal.shape[1] // length
        return signal[:, : count * length].reshape(len(signal), count, length).var(axis=2)
    windows = np.lib.stride_tricks.sliding_window_view(signal, length, axis=1)[:, ::step]
    return windows.var(axis=2)


def entropy(variance: np.ndarray, log_base: float = np.e) -> np.ndarray:
    """Return 0.5 log(2 pi e variance): nats for base e, bits for base 2."""
    floor = np.maximum(variance, LEAST_VARIANCE)
    return 0.5 * np.log(2 * np.pi * np.e * floor) / np.log(log_base)


def differential_entropy(
    signal: np.ndarray,
    fs: float,
    bands: Mapping[str, Sequence[float]] = BANDS,
    *,
    window_s: float = 2.0,
    step_s: float | None = None,
    log_base: float = np.e,
    method: str = "filter",
) -> np.ndarray:
    """Return DE (windows, channels, bands) of a recording (channels, n) in uV.

    Parameters
    ----------
    window_s, step_s : float
        Length and distance of windows in s; no overlap by default.
    log_base : float
        e for nats (default); other libraries use 2, which multiplies by 1.4427.
    method : filter | stft
        ``stft`` sums the one-sided periodogram (Hann) of each window over the band: about twenty
        times faster, coarser at the edges of bands.

    Raises
    ------
    ValueError
        If the recording is shorter than one window.
    """
    length, step = _samples(window_s, step_s, fs)
    if signal.shape[1] < length:
        raise ValueError(f"{signal.shape[1] / fs:.2f} s are shorter than a window of {window_s} s")
    if method == "stft":
        variance = _periodogram_power(signal, fs, bands, length, step)
    else:
        parts = [window_variance(band_signal(signal, fs, e), length, step) for e in bands.values()]
        variance = np.stack(parts, axis=2)
    return entropy(variance, log_base).transpose(1, 0, 2)


def _samples(window_s: float, step_s: float | None, fs: float) -> tuple[int, int]:
    length = round(window_s * fs)
    return length, length if step_s is None else max(1, round(step_s * fs))


def _periodogram_power(
    signal: np.ndarray, fs: float, bands: Mapping[str, Sequence[float]], length: int, step: int
) -> np.ndarray:
    from scipy.signal import periodogram

    windows = np.lib.stride_tricks.sliding_window_view(signal, length, axis=1)[:, ::step]
    frequency, power = periodogram(windows, fs, window="hann", detrend="constant", axis=-1)
    width = frequency[1]
    parts = [
        power[..., (frequency >= low) & (frequency < high)].sum(axis=-1) * width
        for low, high in bands.values()
    ]
    return np.stack(parts, axis=2)


def band_power_db(
    signal: np.ndarray,
    fs: float,
    bands: Mapping[str, Sequence[float]] = BANDS,
    *,
    window_s: float = 2.0,
    step_s: float | None = None,
) -> np.ndarray:
    """Return 10 log10 of the band power in uV^2, (windows, channels, bands)."""
    length, step = _samples(window_s, step_s, fs)
    power = _periodogram_power(signal, fs, bands, length, step)
    return 10 * np.log10(np.maximum(power, LEAST_VARIANCE)).transpose(1, 0, 2)


def asymmetry(
    values: np.ndarray, channels: Sequence[str], kind: str = "dasm"
) -> tuple[np.ndarray, list[str]]:
    """Return left-right features (windows, pairs, bands) of DE, and the names of the pairs.

    ``dasm`` is left less right, ``rasm`` left over right, ``dcau`` frontal less posterior
    (Zheng & Lu 2015).
    """
    pairs = (("F3", "P3"), ("F4", "P4"), ("Fz", "Pz"), ("F7", "P7"), ("F8", "P8"))
    chosen = [p for p in (pairs if kind == "dcau" else PAIRS) if set(p) <= set(channels)]
    one = values[:, [list(channels).index(a) for a, _ in chosen]]
    two = values[:, [list(channels).index(b) for _, b in chosen]]
    if kind == "rasm":
        safe = np.where(np.abs(two) < 1e-6, np.copysign(1e-6, two), two)
        return one / safe, [f"{a}/{b}" for a, b in chosen]
    return one - two, [f"{a}-{b}" for a, b in chosen]


def smoothed(values: np.ndarray, kind: str = "ma", width: int = 5) -> np.ndarray:
    """Return features (windows, ...) of one trial smoothed over time.

    ``ma`` is a centred moving average whose ends repeat the edge value; ``lds`` a random walk
    plus noise smoothed by Kalman filter and Rauch-Tung-Striebel (state variance 1 % of the
    observations'); ``none`` returns the values.
    """
    if kind == "none" or len(values) < 2:
        return values
    if kind == "ma":
        half = width // 2
        pad = [(half, width - 1 - half)] + [(0, 0)] * (values.ndim - 1)
        padded = np.pad(values, pad, mode="edge")
        return np.lib.stride_tricks.sliding_window_view(padded, width, axis=0).mean(axis=-1)
    if kind == "lds":
        return _kalman_smoothed(values.reshape(len(values), -1)).reshape(values.shape)
    raise ValueError(f"smoothing {kind!r}: expected ma, lds or none")


def _kalman_smoothed(x: np.ndarray, ratio: float = 0.01) -> np.ndarray:
    """Return the smoothed level of each column of x (n, d); process / noise variance is `ratio`."""
    n = len(x)
    mean, variance = np.empty_like(x), np.empty(n)
    mean[0], variance[0] = x[0], 1.0
    for t in range(1, n):
        ahead = variance[t - 1] + ratio
        gain = ahead / (ahead + 1.0)
        mean[t] = mean[t - 1] + gain * (x[t] - mean[t - 1])
        variance[t] = (1 - gain) * ahead
    for t in range(n - 2, -1, -1):
        back = variance[t] / (variance[t] + ratio)
        mean[t] += back * (mean[t + 1] - mean[t])
    return mean
