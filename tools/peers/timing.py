"""What the peers share: timing steps on every rank, and saying what was seen."""
import json
import resource
import time

import torch
import torch.distributed as dist


def options(parser, **more):
    """Those of every peer, by name: threads, batch, steps, warmup, bf16, and
    `more`."""
    parser.add_argument("--bf16", action="store_true")
    for name, default in dict(threads=1, batch=1, steps=8, warmup=2,
                              **more).items():
        parser.add_argument("--" + name.replace("_", "-"), type=int,
                            default=default)
    return parser.parse_args()


def measure(arguments, step):
    """Runs `step(generator)`, which trains one step and gives the loss, on
    every rank; rank 0 prints one JSON line: milliseconds of every timed step
    and the peak resident MiB of every rank."""
    generator = torch.Generator().manual_seed(1234 + dist.get_rank())
    times = []
    for _ in range(arguments.warmup + arguments.steps):
        dist.barrier()
        start = time.perf_counter()
        step(generator).item()
        times.append((time.perf_counter() - start) * 1e3)
    peaks = [None] * dist.get_world_size()
    dist.all_gather_object(
        peaks, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    if dist.get_rank() == 0:
        print(json.dumps({"steps_ms": times[arguments.warmup:],
                          "peak_rss_mib": peaks}),
              flush=True)
    dist.destroy_process_group()
