"""Trainers in processes: one of several, forked, interrupted or left open."""

import os
import subprocess
import sys
import time

from package import ROOT

import numpy as np
import zerograph as zg
from emulator import variables
from slurm import free_ports
from support import MLP, MLP_DATA, Case, main
from training_data import arrays, batches


class Processes(Case):

    def test_a_fork_cannot_use_it(self):
        plan = zg.compile(MLP, micro_batch=8, ranks=2)
        batch = next(batches(arrays(MLP_DATA), plan))
        with zg.Trainer(plan) as trainer:
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    trainer.step(batch)
                except zg.Error as error:
                    status = 0 if "was forked" in str(error) else 2
                del trainer
                os._exit(status)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            trainer.step(batch)

    def script(self, text, *prefix, **variables):
        """Runs a program that has MLP, `batch` and `rank`; its result, and how
        long it took."""
        self.put("script.py", f"""
import sys
sys.path.insert(0, {str(ROOT / "python")!r})
import numpy as np, os, signal, threading, time
import zerograph as zg
MLP = {MLP!r}
batch = {{"x": np.ones((16, 64), np.float32), "labels": np.arange(16) % 10}}
rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", 0))
{text}
""")
        begin = time.monotonic()
        done = subprocess.run(
            [*prefix, sys.executable, self.path("script.py")],
            capture_output=True, text=True, timeout=120, cwd=self.folder,
            env={**os.environ, **variables})
        return done, time.monotonic() - begin

    def test_an_interrupt_comes_after_the_step(self):
        done, seconds = self.script("""
plan = zg.compile(MLP, micro_batch=8, ranks=2)
threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    with zg.Trainer(plan) as trainer:
        while True:
            trainer.step(batch)
except KeyboardInterrupt:
    print("interrupted")
""")
        self.assertEqual((done.returncode, done.stdout), (0, "interrupted\n"),
                         done.stderr)
        self.assertLess(seconds, 30)

    def test_nobody_closed_it(self):
        done, _ = self.script("""
trainer = zg.Trainer(zg.compile(MLP, micro_batch=8, ranks=2),
                     checkpoint="c")
trainer.step(batch)
""")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("step-00000001", os.listdir(self.path("c")))

    MPIRUN = (os.environ.get("MPIEXEC", "mpirun"), "--oversubscribe",
              "--bind-to", "none", "-n", "2")
    ROOT_MAY = {"OMPI_ALLOW_RUN_AS_ROOT": "1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def test_processes(self):
        plan = zg.compile(MLP, micro_batch=8, ranks=2, zero=3)
        self.assertEqual(plan.samples, 16)
        done, _ = self.script("""
plan = zg.compile(MLP, micro_batch=8, zero=3)
with zg.Trainer(plan) as trainer:
    losses = [float(trainer.step(batch))]
    # Each process's own part is as good as all.
    own = {name: array[8 * rank:8 * rank + 8] for name, array in batch.items()}
    losses += [float(trainer.step(own)) for _ in range(2)]
    weights = trainer.state_dict()
    path = trainer.save("c")
if rank == 0:
    np.savez("weights.npz", **weights)
    print(losses, path)
""", *self.MPIRUN, **self.ROOT_MAY)
        self.assertEqual(done.returncode, 0, done.stderr)
        batch = {"x": np.ones((16, 64), np.float32),
                 "labels": np.arange(16) % 10}
        with zg.Trainer(plan) as trainer:
            losses = [float(trainer.step(batch)) for _ in range(3)]
            self.assertEqual(done.stdout.strip(),
                             f"{losses} {os.path.join('c', 'step-00000003')}")
            with np.load(self.path("weights.npz")) as weights:
                for name, array in trainer.state_dict().items():
                    np.testing.assert_array_equal(array, weights[name])

    def test_batches_of_several_shapes(self):
        """Are the same in all processes, or of no plan: which changes nothing."""
        done, _ = self.script("""
plans = [zg.compile(MLP, micro_batch=size, zero=1) for size in (8, 3)]
small = {name: array[:6] for name, array in batch.items()}
with zg.Trainer(plans) as trainer:
    losses = [float(trainer.step(one)) for one in (batch, small)]
    try:
        trainer.step(batch if rank else small)
    except zg.Error as error:
        said = str(error)
    own = {name: array[3 * rank:3 * rank + 3] for name, array in small.items()}
    losses.append(float(trainer.step(own)))
with zg.Trainer([plans[0], zg.compile(MLP, micro_batch=4, zero=1)]) as trainer:
    try:
        trainer.step({name: array[:8] for name, array in batch.items()})
    except zg.InvalidArgument as error:
        said += str(error)
if rank == 0:
    print(losses, said)
""", *self.MPIRUN, **self.ROOT_MAY)
        self.assertEqual(done.returncode, 0, done.stderr)
        batch = {"x": np.ones((16, 64), np.float32),
                 "labels": np.arange(16) % 10}
        small = {name: array[:6] for name, array in batch.items()}
        plans = [zg.compile(MLP, micro_batch=size, ranks=2, zero=1)
                 for size in (8, 3)]
        with zg.Trainer(plans) as trainer:
            losses = [float(trainer.step(one)) for one in (batch, small, small)]
        self.assertIn(f"{losses} nothing was trained: the ranks give batches of "
                      "different shapes: rank 0 has one of plan 2, rank 1 has one "
                      "of plan 1.", done.stdout)
        self.assertIn("has 8 samples, which are a step of one plan and, for this "
                      "process, a part of a step of another", done.stdout)

    def test_processes_that_give_arrays(self):
        """Each writes them for itself; others than rank 0's are refused."""
        text = """
plan = zg.compile(MLP, micro_batch=8)
with zg.Trainer(plan, init_missing="normal:0.1", seed=1) as trainer:
    weights = trainer.state_dict()
names = {name: "model." + name for name in weights}
weights = {names[name]: array + rank * SHIFT for name, array in weights.items()}
with zg.Trainer(plan, load_weights=weights, names=names) as trainer:
    loss = float(trainer.step(batch))
    if rank == 0:
        print(loss)
"""
        done, _ = self.script("SHIFT = 0" + text, *self.MPIRUN, **self.ROOT_MAY)
        self.assertEqual(done.returncode, 0, done.stderr)
        plan = zg.compile(MLP, micro_batch=8, ranks=2)
        batch = {"x": np.ones((16, 64), np.float32),
                 "labels": np.arange(16) % 10}
        with zg.Trainer(plan, init_missing="normal:0.1", seed=1) as trainer:
            self.assertEqual(done.stdout.strip(), str(float(trainer.step(batch))))
        done, _ = self.script("SHIFT = 1" + text, *self.MPIRUN, **self.ROOT_MAY)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "the ranks were started differently: "
                         "load_weights: load_weights.content-[0-9a-f]{16} on rank 0, "
                         "load_weights.content-[0-9a-f]{16} on rank 1")

    def test_processes_that_write(self):
        """They go on as ranks that are threads do; other arrays than rank 0's
        are refused, and change nothing."""
        steps = """
with zg.Trainer(plan) as trainer:
    begin = trainer.state_dict()
    trainer.step(batch)
    state = {name: array * np.float32(0.5) for name, array in begin.items()}
"""
        more = """
    trainer.load_state_dict(state)
    losses = [float(trainer.step(batch)) for _ in range(2)]
    if rank == 0:
        print(losses)
"""
        done, _ = self.script("""
plan = zg.compile(MLP, micro_batch=8, zero=3, precision="bf16")
""" + steps + """
    lacking = dict(list(state.items())[rank:])
    for wrong in (lacking, {**state, "fc2.bias": begin["fc2.bias"] + rank},
                  {**state, "fc2.bias": begin["fc2.bias"][rank:]}):
        try:
            trainer.load_state_dict(wrong)
        except zg.Error as error:
            if rank == 0:
                print(error)
""" + more, *self.MPIRUN, **self.ROOT_MAY)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?s)rank 1: .*1 of 4 arrays are missing")
        self.assertRegex(done.stdout, "the ranks give different arrays")
        self.assertRegex(done.stdout, r"(?s)rank 1: .*'fc2.bias' is F32 \[9\]")
        threads, _ = self.script("""
plan = zg.compile(MLP, micro_batch=8, zero=3, precision="bf16", ranks=2)
""" + steps + more)
        self.assertEqual(threads.returncode, 0, threads.stderr)
        self.assertEqual(done.stdout.splitlines()[-1], threads.stdout.strip())

    def test_processes_of_torchrun(self):
        """On emulated GPUs, with NCCL between: the bits of the processor."""
        self.put("rank.py", f"""
import sys
sys.path.insert(0, {str(ROOT / "python")!r})
import numpy as np, os
import zerograph as zg
batch = {{"x": np.ones((16, 64), np.float32), "labels": np.arange(16) % 10}}
plan = zg.compile({MLP!r}, micro_batch=8, zero=3, target="cuda:emulated",
                  matmul="generated")
with zg.Trainer(plan) as trainer:
    begin = trainer.state_dict()
    losses = [float(trainer.step(batch)) for _ in range(3)]
    trainer.load_state_dict(begin)
    losses += [float(trainer.step(batch)) for _ in range(2)]
    if os.environ["RANK"] == "0":
        print(losses)
""")
        port = free_ports(1)[0]
        ranks = [subprocess.Popen(
            [sys.executable, self.path("rank.py")], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
            env={**os.environ, "RANK": rank, "LOCAL_RANK": rank,
                 "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2",
                 "MASTER_ADDR": "localhost", "MASTER_PORT": "1",
                 "ZEROGRAPH_PORT": str(port), "TORCHELASTIC_RUN_ID": "none",
                 **variables(SEED=1, GPUS=1, FOLDER=self.folder)})
            for rank in ("0", "1")]
        said = [rank.communicate(timeout=120) for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0, 0], said)
        plan = zg.compile(MLP, micro_batch=8, ranks=2, matmul="generated")
        batch = {"x": np.ones((16, 64), np.float32),
                 "labels": np.arange(16) % 10}
        with zg.Trainer(plan) as trainer:
            begin = trainer.state_dict()
            losses = [float(trainer.step(batch)) for _ in range(3)]
            trainer.load_state_dict(begin)
            losses += [float(trainer.step(batch)) for _ in range(2)]
        self.assertEqual(losses[3], losses[0])
        self.assertEqual(said[0][0].strip(), str(losses))

    def test_a_process_that_fails_ends_the_others(self):
        done, seconds = self.script("""
plan = zg.compile(MLP, micro_batch=8)
with zg.Trainer(plan) as trainer:
    for i in range(10):
        if rank == 1 and i == 3:
            raise OSError("the loader's disk is gone")
        trainer.step(batch)
""", *self.MPIRUN, **self.ROOT_MAY)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("the loader's disk is gone", done.stderr)
        self.assertLess(seconds, 60)

    def test_a_plan_for_other_ranks(self):
        done, _ = self.script("""
plan = zg.compile(MLP, micro_batch=8, ranks=3)
""", *self.MPIRUN, **self.ROOT_MAY)
        self.assertIn("ranks 3, but 2 processes were started", done.stderr)
        zg.compile(MLP, micro_batch=8, ranks=3).save(self.path("p.zgplan"))
        done, seconds = self.script("""
zg.Trainer(zg.load("p.zgplan"))
""", *self.MPIRUN, **self.ROOT_MAY)
        self.assertIn("the plan is for 3 ranks", done.stderr)
        self.assertLess(seconds, 60)


if __name__ == "__main__":
    main()
