"""Modules in which values of inputs decide shapes, or which way forward() goes."""

import torch
from export_models import Classifier
from torch import nn
from torch.nn import functional as F


class Masked(nn.Module):
    """Predicts the patches that a mask hides from those that it does not, as
    VideoMAE."""

    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(4, 8), nn.Linear(8, 4)
        self.hidden = nn.Parameter(torch.randn(8))

    def forward(self, x, mask):
        seen = self.encode(x)[~mask].reshape(len(x), -1, 8)
        own = seen.mean(1, keepdim=True).tanh() + self.hidden
        places = torch.arange(x.shape[1]).expand(mask.shape)[mask]
        places = places.view(len(x), -1, 1) / 10
        found = self.decode((own + places).sin())
        return F.mse_loss(found, x[mask].view(len(x), -1, 4))


class Grids(nn.Module):
    """Attends within each picture, as Qwen2-VL: a grid says how many patches it
    has."""

    def __init__(self):
        super().__init__()
        self.each, self.out = nn.Linear(4, 24), nn.Linear(8, 3)
        self.rows = nn.Embedding(8, 8)

    def positions(self, grid):
        found = []
        for height, width in grid.tolist():
            rows = torch.arange(height).unsqueeze(1).expand(height, width)
            found.append(torch.stack([rows, torch.arange(width).expand_as(rows)]))
        found = torch.cat([one.flatten(1) for one in found], 1)
        found[0] += grid[:, 0].max() - max(grid[0], key=int)
        return found

    def forward(self, patches, grid, labels):
        sizes = grid.prod(-1)
        ends = F.pad(torch.repeat_interleave(sizes, sizes // sizes).cumsum(0),
                     (1, 0))
        q, k, v = self.each(patches).chunk(3, -1)
        q = q + self.rows(self.positions(grid)).sum(0)
        lengths = (ends[1:] - ends[:-1]).tolist()
        seen = [F.scaled_dot_product_attention(*parts)
                for parts in zip(*(one.split(lengths) for one in (q, k, v)))]
        first = torch.stack([one.mean(0) for one in seen])
        return F.cross_entropy(self.out(first), labels)


class Real(nn.Module):
    """Leaves out pictures of zeros, as SmolVLM."""

    def __init__(self):
        super().__init__()
        self.each = nn.Linear(4, 8)
        self.place = nn.Embedding(9, 8)

    def forward(self, pictures, labels):
        flat = pictures.view(-1, 4)
        is_real = (flat == 0).sum(-1) != 4
        assert is_real.shape == labels.new_ones(9)[:len(flat)].nonzero()[:, 0].shape
        y = self.each(flat[is_real])
        found = torch.zeros(len(flat), 8)
        found[is_real] = y + self.place(torch.arange(len(y)))
        counts = is_real.view(len(pictures), -1).sum(1)
        y = found.view(len(pictures), -1, 8).sum(1) / counts.unsqueeze(1)
        rest, = torch.where(~is_real)
        y = y + torch.nonzero(~is_real.view(len(pictures), -1)).sum() + rest.sum()
        return F.cross_entropy(y, labels)


class Forked(Classifier):

    def forward(self, x, mask):
        x = super().forward(x)
        if mask.any():
            x = x * mask
        return x + torch.tensor(mask.float().mean().item())


def masks(generator, count=3):
    chosen = torch.rand(4, 8, generator=generator).argsort(1)[:, :count]
    return torch.zeros(4, 8, dtype=torch.bool).scatter(1, chosen, True)
