"""Exports a language model with a wide head, and computes what its training gives.

    python export.py

The head makes 2,560 logits of 16 numbers, with a bias and a soft cap. The model
drops the logits of the last word and smooths labels, of which it ignores some.
Everything beside the model is computed by PyTorch: losses of every step in
float64, gradients of the first and parameters of the last.
"""

import copy
import json
import os

import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import save_file

FOLDER = os.path.dirname(os.path.abspath(__file__))
WORDS, WIDTH, LENGTH = 2560, 16, 33
BATCH, STEPS, SEED = 32, 5, 1234
RUNS = [
    {"name": "sgd", "optimizer": "sgd", "lr": 0.5, "momentum": 0.0,
     "weight_decay": 0.0},
    {"name": "sgd_momentum", "optimizer": "sgd", "lr": 0.2, "momentum": 0.9,
     "weight_decay": 0.01},
    {"name": "adamw", "optimizer": "adamw", "lr": 0.01, "betas": [0.9, 0.999],
     "eps": 1e-8, "weight_decay": 0.01},
]


class WideHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.places = nn.Embedding(LENGTH, WIDTH)
        self.middle = nn.Linear(WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, tokens, labels):
        x = self.words(tokens) + self.places.weight
        x = self.norm(x + torch.tanh(self.middle(x)))
        logits = self.head(x)
        logits = 5 * torch.tanh(logits / 5)
        shifted = logits[:, :-1].reshape(-1, WORDS)
        wanted = labels[:, 1:].reshape(-1)
        counted = (wanted != -100).to(shifted.dtype)
        # PyTorch's exporter drops cross_entropy's label_smoothing.
        smooth = -F.log_softmax(shifted, dim=-1).mean(-1)
        loss = F.cross_entropy(shifted, wanted, ignore_index=-100,
                               reduction="sum")
        return ((0.9 * loss + 0.1 * (smooth * counted).sum())
                / counted.sum())


def batches():
    generator = torch.Generator().manual_seed(SEED)
    shape = (STEPS, BATCH, LENGTH)
    tokens = torch.randint(WORDS, shape, generator=generator)
    labels = tokens.clone()
    # As many of each sample: any micro-batch has the mean of all.
    ignored = torch.rand(shape, generator=generator)[..., 1:].argsort(-1)
    labels.scatter_(-1, ignored[..., :3] + 1, -100)
    return tokens, labels


def optimizer_of(run, parameters):
    if run["optimizer"] == "sgd":
        return torch.optim.SGD(parameters, lr=run["lr"],
                               momentum=run["momentum"],
                               weight_decay=run["weight_decay"])
    return torch.optim.AdamW(parameters, lr=run["lr"],
                             betas=tuple(run["betas"]), eps=run["eps"],
                             weight_decay=run["weight_decay"])


def train(model, run, tokens, labels):
    optimizer = optimizer_of(run, model.parameters())
    losses, first = [], None
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = model(tokens[step], labels[step])
        loss.backward()
        if first is None:
            first = {n: p.grad.clone() for n, p in model.named_parameters()}
        optimizer.step()
        losses.append(loss.item())
    return losses, first


def main():
    torch.manual_seed(SEED)
    model = WideHead()
    tokens, labels = batches()
    save_file({"tokens": tokens.flatten(0, 1).contiguous(),
               "labels": labels.flatten(0, 1).contiguous()},
              os.path.join(FOLDER, "batches.safetensors"))

    runs, distance = [], {}
    for run in RUNS:
        wide, narrow = copy.deepcopy(model).double(), copy.deepcopy(model)
        losses, gradients = train(wide, run, tokens, labels)
        train(narrow, run, tokens, labels)
        runs.append({**run, "losses_fp64": losses})
        if run["name"] != "adamw":
            continue
        final = dict(wide.named_parameters())
        for name, parameter in narrow.named_parameters():
            distance[name] = (parameter - final[name]).abs().max().item()
        save_file({n: g.float() for n, g in gradients.items()},
                  os.path.join(FOLDER, "grads0.safetensors"))
        save_file({n: p.detach().float() for n, p in final.items()},
                  os.path.join(FOLDER, "final_adamw.safetensors"))

    path = os.path.join(FOLDER, "model.onnx")
    torch.onnx.export(
        model, (tokens[0], labels[0]), path, dynamo=True, optimize=False,
        external_data=False, input_names=["tokens", "labels"],
        output_names=["loss"],
        dynamic_shapes={"tokens": {0: "batch"}, "labels": {0: "batch"}})
    with open(os.path.join(FOLDER, "reference.json"), "w") as file:
        json.dump({
            "model": "wide-head", "torch": torch.__version__,
            "onnx": onnx.__version__, "seed": SEED,
            "batches": {n: {"shape": [STEPS, BATCH, LENGTH], "dtype": "int64"}
                        for n in ("tokens", "labels")},
            "steps": STEPS, "global_batch": BATCH, "runs": runs,
            "final_adamw_max_abs_difference_fp32_fp64": distance,
            "elements_with_vanishing_gradient": {},
        }, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
