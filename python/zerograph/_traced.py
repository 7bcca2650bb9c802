"""Traces a loss that takes gradients itself, as that of a physics-informed
network or a gradient penalty does: exporters cannot write torch.autograd.grad,
and can write the operations by which autograd computes it."""

import os

import torch
from torch._decomp import core_aten_decompositions
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic, ShapeEnv, StatelessSymbolicContext)

from ._library import Error


@torch.library.custom_op("zerograph::stop", mutates_args=())
def _stop(x: torch.Tensor) -> torch.Tensor:
    """Stands for detach(), in place of which a trace has an alias."""
    return x.clone()


_stop.register_fake(torch.empty_like)
_stop.register_autograd(lambda context, gradient: None,
                        setup_context=lambda context, inputs, output: None)
_stop.register_vmap(lambda info, dims, x: (_stop(x), dims[0]))


def _detached(x: torch.Tensor) -> torch.Tensor:
    return _stop(x.detach())  # which has no requires_grad


def _gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """Is torch.nn.functional.gumbel_softmax, within which detach() is not
    seen."""
    soft = torch.nn.functional.gumbel_softmax(logits, tau, False, eps, dim)
    if not hard:
        return soft
    place = soft.argmax(dim, keepdim=True)
    return (torch.zeros_like(soft).scatter(dim, place, 1.0) - _detached(soft) +
            soft)


def _dropout(input, p=0.5, training=True, inplace=False):
    """Is torch.nn.functional.dropout, by factors that are the gradient's too: a
    file whose dropout is turned off has them all 1."""
    if not training or p == 0:
        return input
    return input * torch.nn.functional.dropout(torch.ones_like(input), p)


_WRITTEN = {
    torch.Tensor.detach: _detached,
    torch.detach: _detached,
    torch.nn.functional.gumbel_softmax: _gumbel_softmax,
    torch.nn.functional.dropout: _dropout,
}


class _Stops(torch.overrides.TorchFunctionMode):
    """Marks where gradients stop: in detach(), and in gradients that have no
    graph."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = _WRITTEN.get(func, func)(*args, **kwargs)
        if func is torch.autograd.grad and not _has_graph(*args, **kwargs):
            return tuple(None if one is None else _detached(one)
                         for one in result)
        return result


def _has_graph(outputs, inputs, grad_outputs=None, retain_graph=None,
               create_graph=False, *_, **__) -> bool:
    return create_graph


def _transposed(gradient, size, weight, stride, padding, dilation, groups):
    """Returns the input's gradient, of these sizes, of a convolution."""
    # The input has what a stride leaves over at the end.
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


def _zeros_for(input, other, *, self_num_batch_dims=0):
    """Is aten._new_zeros_with_same_feature_meta, which torch.func.jvp fills."""
    return (NotImplemented if self_num_batch_dims else
            input.new_zeros(other.shape))


def _diagonal_scatter(input, source, offset=0, dim1=0, dim2=1):
    """Is aten.diagonal_scatter of matrices, which torch.func.jacrev fills so and
    exporters cannot write."""
    last = input.ndim - 1
    if (dim1 % input.ndim, dim2 % input.ndim) != (last - 1, last):
        return NotImplemented
    rows, columns = (torch.arange(size) for size in input.shape[-2:])
    along = columns.unsqueeze(0) if offset <= 0 else rows.unsqueeze(1)
    return torch.where(
        columns - rows.unsqueeze(1) == offset,
        source[..., along.clamp(max=source.shape[-1] - 1)], input)


def _decompositions() -> dict:
    """Returns what the gradients of operators are made of. The operators
    themselves stay, since exporters know them: but for losses by class, of which
    they write no second result."""
    table = {operator: written
             for operator, written in core_aten_decompositions().items()
             if "backward" in str(operator) or "nll_loss" in str(operator)}
    aten = torch.ops.aten
    return {**table,
            aten._new_zeros_with_same_feature_meta.default: _zeros_for,
            aten.convolution_backward.default: _convolution_backward,
            aten.avg_pool2d_backward.default: _average_backward}


def _changes_in_place(graph: torch.fx.GraphModule) -> bool:
    return any(isinstance(node.target, torch._ops.OpOverload) and
               node.target._schema.is_mutable for node in graph.graph.nodes)


def _refuse_statistics(module: torch.nn.Module) -> None:
    for name, part in module.named_modules():
        if (isinstance(part, torch.nn.modules.batchnorm._BatchNorm) and
                part.training and part.track_running_stats):
            raise Error(
                f"'{name}' is a BatchNorm whose running statistics move, in a "
                "module that takes gradients itself, where a file cannot move "
                "them: make it with track_running_stats=False, keep it in "
                "evaluation, or take another norm")


def _fakes(mode: FakeTensorMode, arrays: tuple,
           dims: list[dict[int, str]]) -> tuple:
    """Returns arrays without data, whose sizes in these dims are symbols."""
    return tuple(mode.from_tensor(array, symbolic_context=StatelessSymbolicContext(
        dynamic_sizes=[DimDynamic.DYNAMIC if axis in own else DimDynamic.STATIC
                       for axis in range(array.ndim)]))
        for array, own in zip(arrays, dims))


def _holds_for_others(symbols: ShapeEnv) -> bool:
    """Tells whether a trace holds for other sizes than the example's: nobody has
    made a number of Python of one, or asked how large it is. PyTorch asks that
    too, to choose between ways to compute the same."""
    def asked_by_user(guard) -> bool:
        place = getattr(guard.sloc.framework_loc, "filename", "")
        return not place.startswith(os.path.dirname(torch.__file__) + os.sep)

    return not any(now.is_number for now in symbols.replacements.values()) and (
        not any(map(asked_by_user, symbols.guards)))


def traced(module: torch.nn.Module, arrays: tuple,
           dims: list[dict[int, str]]) -> tuple[torch.nn.Module, bool]:
    """Returns a module that computes what `module` does of arrays like these,
    with the gradients that it takes written out, and whether they may differ in
    the sizes of `dims`. It has the same parameters, by the same names."""
    _refuse_statistics(module)

    def compute(parameters, buffers, *given):
        with _Stops():
            return torch.func.functional_call(
                module, (parameters, buffers), given)

    symbols = ShapeEnv(duck_shape=False)
    mode = FakeTensorMode(shape_env=symbols, allow_non_fake_inputs=True)
    fakes = _fakes(mode, arrays, dims)
    tensors = tuple({name: mode.from_tensor(one, static_shapes=True)
                     for name, one in named}
                    for named in (module.named_parameters(),
                                  module.named_buffers()))
    try:
        with mode, enable_python_dispatcher():  # which knows symbols everywhere
            graph = make_fx(compute, decomposition_table=_decompositions())(
                *tensors, *fakes)
            if _changes_in_place(graph):
                graph = make_fx(torch.func.functionalize(graph), {
                    torch.ops.aten.diagonal_scatter.default: _diagonal_scatter})(
                    *tensors, *fakes)
    except Error:
        raise
    except Exception as error:
        raise Error(
            "PyTorch cannot trace the gradients that the module or its loss "
            f"takes: {str(error).splitlines()[0]}. torch.autograd.grad(..., "
            "create_graph=True), of tensors of the whole batch, and "
            "torch.func.grad are traced best") from error
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
    return result, _holds_for_others(symbols)
