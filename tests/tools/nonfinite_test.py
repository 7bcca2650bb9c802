"""--debug-nonfinite: what made a loss NaN is named, with its step and rank."""

import math
import re
import shutil
import struct

from emulator import emulated
from onnx_bytes import model, node, tensor, value_info
from support import Case, GPT, GPT_DATA, MLP, MLP_DATA, main, write_tensors

SAMPLES = 24


class Nonfinite(Case):

    def write(self, op, bad, at):
        """loss = mean(op(x * w) @ v), and 24 samples of 4 ones; `bad` in
        element 2 of sample `at`."""
        self.put("m.onnx", model(
            [node("scale", "Mul", ["x", "w"], ["scaled"]),
             node("domain", op, ["scaled"], ["bent"]),
             node("product", "MatMul", ["bent", "v"], ["y"]),
             node("mean", "ReduceMean", ["y"], ["loss"],
                  {"keepdims": 0})],
            [tensor("w", [4], [1, 1, 1, 1]),
             tensor("v", [4, 4], [0.5] * 16)],
            [value_info("x", ("n", 4))], [value_info("loss", [])]))
        numbers = [1.0] * (4 * SAMPLES)
        if at is not None:
            numbers[4 * at + 2] = bad
        write_tensors(self.path("d.safetensors"), {
            "x": ("F32", [SAMPLES, 4],
                  struct.pack("<%df" % len(numbers), *numbers))})

    def train(self, *options, lr="1e-4"):
        return ("train", "m.onnx", "--data", "d.safetensors", "--micro-batch",
                "2", "--steps", "6", "--optimizer", "sgd", "--lr", lr,
                "--matmul", "generated", "--debug-nonfinite", *options)

    def found(self, *options, lr="1e-4", **environment):
        result = self.run_program(*self.train(*options, lr=lr), **environment)
        self.assertEqual(result.returncode, 1, result.stderr)
        [line] = [line for line in result.stderr.splitlines()
                  if line.startswith("zerograph")]
        return line

    def test_rows_that_lie_apart(self):
        """A GPU's library multiplies rows of 250 that begin 256 apart."""
        self.put("m.onnx", model(
            [node("product", "MatMul", ["x", "v"], ["y"]),
             node("mean", "ReduceMean", ["y"], ["loss"], {"keepdims": 0})],
            [tensor("v", [4, 250], [8.0] * 1000)],
            [value_info("x", ("n", 4))], [value_info("loss", [])]))
        numbers = [1.0] * 8
        numbers[5] = 1e38
        write_tensors(self.path("d.safetensors"),
                      {"x": ("F32", [2, 4], struct.pack("<8f", *numbers))})
        for device in "host", "cuda:emulated":
            environment = {} if device == "host" else emulated()
            result = self.run_program(
                "train", "m.onnx", "--data", "d.safetensors", "--micro-batch",
                "2", "--debug-nonfinite", "--target", device, **environment)
            self.assertIn("element 250 of the 500 of 'product'", result.stderr)

    def test_a_function_outside_of_its_domain(self):
        # Sample 14: one rank makes steps of 4, two make steps of 8 samples, of
        # which rank 1 has 2, 3, 6 and 7.
        for ranks, where in ((1, "step 3: micro-batch 1: step"),
                             (2, "rank 1: step 1: micro-batch 1: step")):
            for zero in ("0", "3") if ranks == 2 else ("0",):
                for op, bad in (("Log", -1.0), ("Sqrt", -1.0),
                                ("Reciprocal", 0.0)):
                    with self.subTest((ranks, zero, op)):
                        self.write(op, bad, 14)
                        line = self.found(
                            "--ranks", str(ranks), "--zero", zero,
                            "--accumulate", "2")
                        self.assertIn(": " + where + " ", line)
                        name = "inf" if op == "Reciprocal" else "NaN"
                        self.assertRegex(
                            line, r"\(launch, domain\): element 2 of the 8 of "
                                  r"'domain[^']*' \(f32\) is " + name +
                                  ", the first value that is not finite; it "
                                  "reached the loss as " + name)

    def test_what_comes_from_the_data(self):
        for bad, name in ((math.nan, "NaN"), (-math.inf, "-inf")):
            self.write("Reciprocal", bad, 9)
            line = self.found("--ranks", "2")
            if name == "-inf":  # whose quotient is 0; its gradient is not
                self.assertIn("gradient", line)
            self.assertIn("rank 0: step 2: micro-batch 0: step 0 of", line)
            self.assertIn("element 6 of the 8 of input 'x' (f32) is " + name,
                          line)
            self.assertIn("look at sample 1 of the micro-batch", line)

    def test_what_is_finite_trains(self):
        self.write("Log", 1, None)
        for ranks in ("1", "2"):
            for zero in ("0", "3"):
                self.succeeds(*self.train("--ranks", ranks, "--zero", zero))

    def test_masks_are_no_fault(self):
        """Attention masks with -inf; buffers with padding; three threads."""
        for zero in ("0", "2", "3"):
            self.succeeds("train", GPT, "--data", GPT_DATA, "--micro-batch",
                          "1", "--ranks", "2", "--zero", zero, "--steps", "2",
                          "--clip-norm", "1", "--threads", "3",
                          "--debug-nonfinite")

    def test_the_scaler_skips_gradients(self):
        """At 2 to the power of 40 the first steps overflow; the loss does
        not."""
        log = self.succeeds(
            "train", MLP, "--data", MLP_DATA, "--micro-batch", "8", "--steps",
            "3", "--precision", "fp16", "--initial-scale-power", "40",
            "--debug-nonfinite").stderr
        self.assertRegex(log, r"3 of 3 steps updated nothing")

    def test_inspect_has_the_loss_scale(self):
        for options, text in (
                ([], r"initial 65536\.0, window 1,000, .*minimum 1\.0"),
                (["--loss-scale", "128"], r"initial 128\.0\n")):
            self.succeeds("compile", MLP, "-o", "x", "--micro-batch", "8",
                          "--precision", "fp16", *options)
            self.assertRegex(self.succeeds("inspect", "x", "--settings").stdout,
                             "loss_scale +" + text)

    def test_a_rate_too_high(self):
        """The first update makes weights of -1e29."""
        self.write("Sqrt", 1, None)
        line = self.found(lr="1e30")
        self.assertIn("step 1: micro-batch 0: step ", line)
        self.assertRegex(line, r"\(launch, domain\): .* is NaN.*lower --lr")

    def test_without_the_option_it_is_pointed_to(self):
        self.write("Log", -1.0, 0)
        result = self.succeeds(*[option for option in self.train()
                                 if option != "--debug-nonfinite"])
        self.assertIn("warning: the loss of step 1 is NaN; the run goes on. "
                      "--debug-nonfinite names", result.stderr)

    def test_an_evaluation(self):
        self.write("Log", -1.0, 0)
        shutil.move(self.path("d.safetensors"), self.path("e.safetensors"))
        self.write("Log", 1.0, None)
        said = self.succeeds(
            *[option for option in self.train() if option !=
              "--debug-nonfinite"], "--eval-data", "e.safetensors",
            "--eval-every", "2").stderr
        self.assertIn("warning: the eval_loss after step 2 is NaN", said)

    def test_on_an_emulated_gpu(self):
        cuda = ["--target", "cuda:emulated"]
        self.write("Log", -1.0, 10)
        for ranks, where in ((1, "step 5: "), (2, "rank 1: step 2: ")):
            line = self.found(*cuda, "--ranks", str(ranks), "--zero", "3",
                              **emulated())
            self.assertIn(": " + where + "micro-batch 0: step", line)
            self.assertRegex(line, r"\(launch, domain\): element 2 of the 8 of")
        self.write("Log", 1, None)
        result = self.succeeds(*self.train(*cuda, "--ranks", "2"),
                               **emulated())
        self.assertIn("one by one, not as graphs, so that --debug-nonfinite",
                      result.stderr)
        said = re.findall(r"emulated GPU: (.*)", result.stderr)
        self.assertEqual(len(said), 1, result.stderr)  # no complaint
        self.assertRegex(said[0], r"^[1-9]\d* launches$")


main()
