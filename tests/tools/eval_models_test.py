"""What `--eval-data` computes: beside float64, and beside PyTorch."""

import json
import math
import os
import struct

from eval_test import Training
from onnx_bytes import INT64, model, node, tensor, value_info
from support import (GPT, GPT_DATA, MODELS, main, read_tensors, rows,
                     write_tensors)
from tensors import values_of

DROPOUT = os.path.join(MODELS, "gpt2-nano-dropout")
IGNORED = -100


def parts(samples, micro_batch):
    """[begin, end) of the blocks of an evaluation."""
    begin = 0
    while begin < samples:
        part = min(samples - begin, micro_batch)
        while micro_batch % part:
            part -= 1
        yield begin, begin + part
        begin += part


class Models(Training):
    WIDTH, HIDDEN, CLASSES = 3, 4, 5

    def network(self):
        """Two layers with BatchNorm and dropout between, and a loss that
        ignores labels."""
        value = iter(range(1, 1000))

        def weights(name, *dims):
            count = math.prod(dims)
            return tensor(name, list(dims), [
                math.sin(next(value) * 0.7) for _ in range(count)])

        hidden, classes = self.HIDDEN, self.CLASSES
        return model(
            [node("fc1", "Gemm", ["x", "w1", "b1"], ["h1"]),
             node("norm", "BatchNormalization",
                  ["h1", "scale", "shift", "mean", "var"],
                  ["h2", "mean_out", "var_out"], {"training_mode": 1}),
             node("relu", "Relu", ["h2"], ["h3"]),
             node("drop", "Dropout", ["h3", "ratio", "on"], ["h4"]),
             node("fc2", "Gemm", ["h4", "w2", "b2"], ["scores"]),
             node("loss", "SoftmaxCrossEntropyLoss", ["scores", "labels"],
                  ["loss"], {"ignore_index": IGNORED})],
            [weights("w1", self.WIDTH, hidden), weights("b1", hidden),
             tensor("scale", [hidden], [1.5, 0.5, 1, 2]),
             tensor("shift", [hidden], [0.1, 0.2, -0.1, 0]),
             tensor("mean", [hidden], [0.25, -1, 0, 0.5]),
             tensor("var", [hidden], [1, 3, 0.5, 2]),
             tensor("ratio", [], [0.5]),
             [(2, 9), (8, "on"), (9, b"\x01")],
             weights("w2", hidden, classes), weights("b2", classes)],
            [value_info("x", ["n", self.WIDTH]),
             value_info("labels", ["n"], INT64)], [value_info("loss", [])])

    def data(self, name, count, seed):
        x = [math.cos(seed + i * 1.3) * 2 for i in range(count * self.WIDTH)]
        labels = [(i * 7 + seed) % self.CLASSES if (i + seed) % 4 else IGNORED
                  for i in range(count)]
        write_tensors(self.path(name), {
            "x": ("F32", [count, self.WIDTH],
                  struct.pack("<%df" % len(x), *x)),
            "labels": ("I64", [count], struct.pack("<%dq" % count, *labels))})

    def losses(self, name):
        """Of each sample, None where its label is ignored, in float64."""
        weights = {n: values_of(a)
                   for n, a in self.tensors("w").items()}
        arrays = self.tensors(name)
        x, labels = values_of(arrays["x"]), values_of(arrays["labels"])

        def layer(row, w, b):
            columns = len(weights[b])
            return [weights[b][j] + sum(
                value * weights[w][i * columns + j]
                for i, value in enumerate(row)) for j in range(columns)]

        for i, label in enumerate(labels):
            row = layer(x[i * self.WIDTH:(i + 1) * self.WIDTH], "w1", "b1")
            row = [(h - mean) / math.sqrt(var + 1e-5) * scale + shift
                   for h, mean, var, scale, shift in zip(
                       row, *(weights[n] for n in
                              ("mean", "var", "scale", "shift")))]
            scores = layer([max(h, 0) for h in row], "w2", "b2")
            yield None if label == IGNORED else math.log(
                sum(math.exp(s) for s in scores)) - scores[label]

    def test_a_network_in_float64(self):
        """After steps that moved its weights and running statistics."""
        self.put("m.onnx", self.network())
        self.data("d", 24, 1)
        self.data("e", 14, 2)  # 3 micro-batches of 4, and 2 samples
        for steps in (1, 5):
            records, _ = self.train(
                "--lr", "0.1", "--steps", str(steps), "--eval-data", "e",
                model="m.onnx",
                compile=["--micro-batch", "4", "--optimizer", "sgd"])
            losses = list(self.losses("e"))
            mean = 0
            for begin, end in parts(14, 4):
                part = [x for x in losses[begin:end] if x is not None]
                mean += sum(part) / len(part) * (end - begin) / 14
            found = records[-1]["eval_loss"]
            self.assertAlmostEqual(found, mean, delta=2e-6 * mean)
            self.assertNotAlmostEqual(found, records[-1]["loss"], places=3)

    def test_nothing_drops_out(self):
        """PyTorch's loss of the model with all its dropouts at 0."""
        with open(os.path.join(DROPOUT, "reference.json")) as file:
            reference = json.load(file)["loss_of_step_0_with_p_0"]["fp64"]
        data = os.path.join(DROPOUT, "batches.safetensors")
        samples = next(iter(read_tensors(data).values()))[1][0] // 20
        self.write("e", 0, samples, data)
        found = set()
        for options in (["--zero", "0"], ["--ranks", "2", "--zero", "3"],
                        ["--dropout", "0.4"]):
            records, _ = self.train(
                "--lr", "0", "--steps", "1", "--eval-data", "e", *options,
                model=os.path.join(DROPOUT, "model.onnx"), data=data,
                compile=["--micro-batch", "1", "--optimizer", "sgd"])
            self.assertLess(abs(records[0]["eval_loss"] - reference), 1e-5)
            self.assertNotEqual(records[0]["eval_loss"], records[0]["loss"])
            found.add(records[0]["eval_loss"])
        self.assertEqual(len(found), 1)

    def test_precision(self):
        """The products of an evaluation are rounded as those of training."""
        arrays = read_tensors(GPT_DATA)
        samples = {n: rows(a, 0, 8) for n, a in arrays.items()}
        write_tensors(self.path("e"), samples)
        for options in (["--ranks", "1"], ["--ranks", "2", "--zero", "3"]):
            gpt = ["--micro-batch", "4", "--precision", "bf16"]
            expected, _ = self.train("--lr", "0", "--accumulate", "2", model=GPT,
                                     data="e", compile=gpt)
            records, _ = self.train("--lr", "0", "--steps", "1", "--eval-data",
                                    "e", *options, model=GPT, data="e",
                                    compile=gpt)
            self.assertAlmostEqual(records[0]["eval_loss"],
                                   expected[0]["loss"], delta=1e-6)

    def test_statistics_that_nothing_keeps(self):
        """The graph makes them of two tensors, of which none is moved."""
        self.put("m.onnx", model(
            [node("made", "Add", ["mean", "x0"], ["mean1"]),
             node("norm", "BatchNormalization",
                  ["x", "scale", "shift", "mean1", "var"],
                  ["y", "mean_out", "var_out"], {"training_mode": 1}),
             node("weigh", "Mul", ["y", "w"], ["z"]),
             node("loss", "ReduceMean", ["z"], ["loss"],
                  {"keepdims": 0})],
            [tensor("scale", [2], [1.5, 0.5]),
             tensor("shift", [2], [1, 2]), tensor("mean", [2], [0, 0]),
             tensor("x0", [2], [1, 2]), tensor("var", [2], [1, 3]),
             tensor("w", [2], [3, 4])],
            [value_info("x", ["n", 2])], [value_info("loss", [])]))
        write_tensors(self.path("d"), {
            "x": ("F32", [4, 2], struct.pack("<8f", *range(8)))})
        train = ["train", "m.onnx", "--data", "d", "--micro-batch", "2"]
        self.succeeds(*train)
        self.refused(*train, "--eval-data", "d", lines=0, parts=[
            "for its evaluation", "node 'norm'", "running statistics"])


if __name__ == "__main__":
    main()
