"""Whole programs as graphs, of ranks that are processes with a GPU each:
emulated NCCL records their collectives."""

import os
import re

from emulator import variables
from mpi import LAST_WORDS, Mpi
from support import MLP, MLP_DATA, main

TRAIN = ["train", MLP, "--data", MLP_DATA, "--micro-batch", "2", "--matmul",
         "generated", "--target", "cuda:emulated"]


class NcclGraph(Mpi):

    def setUp(self):
        super().setUp()
        self.environment.update(variables())

    def trained(self, ranks, graph, *options):
        """Weights, what was received, and how often NCCL was called."""
        self.environment["ZEROGRAPH_EMULATOR_SEED"] = str(len(graph))
        result = self.mpirun(ranks, *TRAIN, "--steps", "3", "--graph", graph,
                             "--save-weights", graph, *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        said = [line for line in result.stderr.splitlines()
                if "emulated" in line]
        self.assertEqual(len(said), 2 * ranks, result.stderr)
        where = rf"{ranks} ranks, a GPU each: Emulator, NCCL 2.28.9, graphs: "
        self.assertRegex(result.stderr, "(?m)^note: " + where + (
            "off$" if "--trace" in options else graph + "$"))
        for line in said:
            self.assertRegex(line, r"^emulated (NCCL|GPU): [1-9]\d* launches$")
        received = re.findall(r"^ +(received .*|reductions .*|scalars .*)$",
                              result.stdout, re.M)
        self.assertEqual(len(received), 3, result.stdout)
        for line in received:
            predicted, measured = re.findall(r"[\d,]+$|[\d,]+(?=  )", line)
            self.assertEqual(predicted, measured)
        launches = sorted(line for line in said if "NCCL" in line)
        return self.tensors(graph), received, launches

    def check(self, ranks, *options):
        self.assertEqual(self.trained(ranks, "off", *options),
                         self.trained(ranks, "all", *options))

    def test_each_stage(self):
        self.check(2, "--zero", "0")
        self.check(2, "--zero", "3", "--accumulate", "2")

    def test_three_ranks(self):
        self.check(3, "--zero", "2")

    def test_sums_in_its_own_order(self):
        self.check(2, "--zero", "2", "--reduction", "nccl")

    def test_a_trace(self):
        # Steps are then given one by one.
        self.trained(2, "all", "--zero", "3", "--trace", "trace")

    def test_a_rank_that_is_killed(self):
        self.environment.update(LAST_WORDS,
                                ZEROGRAPH_EMULATOR_FOLDER=self.folder)
        launcher, ranks, errors = self.start(
            2, *TRAIN, "--zero", "3", "--deadline", "20", "--graph", "all")
        self.wait_until(lambda: self.steps_logged() > 2)
        os.kill(ranks[1], 9)
        self.assertNotEqual(launcher.wait(60), 0)
        errors.seek(0)
        said = errors.read()
        self.assertRegex(said, r"(?m)^zerograph train: rank 0: .*rank 1 "
                         rf"\(process {ranks[1]} on .*\) has ended")
        self.assertNotIn("would wait for", said)

    def test_threads_with_a_gpu_each(self):
        self.refused(*TRAIN, "--ranks", "2", "--graph", "all", lines=0,
                     env={**self.environment, "ZEROGRAPH_EMULATOR_GPUS": "2"},
                     parts=["--graph all", "for which NCCL may deadlock",
                            "Start a process a rank"])


main()
