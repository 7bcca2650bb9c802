"""Functions of PyTorch that no exporter writes, by the functions that write them
out."""

from __future__ import annotations

import torch

from . import (_complex_functions, _ctc, _cumulative_functions, _factors,
               _linear_algebra, _order_functions, _projected_lstm,
               _random_functions, _special_functions, _tensor_functions)

#: Maps a function to one that computes the same in operations that exporters
#: write, or that refuses it.
_WRITTEN = {**_special_functions.WRITTEN, **_linear_algebra.WRITTEN,
            **_factors.WRITTEN, **_ctc.WRITTEN, **_tensor_functions.WRITTEN,
            **_random_functions.WRITTEN, **_complex_functions.WRITTEN,
            **_cumulative_functions.WRITTEN, **_order_functions.WRITTEN,
            **_projected_lstm.WRITTEN,
            torch.Tensor.__getitem__: _complex_functions.element(
                _ctc.selected(torch.Tensor.__getitem__))}


class WrittenFunctions(torch.overrides.TorchFunctionMode):
    """Has modules compute by these functions. A mode sees each call under
    whatever name the caller has for a function, as of a `from torch import
    lgamma`, or of the `logits.lgamma()` of a distribution; a patch would have to
    find them all."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if "out" in kwargs:
            return func(*args, **kwargs)
        if func is not torch.nn.functional.ctc_loss and any(
                isinstance(one, _ctc.Chosen)
                for one in (*args, *kwargs.values())):
            raise _ctc.refusal()
        return _WRITTEN.get(func, func)(*args, **kwargs)
