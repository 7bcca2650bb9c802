"""`--eval-data`: the loss of samples that are not trained on."""

import os
import struct

from onnx_bytes import linear, node
from support import (Case, MLP, MLP_DATA, MODELS, ZEROGRAPH_RUN, main,
                     read_tensors, rows, write_tensors)
from tensorboard_test import steps as board_steps

SGD = ["--micro-batch", "8", "--optimizer", "sgd"]


class Training(Case):

    def write(self, name, begin, end, data=MLP_DATA):
        write_tensors(self.path(name), {n: rows(a, begin, end) for n, a in
                                        read_tensors(data).items()})

    def train(self, *options, model=MLP, data="d", compile=SGD):
        """The log's records, and what was said."""
        result = self.succeeds("train", model, "--data", data, *compile,
                               "--log", "log", "--save-weights", "w",
                               *options)
        return self.records(), result


class Evaluate(Training):

    def test_it_is_the_loss_of_training(self):
        """Of whole steps, after the one before."""
        self.write("d", 0, 16)
        self.write("e", 16, 32)
        ranks = ["--ranks", "2"]
        expected, _ = self.train("--lr", "0", *ranks, data="e")
        records, result = self.train("--lr", "0", *ranks, "--eval-data", "e")
        self.assertAlmostEqual(records[0]["eval_loss"], expected[0]["loss"],
                               delta=1e-7 * expected[0]["loss"])
        self.assertEqual(records[0]["eval_samples"], 16)
        self.assertGreater(records[0]["eval_ms"], 0)
        line = f"eval_loss {records[0]['eval_loss']:.6f}"
        self.assertRegex(result.stdout,
                         rf"(?m)^step 1/\d+  loss {records[0]['loss']:.6f} .* "
                         rf" {line}  ")
        self.assertIn(f"{line} after step 1\n", result.stdout)
        records, _ = self.train("--lr", "0.1", "--steps", "3", *ranks,
                                "--eval-data", "e", "--eval-every", "1")
        again, _ = self.train("--lr", "0", "--load-weights", "w", *ranks,
                              data="e")
        # A step's loss is rounded to float32.
        self.assertAlmostEqual(records[2]["eval_loss"], again[0]["loss"],
                               delta=2**-23)
        self.assertEqual(len({r["eval_loss"] for r in records}), 3)

    def test_samples_that_depend_on_others_are_named(self):
        """As those that a contrastive loss compares; a mean is no such."""
        together = [node("scale", "Mul", ["x", "w"], ["y"]),
                    node("t", "Transpose", ["y"], ["z"]),
                    node("pairs", "MatMul", ["y", "z"], ["s"]),
                    node("mean", "ReduceMean", ["s"], ["loss"],
                         {"keepdims": 0})]
        for nodes, said in ((together, True), (None, False)):
            self.put("m.onnx", linear(nodes=nodes))
            result = self.succeeds("compile", "m.onnx", "-o", "p",
                                   "--micro-batch", "4", "--evaluate")
            (self.assertIn if said else self.assertNotIn)(
                "warning: the evaluated loss of a sample depends on the other "
                "samples of its micro-batch, through node 'pairs' (nn.matmul)",
                result.stderr)
        for example in "mlp-digits", "gpt2-nano", "resnet-mini":
            result = self.succeeds(
                "compile", os.path.join(MODELS, example, "model.onnx"), "-o",
                "p", "--micro-batch", "2", "--evaluate",
                *(["--dim", "seq=8"] if "gpt" in example else []))
            self.assertNotIn("depends on the other", result.stderr)

    def test_adapters_are_evaluated(self):
        self.write("d", 0, 16)
        self.write("e", 16, 32)
        ranks = ["--ranks", "2"]
        records, result = self.train(
            "--lr", "0.5", "--steps", "3", "--lora", "20:*", *ranks,
            "--eval-data", "e", "--eval-every", "1")
        # The saved weights have what the adapters add.
        again, _ = self.train("--lr", "0", "--load-weights", "w", *ranks,
                              data="e")
        self.assertAlmostEqual(records[2]["eval_loss"], again[0]["loss"],
                               delta=1e-6)
        self.assertEqual(len({r["eval_loss"] for r in records}), 3)
        self.assertEqual(result.stderr.count("adapters of more numbers"), 1,
                         result.stderr)

    def test_it_changes_nothing(self):
        """The bits of training are those without it."""
        self.write("d", 0, 48)
        self.write("e", 48, 70)
        eval = ["--eval-data", "e", "--eval-every", "1"]
        for options in (["--zero", "0"], ["--ranks", "2", "--zero", "3"],
                        ["--ranks", "2", "--zero", "2", "--accumulate", "2"],
                        ["--clip-norm", "0.1", "--recompute", "units"]):
            options = ["--lr", "0.1", "--steps", "3", *options]
            plain, _ = self.train(*options)
            weights = self.tensors("w")
            records, _ = self.train(*options, *eval)
            self.assertEqual(
                [(r["loss"], r["grad_norm"]) for r in records],
                [(r["loss"], r["grad_norm"]) for r in plain], options)
            self.assertEqual(self.tensors("w"), weights, options)
            self.assertEqual(sum("eval_loss" in r for r in records), 3)

    def test_ranks_and_stages_give_the_same_bits(self):
        self.write("d", 0, 96)
        self.write("e", 96, 150)  # 6 micro-batches of 8, then 4 and 2 samples
        found = set()
        for ranks in (1, 2, 3, 4):
            for stage in "0123":
                if (ranks, stage) in ((1, "1"), (1, "2"), (3, "1")):
                    continue
                records, _ = self.train(
                    "--lr", "0.1", "--steps", "1", "--ranks", str(ranks),
                    "--zero", stage, "--accumulate", str(12 // ranks),
                    "--eval-data", "e")
                self.assertEqual(records[0]["eval_samples"], 54)
                found.add(records[0]["eval_loss"])
        self.assertEqual(len(found), 1)

    def test_less_than_a_micro_batch(self):
        """Parts of it count by their samples."""
        self.write("d", 0, 16)
        losses = []
        for begin, end in ((16, 20), (20, 22), (22, 23), (16, 23)):
            self.write("e", begin, end)
            records, _ = self.train("--lr", "0", "--ranks", "2",
                                    "--eval-data", "e")
            losses.append(records[0]["eval_loss"])
        a, b, c, all = losses
        self.assertAlmostEqual(all, (4 * a + 2 * b + c) / 7, delta=1e-12)

    def test_when(self):
        self.write("d", 0, 32)
        self.write("e", 32, 48)

        def steps(*options):
            records, _ = self.train("--lr", "0.1", "--eval-data", "e",
                                    *options)
            return [r["step"] for r in records if "eval_loss" in r]

        self.assertEqual(steps("--epochs", "3"), [3, 7, 11])
        self.assertEqual(steps("--steps", "6"), [3, 5])
        self.assertEqual(steps("--steps", "5", "--eval-every", "2"), [1, 3, 4])

    def test_several_files_and_tensorboard(self):
        self.write("d", 0, 16)
        self.write("e", 16, 38)
        records, _ = self.train("--lr", "0.1", "--steps", "1", "--eval-data",
                                "e")
        self.write("e1", 16, 27)
        self.write("e2", 27, 38)
        again, _ = self.train("--lr", "0.1", "--steps", "1", "--eval-data",
                              "e1", "e2", "--tensorboard", "board")
        self.assertEqual(again[0]["eval_loss"], records[0]["eval_loss"])
        board, = os.listdir(self.path("board"))
        shown = board_steps(self.path("board", board))
        self.assertAlmostEqual(shown[0]["eval_loss"], again[0]["eval_loss"],
                               delta=1e-6)


class Plans(Training):

    def test_inspect_shows_the_program(self):
        plan = self.compile_mlp("p", "--evaluate")
        report = self.inspect(plan)
        names = [p["program"]
                 for p in report["memory"]["arenas"][0]["programs"]]
        self.assertEqual(names, ["step", "evaluate"])
        gathers = [c for c in report["collectives"]
                   if c["program"] == "evaluate" and c["op"] == "all_gather"]
        once = report["traffic"]["evaluation"]
        self.assertEqual(once["gather"], sum(c["received"] for c in gathers))
        self.assertGreater(once["gather"], 0)
        self.assertEqual(once["scalar"], 8)
        self.assertEqual(report["waste"], [])
        text = self.succeeds("inspect", plan, "--all").stdout
        self.assertRegex(text, r"\n  device +evaluate +[\d.]+ .iB +\d+ ")
        self.assertRegex(text, "\n  evaluation +gather ")

    def test_measured_is_predicted(self):
        """Arenas, what of them is touched, and bytes received."""
        self.write("d", 0, 64)
        self.write("e", 64, 150)
        plan = self.compile_mlp("p", "--evaluate")
        for options in ([], ["--eval-data", "e"]):
            result = self.succeeds("train", plan, "--data", "d", "--steps",
                                   "3", *options)
            table = [line.split() for line in result.stdout.splitlines()
                     if line.startswith("  ")]
            rows = [row for row in table if len(row) > 2]
            self.assertGreaterEqual(len(rows), 5, result.stdout)
            for row in rows:
                if row[-1][-1].isdigit():
                    self.assertEqual(row[-2], row[-1], result.stdout)
            self.assertEqual("  an evaluation: gathers" in result.stdout,
                             bool(options))

    def test_plans_must_be_made_for_it(self):
        self.write("e", 0, 16)
        data = ["--data", MLP_DATA]
        plain = self.compile_mlp()
        self.refused("train", plain, *data, "--eval-data", "e",
                     parts=["compiled without an evaluation", "--evaluate"])
        plan = self.compile_mlp("q", "--evaluate")
        self.succeeds("train", plan, *data)
        expected, _ = self.train("--eval-data", "e", "--ranks", "2", "--zero",
                                 "3", "--steps", "1", data=MLP_DATA,
                                 compile=["--micro-batch", "8"])
        self.succeeds("train", plan, *data, "--eval-data", "e", "--log",
                      "log", "--steps", "1", program=ZEROGRAPH_RUN)
        self.assertEqual(self.records()[0]["eval_loss"],
                         expected[0]["eval_loss"])

    def test_wrong_data(self):
        plan = self.compile_mlp("q", "--evaluate")
        train = ["train", plan, "--data", MLP_DATA]
        self.refused(*train, "--eval-every", "3",
                     parts=["--eval-every 3 needs --eval-data"])
        self.refused(*train, "--eval-data", "nothing", parts=["nothing"])
        arrays = read_tensors(MLP_DATA)
        write_tensors(self.path("e"), {"x": arrays["x"]})
        self.refused(*train, "--eval-data", "e",
                     parts=["e: input 'labels' is missing"])
        dtype, shape, data = rows(arrays["x"], 0, 8)
        write_tensors(self.path("e"), {
            "x": (dtype, [16, 32], data), "labels": arrays["labels"]})
        self.refused(*train, "--eval-data", "e", parts=[
            "e: input 'x' is F32 [16, 32], expected F32 [samples, 64]"])
        write_tensors(self.path("e"), {n: rows(a, 0, 0) for n, a in
                                       arrays.items()})
        self.refused(*train, "--eval-data", "e", parts=["e: ", "no samples"])
        bad = {n: rows(a, 0, 9) for n, a in arrays.items()}
        dtype, shape, data = bad["labels"]
        bad["labels"] = dtype, shape, data[:-8] + struct.pack("<q", 1000)
        write_tensors(self.path("e"), bad)
        self.refused(*train, "--eval-data", "e",
                     parts=["has the value 1000 in sample 8"])
        self.write("e", 0, 16)
        self.refused(*train, "--eval-data", "e", "--log", "e",
                     parts=["--eval-data"])


if __name__ == "__main__":
    main()
