"""Data that is wrong: one message, and nothing left behind."""

import os
import struct

from support import (Case, GPT, GPT_DATA, MLP_DATA, main, read_tensors, rows,
                     write_tensors)


class WrongData(Case):

    def setUp(self):
        super().setUp()
        self.plan = self.compile_mlp()  # 16 samples a step
        self.arrays = read_tensors(MLP_DATA)

    def train(self, arrays, *options, **expected):
        write_tensors(self.path("data.safetensors"), arrays)
        return self.refused("train", self.plan, "--data", "data.safetensors",
                            *options, **expected)

    def test_no_data(self):
        self.refused("train", self.plan, "--data", "no.safetensors",
                     parts=["no.safetensors", "No such file"])
        self.refused("train", self.plan, "--data", self.plan,
                     parts=["it is a plan of Zerograph"])
        self.refused("train", self.plan, "--data", GPT_DATA,
                     parts=["'x' is missing", "'labels' is I64 [160, 64]",
                            "it also has input_ids"])

    def test_other_types_and_shapes(self):
        dtype, shape, data = self.arrays["x"]
        # Both problems at once.
        self.train({"x": ("I32", shape, data),
                    "labels": ("I64", [shape[0] // 2, 2],
                               self.arrays["labels"][2])},
                   parts=["'x' is I32 [640, 64], expected F32 [samples, 64]",
                          "'labels' is I64 [320, 2], expected I64 [samples]"])
        self.train({"x": ("F32", [shape[0] * 2, 32], data),
                    "labels": self.arrays["labels"]},
                   parts=["F32 [1280, 32]", "expected F32 [samples, 64]"])
        self.train({"x": self.arrays["x"],
                    "labels": rows(self.arrays["labels"], 0, 639)},
                   parts=["639 samples", "640"])

    def test_dims_of_one_do_not_matter(self):
        """Labels of [samples, 1], as Keras has them."""
        logs = []
        for shape in ([640], [640, 1], [640, 1, 1]):
            arrays = dict(self.arrays)
            arrays["labels"] = ("I64", shape, arrays["labels"][2])
            write_tensors(self.path("data.safetensors"), arrays)
            self.succeeds("train", self.plan, "--data", "data.safetensors",
                          "--steps", "2", "--log", "log")
            logs.append(self.losses())
        self.assertEqual(logs[0], logs[1])
        self.assertEqual(logs[0], logs[2])

    def test_labels_out_of_range(self):
        for value, sample in ((10, 3), (-101, 21), (1 << 40, 100)):
            labels = bytearray(self.arrays["labels"][2])
            labels[8 * sample:8 * sample + 8] = struct.pack("<q", value)
            write_tensors(self.path("data.safetensors"), {
                "x": self.arrays["x"],
                "labels": ("I64", [640], bytes(labels))})
            result = self.run_program("train", self.plan, "--data",
                                      "data.safetensors", "--steps", "40",
                                      "--save-weights", "w", "--log", "log")
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stderr.count("\n"), 1)
            # Before the first step.
            for part in ("data.safetensors: input 'labels'",
                         f"value {value} in sample {sample}", "0 to 9"):
                self.assertIn(part, result.stderr)
            self.assertFalse(os.path.exists(self.path("w")))
            self.assertFalse(os.path.exists(self.path("log")))
            # Not of data that is not read.
            if sample >= 16:
                self.succeeds("train", self.plan, "--data", "data.safetensors",
                              "--steps", str(sample // 16))

    def test_an_index_that_counts_from_the_end_is_said(self):
        arrays = read_tensors(GPT_DATA)
        kind, shape, data = arrays["input_ids"]
        ids = bytearray(data)
        ids[8 * 64 * 3:8 * 64 * 3 + 8] = struct.pack("<q", -1)
        arrays["input_ids"] = (kind, shape, bytes(ids))
        write_tensors(self.path("data.safetensors"), arrays)
        run = ["train", GPT, "--micro-batch", "2", "--steps", "3"]
        for quiet in ([], ["--quiet"]):
            said = self.succeeds(*run, "--data", "data.safetensors",
                                 *quiet).stderr
            self.assertRegex(said, "(?m)^warning: .*input 'input_ids' has the "
                                   "value -1 in sample 3.*counts from the end")
        # Labels that are ignored are no such thing.
        self.assertNotIn("counts from the end",
                         self.succeeds(*run, "--data", GPT_DATA).stderr)

    def test_too_few_samples(self):
        self.train({n: rows(a, 0, 15) for n, a in self.arrays.items()},
                   parts=["holds 15 samples; a step takes 16 (2 ranks x 1 "
                          "micro-batches x 8 samples)"])

    def test_an_incomplete_step_is_dropped_and_said(self):
        write_tensors(self.path("data.safetensors"),
                      {n: rows(a, 0, 40) for n, a in self.arrays.items()})
        result = self.succeeds("train", self.plan, "--data",
                               "data.safetensors")
        self.assertIn("the last 8 samples are not used: a step takes 16",
                      result.stderr)

    def test_more_than_the_model_takes_is_said(self):
        write_tensors(self.path("data.safetensors"),
                      {**self.arrays, "y": self.arrays["labels"]})
        result = self.succeeds("train", self.plan, "--data",
                               "data.safetensors")
        self.assertIn("no input of the model: y", result.stderr)


if __name__ == "__main__":
    main()
