"""An LSTM with proj_size, which no operator of ONNX has, step by step."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ._library import Error


def _steps_of(x: torch.Tensor) -> int:
    if isinstance(x.shape[0], torch.SymInt):
        raise Error("an LSTM with proj_size of a number of steps that may vary: "
                    "zg.export writes it out for a fixed number. Pad the samples "
                    "to one length, or leave proj_size out")
    return int(x.shape[0])  # it is a tensor in the older exporter


def _direction(x: torch.Tensor, h: torch.Tensor, c: torch.Tensor,
               weights: Sequence[torch.Tensor], backwards: bool):
    """Returns what a layer makes of x, [steps, samples, features], in a direction,
    and its last state."""
    of_input, of_state, *biases, projection = weights
    linear = torch.nn.functional.linear
    given = linear(x, of_input, *biases[:1])
    order, found = range(_steps_of(x)), []
    for step in reversed(order) if backwards else order:
        i, f, g, o = (given[step] + linear(h, of_state, *biases[1:])).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = linear(o.sigmoid() * c.tanh(), projection)
        found.append(h)
    return torch.stack(found[::-1] if backwards else found), h, c


def _refuse_packed():
    raise Error("an LSTM with proj_size of a packed sequence: no operator of ONNX "
                "has that. Leave proj_size out, or give the LSTM the padded "
                "samples")


def _lstm(input, hx, weights, *rest):
    """Is torch.lstm, which has the weights of layer after layer, of both directions
    of each. Its second and third argument are others for a packed sequence."""
    is_packed = isinstance(hx, torch.Tensor)
    given, has_biases, layers, dropout, training, bidirectional, *batch_first = (
        rest if is_packed else (weights, *rest))
    sides = 2 if bidirectional else 1
    each = len(given) // (layers * sides)
    if each == (4 if has_biases else 2):
        return torch.lstm(input, hx, weights, *rest)
    if is_packed:
        _refuse_packed()
    x, states = input.transpose(0, 1) if batch_first[0] else input, []
    for layer in range(layers):
        if layer and training and dropout:
            x = torch.nn.functional.dropout(x, dropout)
        outputs = []
        for side in range(sides):
            place = layer * sides + side
            found, *last = _direction(
                x, hx[0][place], hx[1][place],
                weights[place * each:(place + 1) * each], side == 1)
            outputs.append(found)
            states.append(last)
        x = torch.cat(outputs, -1)
    h, c = (torch.stack(one) for one in zip(*states))
    return x.transpose(0, 1) if batch_first[0] else x, h, c


WRITTEN = {torch.lstm: _lstm}
