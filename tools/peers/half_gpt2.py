"""gpt2-nano trained by PyTorch and DeepSpeed in 16 bits, for tools/halves.

    half_gpt2.py WAY TYPE WEIGHTS.safetensors DATA.safetensors LR STEPS

Prints the losses as JSON. WAY: float64; autocast, with parameters in float32;
half, a model of 16 bits with masters in float32; or deepspeed, with ZeRO-1.
AdamW, 8 samples a step, and in float16 a loss scale of 1024 for backward.
"""
import contextlib
import json
import os
import sys

os.environ.update(DS_ACCELERATOR="cpu", RANK="0", LOCAL_RANK="0",
                  WORLD_SIZE="1", MASTER_ADDR="127.0.0.1")
os.environ.setdefault("MASTER_PORT", "29613")

import torch
from safetensors.torch import load_file
from transformers import GPT2Config, GPT2LMHeadModel

TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
BATCH = 8


def build(weights):
    model = GPT2LMHeadModel(GPT2Config(
        n_layer=4, n_embd=128, n_head=4, vocab_size=256, n_positions=128,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False))
    state = load_file(weights)
    state["transformer.wte.weight"] = state["lm_head.weight"]
    model.load_state_dict(state)
    return model.train()


def batches(file, steps):
    data = load_file(file)
    count = len(data["labels"]) // BATCH
    for step in range(steps):
        begin = step % count * BATCH
        yield [data[name][begin:begin + BATCH]
               for name in ("input_ids", "labels")]


def by_pytorch(way, kind, scale, model, lr, data):
    if way == "float64":
        model = model.double()
    masters = list(model.parameters())
    if way == "half":
        masters = [p.detach().clone() for p in masters]
        model = model.to(kind)
    optimizer = torch.optim.AdamW(masters, lr=lr, weight_decay=0.01)
    cast = (torch.autocast("cpu", kind) if way == "autocast"
            else contextlib.nullcontext())
    for ids, labels in data:
        with cast:
            loss = model(input_ids=ids, labels=labels).loss
        (loss * scale).backward()
        for master, parameter in zip(masters, model.parameters()):
            master.grad = parameter.grad.to(master.dtype) / scale
        optimizer.step()
        with torch.no_grad():
            for master, parameter in zip(masters, model.parameters()):
                parameter.copy_(master)
        model.zero_grad(set_to_none=True)
        yield loss.item()


def by_deepspeed(name, scale, model, lr, data):
    import deepspeed
    deepspeed.init_distributed("gloo")
    settings = {"enabled": True, **({"loss_scale": scale} if name == "fp16"
                                    else {})}
    engine, *_ = deepspeed.initialize(
        model=model,
        optimizer=torch.optim.AdamW(model.parameters(), lr=lr,
                                    weight_decay=0.01),
        config={"train_micro_batch_size_per_gpu": BATCH, name: settings,
                "zero_optimization": {"stage": 1},
                "zero_allow_untested_optimizer": True,
                "zero_force_ds_cpu_optimizer": False})
    for ids, labels in data:
        loss = engine(input_ids=ids, labels=labels).loss
        engine.backward(loss)
        engine.step()
        yield loss.item()


def main():
    way, name, weights, file, lr, steps = sys.argv[1:]
    torch.manual_seed(0)
    scale = 1024 if name == "fp16" else 1
    data = batches(file, int(steps))
    model = build(weights)
    if way == "deepspeed":
        losses = by_deepspeed(name, scale, model, float(lr), data)
    else:
        losses = by_pytorch(way, TYPES[name], scale, model, float(lr), data)
    print(json.dumps(list(losses)))


main()
