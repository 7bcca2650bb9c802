"""--lora: adapters train as PyTorch's do, are saved alone or merged, and are
refused where there is nothing to adapt."""

import json
import math
import os
import struct
import sys

from onnx_bytes import model, node, tensor, value_info
from support import Case, GPT, GPT_DATA, MLP, MLP_DATA, main, read_tensors, \
    rows, write_tensors
from tensors import values_of

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lora")
sys.path.insert(0, HERE)
from start import start  # noqa: E402

FILES = {"mlp-digits": (MLP, MLP_DATA), "gpt2-nano": (GPT, GPT_DATA)}


def norm(values):
    return math.sqrt(sum(value * value for value in values))


def metadata(path):
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        return json.loads(file.read(size)).get("__metadata__")


class Adapters(Case):

    def near(self, got, want, tolerance, what=None):
        self.assertLessEqual(abs(got - want), tolerance * abs(want),
                             (what, got, want))

    def options_of(self, reference):
        options = ["--lora-alpha", str(reference["alpha"])]
        for pattern, rank in reference["lora"].items():
            options += ["--lora", f"{rank}:{pattern}"]
        for pattern in reference["train"]:
            options += ["--train", pattern]
        return options

    def write_start(self, reference, names):
        """The adapters of the reference before its first step."""
        arrays = {}
        for name, (_, shape, _) in names.items():
            weight = name.removesuffix(".lora_A")
            if weight == name:
                continue
            rank, columns = shape
            both = start(weight, rank, names[weight + ".lora_B"][1][0], columns)
            for suffix, (values, dims) in zip((".lora_A", ".lora_B"), both):
                arrays[weight + suffix] = (
                    "F32", list(dims), struct.pack(f"<{len(values)}f", *values))
        write_tensors(self.path("start.safetensors"), arrays)
        return arrays

    def check_reference(self, name, ranks, stage, *more):
        reference = self.json(os.path.join(HERE, "reference.json"))[name]
        model, data = FILES[name]
        adamw = reference["adamw"]
        steps = len(reference["losses"])
        samples = next(iter(read_tensors(data).values()))[1][0] // steps
        base = ["train", model, "--data", data, "--micro-batch",
                str(samples // ranks), "--ranks", str(ranks), "--zero",
                str(stage), "--log", "log", "--weight-decay",
                str(adamw["weight_decay"]), *more]
        adapted = [*base, *self.options_of(reference)]
        # Writes what there is to begin with: of the rank and shape of each.
        self.succeeds(*adapted, "--steps", "1", "--lr", "0", "--save-adapters",
                      "names.safetensors")
        names = self.tensors("names.safetensors")
        begin = {**names, **self.write_start(reference, names)}
        loaded = [*adapted, "--load-weights", "start.safetensors"]
        self.succeeds(*loaded, "--steps", str(steps), "--lr", str(adamw["lr"]),
                      "--dump-gradients", "gradients.safetensors",
                      "--save-adapters", "adapters.safetensors",
                      "--save-weights", "merged.safetensors")
        for step, (got, want) in enumerate(zip(
                self.losses(), reference["losses"], strict=True)):
            self.near(got, want, 5e-5, step)
        gradients = self.tensors("gradients.safetensors")
        self.assertEqual(set(gradients), set(reference["gradients"]))
        for key, want in reference["gradients"].items():
            self.near(norm(values_of(gradients[key])), want, 1e-5, key)
        trained = self.tensors("adapters.safetensors")
        self.assertEqual(set(trained), set(reference["moved"]))
        for key, entry in trained.items():
            moved = norm([a - b for a, b in zip(
                values_of(entry), values_of(begin[key]), strict=True)])
            self.near(moved, reference["moved"][key], 1e-3, key)
        # The merged file is the model's own, and computes what was trained.
        self.succeeds(*base, "--load-weights", "merged.safetensors", "--steps",
                      "1", "--lr", "0", "--save-weights", "same.safetensors")
        self.near(self.losses()[0], reference["after"], 5e-5)
        self.assertEqual(set(self.tensors("merged.safetensors")),
                         set(self.tensors("same.safetensors")))

    def test_linear_layers_are_pytorchs(self):
        self.check_reference("mlp-digits", 1, 0)
        self.check_reference("mlp-digits", 2, 3)

    def test_gpt2_is_pytorchs(self):
        self.check_reference("gpt2-nano", 2, 2)

    def test_gpt2_computed_again_is_pytorchs(self):
        self.check_reference("gpt2-nano", 1, 3, "--recompute", "units")

    def mlp(self, *options, steps=3, data=MLP_DATA):
        return self.succeeds("train", MLP, "--data", data, "--micro-batch",
                             "8", "--steps", str(steps), "--log", "log",
                             *options)

    def test_adapters_begin_anew_and_add_nothing(self):
        self.mlp("--lora", "4:fc1.weight", "--seed", "3", "--lr", "0",
                 "--save-adapters", "a", "--save-weights", "w")
        adapters = self.tensors("a")
        self.assertEqual({key: entry[1] for key, entry in adapters.items()},
                         {"fc1.weight.lora_A": [4, 64],
                          "fc1.weight.lora_B": [128, 4]})
        self.assertIsNone(metadata(self.path("w")))
        self.assertEqual(metadata(self.path("a")),
                         {"peft_type": "LORA", "r": "4", "lora_alpha": "8"})
        a = values_of(adapters["fc1.weight.lora_A"])
        # Uniform within 1 / sqrt(64), as PyTorch's Linear.
        self.assertLess(max(map(abs, a)), 0.125)
        self.assertGreater(max(map(abs, a)), 0.115)
        self.assertAlmostEqual(norm(a) / 16, 0.125 / math.sqrt(3), delta=0.008)
        self.assertEqual(set(values_of(adapters["fc1.weight.lora_B"])), {0.0})
        with_adapters = self.losses()
        self.mlp("--lr", "0", "--save-weights", "plain")
        for a, b in zip(with_adapters, self.losses(), strict=True):
            self.assertAlmostEqual(a, b, delta=1e-6)
        self.assertEqual(self.tensors("w"), self.tensors("plain"))

    def test_training_goes_on_from_adapters_alone(self):
        """Of sgd, which keeps no states: three steps and three are six."""
        lora = ["--lora", "4:fc*.weight", "--optimizer", "sgd", "--lr", "0.1"]
        self.mlp(*lora, "--save-adapters", "six", steps=6)
        self.mlp(*lora, "--save-adapters", "three")
        data = read_tensors(MLP_DATA)
        write_tensors(self.path("rest.safetensors"),
                      {key: rows(entry, 24, 48) for key, entry in data.items()})
        result = self.mlp(*lora, "--load-weights", "three", "--save-adapters",
                          "again", data="rest.safetensors")
        self.assertIn("keep the values of the model: ", result.stderr)
        self.assertEqual(self.tensors("six"), self.tensors("again"))
        self.refused("run", MLP, "--data", MLP_DATA, "--load-weights", "three",
                     "-o", "x", lines=0, parts=["three has adapters",
                                                "--save-weights"])
        self.refused("train", MLP, "--data", MLP_DATA, "--micro-batch", "8",
                     *lora, "--lora-alpha", "4", "--load-weights", "three",
                     lines=0, parts=["alpha 8", "compile with --lora-alpha 8"])

    def test_adapters_of_16_bits_are_merged(self):
        """Without masters, so that a rank holds 16 bits of A and B."""
        lora = ["--lora", "4:fc*.weight", "--optimizer", "sgd"]
        self.mlp(*lora, "--lr", "0.5", "--precision", "bf16",
                 "--master-precision", "bf16", "--save-adapters", "a",
                 "--save-weights", "w", steps=6)
        self.mlp(*lora, "--lr", "0", "--load-weights", "a")
        beside = self.losses()
        self.mlp("--lr", "0", "--load-weights", "w")
        for a, b in zip(beside, self.losses(), strict=True):
            self.near(a, b, 0.003)
        self.mlp("--lr", "0")
        self.assertGreater(abs(self.losses()[0] - beside[0]), 0.03)

    def test_a_frozen_weight_gets_none(self):
        self.mlp("--lora", "2:fc*.weight", "--freeze", "fc1.*", "--lr", "0",
                 "--save-adapters", "a")
        self.assertEqual(set(self.tensors("a")),
                         {"fc2.weight.lora_A", "fc2.weight.lora_B"})

    def test_what_is_trained_is_told(self):
        result = self.succeeds(
            "compile", GPT, "-o", "x", "--micro-batch", "2", "--dim", "seq=16",
            "--ranks", "2", "--zero", "3", "--lora", "2:*c_attn.weight",
            "--group", "*.lora_B:lr=0.01")
        self.assertIn("adapters of 4 weights; trained are 4096 of 846592 "
                      "parameters", result.stderr)
        self.assertIn(" 846,592 parameters, 4,096 trained; f32\n",
                      self.succeeds("inspect", "x").stdout)
        text = self.succeeds("inspect", "x", "--units").stdout
        for row in (r"h\.0\.attn\.c_attn\.weight +\[128, 384\] +no +0  adapters "
                    r"are trained beside it, --lora 2:\*c_attn\.weight\n",
                    r"h\.0\.attn\.c_attn\.weight\.lora_B +\[384, 2\] +yes +1  an "
                    r"adapter, which --lora adds\n",
                    r"h\.0\.ln_1\.bias +\[128\] +no +0  --lora trains adapters "
                    r"alone\n"):
            self.assertRegex(text, row)
        report = self.inspect("x")
        for unit in report["units"]:
            roles = {state["role"] for state in unit["states"]}
            self.assertEqual("exp_avg" in roles, unit["trainable"])

    def test_what_cannot_be_adapted_is_refused(self):
        base = ["compile", GPT, "-o", "x", "--micro-batch", "2", "--dim",
                "seq=16"]
        # GPT-2's embedding is its head too: a product reads it, and a Gather.
        self.refused(*base, "--lora", "2:lm_head.*", lines=0, parts=[
            "--lora 2:lm_head.*: nothing to adapt",
            "'lm_head.weight' is read by 'node_embedding' (nn.gather)",
            "c_attn.weight"])
        self.refused(*base, "--lora", "2:*c_atn.weight",
                     parts=["--lora *c_atn.weight", "did you mean",
                            "attn.c_attn.weight"])
        self.refused(*base, "--lora", "2:*.bias", parts=["--lora *.bias"])
        self.refused(*base, "--lora", "4:*.weight", "--lora", "2:*mlp*weight",
                     parts=["--lora *mlp*weight: each parameter of two",
                            "is matched by an earlier --lora"])
        self.refused(*base, "--lora", "2:*mlp*", "--train", "*c_fc*",
                     parts=["both name", "c_fc.weight"])
        for wrong in ("*mlp*", "0:*mlp*", "2:", "x:*mlp*"):
            self.refused(*base, "--lora", wrong,
                         parts=[f"--lora {wrong}: expected R:PATTERN"])
        self.refused(*base, "--lora-alpha", "4",
                     parts=["--lora-alpha 4 needs --lora"])
        self.refused("train", MLP, "--data", MLP_DATA, "--micro-batch", "8",
                     "--save-adapters", "a", lines=0, parts=["--lora"])

    def test_everything_that_can_be_adapted(self):
        result = self.succeeds(
            "compile", GPT, "-o", "x", "--micro-batch", "2", "--dim", "seq=16",
            "--lora", "2:*")
        self.assertIn("adapts 16 of 18 weights that match, and leaves the others as "
                      "they are: ",
                      result.stderr)

    def test_a_convolution_is_left_as_it_is(self):
        self.put("c.onnx", model(
            [node("conv", "Conv", ["x", "k.weight"], ["y"]),
             node("loss", "ReduceMean", ["y"], ["loss"],
                  {"keepdims": 0})],
            [tensor("k.weight", [2, 3, 1, 1], [1.0] * 6)],
            [value_info("x", [4, 3, 5, 5])],
            [value_info("loss", [])]))
        self.refused("compile", "c.onnx", "-o", "x", "--lora", "2:k.weight",
                     lines=0, parts=["'k.weight' is read by 'conv'",
                                     "the model has none"])


if __name__ == "__main__":
    main()
