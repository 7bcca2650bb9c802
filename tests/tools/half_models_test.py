"""Models that were exported in bfloat16 or float16: they train as the same
models in float32 do with that precision, from the values that the file has."""

import math
import os
import random
import struct

from emulator import emulated
from onnx_bytes import (BFLOAT16, FLOAT, FLOAT16, INT64, model, node, pack,
                        tensor, value_info)
from support import Case, main, write_tensors

TYPES = {"bf16": (BFLOAT16, "BF16"), "fp16": (FLOAT16, "F16")}
SAMPLES = 32


def numbers(count, seed):
    """Of 5 bits, which every type has."""
    draw = random.Random(seed)
    return [draw.randrange(-31, 32) / 32 for _ in range(count)]


def constant(name, dims, values, dtype):
    return node(name, "Constant", [], [name]) + [
        (5, [(1, "value"), (20, 4), (5, tensor("", dims, values, dtype))])]


class HalfModels(Case):

    def write(self, name, dtype):
        """Two layers, with bounds and a mask of 16 bits between, casts to
        float32 and back, and a loss in float32."""
        to = {"to": dtype}
        weights = [tensor("fc1.weight", [4, 8], numbers(32, 1), dtype),
                   tensor("fc1.bias", [8], numbers(8, 2), dtype),
                   tensor("norm.weight", [8], [1.0] * 8, dtype),
                   tensor("norm.bias", [8], numbers(8, 3), dtype),
                   tensor("fc2.weight", [8, 3], numbers(24, 4), dtype)]
        constants = [constant("low", [], [-32768.0], dtype),
                     constant("high", [], [32768.0], dtype),
                     constant("never", [3], [0.0, 0.0, -math.inf], dtype)]
        nodes = [*constants,
                 node("cast_in", "Cast", ["x"], ["x0"], to),
                 node("fc1", "Gemm", ["x0", "fc1.weight", "fc1.bias"], ["h0"]),
                 node("wide", "Cast", ["h0"], ["h1"], {"to": FLOAT}),
                 node("act", "Tanh", ["h1"], ["h2"]),
                 node("narrow", "Cast", ["h2"], ["h3"], to),
                 node("clip", "Clip", ["h3", "low", "high"], ["h4"]),
                 node("norm", "LayerNormalization",
                      ["h4", "norm.weight", "norm.bias"], ["h5"]),
                 node("fc2", "MatMul", ["h5", "fc2.weight"], ["h6"]),
                 node("mask", "Add", ["h6", "never"], ["logits"]),
                 node("up", "Cast", ["logits"], ["scores"], {"to": FLOAT}),
                 node("loss", "SoftmaxCrossEntropyLoss", ["scores", "labels"],
                      ["loss"])]
        with open(self.path(name + ".onnx"), "wb") as file:
            file.write(model(nodes, weights,
                             [value_info("x", ["n", 4], dtype),
                              value_info("labels", ["n"], INT64)],
                             [value_info("loss", []),
                              value_info("logits", ["n", 3], dtype)]))
        written = {FLOAT: "F32", **dict(TYPES.values())}[dtype]
        write_tensors(self.path(name + ".data"), {
            "x": (written, [SAMPLES, 4], pack(numbers(SAMPLES * 4, 5), dtype)),
            "labels": ("I64", [SAMPLES],
                       pack([i % 2 for i in range(SAMPLES)], INT64))})

    def train(self, name, *options, out="w", rate="0.01", **environment):
        result = self.succeeds(
            "train", name + ".onnx", "--data", name + ".data", "--micro-batch",
            "4", "--lr", rate, "--steps", "3", "--save-weights", out,
            "--log", out + ".log", *options,
            **environment)
        losses = self.losses(out + ".log")
        return self.tensors(out), losses, result.stderr

    def test_they_train_as_models_of_float32_do(self):
        self.write("wide", FLOAT)
        for precision, (dtype, _) in TYPES.items():
            self.write("half", dtype)
            with self.subTest(precision=precision):
                weights, losses, said = self.train("half", "--accumulate", "2")
                self.assertIn("5 of 5 trained parameters have 16 bits", said)
                self.assertIn(f"note: --precision {precision}, in which the "
                              "model was exported", said)
                same = self.train("wide", "--accumulate", "2", "--precision",
                                  precision)
                self.assertEqual((weights, losses), same[:2])
                self.assertEqual({each[0] for each in weights.values()},
                                 {"F32"})
                for stage in "03":
                    parts = self.train("half", "--ranks", "2", "--zero", stage)
                    self.assertEqual((weights, losses), parts[:2])
                # An option wins.
                whole, _, said = self.train("half", "--precision", "fp32")
                self.assertNotIn("--precision", said)
                self.assertEqual(whole, self.train("wide")[0])
                self.assertNotEqual(whole, weights)

    def test_what_was_trained_is_taken_back(self):
        for precision, (dtype, written) in TYPES.items():
            self.write("half", dtype)
            with self.subTest(precision=precision):
                weights, _, _ = self.train("half")
                again = self.train("half", "--load-weights", "w", rate="0",
                                   out="again")
                self.assertEqual(again[0], weights)
                self.assertNotIn("rounded to the 16 bits", again[2])
                said = self.succeeds(
                    "run", "half.onnx", "--data", "half.data",
                    "--load-weights", "w", "-o", "out").stderr
                self.assertIn("w: rounded to the 16 bits that the model has: "
                              "fc1.weight", said)
                self.assertEqual(self.tensors("out")["logits"][0],
                                 written)

    def test_a_convolution_of_an_old_operator_set_runs(self):
        """Set 18, of onnx_bytes, has it of float16; exporters write bfloat16
        all the same."""
        for dtype, written in TYPES.values():
            self.put("conv.onnx", model(
                [node("conv", "Conv", ["x", "w"], ["y"])],
                [tensor("w", [1, 1, 2, 2], [1, 2, 3, 4], dtype)],
                [value_info("x", ["n", 1, 2, 2], dtype)],
                [value_info("y", ["n", 1, 1, 1], dtype)]))
            write_tensors(self.path("x"), {
                "x": (written, [2, 1, 2, 2], pack([1, 1, 1, 1, 0, 0, 0, 2],
                                                  dtype))})
            self.succeeds("run", "conv.onnx", "--data", "x", "-o", "y")
            self.assertEqual(self.tensors("y")["y"],
                             (written, [2, 1, 1, 1], pack([10, 8], dtype)))

    def test_options_of_a_precision_need_it_given(self):
        self.write("half", FLOAT16)
        scale = ["compile", "half.onnx", "-o", "p", "--micro-batch", "4",
                 "--loss-scale", "8"]
        self.refused(*scale, parts=["--loss-scale 8 needs --precision fp16, "
                                    "which is not given"])
        self.succeeds(*scale, "--precision", "fp16")

    def test_parameters_that_are_made_up(self):
        for dtype, _ in TYPES.values():
            self.write("half", dtype)
            self.succeeds("compile", "half.onnx", "-o", "p", "--micro-batch",
                          "4")
            os.remove(self.path("half.onnx"))
            said = self.succeeds("train", "p", "--data", "half.data",
                                 "--init-missing", "normal:0.1").stderr
            self.assertIn("5 parameters begin with made up values", said)

    def test_adapters_are_added_in_float32(self):
        for dtype, _ in TYPES.values():
            self.write("half", dtype)
            weights, _, _ = self.train("half", "--lora", "2:fc*.weight")
            first = struct.pack("<32f", *numbers(32, 1))
            self.assertEqual(weights["fc1.weight"][:2], ("F32", [4, 8]))
            self.assertNotEqual(weights["fc1.weight"][2], first)

    def test_a_gpu_has_the_hosts_bits(self):
        generated = ["--matmul", "generated"]
        for precision, (dtype, _) in TYPES.items():
            self.write("half", dtype)
            for ranks in [], ["--ranks", "2", "--zero", "3"]:
                with self.subTest(precision=precision, ranks=ranks):
                    host = self.train("half", *generated, *ranks)
                    gpu = self.train("half", *generated, *ranks, "--target",
                                     "cuda:emulated", **emulated())
                    self.assertEqual(host[:2], gpu[:2])
                    self.assertIn(f"--precision {precision}, in which the "
                                  "model was exported", gpu[2])


if __name__ == "__main__":
    main()
