"""Functions of PyTorch and transformers that exporters write wrongly or not at
all, written out in operations that they write."""

from __future__ import annotations

import contextlib
import math
import sys
from unittest import mock

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from ._checks import passing
from ._functions import WrittenFunctions
from ._gradients import with_gradient

_cross_entropy = torch.nn.functional.cross_entropy
_nll_loss = torch.nn.functional.nll_loss
_isfinite = torch.isfinite
_truth = torch.Tensor.__bool__
_number = torch.Tensor.item
_symbol_truth = torch.SymBool.__bool__
_scaled_attention = torch.nn.functional.scaled_dot_product_attention
_normalized = torch.batch_norm


def _each(loss, reduction):
    """Returns a loss that the newer exporter knows the shape of: it takes one of
    each sample for a number, and leaves out the sum of it."""
    return loss * 1 if reduction == "none" else loss


def _likelihood(input, target, weight=None, size_average=None,
                ignore_index=-100, reduce=None, reduction="mean"):
    """Is torch.nn.functional.nll_loss."""
    return _each(_nll_loss(input, target, weight, size_average, ignore_index,
                           reduce, reduction), reduction)


def _entropy(input, target, weight=None, size_average=None, ignore_index=-100,
             reduce=None, reduction="mean", label_smoothing=0.0):
    """Is torch.nn.functional.cross_entropy, written out where exporters leave out
    label_smoothing, or write labels that are probabilities as no operator has
    them."""
    given = target.is_floating_point()
    if label_smoothing == 0 and not given:
        return _each(_cross_entropy(input, target, weight, size_average,
                                    ignore_index, reduce, reduction), reduction)
    dim, classes = (0, input.size(0)) if input.ndim == 1 else (1, input.size(1))
    logs = torch.log_softmax(input, dim)
    if weight is not None:
        shape = [classes] + [1] * (input.ndim - dim - 1)
        logs = logs * weight.view(shape)
    spread = -logs.sum(dim) / classes
    if given:
        own = -(target * logs).sum(dim)
        total = input.numel() // classes
    else:
        own = _cross_entropy(input, target, weight, ignore_index=ignore_index,
                             reduction="none")
        counted = target != ignore_index
        spread = spread * counted
        total = (counted.to(input.dtype) if weight is None else
                 weight[target * counted] * counted).sum()
    each = (1 - label_smoothing) * own + label_smoothing * spread
    return (each if reduction == "none" else
            each.sum() if reduction == "sum" else each.sum() / total)


def _gaussian(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """Is torch.nn.functional.gaussian_nll_loss, which asks the variance's values
    whether they are negative. A variance below `eps` counts as that, and has the
    gradient that it would have."""
    if isinstance(var, float):
        var = torch.full_like(input, var)
    if var.ndim < input.ndim and var.shape == input.shape[:-1]:
        var = var.unsqueeze(-1)
    var = with_gradient(var.clamp(min=eps).detach(), var, torch.ones_like(var))
    each = 0.5 * (var.log() + (input - target)**2 / var)
    if full:
        each = each + 0.5 * math.log(2 * math.pi)
    return (each.mean() if reduction == "mean" else
            each.sum() if reduction == "sum" else each)


def _attention(query, key, value, attn_mask=None, dropout_p=0.0,
               is_causal=False, scale=None, enable_gqa=False):
    """Is torch.nn.functional.scaled_dot_product_attention, written out where
    exporters turn its dropout off, or write a mask for which a query that sees
    nothing has the mean of all values, and not 0."""
    # PyTorch refuses a mask beside is_causal.
    if is_causal if attn_mask is not None else dropout_p == 0:
        return _scaled_attention(query, key, value, attn_mask, dropout_p,
                                 is_causal, scale=scale, enable_gqa=enable_gqa)
    groups = query.size(-3) // key.size(-3) if enable_gqa else 1
    if groups > 1:
        key, value = (one.unsqueeze(-3).expand(
            *one.shape[:-2], groups, *one.shape[-2:]).flatten(-4, -3)
            for one in (key, value))
    scores = query @ key.transpose(-2, -1) * (scale or query.size(-1)**-0.5)
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool,
                               device=scores.device).tril()
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, float("-inf"))
    elif attn_mask is not None:
        scores = scores + attn_mask
    weights = scores.softmax(-1)
    if attn_mask is not None and not is_causal:
        weights = weights.masked_fill(weights.isnan(), 0)
    if dropout_p > 0:
        weights = torch.nn.functional.dropout(weights, dropout_p)
    return weights @ value


def _batch_norm(input, weight, bias, running_mean, running_var, training,
                momentum, eps, cudnn_enabled):
    """Is torch.batch_norm, which the newer exporter always writes as in
    evaluation. While that runs, it is ONNX's operator where statistics move. It
    is written out where they do not and its parameters are trained: the file
    would look like one whose statistics should move."""
    trained = any(one is not None and one.requires_grad
                  for one in (weight, bias))
    if (running_mean is None or not (training or trained) or
            not torch.compiler.is_exporting()):
        return _normalized(input, weight, bias, running_mean, running_var,
                           training, momentum, eps, cudnn_enabled)
    channels = running_mean.shape
    weight = torch.ones_like(running_mean) if weight is None else weight
    bias = torch.zeros_like(running_mean) if bias is None else bias
    if training:
        return torch.onnx.ops.symbolic_multi_out(
            "BatchNormalization",
            (input, weight, bias, running_mean, running_var),
            {"epsilon": float(eps), "momentum": float(1 - momentum),
             "training_mode": 1},
            dtypes=(input.dtype, running_mean.dtype, running_var.dtype),
            shapes=(input.shape, channels, channels))[0]
    scale = weight / (running_var + eps).sqrt()
    mean, scale, bias = (one.view([-1] + [1] * (input.ndim - 2))
                         for one in (running_mean, scale, bias))
    return ((input - mean) * scale + bias).to(input.dtype)


def _distances(x1, x2, p=2.0, compute_mode=None):
    """Is torch.cdist."""
    return torch.linalg.vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


def _fake_quantize(input, scale, zero_point, quant_min, quant_max):
    """Is torch.fake_quantize_per_tensor_affine: the gradient passes where the
    number is within the limits."""
    number = (input * (1 / scale)).round() + zero_point
    within = (number >= quant_min) & (number <= quant_max)
    kept = (number.clamp(quant_min, quant_max) - zero_point) * scale
    return with_gradient(kept.detach(), input, within)


def _fake_quantize_channels(input, scale, zero_point, axis, quant_min,
                            quant_max):
    """Is torch.fake_quantize_per_channel_affine."""
    shape = [1] * input.ndim
    shape[axis] = -1
    return _fake_quantize(input, scale.view(shape), zero_point.view(shape),
                          quant_min, quant_max)


def _finite(input):
    """Is torch.isfinite, but `if` takes all of it for true: models of
    transformers ask so whether to clamp, which no file can."""
    each = _isfinite(input)

    def all_of(*dims, **named):
        every = type(each).all(each, *dims, **named)
        every.taken_for_true = not dims and not named
        return every

    each.all = all_of
    return each


def _bool(tensor):
    """Is torch.Tensor.__bool__, but what `_finite` says of all is true, and a
    check is passed."""
    passed = (True if getattr(tensor, "taken_for_true", False) else
              passing(sys._getframe(1)))
    return _truth(tensor) if passed is None else passed


def _item(tensor):
    """Is torch.Tensor.item, but a check is passed."""
    passed = (passing(sys._getframe(1)) if tensor.dtype == torch.bool else None)
    return _number(tensor) if passed is None else passed


def _symbol_bool(symbol):
    """Is torch.SymBool.__bool__, but a check of a tensor's number is passed."""
    passed = (passing(sys._getframe(1)) if free_unbacked_symbols(symbol) else
              None)
    return _symbol_truth(symbol) if passed is None else passed


# PyTorch notes who asks for a size: the first frame that is none of its own files,
# nor of this name.
_symbol_bool.__code__ = _symbol_bool.__code__.replace(co_filename="<string>")


def _experts(found: set):
    """Returns a function that is one of ALL_EXPERTS_FUNCTIONS of transformers,
    which compute a mixture of experts: here each expert computes every token, as
    no file can say how many tokens will choose it. Adds a text to `found`."""

    def linear(module, x, weight, bias):
        weight = weight if module.is_transposed else weight.transpose(1, 2)
        return x @ weight if bias is None else x @ weight + bias.unsqueeze(1)

    def forward(self, hidden_states, top_k_index, top_k_weights):
        first = "gate_up_proj" if self.has_gate else "up_proj"
        weight = getattr(self, first)
        experts = weight.size(0)
        each = top_k_index.size(1)
        found.add(f"a mixture of {experts} experts: in the file each computes "
                  f"every token, {experts / each:g} times the products of the "
                  f"{each} that a token chooses")
        chosen = torch.arange(experts, device=top_k_index.device)
        chosen = (top_k_index.unsqueeze(0) == chosen.view(-1, 1, 1))
        shares = (chosen * top_k_weights.unsqueeze(0)).sum(2)  # (experts, tokens)
        x = linear(self, hidden_states.unsqueeze(0), weight,
                   getattr(self, first + "_bias") if self.has_bias else None)
        x = self._apply_gate(x) if self.has_gate else self.act_fn(x)
        x = linear(self, x, self.down_proj,
                   self.down_proj_bias if self.has_bias else None)
        if self.has_post_expert_norm:
            x = self.post_expert_norm(x)
        return (x * shares.unsqueeze(2)).sum(0).to(hidden_states.dtype)

    return forward


@contextlib.contextmanager
def written_out():
    """Has modules compute by the functions of this file and of `_functions`.
    Yields a set of texts that say what costs more in the file than in PyTorch."""
    found = set()
    moe = sys.modules.get("transformers.integrations.moe")
    mixture = getattr(moe, "ALL_EXPERTS_FUNCTIONS", None)
    with contextlib.ExitStack() as patches:
        patches.enter_context(mock.patch.multiple(
            torch.nn.functional, cross_entropy=_entropy, nll_loss=_likelihood,
            gaussian_nll_loss=_gaussian, scaled_dot_product_attention=_attention))
        patches.enter_context(
            mock.patch.object(torch, "batch_norm", _batch_norm))
        # A distribution asks whether its arguments are valid, and the newer
        # exporter has no operator for that.
        patches.enter_context(mock.patch.object(
            torch.distributions.Distribution, "_validate_args", False))
        # PyTorch asks a mask's values whether it is causal, and no file can; the
        # mask is added in either case.
        patches.enter_context(mock.patch.object(
            torch.nn.modules.transformer, "_detect_is_causal_mask",
            lambda mask, is_causal=None, size=None: bool(is_causal)))
        patches.enter_context(mock.patch.object(torch, "isfinite", _finite))
        # No file can refuse values, as transformers' models of pictures and
        # words do where there are more places than pictures.
        patches.enter_context(mock.patch.object(
            torch, "_check_tensor_all", lambda *_, **__: None))
        patches.enter_context(mock.patch.multiple(
            torch, cdist=_distances,
            fake_quantize_per_tensor_affine=_fake_quantize,
            fake_quantize_per_channel_affine=_fake_quantize_channels))
        patches.enter_context(mock.patch.multiple(
            torch.Tensor, __bool__=_bool, item=_item))
        patches.enter_context(
            mock.patch.object(torch.SymBool, "__bool__", _symbol_bool))
        # The newer exporter ends the process over what is computed of .data.
        patches.enter_context(mock.patch.object(
            torch.Tensor, "data",
            property(torch.Tensor.detach, torch.Tensor.data.__set__)))
        patches.enter_context(WrittenFunctions())
        if mixture is not None:  # what else may be asked for stays
            patches.enter_context(mock.patch.dict(
                type(mixture)._global_mapping, grouped_mm=_experts(found)))
        yield found
