"""DeepSpeed loads what zerograph.convert writes, and we what it wrote.

Needs DeepSpeed, in the Python that ZEROGRAPH_DEEPSPEED names. Every tensor is compared by its bytes.
"""

import json
import os
import shutil
import socket
import subprocess
import unittest

from support import Case, MLP, MLP_DATA, main, python_with
from tensors import turned

PYTHON, WHY = python_with("ZEROGRAPH_DEEPSPEED", "deepspeed", "torch")
PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                    "deepspeed_peer.py")
BEFORE, STEPS, BATCH, LR = 3, 6, 16, 1e-3
NAMES = {"fc1.weight": {"name": "first.weight", "transposed": True},
         "fc1.bias": "first.bias", "fc2.weight": "last.weight",
         "fc2.bias": "last.bias"}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def setUpModule():
    if PYTHON is None:
        raise unittest.SkipTest(WHY)


class DeepSpeed(Case):

    def setUp(self):
        super().setUp()
        with open(self.path("names.json"), "w") as file:
            json.dump(NAMES, file)

    def programs(self, *arguments, ranks=1):
        """What rank 0 says."""
        port = str(free_port())
        running = []
        for rank in range(ranks):
            with open(self.path(f"said-{rank}"), "w") as said:
                running.append(subprocess.Popen(
                    [PYTHON, *arguments], cwd=self.folder, stdout=said,
                    stderr=subprocess.STDOUT, env={
                        **os.environ, "DS_ACCELERATOR": "cpu",
                        "OMP_NUM_THREADS": "1", "RANK": str(rank),
                        "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks),
                        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}))
            self.addCleanup(running[-1].kill)
        for rank, one in enumerate(running):
            code = one.wait(timeout=600)
            text = self.text(f"said-{rank}")
            self.assertEqual(code, 0, text)
            first = text if rank == 0 else first
        return first

    def peer(self, ranks=1, **settings):
        with open(self.path("settings.json"), "w") as file:
            json.dump({"lr": LR, "data": MLP_DATA, "batch": BATCH,
                       "groups": 1, **settings}, file)
        said = self.programs(PEER, "settings.json",
                             ranks=ranks)
        return json.loads(said.split("result: ")[1].splitlines()[0])

    def compile(self, *options, groups=1):
        self.succeeds("compile", MLP, "-o", "plan", "--micro-batch",
                      str(BATCH // 2), "--ranks", "2", "--zero", "3", "--lr",
                      str(LR), *(["--no-decay"] if groups == 2 else []),
                      *(options or ["--weight-decay", "0.01"]))

    def train(self, *more):
        """Weights, states and losses, by our names."""
        self.succeeds("train", "plan", "--data", MLP_DATA, "--save-weights",
                      "w", "--dump-states", "s", "--log", "log", *more)
        losses = self.losses()
        return self.tensors("w"), self.tensors("s"), losses

    def as_peer(self, weights, states, keys=("exp_avg", "exp_avg_sq")):
        """By the peer's names, in its layout."""
        found = {}
        for name, tensor in weights.items():
            to = NAMES[name]
            flip = isinstance(to, dict)
            to = to["name"] if flip else to
            files = {"fp32": tensor,
                     **{key: states[f"{name}.{key}"] for key in keys}}
            for file, one in files.items():
                found[f"{to}.{file}"] = tuple(turned(one)) if flip else one
        return found

    def to_deepspeed(self, stage, groups=1, options=(), optimizer=(),
                     keys=("exp_avg", "exp_avg_sq"), **settings):
        self.compile(*optimizer, groups=groups)
        weights, states, _ = self.train("--steps", str(BEFORE), "--checkpoint",
                                        "c")
        *_, losses = self.train("--steps", str(STEPS), "--resume", "c")
        self.convert(PYTHON, "checkpoint_to_deepspeed", "c", "u", "names.json",
                     *options)
        result = self.peer(**{
            "stage": stage, "groups": groups, "load": "u", "dump": "loaded",
            "first": BEFORE, "steps": STEPS - BEFORE, "keys": keys,
            **settings})
        self.assertEqual(self.tensors("loaded"),
                         self.as_peer(weights, states, keys))
        return result, losses[-(STEPS - BEFORE):]

    def check_goes_on(self, result, losses):
        self.assertEqual((result["steps"], result["skipped"]), (STEPS, 0))
        for ours, theirs in zip(losses, result["losses"], strict=True):
            self.assertAlmostEqual(ours, theirs, delta=2e-5 * abs(ours))

    def test_zero_1_and_2_load_ours(self):
        for stage, groups in (1, 1), (2, 2):
            result, losses = self.to_deepspeed(stage, groups)
            self.check_goes_on(result, losses)
            self.assertEqual(result["counts"], [STEPS])
            for folder in "c", "u":
                shutil.rmtree(self.path(folder))

    def test_zero_3_loads_ours(self):
        result, losses = self.to_deepspeed(3, options=[True])
        self.check_goes_on(result, losses)
        self.assertEqual(result["counts"], [STEPS])

    def test_its_own_optimizer_goes_on(self):
        for stage, groups in (1, 1), (3, 2):
            result, losses = self.to_deepspeed(stage, groups, own=True)
            self.check_goes_on(result, losses)
            self.assertEqual(result["counts"], [STEPS])
            for folder in "c", "u":
                shutil.rmtree(self.path(folder))

    def test_other_optimizers_go_on(self):
        for kind, keys, optimizer in (
                ("adagrad", ["sum"], ["--weight-decay", "0"]),
                ("sgd", ["momentum_buffer"],
                 ["--weight-decay", "0", "--momentum", "0.9"])):
            result, losses = self.to_deepspeed(
                1, optimizer=["--optimizer", kind, *optimizer], kind=kind,
                keys=keys)
            self.check_goes_on(result, losses)
            for folder in "c", "u":
                shutil.rmtree(self.path(folder))

    def test_two_ranks_load_ours(self):
        """Only load: of what a step computes each rank has a part."""
        for stage in 2, 3:
            self.to_deepspeed(stage, ranks=2, steps=0)
            for folder in "c", "u":
                shutil.rmtree(self.path(folder))

    def test_bf16_loads_masters(self):
        result, _ = self.to_deepspeed(1, bf16=True)
        self.assertEqual(result["steps"], STEPS)

    def test_its_schedule_goes_on(self):
        result, _ = self.to_deepspeed(1, scheduler=True)
        whole = self.peer(stage=1, first=0, steps=STEPS, scheduler=True)
        self.assertEqual(result["rates"], whole["rates"])

    def from_deepspeed(self, stage):
        self.peer(stage=stage, first=0, steps=BEFORE, save="saved",
                  dump="trained")
        self.programs("-m", "deepspeed.checkpoint.ds_to_universal",
                      "--input_folder", "saved/saved", "--output_folder",
                      "u/saved", "--num_extract_workers", "1",
                      "--num_merge_workers", "1")
        self.compile()
        said = self.convert(PYTHON, "deepspeed_to_checkpoint", "u", "plan", "c",
                            "names.json")
        self.assertIn(f"12 tensors of u/saved, after {BEFORE} steps and "
                      f"{BEFORE} updates", said)
        weights, states, _ = self.train("--steps", str(BEFORE), "--resume",
                                        "c")
        self.assertEqual(self.as_peer(weights, states),
                         self.tensors("trained"))
        *_, losses = self.train("--steps", str(STEPS), "--resume", "c")
        whole = self.peer(stage=stage, first=0, steps=STEPS)
        for ours, theirs in zip(losses[-(STEPS - BEFORE):],
                                whole["losses"][BEFORE:], strict=True):
            self.assertAlmostEqual(ours, theirs, delta=2e-5 * abs(ours))
        for folder in "saved", "u", "c":
            shutil.rmtree(self.path(folder))

    def test_we_load_zero_1_and_2(self):
        self.from_deepspeed(1)
        self.from_deepspeed(2)

    def test_we_load_zero_3(self):
        self.from_deepspeed(3)


if __name__ == "__main__":
    main()
