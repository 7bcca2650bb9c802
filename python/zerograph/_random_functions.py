"""Functions that draw random numbers and that no exporter writes, by those that
exporters write."""

from __future__ import annotations

import torch


def _uniform(input, low=0.0, high=1.0, *, generator=None, **named):
    """Is torch.Tensor.uniform_."""
    low, high = named.get("from", low), named.get("to", high)
    return input.copy_(low + (high - low) * torch.rand_like(input))


def _permutation(count, *, device=None, dtype=torch.int64, **_):
    """Is torch.randperm: the order of numbers that are drawn."""
    return torch.rand(count, device=device).argsort().to(dtype)


def _multinomial(input, num_samples, replacement=False, *, generator=None):
    """Is torch.multinomial: the largest of log(p) + Gumbel's numbers has each
    place with its probability, and the largest ones are drawn without putting
    back (Kool, van Hoof and Welling, 1903.06059)."""
    logs = input.log()
    if replacement and num_samples > 1:
        logs = logs.unsqueeze(-2).expand(
            *logs.shape[:-1], num_samples, logs.shape[-1])
    keys = logs - (-torch.rand_like(logs).log()).log()
    if replacement and num_samples > 1:
        return keys.argmax(-1)
    return (keys.argmax(-1, keepdim=True) if num_samples == 1 else
            keys.topk(num_samples, -1).indices)


WRITTEN = {
    torch.Tensor.uniform_: _uniform,
    torch.randperm: _permutation,
    torch.multinomial: _multinomial,
    torch.Tensor.multinomial: _multinomial,
}
