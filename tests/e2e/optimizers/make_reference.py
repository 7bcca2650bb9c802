"""Writes MODEL.json: what PyTorch gives with optimizers, groups and schedules.

    make_reference.py mlp-digits|gpt2-nano > MODEL.json

needs PyTorch, transformers, onnx and safetensors. Weights and batches are those
of models/MODEL; the settings stand as our options take them. Lion is not in
PyTorch: its authors' pseudocode is below. Nor is LAMB: below are the formulas of
DeepSpeed's FusedLamb, which runs on GPUs alone. No test runs this.
"""

import fnmatch
import json
import math
import os
import sys

import onnx
import safetensors.torch
import torch
import transformers

MODELS = os.path.join(os.path.dirname(__file__), "../../../models")
STEPS = 20


class Lion(torch.optim.Optimizer):
    """Program 1 of "Symbolic Discovery of Optimization Algorithms"."""

    def __init__(self, params, lr, betas, weight_decay):
        super().__init__(params, dict(lr=lr, betas=betas,
                                      weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                state = self.state[p]
                m = state.setdefault("exp_avg", torch.zeros_like(p))
                update = torch.sign(beta1 * m + (1 - beta1) * p.grad)
                m.mul_(beta2).add_(p.grad, alpha=1 - beta2)
                p.sub_(group["lr"] * (update + group["weight_decay"] * p))


class Lamb(torch.optim.Optimizer):
    """A rate for each parameter: its norm divided by that of its step."""

    def __init__(self, params, lr, betas, eps, weight_decay, coefficients):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps,
                                      weight_decay=weight_decay))
        self.least, self.most = coefficients

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state.update(m=torch.zeros_like(p), v=torch.zeros_like(p),
                                 steps=0)
                m, v = state["m"], state["v"]
                state["steps"] += 1
                m.mul_(beta1).add_(p.grad, alpha=1 - beta1)
                v.mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                way = m / (v.sqrt() + group["eps"]) + group["weight_decay"] * p
                norm, length = p.norm().item(), way.norm().item()
                ratio = 1.0
                if norm != 0 and length != 0:
                    ratio = min(max(norm / length, self.least), self.most)
                rate = (group["lr"] * math.sqrt(1 - beta2 ** state["steps"]) /
                        (1 - beta1 ** state["steps"]))
                p.sub_(rate * ratio * way)


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(64, 128)
        self.fc2 = torch.nn.Linear(128, 10)

    def loss(self, x, labels):
        return torch.nn.functional.cross_entropy(
            self.fc2(torch.relu(self.fc1(x))), labels)


class Gpt2(torch.nn.Module):
    def __init__(self):
        super().__init__()
        config = transformers.GPT2Config(
            n_layer=4, n_embd=128, n_head=4, vocab_size=256, n_positions=64,
            use_cache=False, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
        self.model = transformers.GPT2LMHeadModel(config)

    def loss(self, input_ids, labels):
        # Computes the loss of the next token, as the model does itself.
        logits = self.model(input_ids).logits[:, :-1]
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1),
                                                 labels[:, 1:].flatten())


def load(name, dtype):
    model = Mlp() if name == "mlp-digits" else Gpt2()
    file = onnx.load(os.path.join(MODELS, name, "model.onnx"))
    weights = {i.name: torch.tensor(onnx.numpy_helper.to_array(i))
               for i in file.graph.initializer}
    for key, parameter in inner(model).named_parameters():
        # The exporter keeps the tied embedding under the head's name.
        found = weights.get(key, weights.get("model." + key))
        if found is None:
            found = weights["lm_head.weight"]
        parameter.data = found.clone()
    if name == "gpt2-nano":
        model.model.tie_weights()
    return model.to(dtype).train()


def inner(model):
    return getattr(model, "model", model)


def groups_of(model, run):
    """param_groups: the first pattern that matches has a parameter."""
    rest, groups = [], []
    numbers = [read_group(text) for text in run.get("groups", [])]
    taken = [[] for _ in numbers]
    no_decay = []
    for name, parameter in inner(model).named_parameters():
        for i, (pattern, _) in enumerate(numbers):
            if fnmatch.fnmatchcase(name, pattern):
                taken[i].append(parameter)
                break
        else:
            plain = run.get("no_decay") and parameter.dim() < 2
            (no_decay if plain else rest).append(parameter)
    groups = [dict(params=rest)]
    for (_, values), params in zip(numbers, taken):
        assert params
        groups.append(dict(params=params, **values))
    if no_decay:
        groups.append(dict(params=no_decay, weight_decay=0.0))
    return groups


def read_group(text):
    pattern, values = text.rsplit(":", 1)
    found, betas = {}, None
    for part in values.split(","):
        if "=" not in part:
            found["betas"] = (found["betas"], float(part))
            continue
        key, value = part.split("=")
        found[key] = float(value)
    return pattern, found


def make(model, run):
    groups, lr = groups_of(model, run), run["lr"]
    decay = run["weight_decay"]
    if run["optimizer"] == "sgd":
        return torch.optim.SGD(groups, lr=lr, momentum=run.get("momentum", 0),
                               weight_decay=decay)
    if run["optimizer"] == "adagrad":
        return torch.optim.Adagrad(groups, lr=lr, eps=run["eps"],
                                   weight_decay=decay)
    if run["optimizer"] == "lion":
        return Lion(groups, lr, tuple(run["betas"]), decay)
    if run["optimizer"] == "lamb":
        return Lamb(groups, lr, tuple(run["betas"]), run["eps"], decay,
                    run["coefficients"])
    return torch.optim.AdamW(groups, lr=lr, betas=tuple(run["betas"]),
                             eps=run["eps"], weight_decay=decay)


def schedule_of(optimizer, run):
    numbers = run.get("schedule")
    if not numbers:
        return torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1)
    assert numbers["kind"] == "cosine"
    return transformers.get_cosine_with_min_lr_schedule_with_warmup(
        optimizer, numbers["warmup_steps"], numbers["total_steps"],
        min_lr=numbers["min_lr"])


def train(name, run, dtype):
    model = load(name, dtype)
    batches = safetensors.torch.load_file(
        os.path.join(MODELS, name, "batches.safetensors"))
    batches = {key: value.to(dtype) if value.is_floating_point() else value
               for key, value in batches.items()}
    size = len(batches["labels"]) // STEPS
    optimizer = make(model, run)
    schedule = schedule_of(optimizer, run)
    start = {key: p.detach().clone()
             for key, p in inner(model).named_parameters()}
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = model.loss(**{key: value[step * size:(step + 1) * size]
                             for key, value in batches.items()})
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
        schedule.step()
    moved = {key: (p.detach() - start[key]).norm().item()
             for key, p in inner(model).named_parameters()}
    return losses, moved


def runs(name):
    mlp = name == "mlp-digits"
    adamw = dict(optimizer="adamw", lr=1e-3, betas=[0.9, 0.999], eps=1e-8,
                 weight_decay=0.1)
    yield "lion", dict(optimizer="lion", lr=3e-4, betas=[0.9, 0.99],
                       weight_decay=10.0)
    yield "adagrad", dict(optimizer="adagrad", lr=0.01, eps=1e-10,
                          weight_decay=0.01)
    yield "adamw_cosine", dict(
        adamw, schedule=dict(kind="cosine", warmup_steps=5, total_steps=20,
                             min_lr=1e-4))
    yield "adamw_no_decay", dict(adamw, weight_decay=1.0, no_decay=True)
    inside, other = ("fc2.*", "*.bias") if mlp else ("*.attn.*", "*.bias")
    yield "adamw_groups", dict(
        adamw, weight_decay=1.0, no_decay=not mlp, groups=[
            inside + ":lr=2e-3,betas=0.8,0.9,weight_decay=0",
            other + ":eps=1e-3,lr=5e-4"])
    yield "sgd_groups", dict(
        optimizer="sgd", lr=0.05, weight_decay=0.01,
        groups=[("fc2.*" if mlp else "*.mlp.*") + ":momentum=0.9,lr=0.01"])
    lamb = dict(optimizer="lamb", lr=2e-3, betas=[0.9, 0.999], eps=1e-6,
                weight_decay=0.01)
    yield "lamb", dict(lamb, coefficients=[0.01, 10.0])
    yield "lamb_groups", dict(
        lamb, weight_decay=1.0, no_decay=True, coefficients=[0.5, 2.0],
        groups=[inside + ":lr=4e-3,betas=0.8,0.9,weight_decay=0"])
    yield "adamw", adamw  # to be compared with models/MODEL/reference.json


def main():
    name = sys.argv[1]
    torch.set_num_threads(1)
    results = []
    with open(os.path.join(MODELS, name, "reference.json")) as file:
        known = {run["name"]: run for run in json.load(file)["runs"]}
    for run_name, run in runs(name):
        losses, moved = train(name, run, torch.float64)
        single, _ = train(name, run, torch.float32)
        if run_name == "adamw":
            assert all(math.isclose(a, b, rel_tol=1e-12) for a, b in zip(
                losses, known["adamw"]["losses_fp64"])), losses
            continue
        results.append(dict(
            name=run_name, **run, losses_fp64=losses, moved_fp64=moved,
            max_relative_loss_difference_fp32_fp64=max(
                abs(a - b) / abs(b) for a, b in zip(single, losses))))
    print(json.dumps(dict(
        origin=f"PyTorch {torch.__version__}, transformers "
               f"{transformers.__version__}, by make_reference.py",
        runs=results), indent=1))


if __name__ == "__main__":
    main()
