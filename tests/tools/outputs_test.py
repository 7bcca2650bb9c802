"""What is written: whole, over nothing that is read, or not at all."""

import os
import shutil
import struct
import subprocess

from support import (Case, GPT, GPT_DATA, MLP, MLP_DATA, ZEROGRAPH,
                     limit_file_size, main, read_tensors)

# So many steps that the plan is larger than any file of its kernels.
STEPS = ["--micro-batch", "8", "--ranks", "64", "--zero", "3",
         "--units", "4", "--accumulate", "2"]
COMPILE = ["compile", MLP, "-o", "x.zgplan", *STEPS]


class Outputs(Case):
    """Where a result cannot go it is refused before the work, and a result
    that could not be finished leaves nothing."""

    def setUp(self):
        super().setUp()
        self.plan = self.compile_mlp()
        self.train = ["train", self.plan, "--data", MLP_DATA, "--steps", "2"]
        os.mkdir(self.path("out"))

    def places(self, name):
        return [*COMPILE[:3], name, *COMPILE[4:]], [*self.train,
                                                    "--save-weights", name]

    def too_small_for(self, compiling):
        """A disk with room for the kernels that a plan holds, not for it."""
        self.succeeds(*compiling[:3], "measured", *compiling[4:])
        return limit_file_size(os.path.getsize(self.path("measured")) - 100)

    def test_no_folder_or_no_file(self):
        os.mkfifo(self.path("out", "pipe"))
        os.mkdir(self.path("out", "folder"))
        for name, part in (("none/file", "no folder none"),
                           ("out/folder", "it is a folder"),
                           ("out/pipe", "a device or a pipe")):
            for arguments in self.places(name):
                self.refused(*arguments, parts=[name, part])
        self.assertEqual(sorted(os.listdir(self.path("out"))),
                         ["folder", "pipe"])
        self.refused(*self.train, "--log", "none/log",
                     parts=["none/log: cannot be written: there is no folder"])
        self.refused(*COMPILE, "--dump-ir", self.plan + "/ir",
                     parts=["--dump-ir"])

    def test_a_disk_that_is_full(self):
        compiling, training = self.places("out/file")
        self.refused(*compiling, **self.too_small_for(compiling),
                     parts=["out/file", "File too large"])
        self.refused(*training, **limit_file_size(12000),
                     parts=["out/file", "File too large"])
        # So small that not even the kernels can be linked.
        self.refused(*compiling, **limit_file_size(100), lines=0,
                     parts=["kernels0.o: File too large"])
        self.assertEqual(os.listdir(self.path("out")), [])
        # A log can go to a device, and that may be full: the run goes on.
        said = self.succeeds(*self.train, "--log", "/dev/full",
                             "--save-weights", "out/file").stderr
        self.assertRegex(said, r"^warning: /dev/full: cannot write: No space "
                               r"left on device; the run goes on .*\n$")
        self.assertEqual(os.listdir(self.path("out")), ["file"])

    def test_no_weights_stay_without_their_plan(self):
        model = self.bytes_of(MLP)
        # Values as numbers (field 4) instead of bytes (field 9): these are
        # written beside the plan.
        self.assertEqual(model.count(b"fc1.bias\x4a"), 1)
        self.put("model.onnx", model.replace(b"fc1.bias\x4a", b"fc1.bias\x22"))
        compiling = ["compile", "model.onnx", "-o", "out/file", *STEPS]
        self.refused(*compiling, **self.too_small_for(compiling), lines=0,
                     parts=["out/file", "File too large"])
        self.assertEqual(os.listdir(self.path("out")), [])
        self.succeeds(*compiling)
        self.assertEqual(sorted(os.listdir(self.path("out"))),
                         ["file", "file.weights.safetensors"])
        # A refused compilation removes both, and no file of another origin.
        weights = self.path("out", "file.weights.safetensors")
        shutil.copy(weights, self.path("out", "w"))
        self.refused(*compiling, "--lr", "-1", parts=["--lr"])
        self.assertEqual(os.listdir(self.path("out")), ["w"])
        shutil.copy(self.plan, self.path("out", "file"))
        shutil.copy(self.path("out", "w"), weights)
        self.refused(*compiling, "--lr", "-1", parts=["--lr"])
        self.assertEqual(sorted(os.listdir(self.path("out"))),
                         ["file.weights.safetensors", "w"])
        os.remove(weights)
        os.symlink("../model.onnx", self.path("out",
                                              "file.weights.safetensors"))
        self.refused(*compiling, parts=["would write over the model"])

    def test_a_standard_output_that_is_full(self):
        for arguments in (["inspect", self.plan], ["verify", self.plan],
                          ["env"], self.train):
            with open("/dev/full", "w") as full:
                result = subprocess.run([ZEROGRAPH, *arguments], stdout=full,
                                        stderr=subprocess.PIPE, text=True,
                                        timeout=60, cwd=self.folder)
            self.assertEqual(result.returncode, 1, arguments)
            self.assertIn("standard output could not be written",
                          result.stderr)

    def test_a_folder_that_may_not_be_written(self):
        options = self.without_privileges()
        os.chmod(self.path("out"), 0o555)
        for arguments in self.places("out/file"):
            self.refused(*arguments, parts=["out/file", "Permission denied"],
                         **options)
        self.assertEqual(os.listdir(self.path("out")), [])

    def test_what_is_there_stays_when_a_run_fails(self):
        with open(self.path("out", "file"), "w") as file:
            file.write("precious")
        compiling, training = self.places("out/file")
        self.refused(*compiling, **self.too_small_for(compiling))
        self.refused(*training, **limit_file_size(12000))
        self.assertEqual(self.text("out", "file"), "precious")
        self.assertEqual(os.listdir(self.path("out")), ["file"])

    def test_nothing_that_is_read_is_written_over(self):
        data = shutil.copy(MLP_DATA, self.path("data.safetensors"))
        model = shutil.copy(MLP, self.path("model.onnx"))
        train = ["train", self.plan, "--data", data]
        for option in ("--log", "--save-weights"):
            self.refused(*train, option, self.plan,
                         parts=[option, "would write over the plan"])
        self.refused("compile", model, "-o", "model.onnx", "--micro-batch",
                     "8", parts=["--output", "would write over the model"])
        for copy, original in ((data, MLP_DATA), (model, MLP)):
            with open(copy, "rb") as a, open(original, "rb") as b:
                self.assertEqual(a.read(), b.read())

    def unharmed(self, command, files, **options):
        """Refuses `command` and leaves `files` as they are."""
        def contents():
            result = {}
            for name in files:
                result[name] = self.bytes_of(name)
            return result
        before, names = contents(), sorted(os.listdir(self.folder))
        with self.subTest(command=command):
            self.refused(*command, **options)
            self.assertEqual(contents(), before)
            self.assertEqual(sorted(os.listdir(self.folder)), names)

    def test_a_trace_and_gradients_write_over_nothing(self):
        shutil.copy(MLP_DATA, self.path("d.st"))
        os.link(self.path("d.st"), self.path("hard"))
        os.symlink("d.st", self.path("soft"))
        os.symlink("folder-to-be", self.path("dangling"))
        train = ["train", self.plan, "--data", "d.st"]
        for option in ("--log", "--trace", "--save-weights",
                       "--dump-gradients", "--dump-states"):
            for name in ("d.st", "./out/../d.st", "hard", "soft"):
                self.unharmed([*train, option, name], ["d.st"],
                              parts=[option, "would write over --data"])
        for name in ("w", "./w", "out/../w", self.path("w")):
            self.unharmed([*train, "--save-weights", "w", "--trace", name], [],
                          parts=["--save-weights and --trace"])
        self.unharmed([*train, "--log", "dangling", "--trace",
                       "folder-to-be"], [], parts=["--log and --trace"])
        weights = self.path("w.st")
        self.succeeds(*train, "--save-weights", weights)
        train += ["--load-weights", weights]
        for option in ("--log", "--trace", "--dump-gradients",
                       "--dump-states"):
            self.unharmed([*train, option, "w.st"], ["w.st"],
                          parts=[option, "would write over --load-weights"])
        self.succeeds(*train, "--save-weights", weights)

    def test_a_folder_of_arrays_is_not_written_over(self):
        os.mkdir(self.path("data"))
        for name, (dtype, shape, data) in read_tensors(MLP_DATA).items():
            header = repr({"descr": {"F32": "<f4", "I64": "<i8"}[dtype],
                           "fortran_order": False,
                           "shape": tuple(shape)}).encode() + b"\n"
            with open(self.path("data", name + ".npy"), "wb") as file:
                file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header))
                           + header + data)
        train = ["train", self.plan, "--data", "data"]
        for option in ("--log", "--trace", "--save-weights"):
            self.unharmed([*train, option, "data/x.npy"], ["data/x.npy"],
                          parts=[option, "would write over --data"])
        self.succeeds(*train, "--log", "data/log")

    def test_a_model_is_not_written_over(self):
        model = os.path.dirname(GPT)
        for name in ("model_sdpa.onnx", "model_sdpa.onnx.data"):
            shutil.copy(os.path.join(model, name), self.folder)
        files = ["model_sdpa.onnx", "model_sdpa.onnx.data"]
        self.succeeds("compile", files[0], "-o", "p", "--micro-batch", "2",
                      "--dim", "seq=64")
        # A plan reads no model, only where its weights lie.
        for command, names in ((["train", "p"], files[1:]),
                               (["train", files[0], "--micro-batch", "2"],
                                files)):
            for option in ("--log", "--trace", "--save-weights"):
                for name in names:
                    format_first = (option == "--save-weights" and
                                    name.endswith(".onnx"))
                    self.unharmed([*command, "--data", GPT_DATA, option, name],
                                  files, lines=0,
                                  parts=[option, "writes .safetensors"
                                         if format_first else
                                         "would write over"])
        for name in files:
            self.unharmed(["compile", files[0], "-o", name, "--micro-batch",
                           "2", "--dim", "seq=64"], files, lines=0,
                          parts=["--output", "would write over"])


if __name__ == "__main__":
    main()
