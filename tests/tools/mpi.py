"""What tests of ranks as processes share, whoever launches them."""

import os
import subprocess
import time

from support import Case, GPT, GPT_DATA, MLP, MLP_DATA, ZEROGRAPH

FULL = bool(os.environ.get("ZEROGRAPH_FULL"))
MPIRUN = os.environ.get("MPIEXEC", "mpirun")
# In a container: as root, and with more ranks than processors.
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1",
                   OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
FLAGS = ["--oversubscribe", "--bind-to", "none"]
# For mpirun: seconds, once or twice, in which ranks may say why they end, after
# one has ended; by default 1.
LAST_WORDS = {"OMPI_MCA_odls_base_sigkill_timeout": "4"}
MLP_RUN = ["train", MLP, "--data", MLP_DATA, "--micro-batch", "8"]
GPT_RUN = ["train", GPT, "--data", GPT_DATA, "--micro-batch", "1"]
# Where one is killed on another host, Open MPI may not come back from a call
# that sends to it: then that rank names the dead one, and another may name the
# rank that has become silent.
SOME_RANK = r"rank \d \(process \d+ on .*\)"


def says(rank, what):
    """How a rank begins that says where in a run it was."""
    return (rf"(?m)^(zerograph train: |note: )rank {rank}[:,].*"
            rf"_(gather|scatter|reduce) \d+ '.*{what}")


def has_ended(process):
    """Also where nobody has asked for its status yet."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def describe(*processes):
    """What each process is doing, as far as the system tells."""
    lines = []
    for process in processes:
        try:
            with open(f"/proc/{process}/status") as file:
                state = next(line.split(":", 1)[1].strip() for line in file
                             if line.startswith("State:"))
            with open(f"/proc/{process}/wchan") as file:
                lines.append(f"{process}: {state}, in {file.read() or '-'}")
        except OSError:
            lines.append(f"{process}: has ended")
    return "\n".join(lines)


class Mpi(Case):

    # The variable that names a rank in the environment that its launcher gives
    # it.
    RANK = "OMPI_COMM_WORLD_RANK"

    def mpirun(self, ranks, *arguments, program=ZEROGRAPH):
        return self.run_program(*FLAGS, "-n", str(ranks), program, *arguments,
                                program=MPIRUN, env=self.environment)

    def setUp(self):
        super().setUp()
        # The mark by which the processes of this test are known.
        self.mark = "ZEROGRAPH_TEST=" + self.folder
        self.environment = dict(ENVIRONMENT, ZEROGRAPH_TEST=self.folder)

    def ranks(self):
        """Rank -> process, by our numbers, of those that run."""
        found = {}
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    text = file.read().decode(errors="replace").split("\0")
                program = self.text(f"/proc/{name}/comm").strip()
            except OSError:  # it has ended
                continue
            if self.mark in text and program == "zerograph":
                rank = next(x for x in text if x.startswith(self.RANK + "="))
                found[int(rank.split("=")[1])] = int(name)
        return found

    def start(self, ranks, *arguments):
        """A run without end, and the processes of its ranks."""
        errors = open(self.path("errors"), "w+")
        self.addCleanup(errors.close)
        launcher = subprocess.Popen(
            [MPIRUN, *FLAGS, "-n", str(ranks), ZEROGRAPH, *arguments,
             "--steps", "100000000", "--log", "log"], cwd=self.folder,
            env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=errors)
        self.addCleanup(launcher.wait)
        self.addCleanup(launcher.kill)
        self.wait_until(lambda: len(self.ranks()) == ranks)
        return launcher, self.ranks(), errors

    def wait_until(self, condition, seconds=120):
        limit = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), limit, "nothing happened")
            time.sleep(0.01)

    def steps_logged(self):
        if not os.path.exists(self.path("log")):
            return 0
        return self.text("log").count("\n")
