"""A classifier whose last layer has a bias, as most have: in 16 bits its
gradients are those of the probabilities that its loss is computed from."""

import math
import random
import struct

from onnx_bytes import FLOAT, INT64, model, node, pack, tensor, value_info
from support import Case, main, write_tensors

SAMPLES, INPUTS, CLASSES = 64, 16, 8


def numbers(count, seed):
    """Of 5 bits, which every type has; one to five in size."""
    draw = random.Random(seed)
    return [draw.randrange(-31, 32) / 8 for _ in range(count)]


class HalfHead(Case):

    def setUp(self):
        super().setUp()
        self.x = numbers(SAMPLES * INPUTS, 1)
        self.weight = numbers(INPUTS * CLASSES, 2)
        self.bias = numbers(CLASSES, 3)
        with open(self.path("model.onnx"), "wb") as file:
            file.write(model(
                [node("fc", "Gemm", ["x", "weight", "bias"], ["logits"]),
                 node("loss", "SoftmaxCrossEntropyLoss", ["logits", "labels"],
                      ["loss"])],
                [tensor("weight", [INPUTS, CLASSES], self.weight, FLOAT),
                 tensor("bias", [CLASSES], self.bias, FLOAT)],
                [value_info("x", ["n", INPUTS], FLOAT),
                 value_info("labels", ["n"], INT64)],
                [value_info("loss", [])]))
        logits = [[self.bias[c] + sum(
            self.x[n * INPUTS + i] * self.weight[i * CLASSES + c]
            for i in range(INPUTS)) for c in range(CLASSES)]
            for n in range(SAMPLES)]
        # Every other sample has the class that the model is sure of.
        self.labels = [row.index(max(row)) if n % 2 else n % CLASSES
                       for n, row in enumerate(logits)]
        self.logits = logits
        write_tensors(self.path("data"), {
            "x": ("F32", [SAMPLES, INPUTS], pack(self.x, FLOAT)),
            "labels": ("I64", [SAMPLES], pack(self.labels, INT64))})

    def gradients(self, precision):
        """Of the bias, by Zerograph."""
        self.succeeds("train", "model.onnx", "--data", "data", "--micro-batch",
                      str(SAMPLES), "--precision", precision, "--lr", "0",
                      "--dump-gradients", "g")
        return struct.unpack(f"<{CLASSES}f",
                             self.tensors("g")["bias"][2])

    def expected(self, digits):
        """The same in float64, of logits rounded to so many bits."""
        bias = [0.0] * CLASSES
        for row, label in zip(self.logits, self.labels):
            row = [round(math.ldexp(m, digits)) * 2.0 ** (e - digits)
                   for m, e in map(math.frexp, row)]
            terms = [math.exp(value - max(row)) for value in row]
            for c, term in enumerate(terms):
                bias[c] += (term / sum(terms) - (c == label)) / SAMPLES
        return bias

    def test_probabilities_add_up(self):
        for precision, digits, near in (("fp32", 24, 1e-6), ("bf16", 8, 2e-3),
                                        ("fp16", 11, 2e-4)):
            with self.subTest(precision=precision):
                bias = self.gradients(precision)
                self.assertLess(abs(sum(bias)), 1e-6)
                for ours, theirs in zip(bias, self.expected(digits)):
                    self.assertAlmostEqual(ours, theirs, delta=near)


if __name__ == "__main__":
    main()
