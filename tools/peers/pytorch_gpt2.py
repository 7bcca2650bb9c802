"""GPT-2 trained by PyTorch on the CPU, for tools/bench to time.

Run by torch.distributed.run, one process a rank. Rank 0 prints one JSON line:
milliseconds of every timed step and the peak resident MiB of every rank. Random
tokens, AdamW, float32, no dropout: the work that Zerograph's plan does.
"""
import argparse
import json
import resource
import time

import torch
import torch.distributed as dist
from transformers import GPT2Config, GPT2LMHeadModel


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=["ddp", "fsdp2", "fsdp2-noreshard"],
                        required=True)
    for name, default in (("threads", 1), ("batch", 1), ("seq", 128),
                          ("layers", 12), ("embd", 768), ("heads", 12),
                          ("vocab", 50257), ("steps", 8), ("warmup", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser.parse_args()


def build(arguments):
    model = GPT2LMHeadModel(GPT2Config(
        n_layer=arguments.layers, n_embd=arguments.embd,
        n_head=arguments.heads, vocab_size=arguments.vocab, n_positions=1024,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False))
    model.train()
    if arguments.mode == "ddp":
        return torch.nn.parallel.DistributedDataParallel(
            model, gradient_as_bucket_view=True)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    sharding = dict(mesh=init_device_mesh("cpu", (dist.get_world_size(),)),
                    reshard_after_forward=arguments.mode == "fsdp2")
    for block in model.transformer.h:
        fully_shard(block, **sharding)
    fully_shard(model, **sharding)
    return model


def main():
    arguments = parse()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    model = build(arguments)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    generator = torch.Generator().manual_seed(1234 + dist.get_rank())
    times = []
    for _ in range(arguments.warmup + arguments.steps):
        dist.barrier()
        start = time.perf_counter()
        tokens = torch.randint(0, arguments.vocab,
                               (arguments.batch, arguments.seq),
                               generator=generator)
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        times.append((time.perf_counter() - start) * 1e3)
    peaks = [None] * dist.get_world_size()
    dist.all_gather_object(
        peaks, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    if dist.get_rank() == 0:
        print(json.dumps({"steps_ms": times[arguments.warmup:],
                          "peak_rss_mib": peaks}),
              flush=True)
    dist.destroy_process_group()


main()
