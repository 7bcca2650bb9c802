"""Modules of PyTorch that several processes compile, each for itself."""

import os
import re
import subprocess
import sys
import warnings

from package import ROOT, need

need("torch", "onnx", "onnxscript")

import torch  # noqa: E402
import zerograph as zg  # noqa: E402
from support import Case, main  # noqa: E402

PROGRAM = """
import torch

def train(zg, seed, **options):
    torch.manual_seed(seed)
    module = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.5),
                                 torch.nn.Linear(16, 4))
    batch = torch.linspace(-1, 1, 64).reshape(8, 8), torch.arange(8) % 4
    plan = zg.compile(module, batch, torch.nn.functional.cross_entropy,
                      zero=2, **options)
    losses = []
    for steps, how in (2, {"seed": 3}), (3, {"resume": "c"}):
        with zg.Trainer(plan, **how) as trainer:
            while trainer.steps < steps:
                losses.append(float(trainer.step(batch)))
            trainer.save("c")
    return losses
"""
RANK = """
import os, sys, warnings
sys.path.insert(0, {package!r})
import zerograph as zg
warnings.simplefilter("ignore")
rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
losses = train(zg, seed=rank * {step})
if rank == 0:
    print(losses)
"""


OLDER_CPU = """
import sys
sys.path.insert(0, {package!r})
import torch
import zerograph as zg
batch = torch.ones(4, 8), torch.arange(4)
plan = zg.compile(torch.nn.Linear(8, 4), batch, torch.nn.functional.cross_entropy,
                  target="host:x86-64-v3")
print(plan.facts["target"]["device"])
"""


class Processes(Case):

    def run_two(self, step):
        """Runs two processes, which seed their modules `step` apart."""
        self.put("rank.py", PROGRAM + RANK.format(package=str(ROOT / "python"),
                                                  step=step))
        return subprocess.run(
            [os.environ.get("MPIEXEC", "mpirun"), "--oversubscribe", "--bind-to",
             "none", "-n", "2", sys.executable, self.path("rank.py")],
            capture_output=True, text=True, timeout=240, cwd=self.folder,
            env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                 "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})

    def test_a_module_is_compared_on_the_cpu_that_it_is_compiled_for(self):
        # A process can have the library for one instruction set alone.
        self.put("older.py", OLDER_CPU.format(package=str(ROOT / "python")))
        done = subprocess.run([sys.executable, self.path("older.py")],
                              capture_output=True, text=True, timeout=240,
                              cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_they_train_and_go_on_as_threads_do(self):
        done = self.run_two(0)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(name for name in os.listdir(self.path("c"))
                                if name.startswith("step")),
                         ["step-00000002", "step-00000003"])
        program = {}
        exec(PROGRAM.replace('"c"', repr(self.path("d"))), program)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            losses = program["train"](zg, 0, ranks=2)
        self.assertIn(str(losses), done.stdout)

    def test_other_weights_are_refused(self):
        done = self.run_two(1)
        self.assertNotEqual(done.returncode, 0)
        self.assertTrue(re.search(
            "the ranks have different plans: .* seeded alike", done.stderr),
            done.stderr)


if __name__ == "__main__":
    main()
