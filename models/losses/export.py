"""Exports each loss with both exporters of PyTorch, and computes its value and
gradient in float64: `python export.py` beside this file, with torch 2.13.0."""

import json
import os
import warnings

import onnx
import torch
import torch.nn.functional as F

LOGITS = [0, 1, -1, 12, -12, 20, -20, 90, -90, 1000, -1000]
WEIGHTS = torch.linspace(0.5, 2, len(LOGITS))
PLACES = torch.tensor([[i % 2] for i in range(len(LOGITS))])


def clamped(z, t):
    """BCELoss of a sigmoid, without rounding the sigmoid to 0 or 1."""
    return -(t * F.logsigmoid(z).clamp(min=-100) +
             (1 - t) * F.logsigmoid(-z).clamp(min=-100))


def bce(z, t, **options):
    return F.binary_cross_entropy_with_logits(z, t, reduction="none", **options)


def with_weights(name):
    return lambda z, t: bce(z, t, **{name: WEIGHTS.to(z)})


# Name -> what is exported, and the same by functions of PyTorch that neither
# overflow nor vanish in float64 (None: it is one).
ELEMENTS = {
    "logsigmoid": (lambda z, t: F.logsigmoid(z), None),
    "log_sigmoid": (lambda z, t: torch.log(torch.sigmoid(z)),
                    lambda z, t: F.logsigmoid(z)),
    "log_sigmoid_reshaped": (
        lambda z, t: torch.log(torch.sigmoid(z).reshape(-1)),
        lambda z, t: F.logsigmoid(z).reshape(-1)),
    "log_one_minus_sigmoid": (lambda z, t: torch.log(1 - torch.sigmoid(z)),
                              lambda z, t: F.logsigmoid(-z)),
    "bce_with_logits": (bce, None),
    "bce_with_logits_weight": (with_weights("weight"), None),
    "bce_with_logits_pos_weight": (with_weights("pos_weight"), None),
    "multilabel_soft_margin": (
        lambda z, t: F.multilabel_soft_margin_loss(z, t, reduction="none"),
        None),
    "bce_of_sigmoid": (
        lambda z, t: F.binary_cross_entropy(torch.sigmoid(z), t,
                                            reduction="none"), clamped),
    "soft_margin": (
        lambda z, t: F.soft_margin_loss(z, 2 * t - 1, reduction="none"),
        lambda z, t: F.softplus(-(2 * t - 1) * z)),
    "softplus": (lambda z, t: F.softplus(z), None),
    "softplus_beta": (lambda z, t: F.softplus(z, beta=2.0), None),
    "log1p_exp": (lambda z, t: torch.log1p(torch.exp(z)),
                  lambda z, t: F.softplus(z)),
    "log_one_plus_exp": (lambda z, t: torch.log(1 + torch.exp(z)),
                         lambda z, t: F.softplus(z)),
    "logaddexp": (torch.logaddexp, None),
}
ROWS = {
    "log_softmax": (lambda z: F.log_softmax(z, -1), None),
    "log_of_softmax": (lambda z: torch.log(F.softmax(z, -1)),
                       lambda z: F.log_softmax(z, -1)),
    "log_of_softmax_at_labels": (
        lambda z: torch.log(F.softmax(z, -1).gather(1, PLACES)),
        lambda z: F.log_softmax(z, -1).gather(1, PLACES)),
    "logsumexp": (lambda z: torch.logsumexp(z, -1, keepdim=True), None),
    "log_of_sum_of_exp": (
        lambda z: torch.log(torch.exp(z).sum(-1, keepdim=True)),
        lambda z: torch.logsumexp(z, -1, keepdim=True)),
    "log_of_mean_of_exp": (
        lambda z: torch.log(torch.exp(z).mean(-1, keepdim=True)),
        lambda z: torch.logsumexp(z, -1, keepdim=True) - torch.tensor(2.).log()),
}


class Loss(torch.nn.Module):
    """The sum of a function of a parameter, and the function itself."""

    def __init__(self, logits, function):
        super().__init__()
        self.z = torch.nn.Parameter(logits)
        self.function = function

    def forward(self, t):
        each = self.function(self.z, t)
        return each.sum(), each


def export(name, model, t):
    written = []
    for folder in ("dynamo", "torchscript"):
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, name + ".onnx")
        options = (dict(dynamo=True, optimize=False, external_data=False)
                   if folder == "dynamo" else
                   dict(dynamo=False, do_constant_folding=False,
                        export_params=True,
                        training=torch.onnx.TrainingMode.TRAINING))
        try:
            torch.onnx.export(model, (t,), path, input_names=["t"],
                              output_names=["loss", "each"],
                              **options)
        except torch.onnx.errors.UnsupportedOperatorError:
            continue
        forget_places(path)
        written.append(folder)
    return written


def forget_places(path):
    """Removes what says in which files of this machine each node was made."""
    model = onnx.load(path)
    for node in model.graph.node:
        kept = [entry for entry in node.metadata_props
                if "stack_trace" not in entry.key]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
        node.doc_string = ""
    onnx.save(model, path)


def cases():
    z = torch.tensor([LOGITS, LOGITS], dtype=torch.float64)
    t = torch.tensor([[0.] * len(LOGITS), [1.] * len(LOGITS)]).double()
    for name, (exported, exact) in ELEMENTS.items():
        yield name, z, t, exported, exact or exported
    z = torch.tensor([[x, 0] for x in LOGITS], dtype=torch.float64)
    t = torch.tensor([[1., -2.]] * len(LOGITS)).double()
    for name, (exported, exact) in ROWS.items():
        weighed = [lambda z, t, f=f: f(z) * t[:, :f(z).shape[1]]
                   for f in (exported, exact or exported)]
        yield name, z, t, *weighed


def main():
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    warnings.simplefilter("ignore")
    reference = {}
    for name, z, t, exported, exact in cases():
        folders = export(name, Loss(z.float(), exported).train(), t.float())
        model = Loss(z, exact)
        loss, each = model(t)
        loss.backward()
        reference[name] = {"exporters": folders, "rows": name in ROWS,
                           "t": t.tolist(), "each": each.tolist(),
                           "gradient": model.z.grad.tolist()}
    with open("reference.json", "w") as file:
        json.dump(reference, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
