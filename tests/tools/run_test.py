"""`run`: a model forward over data."""

import math
import os
import struct

from onnx_bytes import FLOAT, INT64, model, node, pack, tensor, value_info
from support import (Case, GPT, GPT_DATA, MLP, MLP_DATA, MODELS, main,
                     read_tensors, rows, write_tensors)


class Run(Case):

    def first_loss(self, *arguments):
        self.succeeds("train", *arguments, "--log", "log")
        return self.records()[0]["loss"]

    def test_the_loss_is_that_of_training(self):
        data = {name: rows(tensor, 0, 8)
                for name, tensor in read_tensors(MLP_DATA).items()}
        write_tensors(self.path("data"), data)
        result = self.succeeds("run", MLP, "--data", "data", "-o", "out")
        self.assertIn("8 samples in 1 runs; outputs in out", result.stdout)
        dtype, shape, value = self.tensors("out")["loss"]
        self.assertEqual((dtype, shape), ("F32", []))
        self.assertEqual(struct.unpack("<f", value)[0],
                         self.first_loss(MLP, "--data", "data",
                                         "--micro-batch", "8"))

    def test_trained_weights(self):
        self.succeeds("train", GPT, "--data", GPT_DATA, "--micro-batch", "2",
                      "--steps", "3", "--save-weights", "w", "--log", "log")
        self.succeeds("run", GPT, "--data", GPT_DATA, "--micro-batch", "2",
                      "--load-weights", "w", "-o", "out")
        self.succeeds("run", GPT, "--data", GPT_DATA, "--micro-batch", "2",
                      "-o", "before")
        after, before = (self.tensors(name)["loss"]
                         for name in ("out", "before"))
        first = self.records()[0]["loss"]
        self.assertEqual(struct.unpack("<f", before[2][:4])[0], first)
        self.assertLess(struct.unpack("<f", after[2][:4])[0], first)
        # One loss a run.
        self.assertEqual(after[1], [len(after[2]) // 4])

    def test_trained_weights_of_a_file_without_metadata(self):
        folder = os.path.join(MODELS, "resnet-mini")
        model = os.path.join(folder, "model_ts.onnx")
        data = os.path.join(folder, "batches.safetensors")
        arguments = [model, "--data", data, "--micro-batch", "32"]
        self.succeeds("train", *arguments, "--steps", "3", "--save-weights",
                      "w")
        self.succeeds("run", *arguments, "--load-weights", "w", "-o", "out")
        value = self.tensors("out")["loss"][2]
        self.assertEqual(struct.unpack("<f", value[:4])[0],
                         self.first_loss(*arguments, "--load-weights", "w"))

    def test_sizes_of_samples(self):
        for options, count in ((["--dim", "batch=5"], 5),
                               (["--micro-batch", "4"], 4), ([], 32)):
            result = self.succeeds("run", MLP, "--data", MLP_DATA, "-o", "out",
                                   *options)
            samples = read_tensors(MLP_DATA)["x"][1][0]
            self.assertIn(f" in {samples // count} runs", result.stdout)

    def write_attention(self, over):
        """y = softmax(x x') x, over the samples or within each, and data."""
        samples = over == "samples"
        dims = ["batch", 3] if samples else ["batch", 2, 3]
        self.put("model.onnx", model(
            [node("t", "Transpose", ["x"], ["xt"]) if samples else
             node("t", "Einsum", ["x"], ["xt"], texts={
                 "equation": "bij->bji"}),
             node("scores", "MatMul", ["x", "xt"], ["s"]),
             node("attend", "Softmax", ["s"], ["p"]),
             node("mix", "MatMul", ["p", "x"], ["y"])],
            [], [value_info("x", dims)], [value_info("y", dims)]))
        count = 40 * (3 if samples else 6)
        values = [(i * 37 % 101) / 101 for i in range(count)]
        write_tensors(self.path("data"), {
            "x": ("F32", [40] + dims[1:], pack(values, FLOAT))})
        return values

    def outputs(self):
        value = self.tensors("out")["y"][2]
        return struct.unpack("<%df" % (len(value) // 4), value)

    def test_samples_that_depend_on_others_are_one_run(self):
        values = self.write_attention("samples")
        rows = [values[i:i + 3] for i in range(0, len(values), 3)]
        expected = []
        for row in rows:
            weights = [math.exp(sum(a * b for a, b in zip(row, other)))
                       for other in rows]
            expected += [sum(w * other[k] for w, other in zip(weights, rows)) /
                         sum(weights) for k in range(3)]
        run = ["run", "model.onnx", "--data", "data", "-o", "out"]
        result = self.succeeds(*run)
        self.assertIn("40 samples in 1 runs", result.stdout)
        self.assertIn("all 40 samples are one run: each depends on others "
                      "(output 'y', through node 'scores' (nn.matmul))",
                      result.stderr)
        whole = self.outputs()
        for a, b in zip(whole, expected, strict=True):
            self.assertAlmostEqual(a, b, delta=1e-6)
        # Whoever asks for runs gets them, and is told.
        for options in (["--micro-batch", "8"], ["--dim", "batch=8"],
                        ["--micro-batch", "1"]):
            result = self.succeeds(*run, *options)
            self.assertIn(f"a run has {options[-1][-1]} of the 40 samples, and "
                          "each depends on others", result.stderr)
            self.assertNotEqual(self.outputs(), whole)
        result = self.succeeds(*run, "--micro-batch", "40")
        self.assertNotIn("depends", result.stderr)
        self.assertEqual(self.outputs(), whole)

    def test_samples_that_do_not_are_several(self):
        self.write_attention("positions")
        run = ["run", "model.onnx", "--data", "data", "-o", "out"]
        result = self.succeeds(*run)
        self.assertIn("40 samples in 2 runs", result.stdout)
        self.assertNotIn("depends", result.stderr)
        values = self.outputs()
        self.succeeds(*run, "--micro-batch", "40")
        self.assertEqual(self.outputs(), values)

    def test_a_row_of_each_sample_is_its_own(self):
        """x[arange(batch), i], as of the last token of each."""
        with open(self.path("model.onnx"), "wb") as file:
            file.write(model(
                [node("shape", "Shape", ["x"], ["sizes"]),
                 node("batch", "Gather", ["sizes", "zero"], ["n"]),
                 node("range", "Range", ["zero", "n", "one"], ["b"]),
                 node("b1", "Unsqueeze", ["b", "last"], ["b1"]),
                 node("i1", "Unsqueeze", ["i", "last"], ["i1"]),
                 node("at", "Concat", ["b1", "i1"], ["at"], {"axis": 1}),
                 node("pick", "GatherND", ["x", "at"], ["y"])],
                [tensor("zero", [], [0], INT64), tensor("one", [], [1], INT64),
                 tensor("last", [1], [1], INT64)],
                [value_info("x", ["batch", 4, 2]),
                 value_info("i", ["batch"], INT64)],
                [value_info("y", ["batch", 2])]))
        x = [float(i) for i in range(320)]
        at = [i * 7 % 4 for i in range(40)]
        write_tensors(self.path("data"), {
            "x": ("F32", [40, 4, 2], pack(x, FLOAT)),
            "i": ("I64", [40], pack(at, INT64))})
        result = self.succeeds("run", "model.onnx", "--data", "data", "-o",
                               "out")
        self.assertIn("40 samples in 2 runs", result.stdout)
        self.assertEqual(list(self.outputs()), [
            x[n * 8 + i * 2 + k] for n, i in enumerate(at) for k in range(2)])

    def test_refusals(self):
        self.refused("run", MLP, "--data", MLP_DATA, parts=["--output"])
        self.refused("run", MLP, "--data", "none", "-o", "out",
                     parts=["none"])
        self.refused("run", "none.onnx", "--data", MLP_DATA, "-o", "out",
                     parts=["none.onnx: cannot open"])
        write_tensors(self.path("data"), read_tensors(MLP_DATA))
        self.refused("run", MLP, "--data", "data", "-o", "data", lines=0,
                     parts=["--output", "--data"])
        self.refused("run", MLP, "--data", "data", "-o", "no/out", lines=0,
                     parts=["no/out"])
        self.refused("run", MLP, "--data", "data", "-o", "out", "--ranks", "2",
                     parts=["--ranks"])
        self.refused("run", MLP, "--data", "data", "-o", "out", "--seed", "-1",
                     parts=["--seed"])
        self.refused("run", MLP, "--data", "data", "-o", "out", "--dropout",
                     "1", parts=["--dropout"])
        self.assertEqual(os.listdir(self.folder), ["data"])


if __name__ == "__main__":
    main()
