"""Exports a model with PyTorch and writes its names, or loads weights into it.

    names_peer.py export MODEL.onnx NAMES.json dynamo|torchscript
    names_peer.py load WEIGHTS.pt VALUES.json
    names_peer.py save STATE.pt VALUES.json
"""

import json
import sys

import torch

from conv1d import Conv1D


class Model(torch.nn.Module):
    """A table that is also the head, and biases that are still equal."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(11, 8)
        self.mix = Conv1D(8, 8)
        self.last = torch.nn.Linear(8, 8)
        self.head = torch.nn.Linear(8, 11, bias=False)
        self.head.weight = self.table.weight
        torch.nn.init.zeros_(self.last.bias)
        # No part of state_dict(), and an initializer of the file.
        self.register_buffer("scale", torch.linspace(1, 2, 8),
                             persistent=False)

    def forward(self, ids):
        return self.head(self.last(torch.relu(self.mix(
            self.scale * self.table(ids)))))


class WithLoss(torch.nn.Module):

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, labels):
        return torch.nn.functional.cross_entropy(
            self.model(ids).flatten(0, 1), labels.flatten())


def export(path, names, how):
    from zerograph.names import write
    torch.manual_seed(0)
    model = Model()
    arguments = (torch.zeros(3, 2, dtype=torch.int64),
                 torch.ones(3, 2, dtype=torch.int64))
    inputs = {"input_names": ["ids", "labels"], "output_names": ["loss"]}
    if how == "dynamo":
        batch = torch.export.Dim("batch")
        torch.onnx.export(WithLoss(model).train(), arguments, path, dynamo=True,
                          optimize=False,
                          dynamic_shapes=({0: batch}, {0: batch}), **inputs)
    else:  # that folds transposes, and renames what it has folded
        torch.nn.init.ones_(model.last.bias)  # it merges equal ones
        torch.onnx.export(WithLoss(model).eval(), arguments, path, dynamo=False,
                          do_constant_folding=True, **inputs)
    write(model, path, names)


def load(weights, output):
    model = Model()
    state = torch.load(weights, weights_only=True)
    state["head.weight"] = state["table.weight"]  # one of two names
    model.load_state_dict(state)
    with open(output, "w") as file:
        json.dump({name: tensor.flatten().tolist()
                   for name, tensor in model.named_parameters()}, file)


def save(path, output):
    """Other values than those that were exported."""
    torch.manual_seed(1)
    model = Model()
    torch.nn.init.normal_(model.last.bias)
    torch.save(model.state_dict(), path)
    load(path, output)


if __name__ == "__main__":
    {"export": export, "load": load, "save": save}[sys.argv[1]](*sys.argv[2:])
