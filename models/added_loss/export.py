"""Exports two models with and without their loss, and computes losses and
gradients that `--loss` must give, in float64: `python export.py` beside this
file, with torch 2.13.0 and transformers 5.23.0."""

import json
import os
import sys
import warnings

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from transformers import GPT2Config, GPT2LMHeadModel

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "losses"))
from export import forget_places  # noqa: E402


class WithLoss(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x, labels):
        return F.cross_entropy(self.model(x), labels)


class Language(torch.nn.Module):
    """transformers' own loss, which shifts the labels itself, or the logits."""

    def __init__(self, model, loss):
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, input_ids, labels=None):
        out = self.model(input_ids, labels=labels)
        return out.loss if self.loss else out.logits


def export(path, model, inputs, names, output, dynamic):
    torch.onnx.export(model.train(), inputs, path, dynamo=True, optimize=False,
                      external_data=False, input_names=names,
                      output_names=[output], dynamic_shapes=dynamic)
    forget_places(path)


def classifier():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(),
                                torch.nn.Linear(16, 5))
    x, labels = torch.randn(96, 8), torch.randint(0, 5, (96,))
    labels[::7] = -100
    batch = torch.export.Dim("batch")
    export("classifier.onnx", model, (x[:4],), ["x"], "logits", ({0: batch},))
    export("classifier_with_loss.onnx", WithLoss(model), (x[:4], labels[:4]),
           ["x", "labels"], "loss", ({0: batch}, {0: batch}))
    save_file({"x": x, "labels": labels}, "classifier.safetensors")


def language():
    torch.manual_seed(2)
    config = GPT2Config(n_layer=1, n_embd=16, n_head=2, vocab_size=32,
                        n_positions=12, use_cache=False, resid_pdrop=0,
                        embd_pdrop=0, attn_pdrop=0)
    model = GPT2LMHeadModel(config)
    ids = torch.randint(0, 32, (48, 12))
    labels = ids.clone()
    labels[:, 9:] = -100
    batch = torch.export.Dim("batch")
    export("language.onnx", Language(model, False), (ids[:4],), ["input_ids"],
           "logits", ({0: batch},))
    export("language_with_loss.onnx", Language(model, True),
           (ids[:4], labels[:4]), ["input_ids", "labels"], "loss",
           ({0: batch}, {0: batch}))
    save_file({"input_ids": ids, "labels": labels}, "language.safetensors")


def case(options, z, labels, function):
    z = z.clone().requires_grad_()
    loss = function(z, labels)
    loss.backward()
    return {"options": options, "z": z.tolist(), "labels": labels.tolist(),
            "loss": loss.item(), "gradient": z.grad.tolist()}


def cases():
    torch.manual_seed(3)
    weights = torch.tensor([0.5, 1, 2, 0, 1.5], dtype=torch.float64)
    text = "0.5,1,2,0,1.5"
    z = torch.randn(6, 5).double()
    labels = torch.tensor([0, 4, -100, 2, 3, 1])
    for name, function, scores in (
            ("cross_entropy", F.cross_entropy, z),
            ("nll", F.nll_loss, F.log_softmax(z, 1))):
        yield case([name], scores, labels, function)
        yield case([name, "--ignore-index", "4"], scores, labels.clamp(min=0),
                   lambda z, t: function(z, t, ignore_index=4))
        yield case([name, "--class-weights", text], scores, labels,
                   lambda z, t: function(z, t, weight=weights))
    for extra, options in (([], {}),
                           (["--class-weights", text], {"weight": weights})):
        yield case(["cross_entropy", "--label-smoothing", "0.1", *extra], z,
                   labels, lambda z, t: F.cross_entropy(
                       z, t, label_smoothing=0.1, **options))
    # Classes are the last of three dims, and the second of more.
    words = torch.randn(2, 4, 5).double()
    places = torch.tensor([[1, 0, -100, 4], [2, 2, 3, 0]])
    yield case(["cross_entropy"], words, places,
               lambda z, t: F.cross_entropy(z.flatten(0, 1), t.flatten()))
    yield case(["cross_entropy", "--shift-labels", "--label-smoothing", "0.2"],
               words, places, lambda z, t: F.cross_entropy(
                   z[:, :-1].flatten(0, 1), t[:, 1:].flatten(),
                   label_smoothing=0.2))
    yield case(["cross_entropy"], torch.randn(2, 5, 2, 3).double(),
               torch.randint(0, 5, (2, 2, 3)), F.cross_entropy)
    numbers = torch.randn(6, 5).double() * 2
    numbers[0] = z[0]
    for name, function in (("mse", F.mse_loss), ("l1", F.l1_loss),
                           ("huber", F.huber_loss)):
        yield case([name], z, numbers, function)
    bits = torch.randint(0, 2, (6, 5)).double()
    yield case(["bce_with_logits"], z * 30, bits,
               F.binary_cross_entropy_with_logits)
    yield case(["bce_with_logits", "--class-weights", text], z * 30, bits,
               lambda z, t: F.binary_cross_entropy_with_logits(
                   z, t, pos_weight=weights))


def tokens():
    """Steps of eight samples, of which micro-batches count unlike numbers."""
    torch.manual_seed(5)
    x, w = torch.randn(8, 3).double(), torch.randn(3, 5).double()
    labels = torch.tensor([0, 4, -100, 1, 2, -100, 3, 1])
    weights = torch.tensor([0.5, 1, 2, 0, 1.5], dtype=torch.float64)
    for options, arguments in (
            (["cross_entropy"], {}),
            (["cross_entropy", "--class-weights", "0.5,1,2,0,1.5"],
             {"weight": weights}),
            (["cross_entropy", "--label-smoothing", "0.1"],
             {"label_smoothing": 0.1})):
        z = w.clone().requires_grad_()
        loss = F.cross_entropy(x @ z, labels, **arguments)
        loss.backward()
        yield {"options": options, "x": x.tolist(), "w": w.tolist(),
               "labels": labels.tolist(), "loss": loss.item(),
               "gradient": z.grad.tolist()}


def main():
    os.chdir(HERE)
    warnings.simplefilter("ignore")
    classifier()
    language()
    for name, numbers in ("reference.json", cases()), ("tokens.json", tokens()):
        with open(name, "w") as file:
            json.dump(list(numbers), file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
