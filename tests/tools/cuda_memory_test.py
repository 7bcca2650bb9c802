"""What must fit into a GPU's memory: arenas of all ranks that share it, beside
what NCCL has, and nothing that lies in the host's."""

import re

from emulator import variables
from mpi import Mpi
from support import MLP, MLP_DATA, main

PLAN = ["--micro-batch", "8", "--matmul", "generated", "--target",
        "cuda:emulated"]
NCCL = 8 << 20 # what the emulated one has


class CudaMemory(Mpi):

    def setUp(self):
        super().setUp()
        self.environment.update(variables())

    def arena(self, ranks):
        """Makes a plan; bytes of a rank's arena, as the GPU has it."""
        self.succeeds("compile", MLP, "-o", "plan", "--ranks", str(ranks),
                      *PLAN)
        arenas = {arena["space"]: arena["bytes"]
                  for arena in self.inspect("plan")["memory"]["arenas"]}
        self.assertGreater(arenas["pinned"], 64)
        return -(-arenas["device"] // 64) * 64

    def run_with(self, memory, processes=0, **variables):
        self.environment.update(variables,
                                ZEROGRAPH_EMULATOR_MEMORY=str(memory))
        train = ["train", "plan", "--data", MLP_DATA, "--steps", "1"]
        if processes:
            return self.mpirun(processes, *train)
        return self.run_program(*train, env=self.environment)

    def check(self, needed, other=0, **options):
        """`needed` bytes of arenas beside `other` fit just so."""
        result = self.run_with(needed + other, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        result = self.run_with(needed + other - 64, **options)
        self.assertNotEqual(result.returncode, 0)
        said = re.findall("the ranks on the GPU need ([0-9,]+) bytes, and "
                          "([0-9,]+) of", result.stderr)
        self.assertEqual(len(said), 1, result.stderr)
        need, free = (int(number.replace(",", "")) for number in said[0])
        self.assertLessEqual(need, needed)
        self.assertEqual(free, needed - 64)

    def test_one_rank(self):
        self.check(self.arena(1))

    def test_threads_that_share_a_gpu(self):
        self.check(2 * self.arena(2))

    def test_threads_with_a_gpu_each(self):
        self.check(self.arena(2), other=NCCL, ZEROGRAPH_EMULATOR_GPUS="2")

    def test_processes_with_a_gpu_each(self):
        self.check(self.arena(2), other=NCCL, processes=2)

    def test_processes_that_share_a_gpu(self):
        self.check(2 * self.arena(2), other=NCCL, processes=2,
                   ZEROGRAPH_EMULATOR_SHARED="1")

    def test_what_the_report_says(self):
        self.arena(2)
        result = self.run_with(1 << 30, processes=2)
        self.assertRegex(result.stdout, "NCCL's communicator +8,388,608\n")


main()
