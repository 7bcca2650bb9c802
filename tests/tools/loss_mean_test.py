"""--loss-mean tokens: a step's loss and gradients are those of PyTorch for all
its samples as one batch, however they are cut."""

import os

from onnx_bytes import DOUBLE, INT64, model, node, tensor, value_info
from support import Case, MLP, MODELS, main, write_tensors
from tensors import flat, tensor_of, values_of

FOLDER = os.path.join(MODELS, "added_loss")
# Ranks, stage, accumulation, bucket: eight samples, two a micro-batch.
LAYOUTS = [(2, 0, 2, 1 << 20), (2, 1, 2, 1 << 20), (2, 2, 2, 300),
           (2, 3, 2, 300), (1, 0, 4, 1 << 20), (4, 3, 1, 1 << 20)]


class LossMean(Case):

    def write_model(self, case, nodes=(), more=(), outputs=None):
        """Scores x w, of which `nodes` make outputs."""
        w = case["w"]
        with open(self.path("scores.onnx"), "wb") as file:
            file.write(model(
                [node("product", "MatMul", ["x", "w"], ["scores"]), *nodes],
                [tensor("w", [len(w), len(w[0])], flat(w), DOUBLE), *more],
                [value_info("x", ["batch", len(w)], DOUBLE),
                 *([value_info("labels", ["batch"], INT64)] if nodes else [])],
                outputs or [value_info("scores", ["batch", len(w[0])],
                                       DOUBLE)]))
        x, labels = case["x"], case["labels"]
        write_tensors(self.path("data.safetensors"), {
            "x": tensor_of("F64", [len(x), len(x[0])], flat(x)),
            "labels": tensor_of("I64", [len(labels)], labels)})

    def train(self, layout, *options, micro_batch="2"):
        """Losses; the first gradient of w."""
        ranks, stage, accumulate, bucket = layout
        self.succeeds(
            "train", "scores.onnx", "--data", "data.safetensors", "--steps",
            "1", "--micro-batch", micro_batch, "--ranks", str(ranks), "--zero",
            str(stage), "--accumulate", str(accumulate), "--bucket-bytes",
            str(bucket), "--optimizer", "sgd", "--log", "log.jsonl",
            "--dump-gradients", "gradients.safetensors", "--clip-norm", "1e9",
            *options)
        record = self.records("log.jsonl")[0]
        return record, values_of(self.tensors("gradients.safetensors")["w"])

    def cases(self):
        cases = self.json(os.path.join(FOLDER, "tokens.json"))
        self.assertGreaterEqual(len(cases), 3)
        return cases

    def test_a_step_is_one_batch_of_pytorchs(self):
        for case in self.cases():
            self.write_model(case)
            options = ["--loss", *case["options"]]
            first = None
            for layout in LAYOUTS:
                with self.subTest(options=options, layout=layout):
                    got = self.train(layout, *options, "--loss-mean", "tokens")
                    first = first or got
                    self.assertEqual((got[0]["loss"], got[0]["grad_norm"],
                                      got[1]),
                                     (first[0]["loss"], first[0]["grad_norm"],
                                      first[1]))
                    self.assertAlmostEqual(got[0]["loss"], case["loss"],
                                           delta=1e-13)
                    want = flat(case["gradient"])
                    for a, b in zip(got[1], want, strict=True):
                        self.assertAlmostEqual(a, b, delta=1e-14)
                    # The scale is rounded to float32 only where parameters
                    # are: these have 64 bits.
                    self.assertAlmostEqual(
                        got[0]["grad_norm"], sum(g * g for g in want) ** 0.5,
                        delta=1e-13)
            # The mean of means is another number.
            means = self.train(LAYOUTS[0], *options)
            self.assertGreater(abs(means[0]["loss"] - case["loss"]), 1e-3)

    def test_a_micro_batch_may_count_nothing(self):
        case = self.cases()[0]
        labels = list(case["labels"])
        labels[:2] = [-100, -100]
        self.write_model({**case, "labels": labels})
        got = [self.train(layout, "--loss", "cross_entropy", "--loss-mean",
                          "tokens") for layout in LAYOUTS[:2]]
        self.assertEqual(got[0][0]["loss"], got[1][0]["loss"])
        self.assertGreater(got[0][0]["loss"], 0)
        self.write_model({**case, "labels": [-100] * 8})
        record, gradient = self.train(LAYOUTS[0], "--loss", "cross_entropy",
                                      "--loss-mean", "tokens", "--save-weights",
                                      "weights.safetensors")
        self.assertIsNone(record["loss"])
        weights = self.tensors("weights.safetensors")["w"]
        self.assertEqual(values_of(weights), tuple(flat(case["w"])))

    def test_an_evaluation_is_one_mean_too(self):
        """Also of samples that fill no micro-batch, none of which counts."""
        layouts = (2, 0, 1, 1 << 20), (2, 3, 1, 300), (1, 0, 2, 1 << 20)
        for case in self.cases():
            labels = list(case["labels"])
            options = ["--loss", *case["options"], "--lr", "0", "--eval-data",
                       "data.safetensors"]
            self.write_model(case)
            for layout in layouts:
                for micro_batch in "2", "3":
                    with self.subTest((options, layout, micro_batch)):
                        got, _ = self.train(layout, *options, "--loss-mean",
                                            "tokens", micro_batch=micro_batch)
                        self.assertAlmostEqual(got["eval_loss"], case["loss"],
                                               delta=1e-13)
            means, _ = self.train(layouts[0], *options)
            self.assertGreater(abs(means["eval_loss"] - case["loss"]), 1e-3)
        self.write_model({**case, "labels": [*labels[:7], -100]})
        found = [self.train(layout, *options, "--loss-mean", "tokens",
                            micro_batch="3")[0]["eval_loss"]
                 for layout in layouts]
        self.assertGreater(found[0], 0)
        self.assertEqual(found, found[:1] * 3)

    def test_a_model_with_its_loss_trains_alike_in_every_layout(self):
        first = None
        for ranks, stage, accumulate, bucket in LAYOUTS:
            self.succeeds(
                "train", os.path.join(FOLDER, "classifier_with_loss.onnx"),
                "--data", os.path.join(FOLDER, "classifier.safetensors"),
                "--ranks", str(ranks), "--zero", str(stage), "--accumulate",
                str(accumulate), "--bucket-bytes", str(bucket),
                "--micro-batch", "4", "--steps", "6", "--log", "log.jsonl",
                "--loss-mean", "tokens", "--save-weights",
                "weights.safetensors")
            losses = self.losses("log.jsonl")
            got = losses, self.tensors("weights.safetensors")
            first = first or got
            self.assertEqual(got, first, (ranks, stage))
        result = self.succeeds("compile", MLP, "-o", "x.zgplan",
                               "--micro-batch", "8", "--loss-mean", "tokens")
        self.assertEqual(result.stderr, "")
        self.assertIn("a mean over tokens",
                      self.succeeds("inspect", "x.zgplan").stdout)

    def test_what_counts_nothing_is_refused(self):
        case = self.cases()[0]
        base = ["compile", "scores.onnx", "-o", "x", "--micro-batch", "2",
                "--loss-mean", "tokens"]
        loss = [value_info("loss", [], DOUBLE)]
        self.write_model(case, [
            node("sum", "ReduceSum", ["scores"], ["loss"], {"keepdims": 0})],
            outputs=loss)
        self.refused(*base, lines=0, parts=[
            "sum", "the loss 'loss' is no sum divided by a count",
            "--loss-mean micro-batches"])
        classes = len(case["w"][0])
        self.write_model(case, [
            node("entropy", "SoftmaxCrossEntropyLoss",
                 ["scores", "labels", "table"], ["loss"])],
            [tensor("table", [classes], [1.0] * classes, DOUBLE)], loss)
        self.succeeds(*base)  # weights of classes are not trained
        self.write_model(case)
        result = self.succeeds(*base, "--loss", "mse")
        self.assertIn("--loss-mean tokens has no effect with --loss mse",
                      result.stderr)


if __name__ == "__main__":
    main()
