"""`checkpoint convert` to DeepSpeed's universal layout and from it, and `.pt`.

Here by files that this suite reads and writes itself. `deepspeed_test.py` asks
DeepSpeed.
"""

import json
import os
import shutil
import zipfile

import torch_files
from onnx_bytes import DOUBLE, linear
from support import (Case, GPT, GPT_DATA, MLP, MLP_DATA, MODELS,
                     limit_file_size, main, write_tensors)
from torch_files import Tensor, turned

RESNET = os.path.join(MODELS, "resnet-mini", "model.onnx")
RESNET_DATA = os.path.join(MODELS, "resnet-mini", "batches.safetensors")
STEPS, BEFORE = 5, 3
TAG = f"step-{BEFORE:08}"


class Universal(Case):

    def train(self, *run, to=STEPS, resume=None, keep=False):
        """All weights and all states after step `to`; `keep`: a checkpoint."""
        more = ["--resume", resume] if resume else []
        more += ["--checkpoint", "c"] if keep else []
        result = self.succeeds("train", *run, "--steps", str(to),
                               "--save-weights", "w", "--dump-states", "s",
                               *more)
        self.said = result.stderr
        return self.tensors("w"), self.tensors("s")

    def convert(self, *arguments):
        result = self.succeeds("checkpoint", "convert", *arguments)
        self.said = result.stderr
        return result.stdout

    def param(self, name, file):
        return torch_files.read(self.path("u", TAG, "zero", name, file + ".pt"))

    def names(self, map):
        with open(self.path("names.json"), "w") as file:
            json.dump(map, file)
        return ["--names", "names.json"]


class ThereAndBack(Universal):

    def check(self, plan, *run, states=("exp_avg", "exp_avg_sq"), map=None,
              options=()):
        """Writes the layout, compares every tensor with what the run has, and
        goes on from it as the run itself does."""
        for folder in "c", "u", "c2":
            shutil.rmtree(self.path(folder), ignore_errors=True)
        run = [plan, *run]
        weights, kept = self.train(*run, to=BEFORE, keep=True)
        whole = self.train(*run)
        names = self.names(map) if map else []
        said = self.convert("c", "--to", "deepspeed-universal", "-o", "u",
                            *names)
        self.assertIn(f"u/{TAG}: {len(weights)} parameters of c/{TAG}, after "
                      f"{BEFORE} steps", said)
        self.assertEqual(self.text("u", "latest_universal"), TAG)
        for name, tensor in weights.items():
            to = (map or {}).get(name, name)
            flip = isinstance(to, dict)
            to = to["name"] if flip else to
            own = {state: kept[f"{name}.{state}"] for state in states
                   if f"{name}.{state}" in kept}
            files = {"fp32": tensor, **own}
            for file, (dtype, shape, data) in files.items():
                found = self.param(to, file)["param"]
                wanted = Tensor(dtype, shape, data)
                self.assertEqual(found, turned(wanted) if flip else wanted)
            listed = os.listdir(self.path("u", TAG, "zero", to))
            self.assertEqual(sorted(listed), sorted(
                [file + ".pt" for file in files] + ["step.pt"] * bool(own)))
        self.convert("u", "--plan", plan, "-o", "c2", *names, *options)
        self.succeeds("checkpoint", "verify", "c2")
        self.assertEqual(self.train(*run, resume="c2"), whole)
        self.assertNotIn("samples, and had", self.said)
        return weights

    def test_adamw(self):
        weights = self.check(self.compile_mlp(), "--data", MLP_DATA)
        self.assertEqual(len(weights), 4)
        state = torch_files.read(
            self.path("u", TAG, "zero", "optimizer_state.pt"))
        self.assertEqual(state["param_groups"], [{}] * 4)
        self.assertEqual(state["optimizer_state_dict"]["state"],
                         {0: {"step": BEFORE}})
        for name in ("mp_rank_00_model_states.pt",
                     "zero_pp_rank_0_mp_rank_00_model_states.pt"):
            model = torch_files.read(self.path("u", TAG, name))
            self.assertEqual(
                {key: model[key] for key in ("global_steps", "skipped_steps",
                                             "global_samples", "lr_scheduler")},
                {"global_steps": BEFORE, "skipped_steps": 0,
                 "global_samples": BEFORE * 16,
                 "lr_scheduler": {"last_batch_iteration": BEFORE - 1}})
        three = "F32", [], b"\0\0\x40\x40"
        self.assertEqual(self.param("fc1.bias", "step"), three)
        self.convert("c", "--to", "deepspeed-universal", "-o", "v",
                     "--torch-optimizer")
        state = torch_files.read(
            self.path("v", TAG, "zero", "optimizer_state.pt"))
        self.assertEqual(state["optimizer_state_dict"]["state"],
                         {0: {"step": three}})

    def test_other_optimizers(self):
        for optimizer, states in ((["lion"], ["exp_avg"]),
                                  (["adagrad"], ["sum"]),
                                  (["sgd", "--momentum", "0.9"],
                                   ["momentum_buffer"]),
                                  (["sgd"], [])):
            plan = self.compile_mlp("p", "--optimizer", *optimizer)
            self.check(plan, "--data", MLP_DATA, states=states)

    def test_masters(self):
        plan = self.compile_mlp("p", "--precision", "bf16")
        self.check(plan, "--data", MLP_DATA)
        plan = self.compile_mlp("p", "--precision", "fp16",
                                "--initial-scale-power", "40",
                                "--loss-scale-hysteresis", "1")
        self.succeeds("train", plan, "--data", MLP_DATA, "--steps",
                      str(BEFORE), "--checkpoint", "h")
        self.convert("h", "--to", "deepspeed-universal", "-o", "v")
        self.assertIn("the loss scale is not written", self.said)
        model = torch_files.read(
            self.path("v", TAG, "mp_rank_00_model_states.pt"))
        self.assertEqual(model["skipped_steps"], BEFORE)
        self.assertEqual(model["lr_scheduler"], {"last_batch_iteration": -1})

    def test_names(self):
        """GPT-2's, as its state_dict() has them: the tied embedding by its
        other name; and matrices that are transposed."""
        self.succeeds("compile", GPT, "-o", "p", "--micro-batch", "1", "--dim",
                      "seq=64", "--ranks", "2", "--zero", "2")
        map = {"lm_head.weight": "transformer.wte.weight",
               "transformer.h.1.mlp.c_fc.weight": {
                   "name": "layers.1.weight", "transposed": True},
               "transformer.h.0.attn.c_attn.weight": {
                   "name": "layers.0.weight", "transposed": True},
               "nothing": "no tensor"}
        weights = self.check("p", "--data", GPT_DATA, map=map)
        self.assertGreater(len(weights), 40)
        self.convert("c", "-o", "named.safetensors", "--names", "names.json")
        self.assertIn("1 of 4 names have no effect, since no tensor is called "
                      "so: 'nothing'", self.said)
        named = self.tensors("named.safetensors")
        self.assertEqual(len(named), len(weights))
        self.convert("c", "-o", "named.pt", "--names", "names.json")
        self.assertEqual(torch_files.read(self.path("named.pt")), named)
        self.assertEqual(named["transformer.wte.weight"],
                         weights["lm_head.weight"])
        self.assertEqual(named["layers.0.weight"], turned(
            weights["transformer.h.0.attn.c_attn.weight"]))

    def test_running_statistics(self):
        self.succeeds("compile", RESNET, "-o", "p", "--micro-batch", "2")
        self.check("p", "--data", RESNET_DATA)
        self.convert("c", "--to", "deepspeed-universal", "-o", "v")
        self.assertIn("have only fp32.pt, which DeepSpeed does not load",
                      self.said)


class FromDeepSpeed(Universal):
    """What DeepSpeed writes and we do not."""

    def setUp(self):
        super().setUp()
        self.plan = self.compile_mlp()
        self.whole = self.train(self.plan, "--data", MLP_DATA)
        self.train(self.plan, "--data", MLP_DATA, to=BEFORE, keep=True)
        self.convert("c", "--to", "deepspeed-universal", "-o", "u")

    def adopt(self, *more):
        return ["checkpoint", "convert", "u", "--plan", self.plan, "-o", "c2",
                *more]

    def zero(self, *parts):
        return self.path("u", TAG, "zero", *parts)

    def goes_on(self, *more):
        self.succeeds(*self.adopt(*more))
        self.assertEqual(self.train(self.plan, "--data", MLP_DATA,
                                    resume="c2"), self.whole)

    def test_flat_tensors_and_no_count_of_their_own(self):
        """ZeRO 3's have neither a shape nor a dictionary around them."""
        for name in os.listdir(self.zero()):
            if os.path.isdir(self.zero(name)):
                os.remove(self.zero(name, "step.pt"))
                for file in "fp32.pt", "exp_avg.pt", "exp_avg_sq.pt":
                    dtype, _, data = torch_files.read(
                        self.zero(name, file))["param"]
                    torch_files.write(self.zero(name, file),
                                      Tensor(dtype, [len(data) // 4], data))
        os.remove(self.path("u", TAG, "mp_rank_00_model_states.pt"))
        self.goes_on()

    def test_its_objects(self):
        """A loss scale, of a run of fp16; and the stage of ZeRO."""
        scaler = torch_files.named("deepspeed.runtime.fp16.loss_scaler",
                                   "DynamicLossScaler")()
        scaler.__dict__ = {"cur_scale": 2.0 ** 12, "cur_iter": BEFORE,
                           "last_overflow_iter": 1, "cur_hysteresis": 2,
                           "scale_window": 1000, "dynamic": True}
        path = self.zero("optimizer_state.pt")
        state = torch_files.read(path)
        state["loss_scaler"] = scaler
        torch_files.write(path, state)
        half = self.compile_mlp("h", "--precision", "fp16")
        self.succeeds("checkpoint", "convert", "u", "--plan", half, "-o", "c3")
        index = self.json("c3", TAG, "index.json")
        self.assertEqual(index["loss_scale"], {
            "scale": 4096, "steps": BEFORE, "last_overflow": 1,
            "hysteresis": 2})
        self.goes_on()  # in float32 there is no scale

    def test_seed_and_order(self):
        self.succeeds(*self.adopt("--seed", "5", "--shuffle", "6"))
        index = self.json("c2", TAG, "index.json")
        self.assertEqual((index["seed"], index["shuffle"], index["samples"]),
                         (5, 6, 0))

    def test_weights_that_it_lacks(self):
        self.succeeds("compile", MLP, "-o", "f", "--micro-batch", "8",
                      "--freeze", "fc1.*")
        self.plan = "f"
        whole = self.train("f", "--data", MLP_DATA)
        shutil.rmtree(self.path("c"))
        self.train("f", "--data", MLP_DATA, to=BEFORE, keep=True)
        shutil.rmtree(self.path("u"))
        self.convert("c", "--to", "deepspeed-universal", "-o", "u")
        self.assertIn("2 parameters and running statistics", self.said)
        self.convert("c", "-o", "all.pt")
        shutil.rmtree(self.zero("fc1.weight"))
        shutil.rmtree(self.zero("fc1.bias"))
        self.refused(*self.adopt(), lines=0, parts=[
            "there is no zero/fc1.weight/fp32.pt, which is 'fc1.weight'",
            "zero/fc1.bias/fp32.pt", "--load-weights has values"])
        said = self.succeeds(*self.adopt("--load-weights", "all.pt")).stderr
        self.assertIn("2 tensors are those of --load-weights", said)
        self.assertEqual(self.train("f", "--data", MLP_DATA, resume="c2"),
                         whole)

    def test_what_does_not_fit(self):
        sgd = self.compile_mlp("sgd", "--optimizer", "sgd")
        self.refused("checkpoint", "convert", "u", "--plan", sgd, "-o", "c2",
                     lines=0, parts=[
                         "does not fit the plan of",
                         "the plan has nothing for zero/fc1.bias/exp_avg.pt"])
        self.refused("checkpoint", "convert", "u", "--plan", self.plan, "-o",
                     "c2", *self.names({"fc1.weight": "net.0.weight"}),
                     lines=0, parts=[
                         "there is no zero/net.0.weight/fp32.pt, which is "
                         "'fc1.weight'"])
        self.refused(*self.adopt(*self.names({"fc1.weight": {
            "name": "fc1.weight", "transposed": True}})), lines=0, parts=[
                "'fc1.weight' (fp32) is [128, 64], expected [64, 128] of "
                "'fc1.weight'"])
        torch_files.write(self.zero("fc1.bias", "step.pt"), 2)
        self.refused(*self.adopt(), parts=[
            "'fc1.bias' was updated", "a plan updates all parameters at once"])
        torch_files.write(self.zero("fc1.bias", "step.pt"), "text")
        self.refused(*self.adopt(), parts=["step.pt: it counts no updates"])
        self.assertFalse(os.path.exists(self.path("c2")))

    def test_nothing_is_executed(self):
        class Evil:
            def __reduce__(self):
                return os.system, ("touch " + trace,)
        trace = self.path("trace")
        for path in (self.zero("fc1.bias", "fp32.pt"),
                     self.zero("optimizer_state.pt"),
                     self.path("u", TAG, "mp_rank_00_model_states.pt")):
            shutil.copy(path, self.path("kept"))
            torch_files.write(path, {"param": Evil()})
            self.refused(*self.adopt(), lines=0, parts=[
                os.path.basename(path), "it names posix.system",
                "Nothing in the file was executed"])
            shutil.copy(self.path("kept"), path)
        torch_files.write(self.path("weights.pt"), {"fc1.bias": Evil()})
        self.refused("train", MLP, "--data", MLP_DATA, "--micro-batch", "8",
                     "--load-weights", "weights.pt", lines=0,
                     parts=["weights.pt", "it names posix.system"])
        self.assertFalse(os.path.exists(trace))

    def test_files_that_are_none(self):
        path = self.zero("fc1.bias", "fp32.pt")
        content = self.bytes_of(path)
        for bytes, part in ((content[:-1], "it has no directory"),
                            (b"", "it has no directory"),
                            (content[:100] + content[150:], "at byte")):
            self.put(path, bytes)
            self.refused(*self.adopt(), lines=0, parts=[part, "fp32.pt"])
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a/data.pkl", b"\x80\x02N.")
        self.refused(*self.adopt(), lines=0,
                     parts=["'a/data.pkl' is compressed"])
        with open(self.path("u", "latest_universal"), "w") as file:
            file.write("../c")
        self.refused(*self.adopt(), parts=["latest_universal names '../c'"])


class Options(Universal):

    def setUp(self):
        super().setUp()
        self.plan = self.compile_mlp()
        self.train(self.plan, "--data", MLP_DATA, to=BEFORE, keep=True)

    def test_what_has_no_effect(self):
        convert = ["checkpoint", "convert", "c", "-o", "o"]
        for options, part in (
                (["--plan", "p"], "--plan has no effect where weights"),
                (["--torch-optimizer"], "--torch-optimizer has no effect where "
                                        "weights"),
                (["--seed", "1"], "--seed has no effect where weights"),
                (["--to", "deepspeed-universal", "--type", "F16"],
                 "--type has no effect where DeepSpeed's universal layout")):
            self.refused(*convert, *options, parts=[part])
        self.refused(*convert, "--to", "here", codes=(2,), parts=["--to"])
        self.convert("c", "-o", "u", "--to", "deepspeed-universal")
        self.refused("checkpoint", "convert", "u", "-o", "c2",
                     parts=["say by --plan"])
        self.refused("checkpoint", "convert", "u", "-o", "c2", "--plan",
                     self.plan, "--type", "F16",
                     parts=["--type has no effect where u is a checkpoint of "
                            "DeepSpeed"])
        for folder, to in (("u", ["--plan", self.plan, "-o", "c"]),
                           ("c", ["-o", "u", "--to", "deepspeed-universal"])):
            self.refused("checkpoint", "convert", folder, *to,
                         parts=["there is such a checkpoint already"])

    def test_nothing_is_left_of_what_fails(self):
        to = ["checkpoint", "convert", "c", "-o", "u", "--to",
              "deepspeed-universal"]
        self.refused("checkpoint", "convert", "c", "-o", f"c/{TAG}", "--to",
                     "deepspeed-universal",
                     parts=["it is a checkpoint: choose another folder"])
        self.refused(*to, lines=0, **limit_file_size(20000))
        self.assertEqual(os.listdir(self.path("u")), [])
        path = self.path("c", TAG, "rank-00001.safetensors")
        with open(path, "r+b") as file:
            file.seek(-3, os.SEEK_END)
            file.write(b"xxx")
        self.refused(*to, lines=0, parts=["rank-00001.safetensors", "is damaged"])
        self.assertEqual(os.listdir(self.path("u")), [])

    def test_resume_says_what_to_do(self):
        self.convert("c", "-o", "u", "--to", "deepspeed-universal")
        for path in "u", f"u/{TAG}":
            self.refused("train", self.plan, "--data", MLP_DATA, "--resume",
                         path, lines=0, parts=["DeepSpeed's universal layout",
                                               "checkpoint convert"])

    def test_maps_that_are_none(self):
        for text, part in (
                ("[]", "it is no JSON object"), ("{", "it is no JSON object"),
                ('{"a": 1}', "'a' has none"), ('{"a": ""}', "'a' has none"),
                ('{"a": {"name": "b"}}', "'a' has none"),
                ('{"a": {"name": "b", "transposed": 1}}', "'a' has none"),
                ('{"a": "b", "a": "c"}', "'a' is there twice"),
                ('{"a": "c", "b": "c"}', "'a' and 'b' are both 'c'")):
            self.put("names.json", text)
            self.refused("checkpoint", "convert", "c", "-o", "w", "--names",
                         "names.json", parts=["names.json: no map of names",
                                              part])
        for to in ["-o", "u", "--to", "deepspeed-universal"], ["-o", "w"]:
            self.refused("checkpoint", "convert", "c", *to, *self.names(
                {"fc1.bias": {"name": "b", "transposed": True}}), lines=0,
                parts=["'b' is transposed, which only a matrix can be: its "
                       "shape is [128]"])
        for name in "a/b", "..", ".":
            self.refused("checkpoint", "convert", "c", "-o", "u", "--to",
                         "deepspeed-universal", *self.names({"fc1.bias": name}),
                         lines=0, parts=[f"in a folder '{name}'"])
        self.refused("checkpoint", "convert", "c", "-o", "u", "--to",
                     "deepspeed-universal",
                     *self.names({"fc1.bias": "fc2.bias"}), lines=0,
                     parts=["'fc1.bias' and 'fc2.bias' would both be "
                            "'fc2.bias'"])
        self.assertFalse(os.path.exists(self.path("u")))

    def test_float64_is_refused(self):
        self.put("m.onnx", linear(dtype=DOUBLE))
        write_tensors(self.path("d"), {"x": ("F64", [4, 4], bytes(128))})
        self.succeeds("train", "m.onnx", "--data", "d", "--micro-batch", "2",
                      "--checkpoint", "d64")
        self.refused("checkpoint", "convert", "d64", "-o", "u", "--to",
                     "deepspeed-universal", lines=0, parts=[
                         "'w' (param) is of F64, and DeepSpeed keeps all in "
                         "float32"])

    def test_weights_of_torch(self):
        self.convert("c", "-o", "w.pt")
        self.convert("c", "-o", "w.safetensors")
        run = ["train", MLP, "--data", MLP_DATA, "--micro-batch", "8",
               "--steps", "2"]
        for name in "w.pt", "w.safetensors":
            self.succeeds(*run, "--load-weights", name, "--save-weights",
                          name + ".after")
        self.assertEqual(self.tensors("w.pt.after"),
                         self.tensors("w.safetensors.after"))
        self.refused(*run, "--load-weights", MLP, lines=0,
                     parts=["it is an ONNX model"])
        os.rename(self.path("w.pt.after"), self.path("named_so.pt"))
        self.succeeds(*run, "--load-weights", "named_so.pt")
        self.succeeds("run", MLP, "--data", MLP_DATA, "--load-weights", "w.pt",
                      "-o", "out")
        self.succeeds("export", "w.pt", MLP, "-o", "trained.onnx")
        tensors = torch_files.read(self.path("w.pt"))
        self.assertEqual(tensors, self.tensors("w.safetensors"))
        self.convert("c", "-o", "half.pt", "--type", "BF16")
        self.assertEqual({tensor.dtype for tensor in torch_files.read(
            self.path("half.pt")).values()}, {"BF16"})


if __name__ == "__main__":
    main()
