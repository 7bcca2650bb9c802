"""--metric: numbers of the model that are told beside the loss."""

import os
import random

from onnx_bytes import INT64, model, node, tensor, value_info
from support import Case, main, write_tensors
from tensorboard_test import steps as board_steps
from tensors import tensor_of

# Ranks, stage, accumulation: eight samples, two a micro-batch.
LAYOUTS = [(2, 0, 2), (2, 3, 2), (1, 0, 4), (4, 2, 1)]
OPTIONS = ["--metric", "largest", "--metric", "total"]


class Metrics(Case):

    def setUp(self):
        super().setUp()
        self.write_model()

    def write_model(self, loss="loss"):
        """The loss is the mean of x times w; `largest` that of absolute values,
        and `total` the sum of labels."""
        with open(self.path("m.onnx"), "wb") as file:
            file.write(model(
                [node("scale", "Mul", ["x", "w"], ["y"]),
                 node("mean", "ReduceMean", ["y"], [loss], {"keepdims": 0}),
                 node("abs", "Abs", ["y"], ["a"]),
                 node("max", "ReduceMax", ["a"], ["largest"], {"keepdims": 0}),
                 node("sum", "ReduceSum", ["labels"], ["total"], {"keepdims": 0})],
                [tensor("w", [3], [1.0, 2.0, 3.0])],
                [value_info("x", ["batch", 3]),
                 value_info("labels", ["batch"], INT64)],
                [value_info("largest", []), value_info(loss, []),
                 value_info("total", [], INT64),
                 value_info("y", ["batch", 3])]))

    def write_data(self, name, samples):
        """Returns the rows and the labels."""
        rng = random.Random(samples)
        x = [[rng.randrange(-8, 8) for _ in range(3)] for _ in range(samples)]
        labels = [rng.randrange(9) for _ in range(samples)]
        write_tensors(self.path(name), {
            "x": tensor_of("F32", [samples, 3], [v for row in x for v in row]),
            "labels": tensor_of("I64", [samples], labels)})
        return x, labels

    @staticmethod
    def expected(x, labels):
        """The metrics of a micro-batch."""
        return {"largest": max(abs(v * w) for row in x
                               for v, w in zip(row, [1, 2, 3])),
                "total": sum(labels)}

    def train(self, layout=(1, 0, 1), *options):
        ranks, stage, accumulate = layout
        result = self.succeeds(
            "train", "m.onnx", "--data", "d", "--micro-batch", "2", "--ranks",
            str(ranks), "--zero", str(stage), "--accumulate", str(accumulate),
            "--optimizer", "sgd", "--log", "log",
            *(options if "--lr" in options else ("--lr", "0", *options)))
        return self.records()[0], result.stdout

    def test_they_are_means_over_micro_batches(self):
        x, labels = self.write_data("d", 8)
        parts = [self.expected(x[i:i + 2], labels[i:i + 2])
                 for i in range(0, 8, 2)]
        for layout in LAYOUTS:
            with self.subTest(layout=layout):
                record, shown = self.train(layout, *OPTIONS)
                for name in ("largest", "total"):
                    mean = sum(part[name] for part in parts) / 4
                    self.assertEqual(record["metrics"][name], mean)
                    self.assertIn(f"  {name} {mean:.4g}", shown)

    def test_the_loss_is_the_same(self):
        self.write_data("d", 8)
        rate = ["--lr", "0.1", "--epochs", "2"]
        without, _ = self.train((2, 1, 1), *rate)
        self.assertNotIn("metrics", without)
        losses = self.losses()
        self.train((2, 1, 1), *rate, *OPTIONS)
        self.assertEqual(self.losses(), losses)
        self.assertEqual(len(set(losses)), 4)

    def test_an_evaluation_has_them(self):
        """The rest is filled up with copies, and counts by its samples."""
        self.write_data("d", 2)
        x, labels = self.write_data("e", 5)
        weighed = [(self.expected(x[i:i + 2], labels[i:i + 2]), 1)
                   for i in (0, 2)]
        weighed.append((self.expected(x[4:] * 2, labels[4:] * 2), 0.5))
        record, shown = self.train((1, 0, 1), *OPTIONS, "--eval-data", "e",
                                   "--tensorboard", "board")
        for name in ("largest", "total"):
            mean = sum(part[name] * weight for part, weight in weighed) / 2.5
            self.assertAlmostEqual(record["eval_metrics"][name], mean)
            self.assertIn(f"  eval_{name} {mean:.4g}", shown)
            [file] = os.listdir(self.path("board"))
            shown_step = board_steps(self.path("board", file))[0]
            self.assertAlmostEqual(shown_step[f"eval_metrics/{name}"], mean, 4)
            self.assertAlmostEqual(shown_step[f"metrics/{name}"],
                                   record["metrics"][name], 4)

    def test_the_plan_names_them(self):
        self.succeeds("compile", "m.onnx", "-o", "p", "--micro-batch", "2",
                      *OPTIONS)
        self.assertIn('loss "loss", 2 metrics',
                      self.succeeds("inspect", "p").stdout)
        facts = self.succeeds("inspect", "p", "--json").stdout
        self.assertIn('"metrics": ["largest","total"]',
                      facts.replace("\n", "").replace("  ", ""))

    def test_what_is_none(self):
        for name, said in (("y", "it has shape 2x3"),
                           ("loss", "it is the loss"),
                           ("z", "there is no output of that name; there are largest, "
                                 "loss, total, y")):
            with self.subTest(name=name):
                self.refused("compile", "m.onnx", "-o", "p", "--micro-batch",
                             "2", "--metric", name,
                             parts=[f"--metric {name}: {said}"])
        self.refused("compile", "m.onnx", "-o", "p", "--micro-batch", "2",
                     *OPTIONS, *OPTIONS, parts=["--metric largest is given twice"])

    def test_a_metric_is_not_taken_for_the_loss(self):
        """Another output that is one float is."""
        self.write_model(loss="mean")
        self.refused("compile", "m.onnx", "-o", "p", "--micro-batch", "2",
                     parts=["several outputs could be the loss"])
        self.succeeds("compile", "m.onnx", "-o", "p", "--micro-batch", "2",
                      *OPTIONS)
        self.assertIn('loss "mean", 2 metrics',
                      self.succeeds("inspect", "p").stdout)


if __name__ == "__main__":
    main()
