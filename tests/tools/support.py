"""What the suites share: running the programs, and finding other Pythons."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from tensors import read_tensors, write_tensors  # noqa: F401

BIN, MODELS = (os.path.abspath(path) for path in sys.argv[1:3])
ZEROGRAPH = os.path.join(BIN, "zerograph")
ZEROGRAPH_RUN = os.path.join(BIN, "zerograph-run")
ZEROGRAPH_OPT = os.path.join(BIN, "zerograph-opt")
MLP = os.path.join(MODELS, "mlp-digits", "model.onnx")
MLP_DATA = os.path.join(MODELS, "mlp-digits", "batches.safetensors")
GPT = os.path.join(MODELS, "gpt2-nano", "model.onnx")
GPT_DATA = os.path.join(MODELS, "gpt2-nano", "batches.safetensors")
# Seconds for a program: more than ranks wait for each other (--deadline, 300),
# so that one that hangs says who waits for whom.
LIMIT = 600


def rows(tensor, begin, end):
    """Samples [begin, end) of a (dtype, shape, bytes)."""
    dtype, shape, data = tensor
    size = len(data) // shape[0]
    return (dtype, [end - begin] + shape[1:], data[begin * size:end * size])


class Case(unittest.TestCase):
    """Each test runs in a folder of its own."""

    maxDiff = None  # a failure that comes once in many runs says all at once

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="zerograph-tools-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def put(self, name, content):
        """Writes a file of this text, or these bytes."""
        mode = "w" if isinstance(content, str) else "wb"
        with open(self.path(name), mode) as file:
            file.write(content)

    def bytes_of(self, *parts):
        with open(self.path(*parts), "rb") as file:
            return file.read()

    def text(self, *parts):
        with open(self.path(*parts)) as file:
            return file.read()

    def json(self, *parts):
        return json.loads(self.text(*parts))

    def records(self, name="log"):
        """Of a log: a dictionary a step."""
        return [json.loads(line) for line in self.text(name).splitlines()]

    def losses(self, name="log"):
        return [record["loss"] for record in self.records(name)]

    def tensors(self, *parts):
        return read_tensors(self.path(*parts))

    def run_program(self, *arguments, program=ZEROGRAPH, prefix=(), **options):
        """`prefix`: a program that becomes this one, and its arguments."""
        options.setdefault("cwd", self.folder)
        return subprocess.run([*prefix, program, *arguments],
                              capture_output=True, text=True, errors="replace",
                              timeout=LIMIT, stdin=subprocess.DEVNULL,
                              **options)

    def without_privileges(self):
        """Options of run_program: as one whom the modes of files bind. Root
        stays root, who owns the folders on the way to the programs, wherever
        they lie, but may do nothing that another owner may not."""
        if os.geteuid() != 0:
            return {}
        options = {"prefix": ["setpriv", "--inh-caps=-all",
                              "--bounding-set=-all"]}
        result = self.run_program("--version", **options)
        if result.returncode != 0:
            self.skipTest("root cannot run the programs without its "
                          "privileges: " + result.stderr.strip())
        return options

    def succeeds(self, *arguments, **options):
        result = self.run_program(*arguments, **options)
        self.assertEqual(result.returncode, 0,
                         f"{arguments}: {result.stdout}{result.stderr}")
        return result

    def refused(self, *arguments, parts=(), program=ZEROGRAPH, codes=(1, 2),
                lines=1, **options):
        """Exit status of an error, nothing on standard output, one message on
        standard error that begins with the program and has all `parts`."""
        result = self.run_program(*arguments, program=program, **options)
        what = f"{arguments}: {result.returncode}: {result.stderr}"
        self.assertIn(result.returncode, codes, what)
        self.assertEqual(result.stdout, "", what)
        # lines=0: notes may come before it.
        self.assertRegex(
            result.stderr,
            ("^" if lines else "(?m)^") + os.path.basename(program), what)
        self.assertTrue(result.stderr.endswith("\n"), what)
        if lines:
            self.assertEqual(result.stderr.count("\n"), lines, what)
        for part in parts:
            self.assertIn(part, result.stderr, what)
        return result

    def compile_mlp(self, name="mlp.zgplan", *options):
        self.succeeds("compile", MLP, "-o", name, "--micro-batch", "8",
                      "--ranks", "2", "--zero", "3", *options)
        return self.path(name)

    def convert(self, python, function, *arguments):
        """Calls a function of zerograph.convert in another Python; returns what
        it says."""
        done = subprocess.run(
            [python, "-c", "import logging, zerograph\n"
             "logging.basicConfig(level=logging.INFO)\n"
             f"zerograph.convert.{function}(*{arguments!r})"],
            cwd=self.folder, capture_output=True, text=True, timeout=LIMIT,
            env=package_environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def inspect(self, plan):
        return json.loads(self.succeeds("inspect", plan, "--json").stdout)


def package_environment():
    """The environment in which another Python finds the package."""
    root = os.path.dirname(os.path.abspath(__file__))
    return {**os.environ, "PYTHONPATH": os.path.join(root, "..", "..", "python"),
            "ZEROGRAPH_HOME": os.path.dirname(BIN)}


def python_with(variable, *packages):
    """(a Python that has the packages, None), or (None, why there is none): the
    one that the variable names, or else this one."""
    python = os.environ.get(variable, sys.executable)
    try:
        found = subprocess.run([python, "-c", "import " + ", ".join(packages)],
                               capture_output=True, text=True,
                               env={**os.environ, "DS_ACCELERATOR": "cpu"})
    except OSError as error:
        return None, f"{python}: {error}"
    if found.returncode == 0:
        return python, None
    return None, (f"no {packages[0]}: set {variable} to a Python that has "
                  f"{' and '.join(packages)} "
                  f"({found.stderr.strip().splitlines()[-1]})")


def limit_file_size(count):
    """For `preexec_fn`: files of at most `count` bytes, as on a full disk."""
    def limit():
        import resource
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (count, count))
    return {"preexec_fn": limit, "restore_signals": False}


def main():
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
