"""A straightforward implementation of the same model, to measure ours against.

Written as the model is read: at every step the GRU runs over what q of that
step may see (as in the published code), moments and regime weights go forward in Python loops
over steps, all parameters are learnt by autograd. Vectorised over series, sources and features.
Nothing is slowed down on purpose.
"""

from __future__ import annotations

import math

import torch
from torch import nn

LOG_LOW, LOG_HIGH = math.log(1e-8), math.log(30.0)


class NaivePLNICA(nn.Module):
    """Model and amortiser.

    Parameters
    ----------
    features, sources, regimes : int
        K, d, C.
    mode : ``smooth`` or ``predictive``
        Whether q at a step sees the whole series or only the steps up to it.
    hidden, layers : int
        Of the GRU.
    shared : sequence of int
        Sizes of the layers between GRU and heads.
    """

    def __init__(self, features, sources, regimes, mode, hidden=4, layers=2, shared=(16, 8)):
        super().__init__()
        self.sources, self.regimes, self.mode = sources, regimes, mode
        shape = (sources, regimes)
        self.weights = nn.Parameter(torch.randn(features, sources))
        self.intercept = nn.Parameter(torch.zeros(features))
        self.init_logit = nn.Parameter(torch.zeros(shape))
        self.kernel_logit = nn.Parameter(2 * torch.eye(regimes).repeat(sources, 1, 1))
        self.init_mean = nn.Parameter(torch.linspace(-1, 1, regimes).repeat(sources, 1))
        self.init_log_var = nn.Parameter(torch.zeros(shape))
        self.ar_coef = nn.Parameter(torch.full(shape, 0.5))
        self.ar_bias = nn.Parameter(torch.linspace(-0.5, 0.5, regimes).repeat(sources, 1))
        self.ar_log_var = nn.Parameter(torch.full(shape, -1.0))
        width = features + 1
        self.gru = nn.GRU(width, hidden, layers, batch_first=True)
        sizes = [width + hidden, *shared]
        blocks = []
        for i in range(len(shared)):
            blocks += [nn.Linear(sizes[i], sizes[i + 1]), nn.ELU()]
        self.shared = nn.Sequential(*blocks)
        self.heads = nn.ModuleDict(
            {name: nn.Linear(sizes[-1], sources) for name in ("alpha", "beta", "p")}
        )
        self.double()

    def mixing(self):
        """Gamma, unit columns."""
        return self.weights / self.weights.norm(dim=0, keepdim=True)

    def encode(self, counts, offset):
        """Return lists over t of alpha, beta and p, each (n, d)."""
        share = counts / counts.sum(-1, keepdim=True).clamp(min=1.0)
        inputs = torch.cat([share, offset.unsqueeze(-1)], -1)
        alphas, betas, ps = [], [], []
        for t in range(counts.shape[1]):
            seen = inputs if self.mode == "smooth" else inputs[:, : t + 1]
            states, _ = self.gru(seen)
            summary = self.shared(torch.cat([states[:, -1], inputs[:, t]], -1))
            alphas.append(0.95 * torch.tanh(self.heads["alpha"](summary)))
            betas.append(self.heads["beta"](summary))
            gate = torch.sigmoid(self.heads["p"](summary))
            ps.append(torch.exp(LOG_LOW + (LOG_HIGH - LOG_LOW) * gate))
        return alphas, betas, ps

    def elbo(self, counts, offset):
        """Return the bound of each series, (n,), regimes summed out."""
        return self.bound(counts, offset, *self.encode(counts, offset))

    def bound(self, counts, offset, alphas, betas, ps):
        """Return the bound of each series, (n,), under q with the given coefficients."""
        mixing = self.mixing()
        kernel = torch.log_softmax(self.kernel_logit, -1)
        emission = entropy = 0.0
        mu = var = log_weight = None
        for t in range(counts.shape[1]):
            if t == 0:
                new_mu, new_var = betas[0], ps[0]
            else:
                new_mu = alphas[t] * mu + betas[t]
                new_var = alphas[t] ** 2 * var + ps[t]
            potentials = []
            for c in range(self.regimes):
                if t == 0:
                    v = self.init_log_var[:, c].exp()
                    square = (new_mu - self.init_mean[:, c]) ** 2 + new_var
                else:
                    a, v = self.ar_coef[:, c], self.ar_log_var[:, c].exp()
                    square = (new_mu - a * mu - self.ar_bias[:, c]) ** 2 + new_var
                    square = square + a * (a - 2 * alphas[t]) * var
                potentials.append(-0.5 * (torch.log(2 * math.pi * v) + square / v))
            potential = torch.stack(potentials, -1)
            if t == 0:
                log_weight = torch.log_softmax(self.init_logit, -1) + potential
            else:
                moved = torch.logsumexp(log_weight.unsqueeze(-1) + kernel, -2)
                log_weight = moved + potential
            eta = new_mu @ mixing.T + offset[:, t, None] + self.intercept
            rate = torch.exp(torch.clamp(eta + 0.5 * new_var @ (mixing**2).T, max=50.0))
            x = counts[:, t]
            emission = emission + (x * eta - rate - torch.lgamma(x + 1)).sum(-1)
            entropy = entropy + 0.5 * torch.log(2 * math.pi * math.e * ps[t]).sum(-1)
            mu, var = new_mu, new_var
        return emission + torch.logsumexp(log_weight, -1).sum(-1) + entropy


def train(model, counts, offset, epochs, lr=1e-3):
    """Run full-batch epochs; return the mean bound before each."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=1e-4)
    values = []
    for _ in range(epochs):
        optimiser.zero_grad()
        elbo = model.elbo(counts, offset).mean()
        (-elbo).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimiser.step()
        values.append(elbo.item())
    return values
