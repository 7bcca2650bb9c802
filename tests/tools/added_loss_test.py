"""--loss: a loss for a model without one is PyTorch's, and trains as one that
was exported with the model."""

import math
import os

from onnx_bytes import DOUBLE, INT64, model, node, tensor, value_info
from support import (Case, GPT, MLP, MODELS, main, read_tensors,
                     write_tensors)
from tensors import flat, tensor_of, values_of

FOLDER = os.path.join(MODELS, "added_loss")


def shape_of(values):
    return [len(values), *shape_of(values[0])] if isinstance(values, list) else []


class AddedLoss(Case):

    def write_scores(self, case, labels=None):
        """A model of scores x + z, data in which x is 0, and the labels."""
        shape = shape_of(case["z"])
        z, numbers = flat(case["z"]), flat(case["labels"])
        self.put("scores.onnx", model(
            [node("add", "Add", ["x", "z"], ["scores"])],
            [tensor("z", shape, z, DOUBLE)],
            [value_info("x", shape, DOUBLE)],
            [value_info("scores", shape, DOUBLE)]))
        of_classes = all(isinstance(number, int) for number in numbers)
        write_tensors(self.path("data.safetensors"), {
            "x": ("F64", shape, bytes(8 * len(z))),
            "labels": labels or tensor_of("I64" if of_classes else "F64",
                                          shape_of(case["labels"]), numbers)})

    def train(self, *options):
        return self.succeeds(
            "train", "scores.onnx", "--data", "data.safetensors", "--steps",
            "1", "--optimizer", "sgd", "--log", "log.jsonl",
            "--dump-gradients", "gradients.safetensors", *options)

    def near(self, wanted):
        """The gradients of z, in float64."""
        z = self.tensors("gradients.safetensors")["z"]
        self.assertEqual(z[0], "F64")
        for a, b in zip(values_of(z), wanted, strict=True):
            self.assertTrue(math.isclose(a, b, rel_tol=1e-10, abs_tol=1e-13),
                            (a, b))

    def loss(self):
        return self.records("log.jsonl")[0]["loss"]

    def test_every_loss_is_pytorchs(self):
        cases = self.json(os.path.join(FOLDER, "reference.json"))
        self.assertGreaterEqual(len(cases), 16)
        for case in cases:
            with self.subTest(case["options"]):
                self.write_scores(case)
                self.train("--loss", *case["options"])
                self.assertAlmostEqual(self.loss(), case["loss"], delta=1e-12)
                self.near(flat(case["gradient"]))

    def test_the_dims_may_be_in_any_order(self):
        """The losses and gradients of PyTorch, of scores that have samples or
        classes elsewhere."""
        cases = self.json(os.path.join(FOLDER, "reference.json"))
        orders = {"time,batch,classes": (1, 0, 2),
                  "batch,classes,length": (0, 2, 1),
                  "classes,length,batch": (2, 1, 0)}
        tried = 0
        for case in cases:
            shape = shape_of(case["z"])
            if len(shape) != 3:
                continue
            for names, order in orders.items():
                with self.subTest((case["options"], names)):
                    self.write_dims(case, order, names.split(","))
                    self.train("--loss", *case["options"], "--micro-batch",
                               str(shape[0]), "--loss-dims", names)
                    self.assertAlmostEqual(self.loss(), case["loss"],
                                           delta=1e-12)
                    self.near(self.moved(case["gradient"], order))
                    tried += 1
        self.assertGreaterEqual(tried, 6)

    @staticmethod
    def moved(values, order):
        """The elements of three dims, in another order."""
        shape = shape_of(values)
        sizes = [shape[dim] for dim in order]
        result = []
        for a in range(sizes[0]):
            for b in range(sizes[1]):
                for c in range(sizes[2]):
                    at = [0, 0, 0]
                    for dim, place in zip(order, (a, b, c)):
                        at[dim] = place
                    result.append(values[at[0]][at[1]][at[2]])
        return result

    def write_dims(self, case, order, names):
        """As write_scores, of samples x, one number each, that are added to
        z of other dims."""
        shape = shape_of(case["z"])
        sizes = [shape[dim] for dim in order]
        # [batch, 1, 1] -> as z has it.
        perm = {0: [0, 1, 2], 1: [1, 0, 2], 2: [1, 2, 0]}[order.index(0)]
        with open(self.path("scores.onnx"), "wb") as file:
            file.write(model(
                [node("move", "Transpose", ["x"], ["m"], lists={"perm": perm}),
                 node("add", "Add", ["m", "z"], ["scores"])],
                [tensor("z", sizes, self.moved(case["z"], order), DOUBLE)],
                [value_info("x", ["batch", 1, 1], DOUBLE)],
                [value_info("scores", [
                    "batch" if name == "batch" else size
                    for name, size in zip(names, sizes)], DOUBLE)]))
        labels = flat(case["labels"])
        write_tensors(self.path("data.safetensors"), {
            "x": ("F64", [shape[0], 1, 1], bytes(8 * shape[0])),
            "labels": tensor_of("I64", shape_of(case["labels"]), labels)})

    def test_a_file_that_names_its_dims_needs_no_option(self):
        """Though the sizes agree with another order."""
        cases = self.json(os.path.join(FOLDER, "reference.json"))
        case = next(case for case in cases if len(shape_of(case["z"])) == 3)
        # As many positions as samples.
        case = {**case, "z": [each[:2] for each in case["z"]],
                "labels": [each[:2] for each in case["labels"]]}
        self.write_dims(case, (1, 0, 2), ["time", "batch", "classes"])
        base = ["--loss", "cross_entropy", "--micro-batch", "2"]
        result = self.train(*base)
        self.assertIn("whose dim 1 is samples and dim 2 is classes, with input "
                      "'labels' 2x2", result.stderr)
        loss = self.loss()
        self.write_scores(case)
        self.train("--loss", "cross_entropy")
        self.assertAlmostEqual(self.loss(), loss, delta=1e-12)
        self.write_dims(case, (1, 0, 2), ["time", "batch", "classes"])
        self.refused("train", "scores.onnx", "--data", "data.safetensors",
                     *base, "--loss-dims", "batch,time,classes", lines=0,
                     parts=["--loss-dims batch,time,classes says that dim 0 of "
                            "'scores' 2x2x5 (2, batch, 5)", "in dim 1"])

    def test_one_binary_weight_is_for_all(self):
        bce = ["--loss", "bce_with_logits"]
        self.write_scores({"z": [[0.5, -1.0], [2.0, 0.25]],
                           "labels": [[1.0, 0.0], [1.0, 1.0]]})
        self.train(*bce, "--class-weights", "3,3")
        loss = self.loss()
        self.train(*bce, "--class-weights", "3")
        self.assertEqual(self.loss(), loss)
        # Scores of one number a sample have no classes.
        self.write_scores({"z": [0.5, -1.0, 2.0, 0.25],
                           "labels": [1.0, 0.0, 1.0, 1.0]})
        self.train(*bce, "--class-weights", "3")
        self.assertEqual(self.loss(), loss)
        self.refused("train", "scores.onnx", "--data", "data.safetensors",
                     *bce, "--class-weights", "1,2,3,4", lines=0,
                     parts=["4 class weights for 1 classes"])

    def check_pair(self, name, data, *options):
        """The model without its loss trains as the one that has it."""
        losses, weights = [], []
        for file, extra in ((name + "_with_loss.onnx", []),
                            (name + ".onnx", ["--loss", "cross_entropy",
                                              *options])):
            self.succeeds(
                "train", os.path.join(FOLDER, file), "--data", data, "--ranks",
                "2", "--zero", "2", "--micro-batch", "4", "--steps", "36",
                "--lr", "0.01", "--log", "log.jsonl", "--save-weights",
                "weights.safetensors", *extra)
            losses.append(self.losses("log.jsonl"))
            weights.append(self.tensors("weights.safetensors"))
        with_loss, added = losses
        self.assertLess(sum(added[-12:]), sum(added[:12]))
        for a, b in zip(with_loss, added, strict=True):
            self.assertAlmostEqual(a, b, delta=1e-5)
        for key, tensor in weights[0].items():
            # The wrapper of the model with a loss is one module more.
            other = key if key in weights[1] else key.removeprefix("model.")
            for x, y in zip(values_of(tensor), values_of(weights[1][other]),
                            strict=True):
                self.assertAlmostEqual(x, y, delta=1e-4, msg=key)

    def test_a_classifier(self):
        self.check_pair("classifier",
                        os.path.join(FOLDER, "classifier.safetensors"))

    def test_a_language_model(self):
        self.check_pair("language",
                        os.path.join(FOLDER, "language.safetensors"),
                        "--shift-labels")

    def test_an_input_may_be_the_labels(self):
        data = os.path.join(FOLDER, "language.safetensors")
        ids = read_tensors(data)["input_ids"]
        write_tensors(self.path("ids.safetensors"), {"input_ids": ids})
        result = self.succeeds(
            "train", os.path.join(FOLDER, "language.onnx"), "--data",
            "ids.safetensors", "--micro-batch", "4", "--loss",
            "cross_entropy", "--labels", "input_ids", "--shift-labels",
            "--notes")
        self.assertIn("note: the loss is cross_entropy of 'logits' 4x12x32"
                      ", whose dim 2 is classes, with input "
                      "'input_ids' 4x12, each position with the label of the "
                      "next\n", result.stderr)

    def test_the_loss_that_it_replaces_is_named(self):
        for shift, said in ([], "each position with its own label"), (
                ["--shift-labels"], "each position with the label of the next"):
            result = self.succeeds(
                "compile", GPT, "-o", "x.zgplan", "--micro-batch", "1", "--dim",
                "seq=16", "--loss", "cross_entropy", *shift)
            self.assertIn(said, result.stderr)
            self.assertRegex(result.stderr, "note: the model's own '[^']*', one "
                             "number, is not the loss: --loss cross_entropy is")

    def test_labels_are_checked(self):
        case = {"z": [[0.0, 1.0], [2.0, 3.0]], "labels": [0, 2]}
        self.write_scores(case)
        self.refused("train", "scores.onnx", "--data", "data.safetensors",
                     "--loss", "cross_entropy", lines=0,
                     parts=["labels", "2"])

    def test_what_does_not_fit_is_refused(self):
        case = {"z": [[0.0, 1.0], [2.0, 3.0]], "labels": [0, 1]}
        self.write_scores(case)
        base = ["compile", "scores.onnx", "-o", "x"]
        for options, parts in (
                (["--loss-on", "scores"], ["--loss-on scores needs --loss"]),
                (["--loss", "mse", "--ignore-index", "1"],
                 ["--ignore-index 1 needs --loss cross_entropy|nll, and --loss "
                  "is mse"]),
                (["--loss", "nll", "--label-smoothing", "0.1"],
                 ["--label-smoothing 0.1 needs --loss cross_entropy, and"]),
                (["--loss", "mse", "--loss-output", "scores"],
                 ["give one of them"]),
                (["--loss", "cross_entropy", "--loss-on", "logits"],
                 ["--loss-on logits: no output", "scores"]),
                (["--loss", "cross_entropy", "--class-weights", "1,a"],
                 ["'a' is no weight"]),
                (["--loss", "cross_entropy", "--class-weights", "1,,2"],
                 ["--class-weights 1,,2: '' is no weight"]),
                (["--loss", "cross_entropy", "--class-weights", "1,2,"],
                 ["'' is no weight"]),
                (["--loss", "cross_entropy", "--class-weights", "1,2,3"],
                 ["3 class weights for 2 classes"]),
                (["--loss", "cross_entropy", "--shift-labels"],
                 ["samples x positions x classes", "2x2"]),
                (["--loss", "cross_entropy", "--labels", "x"],
                 ["input has shape 2x2", "integers of shape 2"]),
                (["--loss", "cross_entropy", "--labels", "z"],
                 ["no input"]),
                (["--loss", "mean"], ["--loss"]),
                (["--loss-dims", "batch,classes"],
                 ["--loss-dims batch,classes needs --loss"]),
                (["--loss", "cross_entropy", "--loss-dims", "batch,c"],
                 ["must be called classes"])):
            with self.subTest(options):
                self.refused(*base, *options, lines=0, parts=parts)

    def test_probabilities_are_no_scores(self):
        for op, kind, right in (("Softmax", "cross_entropy", "cross_entropy"),
                                ("Softmax", "nll", "cross_entropy"),
                                ("Sigmoid", "bce_with_logits",
                                 "bce_with_logits")):
            with self.subTest(kind):
                self.put("p.onnx", model(
                    [node("head", "Mul", ["x", "w"], ["z"]),
                     node("last", op, ["z"], ["q"]),
                     node("same", "Identity", ["q"], ["p"])],
                    [tensor("w", [2, 3], [1.0] * 6, DOUBLE)],
                    [value_info("x", [2, 3], DOUBLE)],
                    [value_info("p", [2, 3], DOUBLE)]))
                base = ["compile", "p.onnx", "-o", "x", "--loss"]
                self.refused(*base, kind, lines=0, parts=[
                    f"'p' holds probabilities, made by {op} 'last'",
                    f"--loss {right} --loss-on z"])
                self.succeeds(*base, right, "--loss-on", "z")

    def test_probabilities_elsewhere_are_no_scores_either(self):
        """Keras's files have them, and softmaxes are written out."""
        turn = {"perm": [1, 0]}
        for nodes in (
                [node("last", "Softmax", ["z"], ["q"]),
                 node("move", "Transpose", ["q"], ["t"], lists=turn),
                 node("back", "Transpose", ["t"], ["p"], lists=turn)],
                [node("e", "Exp", ["z"], ["e"]),
                 node("s", "ReduceSum", ["e", "axes"], ["s"]),
                 node("last", "Div", ["e", "s"], ["p"])]):
            self.put("p.onnx", model(
                [node("head", "Mul", ["x", "w"], ["z"]), *nodes],
                [tensor("w", [2, 3], [1.0] * 6, DOUBLE),
                 tensor("axes", [1], [1], INT64)],
                [value_info("x", [2, 3], DOUBLE)],
                [value_info("p", [2, 3], DOUBLE)]))
            self.refused("compile", "p.onnx", "-o", "x", "--loss",
                         "cross_entropy", lines=0,
                         parts=["'p' holds probabilities", "--loss-on z"])

    def test_the_advice_is_to_add_one(self):
        case = {"z": [[0.0, 1.0], [2.0, 3.0]], "labels": [0, 1]}
        self.write_scores(case)
        self.refused("compile", "scores.onnx", "-o", "x",
                     parts=["--loss cross_entropy"])

    def test_what_samples_do_not_lead_has_no_labels(self):
        self.refused("compile", MLP, "-o", "x", "--micro-batch", "8", "--loss",
                     "mse", "--loss-on", "loss", "--labels", "wanted",
                     parts=["'loss' needs labels", "8 samples"])


if __name__ == "__main__":
    main()
