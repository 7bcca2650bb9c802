"""What the exporter writes where two inputs were one tensor."""

import struct

from bad_input_test import BadInput
from onnx_bytes import FLOAT, INT64, model, node, tensor, value_info
from support import main, write_tensors


def classifier(inputs, nodes, classes=3):
    """Scores of `classes` by a table, and their loss."""
    return model(nodes, [tensor("table", [5, classes], range(5 * classes))],
                 [value_info(name, ["n"], INT64) for name in inputs],
                 [value_info("loss", [])])


class OneTensorForTwoInputs(BadInput):
    """What the exporter writes where ids and labels are one tensor."""

    def setUp(self):
        super().setUp()
        values = struct.pack("<4q", 0, 1, 2, 1)
        write_tensors(self.path("d"), {"ids": ("I64", [4], values),
                                       "labels": ("I64", [4], values),
                                       "types": ("I64", [4], values)})
        self.train = ["train", "m.onnx", "--data", "d", "--micro-batch", "2"]

    def write_model(self, inputs, looked_up, labels, more=()):
        self.put("m.onnx", classifier(inputs, [
            *more, node("look", "Gather", ["table", looked_up], ["scores"]),
            node("loss", "SoftmaxCrossEntropyLoss", ["scores", labels],
                 ["loss"])]))

    def write_regression(self, inputs, nodes, more=()):
        """y = x @ w, compared by `nodes`."""
        self.put("m.onnx", model(
            [node("product", "MatMul", ["x", "w"], ["y"]), *nodes,
             node("mean", "ReduceMean", ["each"], ["loss"], {"keepdims": 0})],
            [tensor("w", [4, 4], range(16))],
            [value_info(name, ("n", 4)) for name in inputs],
            [value_info("loss", []), *more]))
        values = struct.pack("<16f", *range(16))
        write_tensors(self.path("d"), {"x": ("F32", [4, 4], values),
                                       "t": ("F32", [4, 4], values)})

    def test_numbers_that_are_compared(self):
        """MSE, L1 and binary cross entropy."""
        def square(a, b):
            return [node("minus", "Sub", [a, b], ["difference"]),
                    node("square", "Mul", ["difference", "difference"],
                         ["each"])]

        def distance(a, b):
            return [node("minus", "Sub", [a, b], ["difference"]),
                    node("abs", "Abs", ["difference"], ["each"])]

        def entropy(a, b):
            return [node("log", "Log", ["y"], ["logs"]),
                    node("minus", "Mul", [b, "logs"], ["each"])]

        for loss in (square, distance, entropy):
            for a, b in (("y", "x"), ("x", "y")):
                if loss is entropy and a == "x":
                    continue
                with self.subTest(loss=loss.__name__, a=a):
                    self.write_regression(["x", "t"], loss(a, b))
                    self.unchanged(*self.train, parts=[
                        "inputs 't' and 'x' were one tensor", "node 'minus'",
                        "nothing reads 't'. Export again"])
                    # A user who learns to repeat its input has no other one.
                    self.write_regression(["x"], loss(a, b))
                    self.succeeds(*self.train, "--steps", "1")
        # A mask of integers, which the loss multiplies by too.
        self.put("m.onnx", model(
            [node("keep", "Cast", ["m"], ["kept"], {"to": FLOAT}),
             node("in", "Mul", ["x", "kept"], ["masked"]),
             node("product", "MatMul", ["masked", "w"], ["y"]),
             node("each", "Mul", ["y", "kept"], ["each"]),
             node("mean", "ReduceMean", ["each"], ["loss"], {"keepdims": 0})],
            [tensor("w", [4, 4], range(16))],
            [value_info("x", ("n", 4)), value_info("m", ("n", 4), INT64),
             value_info("types", ("n", 4), INT64)], [value_info("loss", [])]))
        values = struct.pack("<16q", *[1] * 16)
        write_tensors(self.path("d"), {
            "x": ("F32", [4, 4], struct.pack("<16f", *range(16))),
            "m": ("I64", [4, 4], values), "types": ("I64", [4, 4], values)})
        self.succeeds(*self.train, "--steps", "1")
        # Labels that are read; and an input that only a norm subtracts.
        self.write_regression(["x", "t"], square("y", "t"))
        self.succeeds(*self.train, "--steps", "1")
        self.write_regression(["x", "t"], [
            node("centre", "Tanh", ["x"], ["m"]),
            node("minus", "Sub", ["x", "m"], ["moved"]),
            node("times", "Mul", ["moved", "y"], ["each"])])
        self.succeeds(*self.train, "--steps", "1")

    def test_a_difference_of_one_value(self):
        self.write_regression(["x"], [
            node("minus", "Sub", ["y"], ["difference"]),
            node("abs", "Abs", ["difference"], ["each"])])
        self.unchanged(*self.train, lines=2, parts=[
            "node 'minus' (Sub): the node is malformed"])

    def test_a_value_that_is_compared_with_itself(self):
        self.write_regression(["x"], [
            node("minus", "Sub", ["y", "y"], ["difference"]),
            node("abs", "Abs", ["difference"], ["each"])])
        self.unchanged(*self.train, parts=[
            "node 'minus' (Sub) compares 'y' with itself"])
        said = self.succeeds(*self.train, "--steps", "1",
                             "--allow-exporter-damage").stderr
        self.assertIn("compares 'y' with itself", said)
        self.write_regression(["x"], [
            node("abs", "Abs", ["y"], ["each"]),
            node("copy", "Identity", ["x"], ["z"])], [value_info("z", ("n", 4))])
        self.unchanged(*self.train, "--loss", "mse", "--loss-on", "z",
                       "--labels", "x", parts=["nothing to train", "'z'"])

    def test_it_is_refused(self):
        for more in ((), [node("size", "Shape", ["ids"], ["unused"])]):
            self.write_model(["ids", "labels"], "labels", "labels", more)
            self.unchanged(*self.train, parts=[
                "inputs 'ids' and 'labels' were one tensor", "node 'loss'",
                "ids.clone()", "--allow-exporter-damage"])
            said = self.succeeds(*self.train, "--allow-exporter-damage").stderr
            self.assertIn("warning: inputs 'ids' and 'labels' were one", said)

    def test_what_is_meant(self):
        self.write_model(["ids", "labels"], "ids", "labels")
        self.succeeds(*self.train)
        # One input for both, by the model's own will; and one that is not read.
        self.write_model(["ids"], "ids", "ids")
        self.succeeds(*self.train)
        self.write_model(["ids", "labels", "types"], "ids", "labels")
        self.succeeds(*self.train)


if __name__ == "__main__":
    main()
