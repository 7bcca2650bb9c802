"""Writes reference.json: what PyTorch gives with low-rank adapters.

    make_reference.py > reference.json

needs PyTorch, transformers, onnx and safetensors; the models and batches are
those of models/. An adapter is what PEFT's LoraConfig adds, written out: no
PEFT is needed. Its matrices begin as `start.py` says. No test runs this.
"""

import fnmatch
import json
import os
import sys

import torch
import torch.nn.utils.parametrize

from start import start

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../e2e/optimizers"))
import make_reference as optimizers  # of models without adapters

RUNS = {
    # Linear stores its weight [out, in], GPT-2's Conv1D [in, out].
    "mlp-digits": dict(lora={"fc*.weight": 8}, alpha=16, train=["fc2.bias"]),
    "gpt2-nano": dict(lora={"*.attn.c_attn.weight": 4, "*.mlp.*.weight": 2},
                      alpha=8, train=["*.ln_f.*"]),
}
ADAMW = dict(lr=5e-3, betas=[0.9, 0.999], eps=1e-8, weight_decay=0.1)


class Adapter(torch.nn.Module):
    """weight + alpha / r * B A, or its transpose."""

    def __init__(self, name, weight, rank, alpha, transposed):
        super().__init__()
        rows, columns = weight.shape[::-1] if transposed else weight.shape
        self.a, self.b = (
            torch.nn.Parameter(torch.tensor(values, dtype=torch.float32)
                               .reshape(shape).to(weight.dtype))
            for values, shape in start(name, rank, rows, columns))
        self.scale, self.transposed = alpha / rank, transposed

    def forward(self, weight):
        added = self.scale * (self.b @ self.a)
        return weight + (added.T if self.transposed else added)


def adapt(model, run):
    """Name -> what is trained."""
    trained = {}
    for name, parameter in list(model.named_parameters()):
        parameter.requires_grad = any(fnmatch.fnmatchcase(name, p)
                                      for p in run["train"])
        if parameter.requires_grad:
            trained[name] = parameter
    for path, module in list(model.named_modules()):
        name = path + ".weight"
        rank = next((r for pattern, r in run["lora"].items()
                     if fnmatch.fnmatchcase(name, pattern)), None)
        if rank is None or not hasattr(module, "weight"):
            continue
        adapter = Adapter(name, module.weight, rank, run["alpha"],
                          type(module).__name__ == "Conv1D")
        torch.nn.utils.parametrize.register_parametrization(
            module, "weight", adapter)
        trained[name + ".lora_A"] = adapter.a
        trained[name + ".lora_B"] = adapter.b
    return trained


def train(name, run):
    model = optimizers.load(name, torch.float64)
    batches = optimizers.safetensors.torch.load_file(
        os.path.join(optimizers.MODELS, name, "batches.safetensors"))
    batches = {key: value.double() if value.is_floating_point() else value
               for key, value in batches.items()}
    size = len(batches["labels"]) // optimizers.STEPS
    first = {key: value[:size] for key, value in batches.items()}
    trained = adapt(optimizers.inner(model), run)
    optimizer = torch.optim.AdamW(trained.values(), **ADAMW)
    begin = {key: p.detach().clone() for key, p in trained.items()}
    losses = []
    for step in range(optimizers.STEPS):
        optimizer.zero_grad()
        loss = model.loss(**{key: value[step * size:(step + 1) * size]
                             for key, value in batches.items()})
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            gradients = {key: p.grad.norm().item()
                         for key, p in trained.items()}
        optimizer.step()
    moved = {key: (p.detach() - begin[key]).norm().item()
             for key, p in trained.items()}
    with torch.no_grad():
        after = model.loss(**first).item()
    return dict(losses=losses, gradients=gradients, moved=moved, after=after)


def main():
    torch.set_num_threads(1)
    json.dump({name: {**run, "adamw": ADAMW, **train(name, run)}
               for name, run in RUNS.items()}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
