"""Networks from features to representations z in R^m [design §3.2], one call for all.

`mlp` suits any modality; `dgcnn` learns an adjacency between channels (Song et al. 2018,
"EEG emotion recognition using dynamical graph convolutional neural networks"); `eegnet` takes raw
windows (Lawhern et al. 2018).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

WIDTH = 64


class DGCNN(nn.Module):
    """Chebyshev graph convolution of order 2 over channels with a learned adjacency.

    (n, channels * bands) -> (n, m). L = I - D^-1/2 ReLU(A)_sym D^-1/2; T_0 = I, T_1 = L - I
    (largest eigenvalue taken as 2), T_2 = 2 T_1^2 - I.
    """

    def __init__(self, channels: int, bands: int, m: int) -> None:
        super().__init__()
        self.shape = (channels, bands)
        self.adjacency = nn.Parameter(torch.full((channels, channels), 0.1))
        nn.init.uniform_(self.adjacency, 0.01, 0.2)
        self.hops = nn.ModuleList(nn.Linear(bands, WIDTH, bias=k == 0) for k in range(3))
        self.norm = nn.BatchNorm1d(channels)
        self.out = nn.Sequential(
            nn.Flatten(), nn.Dropout(0.5), nn.Linear(channels * WIDTH, m), nn.BatchNorm1d(m)
        )

    def laplacian(self) -> torch.Tensor:
        """Return the normalised graph Laplacian, (channels, channels)."""
        a = torch.relu(self.adjacency + self.adjacency.T) / 2
        scale = a.sum(dim=1).clamp_min(1e-6).rsqrt()
        return torch.eye(len(a), device=a.device) - scale[:, None] * a * scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return representations or logits, (n, ...)."""
        x = self.norm(x.reshape(-1, *self.shape))
        one = self.laplacian() - torch.eye(self.shape[0], device=x.device)
        first = one @ x
        second = 2 * one @ first - x
        h = sum(layer(t) for layer, t in zip(self.hops, (x, first, second), strict=True))
        return torch.relu(self.out(torch.relu(h)))

    def penalty(self) -> torch.Tensor:
        """Return 0.01 (|A|_1 / size + |A|_2^2 / size)."""
        return 0.01 * (self.adjacency.abs().mean() + self.adjacency.square().mean())


class EEGNet(nn.Module):
    """Temporal, depthwise spatial and separable convolutions on raw windows.

    (n, channels * samples) -> (n, m); F1 = 8, D = 2, F2 = 16, kernel fs / 2.
    """

    def __init__(self, channels: int, length: int, m: int, fs: float = 128.0) -> None:
        super().__init__()
        self.shape = (channels, length)
        kernel = max(3, round(fs / 2))
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, (1, kernel), padding="same", bias=False),
            nn.BatchNorm2d(8),
            nn.Conv2d(8, 16, (channels, 1), groups=8, bias=False),
            nn.BatchNorm2d(16),
            nn.ELU(),
            nn.AvgPool2d((1, 4)),
            nn.Dropout(0.25),
            nn.Conv2d(16, 16, (1, 16), padding="same", groups=16, bias=False),
            nn.Conv2d(16, 16, 1, bias=False),
            nn.BatchNorm2d(16),
            nn.ELU(),
            nn.AdaptiveAvgPool2d((1, 8)),
            nn.Dropout(0.25),
            nn.Flatten(),
            nn.Linear(128, m),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return representations or logits, (n, ...)."""
        return self.features(x.reshape(-1, 1, *self.shape))


def mlp(d: int, grid: tuple[int, int], m: int) -> nn.Module:
    """Return Linear d-64, BatchNorm, ReLU, Dropout, Linear 64-m, BatchNorm, ReLU."""
    return nn.Sequential(
        nn.Linear(d, WIDTH),
        nn.BatchNorm1d(WIDTH),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(WIDTH, m),
        nn.BatchNorm1d(m),
        nn.ReLU(),
    )


def dgcnn(d: int, grid: tuple[int, int], m: int) -> nn.Module:
    """Return a `DGCNN` of the channel x band grid."""
    return DGCNN(*_grid(grid, d, "dgcnn"), m)


def eegnet(d: int, grid: tuple[int, int], m: int) -> nn.Module:
    """Return an `EEGNet` whose bands are the time points of a raw window."""
    return EEGNet(*_grid(grid, d, "eegnet"), m)


def _grid(grid: tuple[int, int], d: int, name: str) -> tuple[int, int]:
    if grid[0] * grid[1] != d:
        raise ValueError(f"backbone {name} needs channels x bands, found {d} plain features")
    return grid


BACKBONES: dict[str, Callable[[int, tuple[int, int], int], nn.Module]] = {
    "mlp": mlp,
    "dgcnn": dgcnn,
    "eegnet": eegnet,
}
