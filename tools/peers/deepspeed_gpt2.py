"""GPT-2 trained by DeepSpeed on the CPU, for tools/bench to time.

Run by torch.distributed.run, one process a rank; prints what timing.py says.
Random tokens, AdamW, float32, no dropout: the work that Zerograph's plan does.
"""
import argparse
import os

os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed
import torch
from transformers import GPT2Config, GPT2LMHeadModel

import timing


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=["zero1", "zero2", "zero3"],
                        required=True)
    return timing.options(parser, seq=128, layers=12, embd=768, heads=12,
                          vocab=50257, local_rank=0)


def main():
    arguments = parse()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    deepspeed.init_distributed("gloo")
    model = GPT2LMHeadModel(GPT2Config(
        n_layer=arguments.layers, n_embd=arguments.embd,
        n_head=arguments.heads, vocab_size=arguments.vocab, n_positions=1024,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False))
    engine, _, _, _ = deepspeed.initialize(
        model=model,
        optimizer=torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True),
        config={
            "train_micro_batch_size_per_gpu": arguments.batch,
            "gradient_accumulation_steps": 1,
            "zero_optimization": {"stage": int(arguments.mode[-1]),
                                  "overlap_comm": True},
            "bf16": {"enabled": arguments.bf16},
            "gradient_clipping": 0.0,
            "zero_allow_untested_optimizer": True,
            "zero_force_ds_cpu_optimizer": False})

    def step(generator):
        tokens = torch.randint(0, arguments.vocab,
                               (arguments.batch, arguments.seq),
                               generator=generator)
        loss = engine(input_ids=tokens, labels=tokens).loss
        engine.backward(loss)
        engine.step()
        return loss

    timing.measure(arguments, step)


main()
