"""`export --training-graph`: loss and gradients as an ONNX file. `run` of the
file, and onnxruntime where there is one, give what training gives."""

import os
import struct
import subprocess
import unittest

from onnx_bytes import linear
from support import (Case, GPT, GPT_DATA, MLP, MLP_DATA, MODELS, main,
                     python_with, read_tensors, rows, write_tensors)
from tensors import values_of

RESNET = os.path.join(MODELS, "resnet-mini")
RESNET_DATA = os.path.join(RESNET, "batches.safetensors")
ADDED = os.path.join(MODELS, "added_loss")
LOSSES = os.path.join(MODELS, "losses")
NANO = os.path.join(MODELS, "gpt2-nano")
WIDE = os.path.join(MODELS, "wide-head")

PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                    "onnx_peer.py")

# (model, data, samples, options)
FIXTURES = [
    (MLP, MLP_DATA, 32, []),
    (os.path.join(MODELS, "mlp-digits", "model_keep_names.onnx"), MLP_DATA, 32,
     []),
    (GPT, GPT_DATA, 8, ["--dim", "seq=64"]),
    (os.path.join(NANO, "model_sdpa.onnx"), GPT_DATA, 8, ["--dim", "seq=64"]),
    (os.path.join(NANO, "model_keep_names.onnx"), GPT_DATA, 8,
     ["--dim", "seq=64"]),
    (os.path.join(NANO, "model_ts.onnx"), GPT_DATA, 8, ["--dim", "seq=64"]),
    (os.path.join(MODELS, "gpt2-nano-dropout", "model.onnx"), GPT_DATA, 8,
     ["--dim", "seq=64", "--dropout", "0"]),
    # A plan tiles its logits; the graph does not.
    (os.path.join(WIDE, "model.onnx"), os.path.join(WIDE, "batches.safetensors"),
     32, []),
    (os.path.join(RESNET, "model.onnx"), RESNET_DATA, 32, []),
    (os.path.join(RESNET, "model_ts.onnx"), RESNET_DATA, 32, []),
    (os.path.join(ADDED, "classifier_with_loss.onnx"),
     os.path.join(ADDED, "classifier.safetensors"), 8, []),
    (os.path.join(ADDED, "classifier.onnx"),
     os.path.join(ADDED, "classifier.safetensors"), 8,
     ["--loss", "cross_entropy", "--label-smoothing", "0.1"]),
    (os.path.join(ADDED, "language.onnx"),
     os.path.join(ADDED, "language.safetensors"), 4,
     ["--loss", "cross_entropy", "--shift-labels"]),
]


class Gradients(Case):
    """What the tests share."""

    def near(self, what, got, wanted, tolerance):
        """Each element, by the tensor's largest."""
        self.assertEqual(len(got), len(wanted), what)
        scale = max(map(abs, wanted), default=0) + 1e-6
        error = max((abs(a - b) for a, b in zip(got, wanted)), default=0)
        self.assertLessEqual(error, tolerance * scale, what)

    def prepare(self, model, data, samples, options):
        """Trains one step, and writes the graph of the same batch."""
        write_tensors(self.path("batch"), {
            name: rows(array, 0, samples)
            for name, array in read_tensors(data).items()})
        size = ["--micro-batch", str(samples)]
        self.succeeds("train", model, "--data", "batch", *size, "--optimizer",
                      "sgd", "--steps", "1", "--log", "log", "--dump-gradients",
                      "gradients", "--save-weights", "after",
                      *options)
        loss = self.records()[0]["loss"]
        self.succeeds("export", "--training-graph", model, "-o", "graph.onnx",
                      *size, *options)
        return loss, self.tensors("gradients")

    def compare(self, outputs, loss, gradients, tolerance=2e-5):
        found = {name.removesuffix(".gradient"): array
                 for name, array in outputs.items()
                 if name.endswith(".gradient")}
        self.assertEqual(sorted(found), sorted(gradients))
        others = [name for name in outputs
                  if not name.endswith((".gradient", ".next"))]
        self.assertEqual(len(others), 1)
        self.near("loss", values_of(outputs[others[0]]), [loss], 2e-6)
        for name, wanted in gradients.items():
            self.near(name, values_of(found[name]), values_of(wanted), tolerance)
        after = self.tensors("after")
        for name, array in outputs.items():
            if name.endswith(".next"):
                self.near(name, values_of(array),
                          values_of(after[name.removesuffix(".next")]), tolerance)


class TrainingGraph(Gradients):

    def test_run_gives_the_loss_and_the_gradients(self):
        """Training's, and PyTorch's where a model has them."""
        for i, fixture in enumerate(FIXTURES):
            with self.subTest(fixture[0]):
                loss, gradients = self.prepare(*fixture)
                self.succeeds("run", "graph.onnx", "--data", "batch", "-o",
                              "outputs")
                found = self.tensors("outputs")
                self.compare(found, loss, gradients)
                if i < 9:
                    self.compare_with_pytorch(found, fixture[1])

    def compare_with_pytorch(self, found, data):
        oracle = read_tensors(os.path.join(os.path.dirname(data),
                                           "grads0.safetensors"))
        # The same under the names of the exporters.
        alias = {"lm_head.weight": "transformer.wte.weight"}
        compared = 0
        for name, wanted in oracle.items():
            names = [each for each in found if each.endswith(".gradient") and
                     alias.get(short := self.short(each), short) == name]
            if names:
                self.near(name, values_of(found[names[0]]), values_of(wanted),
                          2e-5)
                compared += 1
        self.assertEqual(compared, len(oracle))

    @staticmethod
    def short(name):
        return name.removesuffix(".gradient").removeprefix("model.")

    def test_other_weights_can_be_fed(self):
        """A step of descent by hand is the optimizer's."""
        _, gradients = self.prepare(*FIXTURES[0])
        self.succeeds("run", "graph.onnx", "--data", "batch", "--load-weights",
                      "after", "-o", "outputs")
        self.succeeds("train", MLP, "--data", "batch", "--micro-batch", "32",
                      "--load-weights", "after", "--log", "log")
        loss = self.records()[0]["loss"]
        self.near("loss", values_of(self.tensors("outputs")["loss"]),
                  [loss], 2e-6)

    def test_what_is_trained_decides(self):
        self.succeeds("export", "--training-graph", MLP, "-o", "graph.onnx",
                      "--micro-batch", "8", "--freeze", "*bias")
        write_tensors(self.path("batch"), {
            name: rows(array, 0, 8)
            for name, array in read_tensors(MLP_DATA).items()})
        self.succeeds("run", "graph.onnx", "--data", "batch", "-o", "outputs")
        names = sorted(self.tensors("outputs"))
        self.assertEqual(len(names), 3)
        self.assertFalse([name for name in names if "bias" in name])

    def test_weights_that_are_not_there_are_fed(self):
        model = os.path.join(MODELS, "structure", "gpt2-small.onnx")
        said = self.succeeds("export", "--training-graph", model, "-o",
                             "graph.onnx", "--micro-batch", "1", "--dim",
                             "seq=8").stderr
        self.assertIn("parameters without a value, which have to be fed: ",
                      said)
        self.assertEqual(os.listdir(self.folder), ["graph.onnx"])

    def test_the_same_file_twice(self):
        for name in ("a.onnx", "b.onnx"):
            self.succeeds("export", "--training-graph", GPT, "-o", name,
                          "--micro-batch", "2", "--dim", "seq=8")
        with open(self.path("a.onnx"), "rb") as a, \
                open(self.path("b.onnx"), "rb") as b:
            self.assertTrue(a.read() == b.read())

    def test_refusals(self):
        drops = os.path.join(MODELS, "gpt2-nano-dropout", "model.onnx")
        result = self.refused(
            "export", "--training-graph", drops, "-o", "o", "--micro-batch",
            "2", "--dim", "seq=8", lines=0,
            parts=["13 nodes draw random numbers", "--dropout 0"])
        self.assertEqual(result.stderr.count("\n  'node_native_dropout"), 10)
        self.assertIn("\n  and 3 more", result.stderr)
        self.put("m.onnx", linear())
        for arguments, parts in (
                (["m.onnx", "-o", "m.onnx", "--micro-batch", "2"],
                 ["--output", "the model"]),
                (["m.onnx", "-o", "o"], ["--micro-batch"]),
                (["m.onnx", "-o", "o", "--micro-batch", "2", "--train", "v"],
                 ["--train v"]),
                (["w", "m.onnx", "-o", "o", "--micro-batch", "2"],
                 ["--training-graph is of one file"]),
                (["m.onnx", "-o", "o", "--micro-batch", "2", "--output-value",
                  "y"], ["--output-value y needs --inference"]),
                (["m.onnx", "-o", "o", "--micro-batch", "2", "--lora", "1:w"],
                 ["--lora"])):
            with self.subTest(arguments):
                self.refused("export", "--training-graph", *arguments,
                             parts=parts)
        self.assertEqual(os.listdir(self.folder), ["m.onnx"])


class OnnxRuntime(Gradients):
    """With somebody else's runtime, and ONNX's checker."""

    @classmethod
    def setUpClass(cls):
        cls.python, why = python_with("ZEROGRAPH_ONNXRUNTIME", "onnxruntime",
                                      "onnx")
        if why:
            raise unittest.SkipTest(why)

    def compute(self, model, inputs):
        result = subprocess.run(
            [self.python, PEER, model, inputs,
             self.path("computed")], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0,
                         f"{model}: {result.stderr[-2000:]}")
        return self.tensors("computed")

    def test_the_gradients(self):
        for fixture in FIXTURES:
            with self.subTest(fixture[0]):
                loss, gradients = self.prepare(*fixture)
                self.compare(self.compute(self.path("graph.onnx"),
                                          self.path("batch")),
                             loss, gradients)

    def test_the_gradients_of_losses(self):
        reference = self.json(os.path.join(LOSSES, "reference.json"))
        for name, case in reference.items():
            t = case["t"]
            flat = [x for row in t for x in row]
            write_tensors(self.path("t"), {
                "t": ("F32", [len(t), len(t[0])],
                      struct.pack("<%df" % len(flat), *flat))})
            for exporter in case["exporters"]:
                with self.subTest((exporter, name)):
                    model = os.path.join(LOSSES, exporter, name + ".onnx")
                    self.succeeds("export", "--training-graph", model, "-o",
                                  "graph.onnx")
                    found = self.compute(self.path("graph.onnx"),
                                         self.path("t"))["z.gradient"]
                    wanted = [x for row in case["gradient"] for x in row] \
                        if isinstance(case["gradient"][0], list) \
                        else case["gradient"]
                    self.near(name, values_of(found), wanted, 2e-6)

    def test_the_loss_of_exported_weights(self):
        for model, data, samples, options in FIXTURES:
            if "--loss" in options or "--dropout" in options:
                continue
            with self.subTest(model):
                self.prepare(model, data, samples, options)
                self.succeeds("export", "after", model, "-o", "trained.onnx")
                self.succeeds("train", model, "--data", "batch",
                              "--micro-batch", str(samples), "--load-weights",
                              "after", "--log", "log")
                wanted = self.records()[0]["loss"]
                found = self.compute(self.path("trained.onnx"),
                                     self.path("batch"))
                self.near("loss", values_of(found["loss"]), [wanted], 2e-6)

    def test_inference(self):
        for model, data, samples, options in FIXTURES:
            with self.subTest(model):
                self.prepare(model, data, samples, options)
                self.succeeds("export", "after", model, "-o", "trained.onnx",
                              "--inference")
                found = self.compute(self.path("trained.onnx"),
                                     self.path("batch"))
                self.succeeds("run", "trained.onnx", "--data", "batch",
                              "--micro-batch", str(samples), "-o", "outputs")
                ours = self.tensors("outputs")
                self.assertEqual(sorted(ours), sorted(found))
                for name, array in ours.items():
                    self.near(name, values_of(found[name]), values_of(array), 2e-5)


if __name__ == "__main__":
    main()
