"""Attention with trained relative positions, as T5 has them: two layers add one
bias, which a table gives, and a mask. Scores are stored nowhere, and gradients
are those of products and a softmax."""

import json
import random

from emulator import emulated
from onnx_bytes import INT64, model, node, tensor, value_info
from support import Case, main, write_tensors
from tensors import tensor_of, values_of

SAMPLES, TOKENS, HEADS, SIZE, BUCKETS = 4, 70, 2, 8, 12
WIDTH = HEADS * SIZE


def numbers(count, seed, most=1):
    draw = random.Random(seed)
    return [draw.uniform(-most, most) for _ in range(count)]


def layer(number, x):
    """Returns nodes that make `x` a layer further, and their weights."""
    prefix = f"{number}."
    nodes, weights = [], []
    for seed, name in enumerate("qkvo"):
        weights.append(tensor(prefix + name, [WIDTH, WIDTH], numbers(
            WIDTH * WIDTH, 10 * number + seed, 0.4)))
    for name in "qkv":
        own = prefix + name
        order = [0, 2, 3, 1] if name == "k" else [0, 2, 1, 3]
        nodes += [node(own + "_rows", "MatMul", [x, own], [own + "_rows"]),
                  node(own + "_split", "Reshape", [own + "_rows", "split"],
                       [own + "_split"]),
                  node(own + "_heads", "Transpose", [own + "_split"],
                       [own + "_heads"], lists={"perm": order})]
    chain = [("scores", "MatMul", ["q_heads", "k_heads"], {}),
             ("biased", "Add", ["scores", "/position_bias"], {}),
             ("weights", "Softmax", ["biased"], {"ints": {"axis": 3}}),
             ("dropped", "Dropout", ["weights", "/ratio", "/training"], {}),
             ("mixed", "MatMul", ["dropped", "v_heads"], {}),
             ("turned", "Transpose", ["mixed"],
              {"lists": {"perm": [0, 2, 1, 3]}}),
             ("merged", "Reshape", ["turned", "/merge"], {}),
             ("out", "MatMul", ["merged", "o"], {}),
             ("x", "Add", ["out", "/" + x], {})]
    for name, op, inputs, attributes in chain:
        nodes.append(node(prefix + name, op,
                          [each[1:] if each[0] == "/" else prefix + each
                           for each in inputs], [prefix + name], **attributes))
    return nodes, weights


class PositionBias(Case):

    def setUp(self):
        super().setUp()
        places = [max(-BUCKETS // 2, min(BUCKETS // 2 - 1, j - i)) +
                  BUCKETS // 2 for i in range(TOKENS) for j in range(TOKENS)]
        nodes = [node("positions", "Gather", ["table", "places"], ["by_place"]),
                 node("heads", "Transpose", ["by_place"], ["by_head"],
                      lists={"perm": [2, 0, 1]}),
                 node("once", "Unsqueeze", ["by_head", "front"], ["once"]),
                 node("seen", "Unsqueeze", ["mask", "middle"], ["seen"]),
                 node("position_bias", "Add", ["once", "seen"],
                      ["position_bias"])]
        weights = [tensor("table", [BUCKETS, HEADS],
                          numbers(BUCKETS * HEADS, 5)),
                   tensor("places", [TOKENS, TOKENS], places, INT64),
                   tensor("front", [1], [0], INT64),
                   tensor("middle", [2], [1, 2], INT64),
                   tensor("split", [4], [0, TOKENS, HEADS, SIZE], INT64),
                   tensor("merge", [3], [0, TOKENS, WIDTH], INT64),
                   tensor("ratio", [], [0.25]),
                   [(2, 9), (8, "training"), (9, b"\x01")]]
        x = "x"
        for number in range(2):
            more, own = layer(number, x)
            nodes += more
            weights += own
            x = f"{number}.x"
        nodes.append(node("last", "Identity", [x], ["y"]))
        self.put("model.onnx", model(
            nodes, weights,
            [value_info("x", ["n", TOKENS, WIDTH]),
             value_info("mask", ["n", TOKENS])],
            [value_info("y", ["n", TOKENS, WIDTH])]))
        count = SAMPLES * TOKENS
        # Sample n does not see its last n tokens.
        mask = [-1e9 if token >= TOKENS - sample else 0
                for sample in range(SAMPLES) for token in range(TOKENS)]
        write_tensors(self.path("data"), {
            "x": tensor_of("F32", [SAMPLES, TOKENS, WIDTH],
                           numbers(count * WIDTH, 6)),
            "mask": tensor_of("F32", [SAMPLES, TOKENS], mask),
            "labels": tensor_of("F32", [SAMPLES, TOKENS, WIDTH],
                                numbers(count * WIDTH, 7))})

    def gradients(self, *options, **environment):
        self.succeeds("train", "model.onnx", "--data", "data", "--loss", "mse",
                      "--steps", "1", "--dump-gradients", "g", *options,
                      **environment)
        return self.tensors("g")

    def assert_near(self, found, expected, most):
        self.assertEqual(found.keys(), expected.keys())
        self.assertIn("table", found)
        for name, tensor in expected.items():
            near = values_of(tensor)
            least = most * max(map(abs, near)) + 1e-7
            for a, b in zip(values_of(found[name]), near, strict=True):
                self.assertLess(abs(a - b), least, name)

    def test_gradients_are_those_of_products(self):
        for samples in "4", "1":
            options = ["--micro-batch", samples]
            self.assert_near(
                self.gradients(*options),
                self.gradients(*options, "--attention", "products"), 1e-5)

    def test_a_gpu_has_the_same_bits(self):
        options = ["--micro-batch", "4"]
        host = self.gradients(*options)
        self.assertEqual(self.gradients(
            *options, "--target", "cuda:emulated", "--matmul", "generated",
            **emulated()), host)

    def test_tensor_cores_are_near(self):
        options = ["--micro-batch", "2", "--accumulate", "2", "--precision",
                   "bf16"]
        self.assert_near(
            self.gradients(*options, "--target", "cuda:emulated",
                           **emulated()),
            self.gradients(*options), 5e-2)

    def test_ranks_have_the_bits_of_micro_batches(self):
        one = self.gradients("--micro-batch", "1", "--accumulate", "4")
        self.assertEqual(self.gradients("--micro-batch", "1", "--accumulate",
                                        "2", "--ranks", "2", "--zero", "3"),
                         one)

    def test_scores_are_stored_nowhere(self):
        self.succeeds("compile", "model.onnx", "-o", "x.zgplan",
                      "--micro-batch", "4", "--loss", "mse")
        plan = json.loads(self.succeeds("inspect", "x.zgplan", "--json").stdout)
        self.assertEqual(plan["costs"]["unfused"], [])


if __name__ == "__main__":
    main()
