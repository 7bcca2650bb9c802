"""Ranks with a GPU each, as threads and as processes, by emulated NCCL: the
bits of the host, and an end for every rank in what goes wrong."""

import os
import signal

from emulator import EMULATOR, emulated, variables
from mpi import LAST_WORDS, Mpi
from support import MLP, MLP_DATA, main

TRAIN = ["train", MLP, "--data", MLP_DATA, "--micro-batch", "2", "--matmul",
         "generated"]
STEPS = ["--steps", "3"]
CUDA = ["--target", "cuda:emulated"]


class Nccl(Mpi):

    def check_end(self, text, processes):
        """What the emulators say at the end: nothing was wrong or left."""
        said = [line for line in text.splitlines() if "emulated" in line]
        self.assertEqual(len(said), 2 * processes, text)
        for line in said:
            self.assertRegex(line, r"^emulated (NCCL|GPU): [1-9]\d* launches$")

    def on_processes(self, ranks, *options, gpus=1):
        self.environment.update(variables(SEED=1, GPUS=gpus))
        return self.mpirun(ranks, *options)

    def check(self, ranks, *options):
        self.succeeds(*TRAIN, *STEPS, *options, "--ranks", str(ranks),
                      "--save-weights", "host")
        result = self.succeeds(*TRAIN, *STEPS, *CUDA, *options, "--ranks",
                               str(ranks), "--save-weights", "threads",
                               **emulated(GPUS=ranks))
        self.check_end(result.stderr, 1)
        result = self.on_processes(ranks, *TRAIN, *STEPS, *CUDA, *options,
                                   "--save-weights", "processes")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.check_end(result.stderr, ranks)
        host = self.tensors("host")
        self.assertTrue(host)
        self.assertEqual(host, self.tensors("threads"))
        self.assertEqual(host, self.tensors("processes"))

    def test_the_hosts_bits(self):
        self.check(2, "--zero", "3", "--accumulate", "2")

    def test_processes_that_see_all_gpus(self):
        # They share them out.
        self.environment["ZEROGRAPH_EMULATOR_SHARED"] = "1"
        result = self.on_processes(2, *TRAIN, *STEPS, *CUDA, gpus=2)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.check_end(result.stderr, 2)

    def test_fewer_gpus_than_ranks(self):
        self.refused(*TRAIN, *CUDA, "--ranks", "3", **emulated(GPUS=2), lines=0,
                     parts=["for 3 ranks, and this process sees 2 GPUs",
                            "CUDA_VISIBLE_DEVICES=0"])
        self.environment["ZEROGRAPH_EMULATOR_SHARED"] = "1"
        result = self.on_processes(3, *TRAIN, *STEPS, *CUDA, gpus=2)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("3 ranks of this machine see the same 2 GPUs",
                      result.stderr)

    def test_sums_in_its_own_order(self):
        for target, message in [
                ([], "--reduction nccl needs --target cuda"),
                (CUDA, "ranks on one GPU do without it")]:
            self.refused(*TRAIN, *target, "--ranks", "2", "--reduction",
                         "nccl", **emulated(GPUS=1), lines=0, parts=[message])
        result = self.on_processes(2, *TRAIN, *STEPS, *CUDA, "--reduction",
                                   "nccl")
        self.assertEqual(result.returncode, 0, result.stderr)
        plan = self.path("plan")
        self.succeeds("compile", MLP, "--micro-batch", "2", "--ranks", "2",
                      *CUDA, "--reduction", "nccl", "-o", plan)
        self.assertIn(", --reduction nccl\n",
                      self.succeeds("inspect", plan).stdout)

    def killed(self, number, deadline):
        # A rank that is killed leaves what it was about to exchange.
        self.environment.update(
            variables(SEED=1, GPUS=1, FOLDER=self.folder), **LAST_WORDS)
        launcher, ranks, errors = self.start(3, *TRAIN, *CUDA, "--zero", "3",
                                             "--deadline", deadline)
        self.wait_until(lambda: self.steps_logged() > 2)
        self.victim = ranks[2]
        os.kill(ranks[2], number)
        self.addCleanup(self.end, ranks[2])
        self.assertNotEqual(launcher.wait(120), 0)
        errors.seek(0)
        return errors.read()

    @staticmethod
    def end(process):
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def test_a_rank_that_is_killed(self):
        # By the other ranks' processes, at once.
        said = self.killed(signal.SIGKILL, "300")
        for rank in "01":
            self.assertRegex(said, rf"(?m)^zerograph train: rank {rank}: .*"
                             rf"rank 2 \(process {self.victim} on .*\) has "
                             "ended")
        self.assertRegex(said, r'step \d+ of "step" \(\w+, .*rank [01], \w+')

    def test_a_rank_that_is_stopped(self):
        # Longer than a busy machine keeps a rank from running.
        said = self.killed(signal.SIGSTOP, "8")
        # Which step it is depends on the moment: inside a graph a segment is
        # all that can be named.
        self.assertRegex(said, r'step \d+ of "step" \(\w+, .*\): (this step '
                         r"or a later one, up to step \d+: )?the GPU finished "
                         "nothing for 8 s")

    def test_gpus_that_do_not_come_back(self):
        # NCCL waits for them, and so does the driver at exit.
        self.environment["ZEROGRAPH_EMULATOR_STALL"] = "150"
        result = self.on_processes(2, *TRAIN, *CUDA, "--steps", "20",
                                   "--deadline", "5")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("the GPU finished nothing for 5 s", result.stderr)
        self.assertNotIn("emulated GPU", result.stderr)

    def test_the_environment(self):
        result = self.succeeds("env", **emulated(GPUS=2))
        self.assertRegex(result.stdout, r"(?m)^CUDA .*2 GPUs")
        self.assertRegex(result.stdout, r"(?m)^NCCL +exchanges between GPUs")
        self.assertIn("2.28.9, " + EMULATOR, result.stdout)


main()
