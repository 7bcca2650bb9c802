"""Recurrent layers over packed sequences, as PyTorch's older exporter can write
them: ONNX's operators take lengths."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from unittest import mock

import torch
from torch import _VF, nn
from torch.nn.utils.rnn import PackedSequence


@contextlib.contextmanager
def states_of_packed() -> Iterator[None]:
    """Begins layers with zeros for as many samples as the padded batch has. They
    would take the number from the packed one, of which the exporter then leaves
    something in the file."""
    samples: dict[int, tuple] = {}  # by packed sizes, which are kept alive
    pack = _VF._pack_padded_sequence

    def packed(input, lengths, batch_first):
        data, sizes = pack(input, lengths, batch_first)
        samples[id(sizes)] = sizes, input.size(0 if batch_first else 1)
        return data, sizes

    def with_state(forward: Callable) -> Callable:
        def called(self, input, hx=None):
            known = (samples.get(id(input.batch_sizes))
                     if isinstance(input, PackedSequence) else None)
            if hx is not None or known is None:
                return forward(self, input, hx)
            layers = self.num_layers * (2 if self.bidirectional else 1)
            zeros = [torch.zeros(layers, known[1], size, dtype=input.data.dtype,
                                 device=input.data.device)
                     for size in (self.proj_size or self.hidden_size,
                                  self.hidden_size)]
            return forward(self, input,
                           tuple(zeros) if self.mode == "LSTM" else zeros[0])
        return called

    with contextlib.ExitStack() as stack:
        def patch(owner, name, value):
            stack.enter_context(mock.patch.object(owner, name, value))
        patch(_VF, "_pack_padded_sequence", packed)
        # Sizes are tensors while the exporter traces, and equal to no number.
        patch(nn.RNNBase, "check_hidden_size", lambda *args, **named: None)
        for kind in (nn.LSTM, nn.GRU, nn.RNN):
            patch(kind, "forward", with_state(kind.forward))
        yield
