"""Traces a loss that takes gradients itself, as that of a physics-informed
network or a gradient penalty does: exporters cannot write torch.autograd.grad,
and can write the operations by which autograd computes it."""

import torch
from torch._decomp import core_aten_decompositions
from torch.fx.experimental.proxy_tensor import make_fx

from ._library import Error


@torch.library.custom_op("zerograph::stop", mutates_args=())
def _stop(x: torch.Tensor) -> torch.Tensor:
    """Stands for detach(), in place of which a trace has an alias."""
    return x.clone()


_stop.register_fake(torch.empty_like)


class _Stops(torch.overrides.TorchFunctionMode):
    """Marks where gradients stop: in detach(), and in gradients that have no
    graph."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in (torch.Tensor.detach, torch.detach):
            return _stop(args[0])
        result = func(*args, **kwargs)
        if func is torch.autograd.grad and not _has_graph(*args, **kwargs):
            return tuple(None if one is None else _stop(one) for one in result)
        return result


def _has_graph(outputs, inputs, grad_outputs=None, retain_graph=None,
               create_graph=False, *_, **__) -> bool:
    return create_graph


def _transposed(gradient, size, weight, stride, padding, dilation, groups):
    """Returns the input's gradient, of these sizes, of a convolution."""
    # What a stride leaves over at the end is a part of the input.
    left = [full + 2 * pad - each * (kernel - 1) - 1 - step * (places - 1)
            for full, pad, each, kernel, step, places in zip(
                size, padding, dilation, weight.shape[2:], stride,
                gradient.shape[2:])]
    return torch.ops.aten.convolution(gradient, weight, None, stride, padding,
                                      dilation, True, left, groups)


def _convolution_backward(gradient, input, weight, bias_sizes, stride, padding,
                          dilation, transposed, output_padding, groups, mask):
    """Is aten.convolution_backward, where only the input's gradient is asked
    for."""
    if mask[1] or mask[2]:
        return NotImplemented
    found = (torch.ops.aten.convolution(
        gradient, weight, None, stride, padding, dilation, False,
        [0] * len(stride), groups) if transposed else
        _transposed(gradient, input.shape[2:], weight, stride, padding, dilation,
                    groups))
    return found, None, None


def _average_backward(gradient, input, kernel, stride, padding, ceil_mode,
                      count_include_pad, divisor):
    """Is aten.avg_pool2d_backward, where all windows have as many elements."""
    if ceil_mode or (any(padding) and not count_include_pad):
        return NotImplemented
    channels = input.shape[-3]
    weight = torch.ones((channels, 1, *kernel), dtype=gradient.dtype)
    return _transposed(
        gradient, input.shape[-2:],
        weight / (divisor or kernel[0] * kernel[1]), stride or kernel, padding,
        [1, 1], channels)


def _decompositions() -> dict:
    """Returns what the gradients of operators are made of. The operators
    themselves stay, since exporters know them: but for losses by class, of which
    they write no second result."""
    table = {operator: written
             for operator, written in core_aten_decompositions().items()
             if "backward" in str(operator) or "nll_loss" in str(operator)}
    aten = torch.ops.aten
    return {**table,
            aten.convolution_backward.default: _convolution_backward,
            aten.avg_pool2d_backward.default: _average_backward}


def traced(module: torch.nn.Module, arrays: tuple) -> torch.nn.Module:
    """Returns a module that computes what `module` does of arrays like these,
    with the gradients that it takes written out. It has the same parameters, by
    the same names."""

    def compute(parameters, buffers, *given):
        with _Stops():
            return torch.func.functional_call(
                module, (parameters, buffers), given)

    def tensors():
        return dict(module.named_parameters()), dict(module.named_buffers())

    try:
        graph = make_fx(compute, decomposition_table=_decompositions(),
                        tracing_mode="symbolic")(*tensors(), *arrays)
    except Error:
        raise
    except Exception as error:
        raise Error(
            "PyTorch cannot trace the gradients that the module or its loss "
            f"takes: {str(error).splitlines()[0]}. Take them by "
            "torch.autograd.grad(..., create_graph=True), of tensors of the "
            "whole batch") from error
    aten = torch.ops.aten
    for node in list(graph.graph.nodes):
        # Autograd detaches what it keeps, and gradients of gradients go through.
        if node.target in (aten.detach.default, aten.alias.default):
            node.replace_all_uses_with(node.args[0])
            graph.graph.erase_node(node)
        elif node.target is torch.ops.zerograph.stop.default:
            node.target = aten.detach.default
    graph.recompile()

    class Traced(type(module)):
        def compute(self, *given):
            return graph(dict(self.named_parameters()),
                         dict(self.named_buffers()), *given)

    result = Traced()
    result.__dict__.update(vars(module))
    return result
