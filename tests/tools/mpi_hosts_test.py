"""Ranks on two hosts: network namespaces with a cable between them, and names
and process numbers of their own. Needs root; skipped where that is not given."""

import os
import shutil
import signal
import stat
import subprocess
import time
import unittest

from mpi import ENVIRONMENT, FULL, GPT_RUN, MPIRUN, SOME_RANK, Mpi, says
from support import ZEROGRAPH, main

NETWORK = "10.231.7"
HOSTS = {name: f"zg{os.getpid()}{name}" for name in "ab"}

# A host's processes: in its network, under its name, with its own numbers.
ENTER = """exec ip netns exec {host} unshare --uts --pid --fork --kill-child \
    sh -c 'hostname {host}; exec "$@"' {host} """
# The program by which mpirun starts its daemon on the other host, in place of
# ssh: AGENT ADDRESS COMMAND...
AGENT = "#!/bin/sh\nshift\n" + ENTER + 'sh -c "$*"\n'


def ip(*arguments, **options):
    return subprocess.run(["ip", *arguments], capture_output=True, text=True,
                          **options)


def remove_hosts():
    for host in HOSTS.values():
        ip("netns", "del", host)


def make_hosts():
    """Why there are none, or nothing."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for program in ("ip", "unshare"):
        if not shutil.which(program):
            return f"no program '{program}' (Debian: iproute2 util-linux)"
    result = subprocess.run(["unshare", "--mount", "true"],
                            capture_output=True, text=True)
    if result.returncode != 0:
        return result.stderr.strip()
    commands = [["netns", "add", host] for host in HOSTS.values()]
    a, b = HOSTS.values()
    commands.append(["link", "add", "cable", "netns", a, "type", "veth",
                     "peer", "name", "cable", "netns", b])
    for number, host in enumerate(HOSTS.values(), 1):
        commands += [
            ["-n", host, "addr", "add", f"{NETWORK}.{number}/24", "dev",
             "cable"],
            ["-n", host, "link", "set", "cable", "up"],
            ["-n", host, "link", "set", "lo", "up"]]
    for command in commands:
        result = ip(*command)
        if result.returncode != 0:
            remove_hosts()
            return f"ip {' '.join(command)}: {result.stderr.strip()}"
    return ""


class Hosts(Mpi):

    DEADLINE = 5

    @classmethod
    def setUpClass(cls):
        if why := make_hosts():
            raise unittest.SkipTest(why)
        cls.addClassCleanup(remove_hosts)

    def setUp(self):
        super().setUp()
        ip("-n", HOSTS["a"], "link", "set", "cable", "up", check=True)
        agent = self.path("agent")
        self.put(agent, AGENT.format(host=HOSTS["b"]))
        os.chmod(agent, os.stat(agent).st_mode | stat.S_IXUSR)
        network = NETWORK + ".0/24"
        # Two ranks on this host, the last on the other one.
        self.command = [
            "sh", "-c", ENTER.format(host=HOSTS["a"]) + '"$@"', "sh", MPIRUN,
            "--mca", "plm_rsh_agent", agent,
            "--mca", "btl_tcp_if_include", network,
            "--mca", "oob_tcp_if_include", network,
            "--bind-to", "none", "-x", self.mark,
            "-host", f"{NETWORK}.1:2,{NETWORK}.2:1", "-n", "3"]

    def test_the_same_bits(self):
        for stage in "0123" if FULL else "3":
            options = [*GPT_RUN, "--zero", stage, "--steps", "4",
                       "--dump-gradients", "g", "--save-weights"]
            result = self.run_program(*self.command[1:], ZEROGRAPH, *options,
                                      "hosts", program=self.command[0],
                                      env=ENVIRONMENT)
            self.assertEqual(result.returncode, 0, result.stderr)
            gradients = self.tensors("g")
            self.succeeds(*options, "threads", "--ranks", "3")
            self.assertEqual(self.tensors("threads"), self.tensors("hosts"))
            self.assertEqual(self.tensors("g"), gradients)

    def errors(self, rank):
        return self.text(f"errors.{rank}")

    def check(self, what_happens, expected, launcher_ends=True):
        """In the middle of a run; all ranks end, and each says where it was;
        `expected`: rank -> what else."""
        # Errors go to a file each: mpirun does not pass on all of what is said
        # while it ends ranks.
        said = open(self.path("launcher"), "wb")
        launcher = subprocess.Popen(
            [*self.command, "sh", "-c",
             'exec "$0" "$@" 2>errors.$OMPI_COMM_WORLD_RANK', ZEROGRAPH,
             *GPT_RUN, "--zero", "3", "--steps", "100000000", "--log", "log",
             "--deadline", str(self.DEADLINE)], cwd=self.folder, env=ENVIRONMENT,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=said, start_new_session=True)
        said.close()
        self.wait_until(lambda: self.steps_logged() > 3)
        ranks = self.ranks()
        self.assertEqual(sorted(ranks), [0, 1, 2])
        try:
            begin = time.monotonic()
            what_happens(ranks)
            self.wait_until(lambda: not self.ranks(), self.DEADLINE + 30)
            took = time.monotonic() - begin
            if launcher_ends:
                self.assertNotEqual(launcher.wait(30), 0)
        finally:
            # mpirun may go on waiting for a host that it does not reach.
            if launcher.poll() is None:
                os.killpg(launcher.pid, signal.SIGKILL)
            launcher.wait()
        for rank, part in expected.items():
            self.assertRegex(self.errors(rank), says(rank, part))
        return took

    def test_a_cable_that_is_cut(self):
        a, b = HOSTS.values()
        other = (rf"waited {self.DEADLINE} s for rank 2 "
                 rf"\(process \d+ on {b}\)$")
        took = self.check(
            lambda _: ip("-n", a, "link", "set", "cable", "down", check=True),
            {0: other, 1: other,
             2: rf"waited {self.DEADLINE} s for rank [01] "
                rf"\(process \d+ on {a}\)"},
            launcher_ends=False)
        self.assertGreater(took, self.DEADLINE - 0.2)

    def test_a_rank_stopped_on_the_other_host(self):
        # One of the ranks that wait may be told by the other.
        other = (rf"waited {self.DEADLINE} s for rank 2 "
                 rf"\(process \d+ on {HOSTS['b']}\)")
        self.check(lambda ranks: os.kill(ranks[2], signal.SIGSTOP),
                   {0: other, 1: other})

    def test_a_rank_killed_on_the_other_host(self):
        # Its host's daemon tells mpirun, which ends all before the deadline and
        # says who was killed: the others may be ended as they wait for each
        # other.
        self.check(lambda ranks: os.kill(ranks[2], signal.SIGKILL),
                   {0: SOME_RANK, 1: SOME_RANK})
        with open(self.path("launcher")) as file:
            self.assertRegex(file.read(), r"process rank 2 with PID \d+ on "
                             r"node \S+ exited on signal 9")


if __name__ == "__main__":
    main()
