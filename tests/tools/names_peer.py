"""Exports a model with PyTorch and writes its names, or loads weights into it.

    names_peer.py export TOOLS MODEL.onnx NAMES.json dynamo|torchscript
    names_peer.py load WEIGHTS.pt VALUES.json
"""

import json
import sys

import torch


class Turned(torch.nn.Module):
    """As transformers' Conv1D: the weight is [in, out]."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(inputs, outputs))
        self.bias = torch.nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return x @ self.weight + self.bias


class Model(torch.nn.Module):
    """A table that is also the head, and biases that are still equal."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(11, 8)
        self.mix = Turned(8, 8)
        self.last = torch.nn.Linear(8, 8)
        self.head = torch.nn.Linear(8, 11, bias=False)
        self.head.weight = self.table.weight
        torch.nn.init.zeros_(self.last.bias)

    def forward(self, ids):
        return self.head(self.last(torch.relu(self.mix(self.table(ids)))))


class WithLoss(torch.nn.Module):

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, labels):
        return torch.nn.functional.cross_entropy(
            self.model(ids).flatten(0, 1), labels.flatten())


def export(tools, path, names, how):
    sys.path.insert(0, tools)
    import state_dict_names
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
    state_dict_names.write(model, path, names)


def load(weights, output):
    model = Model()
    state = torch.load(weights, weights_only=True)
    state["head.weight"] = state["table.weight"]  # one of two names
    model.load_state_dict(state)
    with open(output, "w") as file:
        json.dump({name: tensor.flatten().tolist()
                   for name, tensor in model.named_parameters()}, file)


if __name__ == "__main__":
    {"export": export, "load": load}[sys.argv[1]](*sys.argv[2:])
