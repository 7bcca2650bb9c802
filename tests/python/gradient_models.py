"""Modules whose gradients stop, or are others than those of what they compute."""

import torch
from export_models import Classifier
from torch import nn
from torch.nn import functional as F


class Siamese(Classifier):
    """Draws two views together, as SimSiam."""

    def forward(self, x):
        one, two = super().forward(x), super().forward(2 * x)
        near = F.cosine_similarity(one, two.detach())
        return one * near.unsqueeze(1)


class Quantized(Classifier):
    """Has the nearest of learned codes between its layers, as VQ-VAE, and
    passes the gradient straight through."""

    def __init__(self):
        super().__init__()
        self.codes = nn.Parameter(torch.randn(5, 16))

    def forward(self, x):
        hidden = self.hidden(x)
        nearest = torch.cdist(hidden, self.codes).argmin(1)
        code = self.codes[nearest]
        apart = ((hidden.detach() - code)**2).mean()
        committed = ((hidden - code.detach())**2).mean()
        scores = self.out(hidden + (code - hidden).detach())
        return scores + (apart + 0.25 * committed) * scores.detach()


class Taught(Classifier):
    """Learns from itself, as it is without gradients."""

    def forward(self, x):
        with torch.no_grad():
            target = super().forward(x).softmax(1)
            target = target**2 / (target**2).sum(1, keepdim=True)
        return super().forward(x) * target


class Narrow(Classifier):
    """Learns with weights and activations of 4 bits."""

    def forward(self, x):
        weight = torch.fake_quantize_per_channel_affine(
            self.hidden.weight, torch.linspace(0.05, 0.1, 16),
            torch.zeros(16, dtype=torch.int32), 0, -8, 7)
        hidden = F.linear(x, weight, self.hidden.bias)
        return self.out(torch.fake_quantize_per_tensor_affine(
            hidden, 0.2, 2, 0, 15))


class Reverse(torch.autograd.Function):
    """Turns the gradient around, as adversaries of a domain do."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return -ctx.factor * gradient, None


class Spike(torch.autograd.Function):
    """Is a step, with the gradient of a smooth one."""

    @staticmethod
    def forward(x, threshold):
        return (x > threshold).to(x.dtype)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.threshold = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        return gradient / (1 + 5 * (x - ctx.threshold).abs())**2, None


class Product(torch.autograd.Function):
    """Multiplies two tensors, and each gets half of its gradient."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        return gradient * y / 2, gradient * x / 2


class Changed(torch.autograd.Function):
    """Changes what it is given."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Thresholded(torch.autograd.Function):
    """Makes small gradients smaller."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return torch.where(gradient.abs() > 0.05, 0.1 * gradient, gradient)


class Rows(torch.autograd.Function):
    """Sums rows, so that the gradient has another shape."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sum(1, keepdim=True)

    @staticmethod
    def backward(ctx, gradient):
        return 3 * gradient.expand_as(ctx.saved_tensors[0])


class Rounded(torch.autograd.Function):
    """Rounds, and passes the gradient on."""

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Rounded3(Rounded):
    """Does the same to thirds."""

    @staticmethod
    def forward(ctx, x):
        return (3 * x).round() / 3


reverse = Reverse.apply  # what many files do


class Adversary(Classifier):

    def forward(self, x):
        hidden = self.hidden(x).tanh()
        return self.out(hidden) + self.out(reverse(hidden, 0.5)).flip(1)


class Spiking(Classifier):
    """Adds up over four steps, and starts anew after a spike."""

    def forward(self, x):
        level, spikes = 0, 0
        for _ in range(4):
            level = 0.8 * level + self.hidden(x)
            spike = Spike.apply(level, 0.5)
            level = level - spike.detach()
            spikes = spikes + spike
        return self.out(spikes / 4)


class Halved(Classifier):

    def forward(self, x):
        hidden = self.hidden(x)
        return self.out(Product.apply(hidden, hidden.sigmoid()))


class Written(Classifier):
    """Writes in place what has no gradient."""

    def forward(self, x):
        hidden = self.hidden(x)
        kept, added = torch.zeros(hidden.shape), torch.ones_like(hidden)
        with torch.no_grad():
            kept.copy_(hidden)
            added += hidden
            added[:, 0] = 2 * hidden[:, 1]
        return self.out(hidden * kept * added)


class Floored(Classifier):
    """Changes in place what it computed, and has gradients as if it had not."""

    def forward(self, x):
        spread = self.hidden(x).exp().clone()
        with torch.no_grad():
            spread.clamp_(min=1)
            spread[:, 0] = 2
        return self.out(spread)


class Sharing(Classifier):
    """Uses a Function and one that follows from it, also without gradients."""

    def forward(self, x):
        hidden = self.hidden(x)
        with torch.no_grad():
            target = Rounded.apply(2 * hidden)
        return self.out(Rounded.apply(hidden) + Rounded3.apply(2 * hidden) *
                        target)


class Directly(Classifier):
    """Gives what is trained to a Function, and reads its transpose, without
    gradients."""

    def forward(self, x):
        hidden = self.hidden(x)
        with torch.no_grad():
            target = Product.apply(hidden, hidden)
            turned = hidden.T
        hidden = Product.apply(hidden, hidden.sigmoid())
        return self.out(hidden * target + (turned * turned).T)


class Far(Classifier):
    """Masks what a Function is given."""

    def forward(self, x):
        scores = super().forward(x)
        masked = scores.masked_fill(torch.arange(4) == 3, float("-inf"))
        return Rounded.apply(masked).softmax(1) + scores


class Checkpointed(Classifier):
    """Computes in part again, as many large models do."""

    def __init__(self, reentrant):
        super().__init__()
        self.reentrant = reentrant

    def part(self, x):
        hidden = self.hidden(x)
        with torch.no_grad():
            target = hidden.tanh()
        return Rounded.apply(4 * hidden) * target

    def forward(self, x):
        hidden = torch.utils.checkpoint.checkpoint(
            self.part, x + 0 * self.out.weight[0, :8],
            use_reentrant=self.reentrant)
        return self.out(hidden)


class Applied(Classifier):
    """Applies a Function to what it returns."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return super().forward(x) * self.function.apply(self.hidden(x))[:, :4]
