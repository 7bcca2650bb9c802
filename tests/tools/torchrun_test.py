"""Ranks as processes by torchrun's variables, which meet over TCP: what is
wrong is said once, and who dies or never comes ends all."""

import os
import re
import signal
import subprocess
import time

from emulator import variables
from mpi import MLP_RUN
from slurm import free_ports
from support import MLP, MLP_DATA, ZEROGRAPH, ZEROGRAPH_RUN, Case, main

CUDA = ["--target", "cuda:sm_80", "--matmul", "generated"]


class Torchrun(Case):

    def setUp(self):
        super().setUp()
        self.port = free_ports(1)[0]
        self.said = {}

    def variables(self, rank, world, **more):
        """What torchrun sets; it names a run."""
        return {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank),
                "WORLD_SIZE": str(world), "LOCAL_WORLD_SIZE": str(world),
                "MASTER_ADDR": "localhost", "MASTER_PORT": "1",
                "ZEROGRAPH_PORT": str(self.port),
                "TORCHELASTIC_RUN_ID": "none", **more}

    def start(self, rank, world, *command, **more):
        out = open(self.path(f"out.{rank}"), "w")
        errors = open(self.path(f"errors.{rank}"), "w")
        self.addCleanup(out.close)
        self.addCleanup(errors.close)
        process = subprocess.Popen(
            command, cwd=self.folder, env=self.variables(rank, world, **more),
            stdin=subprocess.DEVNULL, stdout=out, stderr=errors)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def errors(self, rank):
        return self.text(f"errors.{rank}")

    def wait_until(self, condition):
        limit = time.monotonic() + 120
        while not condition():
            self.assertLess(time.monotonic(), limit, self.errors(0))
            time.sleep(0.01)

    def run_ranks(self, *commands, **more):
        """Each with its own command; their statuses."""
        processes = [self.start(rank, len(commands), *command, **more)
                     for rank, command in enumerate(commands)]
        return [process.wait(120) for process in processes]

    def is_refused(self, speakers, *parts):
        """By all; said by `speakers` alone, on one line."""
        for rank in range(2):
            self.assertEqual(self.text(f"out.{rank}"), "")
            lines = re.findall("^zerograph.*$", self.errors(rank), re.M)
            self.assertEqual(len(lines), 1 if rank in speakers else 0,
                             self.errors(rank))
            for part in parts if lines else ():
                self.assertIn(part, lines[0])
        self.assertEqual([name for name in os.listdir(self.folder)
                          if name.startswith(("w", "log"))], [])

    def compile_cuda(self, ranks):
        self.succeeds("compile", MLP, "-o", "p", "--micro-batch", "8",
                      "--ranks", str(ranks), *CUDA)
        return self.path("p")

    def train(self, plan, *options):
        return [ZEROGRAPH_RUN, "train", plan, "--data", MLP_DATA,
                "--save-weights", "w", "--log", "log", *options]


class Trains(Torchrun):
    """By emulated GPUs and NCCL, which find each other through rank 0."""

    EMULATED = ["--target", "cuda:emulated", "--matmul", "generated"]

    def setUp(self):
        super().setUp()
        self.emulated = variables(SEED=1, GPUS=1, FOLDER=self.folder)

    def test_the_hosts_bits(self):
        for ranks, stage in (2, "3"), (3, "1"):
            options = [*MLP_RUN, "--matmul", "generated", "--zero", stage,
                       "--steps", "3", "--save-weights"]
            self.succeeds(*options, "host", "--ranks", str(ranks))
            command = [ZEROGRAPH, *options, "gpus", "--target",
                       "cuda:emulated"]
            statuses = self.run_ranks(*[command] * ranks, **self.emulated)
            self.assertEqual(statuses, [0] * ranks, self.errors(0))
            weights = self.tensors("host")
            self.assertTrue(weights)
            self.assertEqual(weights, self.tensors("gpus"))

    def test_a_killed_rank(self):
        # Those who wait for it in NCCL learn it from rank 0, and at once.
        command = [ZEROGRAPH, *MLP_RUN, *self.EMULATED, "--zero", "3",
                   "--steps", "100000000", "--log", "log"]
        for victim in 0, 2:
            ranks = [self.start(rank, 3, *command, **self.emulated)
                     for rank in range(3)]
            self.wait_until(lambda: self.lines("log") > 2)
            begin = time.monotonic()
            ranks[victim].send_signal(signal.SIGKILL)
            for rank in {0, 1, 2} - {victim}:
                self.assertEqual(ranks[rank].wait(120), 1)
                self.assertRegex(
                    self.errors(rank), rf"(?m)^zerograph train: rank {rank}: "
                    rf".*rank {victim} \(process {ranks[victim].pid} on .*\) "
                    "has ended")
            # Long before the deadline, of five minutes.
            self.assertLess(time.monotonic() - begin, 120)
            os.remove(self.path("log"))

    def lines(self, name):
        if not os.path.exists(self.path(name)):
            return 0
        return self.text(name).count("\n")


class Refused(Torchrun):

    def test_plans_for_the_host(self):
        # There is nothing by which they could exchange.
        plan = self.compile_mlp()
        for command in ([ZEROGRAPH, *MLP_RUN, "--save-weights", "w"],
                        self.train(plan)):
            self.assertEqual(self.run_ranks(command, command), [1, 1])
            self.is_refused({0}, "torchrun started 2 processes without MPI",
                            "srun --mpi=pmix or mpirun", "--ranks 2")

    def test_a_plan_for_the_host_where_the_others_do_not_come(self):
        # As in a shell with a launcher's variables; long before the deadline.
        for rank in 0, 1:
            self.assertEqual(
                self.start(rank, 2, ZEROGRAPH, *MLP_RUN).wait(120), 1)
        self.is_refused({0, 1}, "torchrun started 2 processes without MPI")

    def test_a_plan_for_the_host_that_rank_0_alone_has(self):
        plan = self.compile_mlp()
        os.mkdir(self.path("elsewhere"))
        commands = [self.train("p"), self.train("p")]
        os.rename(plan, self.path("p"))
        commands[1] = ["sh", "-c", 'cd elsewhere && exec "$@"', "sh",
                       *commands[1]]
        self.assertEqual(self.run_ranks(*commands), [1, 1])
        self.is_refused({0}, "torchrun started 2 processes without MPI")

    def test_a_model_that_rank_0_cannot_compile(self):
        command = [ZEROGRAPH, *MLP_RUN, *CUDA, "--loss-output", "no"]
        self.assertEqual(self.run_ranks(command, command), [1, 1])
        self.is_refused({0}, "no")

class Ends(Torchrun):

    def test_a_killed_rank(self):
        # Starts two of three ranks: the last does not come.
        plan = self.compile_cuda(3)
        for victim in 0, 1:
            ranks = [self.start(rank, 3, *self.train(plan))
                     for rank in range(2)]
            self.wait_until(self.rank_1_has_connected)
            time.sleep(2)  # in which it says who it is
            ranks[victim].send_signal(signal.SIGKILL)
            # Long before the deadline, of five minutes.
            self.assertEqual(ranks[1 - victim].wait(120), 1)
            self.assertRegex(self.errors(1 - victim),
                             rf"rank {victim} \(process {ranks[victim].pid} "
                             r"on .*\) has ended")

    def rank_1_has_connected(self):
        """Whether a connection to rank 0's port is established: state 1."""
        lines = []
        for name in "tcp", "tcp6":
            with open(f"/proc/net/{name}") as file:
                lines += [line.split() for line in file]
        return any(line[1].endswith(f":{self.port:04X}") and line[3] == "01"
                   for line in lines)


if __name__ == "__main__":
    main()
