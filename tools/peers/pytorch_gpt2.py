"""GPT-2 trained by PyTorch on the CPU or on a GPU, for tools/bench.

Run by torch.distributed.run, one process a rank; prints what timing.py says.
Random tokens, AdamW, no dropout, float32 or, with --bf16, autocast (FSDP2: its
own mixed precision): the work that Zerograph's plan does.
"""
import argparse

import torch
import torch.distributed as dist
from transformers import GPT2Config, GPT2LMHeadModel

import timing


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", required=True, choices=[
        "ddp", "fsdp2", "fsdp2-noreshard", "compile"])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--allow-tf32", action="store_true")
    return timing.options(parser, seq=128, layers=12, embd=768, heads=12,
                          vocab=50257)


def build(arguments):
    model = GPT2LMHeadModel(GPT2Config(
        n_layer=arguments.layers, n_embd=arguments.embd,
        n_head=arguments.heads, vocab_size=arguments.vocab, n_positions=1024,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False))
    model.train()
    if arguments.mode == "compile":
        return torch.compile(model.to(arguments.device))
    if arguments.mode == "ddp":
        return torch.nn.parallel.DistributedDataParallel(
            model, gradient_as_bucket_view=True)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    sharding = dict(mesh=init_device_mesh("cpu", (dist.get_world_size(),)),
                    reshard_after_forward=arguments.mode == "fsdp2")
    if arguments.bf16:
        sharding["mp_policy"] = MixedPrecisionPolicy(
            param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.transformer.h:
        fully_shard(block, **sharding)
    fully_shard(model, **sharding)
    return model


def main():
    arguments = parse()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = arguments.allow_tf32
    device = arguments.device
    autocast = arguments.bf16 and not arguments.mode.startswith("fsdp2")
    dist.init_process_group("gloo")
    model = build(arguments)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step(generator):
        tokens = torch.randint(0, arguments.vocab,
                               (arguments.batch, arguments.seq),
                               generator=generator).to(device)
        with torch.autocast(device, torch.bfloat16, enabled=autocast):
            loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    timing.measure(arguments, step)


main()
