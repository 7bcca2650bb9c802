"""`run`: a model forward over data."""

import json
import os
import struct

from support import (Case, GPT, GPT_DATA, MLP, MLP_DATA, MODELS, main,
                     read_tensors, rows, write_tensors)


class Run(Case):

    def first_loss(self, *arguments):
        self.succeeds("train", *arguments, "--log", "log")
        with open(self.path("log")) as file:
            return json.loads(file.readline())["loss"]

    def test_the_loss_is_that_of_training(self):
        data = {name: rows(tensor, 0, 8)
                for name, tensor in read_tensors(MLP_DATA).items()}
        write_tensors(self.path("data"), data)
        result = self.succeeds("run", MLP, "--data", "data", "-o", "out")
        self.assertIn("8 samples in 1 runs; outputs in out", result.stdout)
        dtype, shape, value = read_tensors(self.path("out"))["loss"]
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
        after, before = (read_tensors(self.path(name))["loss"]
                         for name in ("out", "before"))
        with open(self.path("log")) as file:
            first = json.loads(file.readline())["loss"]
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
        value = read_tensors(self.path("out"))["loss"][2]
        self.assertEqual(struct.unpack("<f", value[:4])[0],
                         self.first_loss(*arguments, "--load-weights", "w"))

    def test_sizes_of_samples(self):
        for options, count in ((["--dim", "batch=5"], 5),
                               (["--micro-batch", "4"], 4), ([], 32)):
            result = self.succeeds("run", MLP, "--data", MLP_DATA, "-o", "out",
                                   *options)
            samples = read_tensors(MLP_DATA)["x"][1][0]
            self.assertIn(f" in {samples // count} runs", result.stdout)

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
