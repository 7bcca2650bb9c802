"""`export`: trained weights into a copy of the model, and a model for
inference of it."""

import json
import math
import os
import shutil
import struct

from onnx_bytes import DOUBLE, FLOAT16, linear, tensor
from support import (Case, GPT, GPT_DATA, MLP, MLP_DATA, MODELS, limit_file_size,
                     main, read_tensors, rows, write_tensors)
from tensors import values_of

RESNET = os.path.join(MODELS, "resnet-mini")
RESNET_DATA = os.path.join(RESNET, "batches.safetensors")
SDPA = os.path.join(MODELS, "gpt2-nano", "model_sdpa.onnx")
STEPS = 2


class Export(Case):

    def train(self, model, data, *options, lr="0.1"):
        self.succeeds("train", model, "--data", data, "--optimizer", "sgd",
                      "--lr", lr, "--log", "log", "--save-weights", "w",
                      *options)
        return self.losses()

    def check_continues(self, model, data, batch):
        """Twice as many steps, or half of them, exported, and the others from
        the exported file: the same losses and weights, bit for bit."""
        size = ["--micro-batch", str(batch), "--steps"]
        whole = self.train(model, data, *size, str(2 * STEPS))
        wanted = self.tensors("w")
        begun = self.train(model, data, *size, str(STEPS))
        self.assertEqual(begun, whole[:STEPS])
        self.succeeds("export", "w", model, "-o", "out.onnx")
        write_tensors(self.path("rest"), {
            name: rows(array, STEPS * batch, 2 * STEPS * batch)
            for name, array in read_tensors(data).items()})
        self.assertEqual(self.train("out.onnx", "rest", *size, str(STEPS)),
                         whole[STEPS:])
        self.assertEqual(self.tensors("w"), wanted)
        # The first loss is what `run` gives, too.
        self.succeeds("run", "out.onnx", "--data", "rest", "--micro-batch",
                      str(batch), "-o", "outputs")
        loss = values_of(self.tensors("outputs")["loss"])
        self.assertEqual(loss[0], whole[STEPS])

    def test_training_goes_on(self):
        for model, data, batch in (
                (MLP, MLP_DATA, 32),
                (os.path.join(MODELS, "mlp-digits", "model_keep_names.onnx"),
                 MLP_DATA, 8),
                (GPT, GPT_DATA, 4), (SDPA, GPT_DATA, 2),
                (os.path.join(MODELS, "gpt2-nano", "model_keep_names.onnx"),
                 GPT_DATA, 2),
                (os.path.join(MODELS, "gpt2-nano", "model_ts.onnx"), GPT_DATA,
                 2),
                # Running statistics are part of it.
                (os.path.join(RESNET, "model.onnx"), RESNET_DATA, 16),
                (os.path.join(RESNET, "model_ts.onnx"), RESNET_DATA, 16)):
            with self.subTest(model):
                self.check_continues(model, data, batch)

    def test_nothing_else_changes(self):
        """With the model's own weights the bytes are the model's."""
        for model, data in ((MLP, MLP_DATA), (SDPA, GPT_DATA)):
            self.train(model, data, "--micro-batch", "2", "--steps", "1",
                       lr="0")
            name = os.path.basename(model)
            os.makedirs(self.path("out"), exist_ok=True)
            self.succeeds("export", "w", model, "-o",
                          os.path.join("out", name))
            for file in (name, name + ".data"):
                path = os.path.join(os.path.dirname(model), file)
                if os.path.exists(path):
                    with open(path, "rb") as a, \
                            open(self.path("out", file), "rb") as b:
                        self.assertTrue(a.read() == b.read(), file)

    def test_external_data_of_the_model_stays(self):
        for file in ("model_sdpa.onnx", "model_sdpa.onnx.data"):
            shutil.copy(os.path.join(MODELS, "gpt2-nano", file), self.folder)
        before = self.bytes_of("model_sdpa.onnx.data")
        self.train("model_sdpa.onnx", GPT_DATA, "--micro-batch", "2")
        self.succeeds("export", "w", "model_sdpa.onnx", "-o", "trained.onnx")
        self.assertTrue(self.bytes_of("model_sdpa.onnx.data") == before)
        self.assertEqual(os.path.getsize(self.path("trained.onnx.data")),
                         len(before))

    def test_adapters_are_merged(self):
        self.train(GPT, GPT_DATA, "--micro-batch", "2", "--steps", "2",
                   "--lora", "4:*c_attn.weight")
        self.succeeds("export", "w", GPT, "-o", "out.onnx")
        loads = self.train(GPT, GPT_DATA, "--micro-batch", "2",
                           "--load-weights", "w")
        self.assertEqual(self.train("out.onnx", GPT_DATA, "--micro-batch",
                                    "2"), loads)

    def test_weights_of_a_checkpoint(self):
        """Of sharded pieces, with a master each: what --save-weights wrote."""
        for options in ((), ("--precision", "bf16")):
            self.train(GPT, GPT_DATA, "--micro-batch", "2", "--steps", "2",
                       "--ranks", "2", "--zero", "3", *options,
                       "--checkpoint", "checkpoints" + "".join(options))
            folder = "checkpoints" + "".join(options)
            self.succeeds("export", "w", GPT, "-o", "saved.onnx")
            self.succeeds("export", folder, GPT, "-o", "newest.onnx")
            self.succeeds("export", os.path.join(folder, "step-00000002"), GPT,
                          "-o", "named.onnx")
            files = []
            for name in ("saved.onnx", "newest.onnx", "named.onnx"):
                files.append(self.bytes_of(name))
            self.assertTrue(files[0] == files[1] == files[2])
        os.mkdir(self.path("none"))
        self.refused("export", "none", GPT, "-o", "out.onnx",
                     parts=["none: there is no checkpoint in it"])
        self.train(GPT, GPT_DATA, "--micro-batch", "2", "--checkpoint",
                   "adapted", "--lora", "4:*c_attn.weight")
        self.refused("export", "adapted", GPT, "-o", "out.onnx",
                     parts=["has adapters beside its weights"])

    def test_halves_are_rounded(self):
        self.put("half.onnx", linear(tensor("w", [4], [1, 2, 3, 4], FLOAT16)))
        write_tensors(self.path("w"), {
            "w": ("F32", [4], struct.pack("<4f", 1.0004883, 1e9, -0.1, 0))})
        result = self.succeeds("export", "w", "half.onnx", "-o", "out.onnx")
        self.assertIn("note: rounded to the 16 bits that the model has them "
                      "in: 'w'\n", result.stderr)
        self.assertIn(struct.pack("<4e", 1, math.inf, -0.1, 0),
                      self.bytes_of("out.onnx"))

    def test_other_weights_are_refused(self):
        self.train(MLP, MLP_DATA, "--micro-batch", "2")
        weights = self.tensors("w")
        name = next(iter(weights))
        dtype, shape, data = weights[name]
        weights[name] = (dtype, [len(data) // 4], data)
        weights["head.weight"] = weights["head.bias"] = ("F32", [1], bytes(4))
        write_tensors(self.path("other"), weights)
        self.put("double.onnx", linear(tensor("w", [4], [1, 2, 3, 4], DOUBLE),
                                       dtype=DOUBLE))
        write_tensors(self.path("single"), {"w": ("F32", [4], bytes(16))})
        before = sorted(os.listdir(self.folder))
        self.refused("export", "other", MLP, "-o", "out.onnx", lines=4,
                     parts=["3 weights do not fit", f"'{name}' has shape",
                            "'head.bias' is no init", "'head.weight' is no"])
        self.refused("export", "single", "double.onnx", "-o", "out.onnx",
                     lines=2, parts=["'w' is F64 in the model and F32"])
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_refusals(self):
        self.train(MLP, MLP_DATA, "--micro-batch", "2")
        shutil.copy(MLP, self.path("m.onnx"))
        before = sorted(os.listdir(self.folder))
        for arguments, parts in (
                (["w", "m.onnx", "-o", "m.onnx"], ["--output", "the model"]),
                (["w", "m.onnx", "-o", "w"], ["--output", "the weights"]),
                (["w", "m.onnx", "-o", "no/out.onnx"], ["no/out.onnx"]),
                (["w", "m.onnx"], ["--output"]),
                (["m.onnx", "-o", "out.onnx"], ["expected two files", "1 is"]),
                (["w", "m.onnx", "x", "-o", "o"], ["3 are given"]),
                (["m.onnx", "w", "-o", "out.onnx"], ["expected an ONNX model"]),
                (["w", "none.onnx", "-o", "o"], ["none.onnx: cannot open"]),
                (["none", "m.onnx", "-o", "o"], ["none"]),
                (["w", "m.onnx", "-o", "o", "--dim", "batch=2", "--train", "x"],
                 ["--dim, --train are for --training-graph"]),
                (["w", "m.onnx", "-o", "o", "--loss-output", "loss"],
                 ["--loss-output is for"]),
                (["w", "m.onnx", "-o", "o", "--output-value", "x"],
                 ["--output-value x needs --inference"]),
                (["w", "m.onnx", "-o", "o", "--inference", "--loss-output",
                  "x"], ["--loss-output x: there is no output"]),
                (["w", "m.onnx", "-o", "o", "--ranks", "2"], ["--ranks"]),
                (["m.onnx", "-o", "o", "--training-graph", "--inference"],
                 ["give one of them"])):
            with self.subTest(arguments):
                self.refused("export", *arguments, parts=parts)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_a_full_disk_leaves_nothing(self):
        self.train(SDPA, GPT_DATA, "--micro-batch", "2")
        before = sorted(os.listdir(self.folder))
        # First the data does not fit, then, after the data, the model.
        data = os.path.getsize(SDPA + ".data")
        self.assertGreater(data, os.path.getsize(SDPA))
        self.refused("export", "w", SDPA, "-o", "out.onnx",
                     parts=["out.onnx.data"], **limit_file_size(data - 1))
        self.refused("export", "w", MLP, "-o", "out.onnx", lines=0,
                     parts=["zerograph export"], **limit_file_size(1))
        self.assertEqual(sorted(os.listdir(self.folder)), before)


class Inference(Case):

    def evaluated(self, model, data, count, classes):
        """The mean loss of the first `count` samples: as training evaluates
        it, and from the scores that the model for inference gives."""
        write_tensors(self.path("eval"), {
            name: rows(array, 0, count)
            for name, array in read_tensors(data).items()})
        self.succeeds("train", model, "--data", data, "--eval-data", "eval",
                      "--micro-batch", "8", "--steps", "3", "--eval-every",
                      "3", "--log", "log", "--save-weights", "w")
        with open(self.path("log")) as file:
            wanted = json.loads(file.readlines()[-1])["eval_loss"]
        said = self.succeeds("export", "w", model, "-o", "out.onnx",
                             "--inference").stderr
        arrays = self.tensors("eval")
        labels = arrays.pop("labels")
        write_tensors(self.path("inputs"), arrays)
        self.succeeds("run", "out.onnx", "--data", "inputs", "--micro-batch",
                      "8", "-o", "outputs")
        (name, scores), = self.tensors("outputs").items()
        self.assertIn(f"the outputs are {name}", said)
        self.assertIn("no longer inputs: 'labels'", said)
        self.assertEqual(scores[1][0], count)
        self.assertEqual(scores[1][-1], classes)
        values = values_of(scores)
        goals = list(values_of(labels))
        if len(scores[1]) == 3:  # these models shift the labels themselves
            seq = scores[1][1]
            goals = [goal for at in range(0, len(goals), seq)
                     for goal in [*goals[at + 1:at + seq], -100]]
        total = counted = 0
        for i, goal in enumerate(goals):
            if goal >= 0:
                row = values[i * classes:(i + 1) * classes]
                top = max(row)
                total += (top - row[goal] +
                          math.log(sum(math.exp(x - top) for x in row)))
                counted += 1
        return wanted, total / counted

    def test_scores_give_the_loss_of_evaluation(self):
        for model, data, classes in (
                (MLP, MLP_DATA, 10),
                (os.path.join(RESNET, "model.onnx"), RESNET_DATA, 10),
                (os.path.join(RESNET, "model_ts.onnx"), RESNET_DATA, 10),
                (GPT, GPT_DATA, 256), (SDPA, GPT_DATA, 256),
                (os.path.join(MODELS, "gpt2-nano", "model_ts.onnx"), GPT_DATA,
                 256),
                (os.path.join(MODELS, "gpt2-nano-dropout", "model.onnx"),
                 GPT_DATA, 256)):
            with self.subTest(model):
                wanted, found = self.evaluated(model, data, 16, classes)
                self.assertAlmostEqual(wanted, found, delta=3e-6 * wanted)

    def test_added_losses_leave_the_outputs(self):
        folder = os.path.join(MODELS, "added_loss")
        model = os.path.join(folder, "classifier.onnx")
        self.succeeds("train", model, "--data",
                      os.path.join(folder, "classifier.safetensors"),
                      "--micro-batch", "4", "--loss", "cross_entropy",
                      "--save-weights", "w")
        said = self.succeeds("export", "w", model, "-o", "out.onnx",
                             "--inference").stderr
        self.assertIn("no output is a loss: all of them stay", said)

    def test_any_value_can_be_the_output(self):
        self.succeeds("train", MLP, "--data", MLP_DATA, "--micro-batch", "2",
                      "--save-weights", "w")
        self.refused("export", "w", MLP, "-o", "out.onnx", "--inference",
                     "--output-value", "nothing",
                     parts=["--output-value nothing: no node computes"])

    def test_an_output_gets_a_name(self):
        self.succeeds("train", MLP, "--data", MLP_DATA, "--micro-batch", "2",
                      "--steps", "1", "--save-weights", "w")
        export = ["export", "w", MLP, "-o", "out.onnx", "--inference",
                  "--output-value"]
        self.assertIn("scores",
                      self.succeeds(*export, "relu=scores").stderr)
        self.succeeds("run", "out.onnx", "--data", MLP_DATA, "-o", "renamed")
        self.succeeds(*export, "relu")
        self.succeeds("run", "out.onnx", "--data", MLP_DATA, "-o", "plain")
        self.assertEqual(self.tensors("renamed")["scores"],
                         self.tensors("plain")["relu"])
        for name in ("", "x", "logits", "fc1.weight"):
            self.refused(*export, "relu=" + name,
                         parts=["a name that no value of the model has"])


if __name__ == "__main__":
    main()
