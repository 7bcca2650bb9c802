"""A Slurm of our own, of nodes that are all this machine. It needs Debian's
packages munge, slurmctld, slurmd and slurm-client, or such, and root."""

import os
import shutil
import socket
import subprocess
import tempfile
import time

NODES = ("zga", "zgb")
SBIN = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
# Variables of an outer Slurm or MPI, where the tests run in one.
FOREIGN = ("SLURM_", "SRUN_", "SBATCH_", "SALLOC_", "PMI_", "PMIX_", "OMPI_")

CONFIGURATION = """\
ClusterName=zerograph
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/{{who}}.munge
CredType=cred/munge
SlurmctldPort={ports[0]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
TmpFS={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
SlurmdParameters=config_overrides
DebugFlags=NO_CONF_HASH
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
MessageTimeout=60
MpiDefault=none
NodeName=zga NodeAddr=127.0.0.1 Port={ports[1]} CPUs=32
NodeName=zgb NodeAddr=127.0.0.1 Port={ports[2]} CPUs=32
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
# The first process of a namespace of process numbers: when it ends, all others
# are killed with it, whatever they have made of themselves. It ends when the
# test does, however that ends: its input is a pipe from there. A munged each:
# it takes what it has seen for an attack, and all nodes are sent the same.
FIRST = """
munge() {{
  {munged} --foreground --force --key-file {folder}/key \
    --socket {folder}/$1.munge --pid-file {folder}/$1.munge.pid \
    --seed-file {folder}/$1.munge.seed &
}}
munge main
{slurmctld} -D &
for node in zga zgb; do
  munge $node
  SLURM_CONF={folder}/$node.conf {namespaces} --uts sh -c '
    mount -t tmpfs none /dev/shm && hostname $1 && exec {slurmd} -D' sh $node &
done
read end
"""
NAMESPACES = ["unshare", "--mount", "--pid", "--fork", "--kill-child",
              "--mount-proc"]


def free_ports(count):
    """On which nothing listens now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def environment(**more):
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(FOREIGN)}
    return {**kept, **more}


class Slurm:
    """Running, or `why_not` says why there can be none."""

    def __init__(self):
        self.folder, self.first = None, None
        self.why_not = self.missing()
        if self.why_not:
            return
        self.folder = tempfile.mkdtemp(prefix="zerograph-slurm-")
        self.environment = environment(
            SLURM_CONF=self.path("main.conf"), TMPDIR=self.folder,
            # There may be no other network. Open MPI leaves it out.
            OMPI_MCA_btl_tcp_if_include="lo")
        try:
            self.configure()
            self.start()
            plugins = self.command("srun", "--mpi=list")
            if "pmix" not in plugins.stdout + plugins.stderr:
                self.stop()
                self.why_not = "this Slurm's srun has no --mpi=pmix"
        except BaseException:
            self.stop()
            raise

    def path(self, name):
        return os.path.join(self.folder, name)

    def missing(self):
        self.programs = {}
        for program in ("munged", "slurmctld", "slurmd"):
            self.programs[program] = shutil.which(program, path=SBIN)
        for program in ("srun", "scancel", "sinfo", "unshare",
                        "setpriv"):
            self.programs[program] = shutil.which(program)
        for program, path in self.programs.items():
            if not path:
                return (f"no program '{program}' (Debian: munge slurmctld "
                        "slurmd slurm-client util-linux)")
        if os.geteuid() != 0:
            return "a Slurm of our own needs root"
        result = subprocess.run([*NAMESPACES, "mount", "-t", "tmpfs", "none",
                                 "/dev/shm"], capture_output=True, text=True)
        return result.stderr.strip()

    def configure(self):
        host = socket.gethostname().split(".")[0]
        with open(os.open(self.path("key"), os.O_WRONLY | os.O_CREAT, 0o400),
                  "wb") as file:
            file.write(os.urandom(64))
        for name in ("state", *NODES):
            os.mkdir(self.path(name))
        text = CONFIGURATION.format(folder=self.folder, host=host,
                                    ports=free_ports(3))
        for who in ("main", *NODES):
            with open(self.path(who + ".conf"), "w") as file:
                file.write(text.format(who=who))
        # Else slurmd looks for a file system of cgroups to tell their version.
        with open(self.path("cgroup.conf"), "w") as file:
            file.write("CgroupPlugin=cgroup/v1\n")

    def start(self):
        with open(self.path("daemons.log"), "w") as log:
            self.first = subprocess.Popen(
                [*NAMESPACES, "sh", "-c",
                 FIRST.format(folder=self.folder,
                              namespaces=" ".join(NAMESPACES),
                              **self.programs)],
                stdin=subprocess.PIPE, stdout=log, stderr=log, cwd=self.folder,
                env=self.environment)
        limit = time.monotonic() + 60
        while self.states() != ["idle"] * len(NODES):
            if time.monotonic() > limit or self.first.poll() is not None:
                with open(self.path("daemons.log")) as log:
                    raise RuntimeError("Slurm does not start:\n" + log.read())
            time.sleep(0.1)

    def states(self):
        """Of the nodes; none where nothing answers yet."""
        return self.command("sinfo", "-h", "-N", "-o", "%T").stdout.split()

    def command(self, *arguments):
        return subprocess.run(arguments, capture_output=True, text=True,
                              timeout=60, stdin=subprocess.DEVNULL,
                              env=self.environment)

    def stop(self):
        if self.first:
            self.first.stdin.close()
            self.first.wait()
            self.first = None
        if self.folder:
            shutil.rmtree(self.folder)
            self.folder = None
