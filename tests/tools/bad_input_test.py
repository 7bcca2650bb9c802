"""Models, weights, data and numbers that are wrong: each is refused with one
message that names the culprit, and nothing is left behind."""

import os
import shutil
import struct
import zipfile

from onnx_bytes import linear, message, model, node, tensor, value_info
from support import (Case, MLP, MLP_DATA, limit_file_size, main, read_tensors,
                     write_tensors)

NAN, INF = float("nan"), float("inf")


class BadInput(Case):

    def names(self):
        return sorted(os.path.join(folder, name)
                      for folder, folders, files in os.walk(self.folder)
                      for name in folders + files)

    def unchanged(self, *arguments, **expected):
        """Refuses, with one message, and the folder is as it was."""
        before = self.names()
        with self.subTest(arguments=arguments):
            self.refused(*arguments, **expected)
            self.assertEqual(self.names(), before)

    def refuses_model(self, content, parts, *options, **expected):
        self.put("m.onnx", content)
        self.unchanged("compile", "m.onnx", "-o", "p", "--micro-batch", "2",
                       *options, parts=parts, **expected)
        self.unchanged("train", "m.onnx", "--data", MLP_DATA, "--micro-batch",
                       "2", *options, parts=parts, **expected)


class Models(BadInput):

    def test_the_models_below_are_right_but_for_what_they_test(self):
        self.put("m.onnx", linear())
        self.succeeds("compile", "m.onnx", "-o", "p", "--micro-batch", "2")
        write_tensors(self.path("d.safetensors"),
                      {"x": ("F32", [4, 4], struct.pack("<16f", *range(16)))})
        self.succeeds("train", "p", "--data", "d.safetensors", "--steps", "2")

    def test_no_model(self):
        whole = linear()
        self.refuses_model(b"", ["m.onnx", "is not an ONNX"])
        self.refuses_model(b"# Zerograph\n\nnot a model\n",
                           ["expected an ONNX model"])
        self.refuses_model(whole[:-3], ["not an ONNX file, or it is truncated"])
        self.refuses_model(message([(1, 10)]), ["holds no graph"])
        self.refuses_model(message([(1, 10), (7, [(2, "g")])]),
                           ["does not import the ai.onnx operator set"])
        os.remove(self.path("m.onnx"))
        os.mkdir(self.path("m.onnx"))
        self.unchanged("compile", "m.onnx", "-o", "p", parts=["is a folder"])

    def test_a_pipe_is_not_waited_for(self):
        os.mkfifo(self.path("pipe"))
        plan = self.compile_mlp()
        self.unchanged("compile", "pipe", "-o", "p", parts=["regular file"])
        self.unchanged("train", plan, "--data", "pipe",
                       parts=["pipe", "cannot read"])
        self.unchanged("train", plan, "--data", MLP_DATA, "--load-weights",
                       "pipe", parts=["pipe", "cannot read"])

    def test_dims(self):
        for dim, part in ((1 << 62, "more than 2^46 elements"),
                          (1 << 63, "size -9223372036854775808"),
                          (-4, "size -4")):
            self.refuses_model(linear(dims=("n", dim)), ["x", part])
        # One of -1 has no name: it is called by its place.
        self.put("m.onnx", linear(dims=("n", -1)))
        self.unchanged("compile", "m.onnx", "-o", "p", "--micro-batch", "2",
                       parts=["dims without a size", "--dim", "x.1"], lines=2)
        self.succeeds("compile", "m.onnx", "-o", "p", "--micro-batch", "2",
                      "--dim", "x.1=4")
        os.remove(self.path("p"))
        self.refuses_model(linear(tensor("w", [1 << 62], [])),
                           ["w", "more than 2^46 elements"])
        self.refuses_model(linear(tensor("w", [1 << 31, 1 << 31, 4], [])),
                           ["w", "more than 2^46 elements"])
        self.refuses_model(linear(tensor("w", [-4], [1, 2, 3, 4])),
                           ["w", "negative dimension"])
        self.refuses_model(linear(tensor("w", [5], [1, 2, 3, 4]), ("n", 5)),
                           ["'w'", "holds 16 bytes", "needs 20"])
        self.refuses_model(linear(), ["dim n"], "--dim", "n=0")

    def test_graphs(self):
        mean = node("mean", "ReduceMean", ["y"], ["loss"], {"keepdims": 0})
        self.refuses_model(
            linear(nodes=[node("a", "Add", ["x", "b"], ["y"]),
                          node("c", "Mul", ["y", "w"], ["b"]), mean]),
            ["cycle", "'a'"])
        self.refuses_model(
            linear(nodes=[node("a", "Mul", ["ghost", "w"], ["y"]), mean]),
            ["node 'a' reads 'ghost'"], lines=2)
        self.refuses_model(
            linear(nodes=[node("a", "Mul", ["x", "w"], ["y"]),
                          node("b", "Add", ["x", "w"], ["y"]), mean]),
            ["node 'b' defines 'y', which is defined already"])
        self.refuses_model(
            linear(nodes=[node("a", "Mul", ["x", "w"], ["w"]), mean]),
            ["node 'a' defines 'w', which is defined already"])
        self.refuses_model(linear(nodes=[node("a", "Mull", ["x", "w"], ["y"]),
                                         mean]),
                           ["node 'a' (Mull)", "no such operator"], lines=2)

    def test_a_file_of_another_kind(self):
        plan = self.compile_mlp()
        self.unchanged("compile", plan, "-o", "q", "--micro-batch", "2",
                       parts=["is a plan"])
        self.unchanged("run", plan, "--data", MLP_DATA, "--output", "q",
                       parts=["is a plan"])
        for command in ("verify", "inspect"):
            self.unchanged(command, MLP, parts=[
                MLP + " is an ONNX model, expected a plan: `zerograph compile` "
                "makes one"])
        self.unchanged("train", MLP_DATA, "--data", MLP_DATA, parts=[
            MLP_DATA + " is a .safetensors file, expected MODEL.onnx or a plan",
            "weights have no graph: export the model to ONNX"])
        self.unchanged("train", plan, "--data", MLP,
                       parts=["it is an ONNX model; give it as the FILE"])
        self.unchanged("train", plan, "--data", MLP_DATA, "--load-weights",
                       plan, parts=["it is a plan of Zerograph"])

    def test_another_file_than_a_model(self):
        """Weights, a folder or a text where a model is expected."""
        with zipfile.ZipFile(self.path("m.pt"), "w") as archive:
            archive.writestr("m/data.pkl", b"\x80\x02}.")
        self.put("m.h5", b"\x89HDF\r\n\x1a\n" + bytes(100))
        self.put("m.onnx", b"version https://git-lfs.github.com/spec/v1\n")
        os.mkdir(self.path("folder"))
        shutil.copy(MLP, self.path("folder", "mlp.onnx"))
        for name, parts in (
                ("m.pt", ["is a ZIP file, as torch.save writes it",
                          "export the model to ONNX", "--load-weights"]),
                ("m.h5", ["is an HDF5 file", "export the model to ONNX"]),
                ("m.onnx", ["is a text", "an ONNX model"]),
                ("folder", ["is a folder", "it holds mlp.onnx"])):
            options = ["--data", MLP_DATA, "--micro-batch", "8"]
            self.unchanged("train", name, *options, parts=[name, *parts])
            self.unchanged("run", name, *options, "-o", "o",
                           parts=[name, *parts])
            self.unchanged("compile", name, "-o", "o", parts=[name, *parts])


class ExternalData(BadInput):

    def setUp(self):
        super().setUp()
        write_tensors(self.path("d.safetensors"),
                      {"x": ("F32", [4, 4], struct.pack("<16f", *range(16)))})
        self.values = struct.pack("<4f", 1, 2, 3, 4)

    def external(self, **entries):
        self.put("m.onnx", linear(tensor("w", [4], entries)))

    def compiling(self):
        return ["compile", "m.onnx", "-o", "p", "--micro-batch", "2"]

    def test_missing(self):
        self.external(location="w.bin")
        self.succeeds(*self.compiling())
        self.unchanged("train", "p", "--data", "d.safetensors", "--log", "log",
                       parts=["1 parameters: w", "missing: ./w.bin"])

    def test_missing_beside_a_model(self):
        """Who gives a model knows of no plan."""
        os.mkdir(self.path("m"))
        self.put("m/m.onnx", linear(tensor("w", [4], {"location": "w.bin"})))
        for command in (["train", "m/m.onnx", "--data", "d.safetensors",
                         "--micro-batch", "2", "--quiet"],
                        ["run", "m/m.onnx", "--data", "d.safetensors", "-o",
                         "o", "--micro-batch", "2"]):
            before = self.names()
            said = self.refused(*command, lines=0, parts=[
                "m/m.onnx: the model's weights are in m/w.bin, which is "
                "missing: put it where", "1 parameters: w. Give"]).stderr
            self.assertNotIn("note:", said)
            self.assertNotIn("plan", said)
            self.assertEqual(self.names(), before)

    def test_short(self):
        self.put("w.bin", self.values)
        for entries, parts in (
                ({"offset": 4}, ["bytes 4 to 20 of 'w.bin', which has 16"]),
                ({"offset": (1 << 63) - 8}, ["beyond any file"]),
                ({"offset": 1 << 63}, ["is not a number of bytes"]),
                ({"offset": -4}, ["is not a number of bytes"]),
                ({"offset": "0x10"}, ["is not a number of bytes"]),
                ({"length": 12}, ["external length is 12", "needs 16"]),
                ({"length": (1 << 64) + 16}, ["is not a number of bytes"])):
            self.external(location="w.bin", **entries)
            self.unchanged(*self.compiling(), parts=["'w'", *parts])
        # It shrinks between compiling and training.
        self.external(location="w.bin")
        self.succeeds(*self.compiling())
        self.put("w.bin", self.values[:12])
        self.unchanged("train", "p", "--data", "d.safetensors",
                       parts=["w.bin has 12 bytes, and had 16 when the plan"])
        # It was not there when the plan was made.
        os.remove(self.path("w.bin"))
        self.succeeds(*self.compiling())
        self.put("w.bin", self.values[:12])
        self.unchanged("train", "p", "--data", "d.safetensors",
                       parts=["'w' has 16 bytes", "w.bin of 12 bytes"])

    def test_another_graph(self):
        self.external(location="w.bin")
        self.put("w.bin", self.values)
        self.succeeds(*self.compiling())
        training = ["train", "p", "--data", "d.safetensors", "--steps", "1"]
        # Other weights of the same graph are what training further gives.
        self.put("w.bin", self.values[::-1])
        self.succeeds(*training)
        model = linear(tensor("w", [4], {"location": "w.bin"}))
        self.assertEqual(model.count(b"Mul"), 1)
        self.put("m.onnx", model.replace(b"Mul", b"Sub"))
        self.unchanged(*training,
                       parts=["./m.onnx: its graph is another than the one "
                              "that the plan was made from"])
        # Weights that came without their model are taken as they are.
        os.remove(self.path("m.onnx"))
        self.succeeds(*training)

    def test_what_leaves_the_folder(self):
        os.mkdir(self.path("in"))
        self.put("secret", self.values)
        shutil.copy(self.path("d.safetensors"), self.path("in"))
        compiling = ["compile", "in/m.onnx", "-o", "p", "--micro-batch", "2"]
        os.symlink("../secret", self.path("in", "link"))
        os.symlink("..", self.path("in", "up"))
        os.link(self.path("secret"), self.path("in", "hard"))
        os.mkfifo(self.path("in", "pipe"))
        for location, part in (
                ("../secret", "leaves the model's folder"),
                ("x/../../secret", "leaves the model's folder"),
                (self.path("secret"), "is not a relative path"),
                ("..\\secret", "is not a relative path"),
                ("link", "goes through a symbolic link"),
                ("up/secret", "goes through a symbolic link"),
                ("hard", "is a hard link"),
                ("pipe", "is not a regular file"),
                (".", "is not a regular file"),
                ("", "is empty")):
            self.put("in/m.onnx",
                       linear(tensor("w", [4], {"location": location})))
            self.unchanged(*compiling, parts=["'w'", part])

    def test_a_link_made_after_compiling(self):
        os.mkdir(self.path("in"))
        self.put("secret", self.values)
        self.put("in/m.onnx", linear(tensor("w", [4], {"location": "w"})))
        self.succeeds("compile", "in/m.onnx", "-o", "p", "--micro-batch", "2")
        train = ["train", "p", "--data", "d.safetensors"]
        os.symlink("../secret", self.path("in", "w"))
        self.unchanged(*train, parts=["in/w", "symbolic link"])
        os.remove(self.path("in", "w"))
        os.link(self.path("secret"), self.path("in", "w"))
        self.unchanged(*train, parts=["in/w", "hard link"])
        os.remove(self.path("in", "w"))
        shutil.copy(self.path("secret"), self.path("in", "w"))
        self.succeeds(*train)

    def test_the_model_itself_may_be_a_link(self):
        os.mkdir(self.path("store"))
        self.put("store/blob", linear())
        os.symlink("store/blob", self.path("m.onnx"))
        self.succeeds(*self.compiling())
        self.succeeds("train", "p", "--data", "d.safetensors")

    def test_several_files_and_more_than_two_gib(self):
        """Weights in two files, one beyond 2 GiB, and 4 GiB, of a sparse
        file."""
        for where in ((1 << 31) + 4096, (1 << 32) + 4096):
            with open(self.path("big"), "wb") as file:
                file.truncate(where)
                file.seek(where)
                file.write(self.values)
            self.put("small", b"\0" * 64 + self.values)
            self.put("m.onnx", model(
                [node("a", "Mul", ["x", "w"], ["y"]),
                 node("b", "Add", ["y", "b"], ["z"]),
                 node("mean", "ReduceMean", ["z"], ["loss"], {"keepdims": 0})],
                [tensor("w", [4], {"location": "big", "offset": where,
                                   "length": 16}),
                 tensor("b", [4], {"location": "./small", "offset": 64})],
                [value_info("x", ["n", 4])], [value_info("loss", [])]))
            self.succeeds(*self.compiling(), "--lr", "0", "--weight-decay",
                          "0")
            self.succeeds("train", "p", "--data", "d.safetensors", "--steps",
                          "1", "--save-weights", "saved")
            saved = self.tensors("saved")
            self.assertEqual(saved["w"][2], self.values)
            self.assertEqual(saved["b"][2], self.values)

    def test_keys_that_mean_nothing_here_are_said(self):
        self.put("w.bin", self.values)
        self.external(location="w.bin", checksum="00" * 20, colour="red")
        result = self.succeeds(*self.compiling())
        for part in ("'w'", "'checksum'", "not checked",
                     "'colour'", "unknown"):
            self.assertIn(part, result.stderr)
        self.put("m.onnx", linear(
            tensor("w", [4], {"location": "w.bin"}) +
            [(13, [(1, "location"), (2, "v.bin")])]))
        os.remove(self.path("p"))
        self.unchanged(*self.compiling(),
                       parts=["'w'", "location is given twice"])


class Values(BadInput):

    def setUp(self):
        super().setUp()
        self.plan = self.compile_mlp()
        self.arrays = read_tensors(MLP_DATA)
        self.train = ["train", self.plan, "--data", MLP_DATA, "--steps", "3"]

    def test_weights_that_are_no_numbers(self):
        for value, name in ((NAN, "NaN"), (INF, "inf"), (-INF, "-inf")):
            weights = {"fc1.bias": ("F32", [128], struct.pack(
                "<128f", *[0] * 77, value, *[0] * 50))}
            write_tensors(self.path("w.safetensors"), weights)
            self.unchanged(*self.train, "--load-weights", "w.safetensors",
                           "--log", "log", "--save-weights", "out", lines=0,
                           parts=["'fc1.bias'", f"begins with {name} in "
                                  "element 77 of 128", "w.safetensors"])
        # A log of an earlier run is not lost for it.
        self.put("log", b"{}\n")
        self.unchanged(*self.train, "--load-weights", "w.safetensors", "--log",
                       "log", lines=0, parts=["'fc1.bias'"])
        self.assertEqual(self.text("log"), "{}\n")
        self.succeeds(*self.train, "--log", "log")
        self.assertEqual(self.text("log").count("\n"), 3)
        self.put("m.onnx", linear(tensor("w", [4], [1, 2, NAN, 4])))
        self.succeeds("compile", "m.onnx", "-o", "p", "--micro-batch", "2")
        write_tensors(self.path("d"), {"x": ("F32", [2, 4], b"\0" * 32)})
        self.unchanged("train", "p", "--data", "d",
                       parts=["'w' begins with NaN in element 2 of 4"])

    def test_data_that_is_no_number_is_said(self):
        """It may be masked away: the loss decides."""
        dtype, shape, data = self.arrays["x"]
        data = bytearray(data)
        data[64 * 4 * 20:64 * 4 * 20 + 4] = struct.pack("<f", NAN)
        write_tensors(self.path("d"), {"x": (dtype, shape, bytes(data)),
                                       "labels": self.arrays["labels"]})
        result = self.succeeds("train", self.plan, "--data", "d", "--steps",
                               "3")
        self.assertIn("the loss of step 2 is NaN", result.stderr)

    def test_weights_of_another_type_or_shape(self):
        for dtype, shape, size in (("F64", [128], 8), ("I32", [128], 4),
                                   ("F32", [64, 2], 4), ("F32", [129], 4),
                                   ("F32", [], 4), ("F32", [0], 4)):
            count = 1
            for dim in shape:
                count *= dim
            write_tensors(self.path("w.safetensors"),
                          {"fc1.bias": (dtype, shape, b"\0" * count * size)})
            self.unchanged(*self.train, "--load-weights", "w.safetensors",
                           parts=["'fc1.bias' is " + dtype,
                                  "expected F32 [128]"])

    def test_absurd_numbers(self):
        for option, values in (
                ("--steps", ("-1", "0", "x", "1.5", "99999999999999999999", "")),
                ("--threads", ("-1", "0", "1000000", "")),
                ("--deadline", ("-1", "nan", "", "0", "1000001", "inf")),
                ("--seed", ("-1", "1e3", "99999999999999999999"))):
            for value in values:
                self.unchanged("train", self.plan, "--data", MLP_DATA, option,
                               value, parts=[option])
        for option, values in (
                ("--ranks", ("-1", "0", "65537", "9999999999999999999", "two")),
                ("--micro-batch", ("-1", "0", "9999999999999999999")),
                ("--accumulate", ("-1", "0", "99999999999")),
                ("--bucket-bytes", ("-1", "0")),
                ("--prefetch", ("-1",)),
                ("--zero", ("4", "-1")),
                ("--lr", ("-1", "nan", "inf", "1e999", "", "much")),
                ("--eps", ("-1", "nan")),
                ("--weight-decay", ("-1", "nan")),
                ("--betas", ("0.9", "0.9,1")),
                *((option, ("nan",)) for option in (
                    "--momentum", "--clip-norm", "--clip-value",
                    "--label-smoothing", "--dropout", "--step-gamma",
                    "--min-lr", "--cycle-min-lr", "--cycle-max-momentum")),
                ("--dim", ("batch=0", "batch=-1", "batch=x", "=3", "batch=",
                           "batch=99999999999999999999"))):
            for value in values:
                options = [] if option in ("--micro-batch", "--dim") else [
                    "--micro-batch", "8"]
                self.unchanged("compile", MLP, "-o", "p", *options, option,
                               value, parts=[option])
        # Each number is possible alone; their product is not.
        self.unchanged("compile", MLP, "-o", "p", "--ranks", "65536",
                       "--accumulate", "1048576", "--micro-batch", "8",
                       parts=["samples"])
        self.unchanged("compile", MLP, "-o", "p", "--micro-batch",
                       str(1 << 40), parts=["2^46 elements"], lines=2)

    def test_more_ranks_than_samples(self):
        self.succeeds("compile", MLP, "-o", "wide", "--ranks", "700", "--zero",
                      "3", "--micro-batch", "1")
        self.unchanged("train", "wide", "--data", MLP_DATA,
                       parts=["holds 640 samples; a step takes 700"])


class Files(BadInput):

    def test_files_that_may_not_be_read(self):
        options = self.without_privileges()
        plan = self.compile_mlp()
        for name, source in (("m.onnx", MLP), ("d", MLP_DATA), ("p", plan)):
            shutil.copy(source, self.path(name))
            os.chmod(self.path(name), 0)
        for command in (["compile", "m.onnx", "-o", "q"],
                        ["train", plan, "--data", "d"],
                        ["train", "p", "--data", MLP_DATA],
                        ["train", plan, "--data", MLP_DATA, "--load-weights",
                         "d"],
                        ["verify", "p"], ["inspect", "p"]):
            self.unchanged(*command, parts=["Permission denied"], **options)

    def test_a_model_that_was_exported_again(self):
        shutil.copy(MLP, self.path("m.onnx"))
        self.succeeds("compile", "m.onnx", "-o", "p", "--micro-batch", "8")
        train = ["train", "p", "--data", MLP_DATA]
        self.succeeds(*train)
        with open(self.path("m.onnx"), "ab") as file:
            file.write(b"\x32\0")  # an empty comment: the graph is the same
        size = os.path.getsize(MLP)
        self.unchanged(*train, parts=[
            f"m.onnx has {size + 2} bytes, and had {size} when the plan was "
            "made", "compile again"])

    def log_is_lost(self, plan, path, why, *options, **environment):
        """The run goes on, says it once, and keeps its weights."""
        said = self.succeeds("train", plan, "--data", MLP_DATA, "--steps",
                             "1000", "--quiet", "--save-weights", "w", *options,
                             **environment).stderr
        self.assertRegex(said, f"^warning: {path}.*: cannot write: {why}[^\n]*"
                               "\n$")
        self.assertEqual(len(self.tensors("w")), 4)
        os.remove(self.path("w"))

    def test_a_log_that_cannot_be_written_any_more(self):
        plan = self.compile_mlp()
        for option in ("--log", "--trace"):
            self.log_is_lost(plan, "/dev/full", "No space left on device",
                             option, "/dev/full")
        # The weights have 37 kB, the events of 1000 steps more.
        self.log_is_lost(plan, "events/", "File too large", "--tensorboard",
                         "events", **limit_file_size(45000))


if __name__ == "__main__":
    main()
