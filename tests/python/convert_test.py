"""zerograph.convert: what PyTorch and DeepSpeed read and write. DeepSpeed itself
is asked by tests/tools/deepspeed_test.py.
"""

import json
import logging
import os
import resource
import shutil
import signal
import sys
import types
import warnings

from package import need

need("torch", "safetensors")

import safetensors.torch  # noqa: E402
import torch  # noqa: E402
import zerograph as zg  # noqa: E402
from onnx_bytes import DOUBLE, linear  # noqa: E402
from support import (Case, GPT, GPT_DATA, MLP, MLP_DATA, MODELS,  # noqa: E402
                     main, write_tensors)

RESNET = os.path.join(MODELS, "resnet-mini", "model.onnx")
RESNET_DATA = os.path.join(MODELS, "resnet-mini", "batches.safetensors")
STEPS, BEFORE = 5, 3
TAG = f"step-{BEFORE:08}"


def same(found, wanted):
    """Compares dictionaries of tensors, bit for bit."""
    return (sorted(found) == sorted(wanted) and all(
        found[name].dtype == wanted[name].dtype and
        torch.equal(found[name], wanted[name]) for name in found))


class Convert(Case):

    def setUp(self):
        super().setUp()
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        self.addCleanup(warnings.resetwarnings)
        warnings.simplefilter("error")

    def train(self, *run, to=STEPS, resume=None, keep=False):
        """All weights and all states after step `to`; `keep`: a checkpoint."""
        more = ["--resume", resume] if resume else []
        more += ["--checkpoint", "c"] if keep else []
        self.said = self.succeeds(
            "train", *run, "--steps", str(to), "--save-weights", "w",
            "--dump-states", "s", *more).stderr
        return (safetensors.torch.load_file("w"),
                safetensors.torch.load_file("s"))

    def param(self, name, file, folder="u"):
        return torch.load(f"{folder}/{TAG}/zero/{name}/{file}.pt")

    def zero(self, *parts):
        return self.path("u", TAG, "zero", *parts)

    def fails(self, function, *arguments, parts=(), **options):
        with self.assertRaises((zg.Error, ValueError, OSError)) as caught:
            function(*arguments, **options)
        for part in parts:
            self.assertIn(part, str(caught.exception))


class ThereAndBack(Convert):

    def check(self, plan, *run, states=("exp_avg", "exp_avg_sq"), names=None,
              said=None):
        """Writes the layout, compares every tensor with what the run has, and
        goes on from it as the run itself does."""
        for folder in "c", "u", "c2":
            shutil.rmtree(self.path(folder), ignore_errors=True)
        run = [plan, *run]
        weights, kept = self.train(*run, to=BEFORE, keep=True)
        whole = self.train(*run)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            path = zg.convert.checkpoint_to_deepspeed("c", "u", names)
        self.assertEqual([said in str(one.message) for one in caught],
                         [True] if said else [])
        self.assertEqual(path, f"u/{TAG}")
        self.assertEqual(self.text("u", "latest_universal"), TAG)
        for name, tensor in weights.items():
            to = (names or {}).get(name, name)
            flip = isinstance(to, dict)
            to = to["name"] if flip else to
            own = {state: kept[f"{name}.{state}"] for state in states
                   if f"{name}.{state}" in kept}
            files = {"fp32": tensor, **own}
            self.assertTrue(same(
                {file: self.param(to, file)["param"] for file in files},
                {file: one.T if flip else one for file, one in files.items()}))
            self.assertEqual(sorted(os.listdir(self.zero(to))), sorted(
                [file + ".pt" for file in files] + ["step.pt"] * bool(own)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            zg.convert.deepspeed_to_checkpoint("u", plan, "c2", names)
        self.succeeds("checkpoint", "verify", "c2")
        for found, wanted in zip(self.train(*run, resume="c2"), whole):
            self.assertTrue(same(found, wanted))
        self.assertNotIn("samples, and had", self.said)
        return weights

    def test_adamw(self):
        weights = self.check(self.compile_mlp(), "--data", MLP_DATA)
        self.assertEqual(len(weights), 4)
        state = torch.load(self.zero("optimizer_state.pt"))
        self.assertEqual(state["param_groups"], [{}] * 4)
        self.assertEqual(state["optimizer_state_dict"]["state"],
                         {0: {"step": BEFORE}})
        for name in ("mp_rank_00_model_states.pt",
                     "zero_pp_rank_0_mp_rank_00_model_states.pt"):
            model = torch.load(self.path("u", TAG, name))
            self.assertEqual(
                {key: model[key] for key in ("global_steps", "skipped_steps",
                                             "global_samples", "lr_scheduler")},
                {"global_steps": BEFORE, "skipped_steps": 0,
                 "global_samples": BEFORE * 16,
                 "lr_scheduler": {"last_batch_iteration": BEFORE - 1}})
        three = torch.tensor(3.0)
        self.assertTrue(torch.equal(self.param("fc1.bias", "step"), three))
        zg.convert.checkpoint_to_deepspeed("c", "v", torch_optimizer=True)
        state = torch.load(f"v/{TAG}/zero/optimizer_state.pt")
        self.assertTrue(torch.equal(
            state["optimizer_state_dict"]["state"][0]["step"], three))

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
        with self.assertWarnsRegex(Warning, "the loss scale is not written"):
            zg.convert.checkpoint_to_deepspeed("h", "v")
        model = torch.load(f"v/{TAG}/mp_rank_00_model_states.pt")
        self.assertEqual(model["skipped_steps"], BEFORE)
        self.assertEqual(model["lr_scheduler"], {"last_batch_iteration": -1})

    def test_names(self):
        """GPT-2's, as its state_dict() has them: the tied embedding by its
        other name; and matrices that are transposed."""
        self.succeeds("compile", GPT, "-o", "p", "--micro-batch", "1", "--dim",
                      "seq=64", "--ranks", "2", "--zero", "2")
        names = {"lm_head.weight": "transformer.wte.weight",
                 "transformer.h.1.mlp.c_fc.weight": {
                     "name": "layers.1.weight", "transposed": True},
                 "transformer.h.0.attn.c_attn.weight": {
                     "name": "layers.0.weight", "transposed": True},
                 "nothing": "no tensor"}
        said = ("names: 1 of 4 names have no effect, since no tensor is called "
                "so: nothing")
        weights = self.check("p", "--data", GPT_DATA, names=names, said=said)
        self.assertGreater(len(weights), 40)
        self.put("names.json", json.dumps(names))
        self.succeeds("checkpoint", "convert", "c", "-o", "named.safetensors",
                      "--names", "names.json")
        named = safetensors.torch.load_file("named.safetensors")
        with self.assertWarns(Warning):
            zg.convert.checkpoint_to_torch("c", "named.pt", "names.json")
        self.assertTrue(same(torch.load("named.pt"), named))
        self.assertTrue(torch.equal(named["transformer.wte.weight"],
                                    weights["lm_head.weight"]))

    def test_running_statistics(self):
        self.succeeds("compile", RESNET, "-o", "p", "--micro-batch", "2")
        self.check("p", "--data", RESNET_DATA,
                   said="have only fp32.pt, which DeepSpeed does not load")


class FromDeepSpeed(Convert):
    """What DeepSpeed writes and we do not."""

    def setUp(self):
        super().setUp()
        self.plan = self.compile_mlp()
        self.whole = self.train(self.plan, "--data", MLP_DATA)
        self.train(self.plan, "--data", MLP_DATA, to=BEFORE, keep=True)
        zg.convert.checkpoint_to_deepspeed("c", "u")

    def adopt(self, names=None, plan=None, target="c2", **options):
        return zg.convert.deepspeed_to_checkpoint("u", plan or self.plan,
                                                  target, names, **options)

    def goes_on(self, *more):
        self.adopt()
        found = self.train(self.plan, "--data", MLP_DATA, resume="c2")
        self.assertTrue(all(map(same, found, self.whole)))

    def test_flat_tensors_and_no_count_of_their_own(self):
        """ZeRO 3's have neither a shape nor a dictionary around them."""
        for name in os.listdir(self.zero()):
            if os.path.isdir(self.zero(name)):
                os.remove(self.zero(name, "step.pt"))
                for file in "fp32", "exp_avg", "exp_avg_sq":
                    torch.save(self.param(name, file)["param"].flatten(),
                               self.zero(name, file + ".pt"))
        os.remove(self.path("u", TAG, "mp_rank_00_model_states.pt"))
        self.goes_on()

    def test_its_objects(self):
        """A loss scale, of a run of fp16, by the name of DeepSpeed's class."""
        kind = self.scaler_class()
        scaler = kind()
        scaler.__dict__ = {"cur_scale": 2.0 ** 12, "cur_iter": BEFORE,
                           "last_overflow_iter": 1, "cur_hysteresis": 2,
                           "scale_window": 1000, "dynamic": True}
        path = self.zero("optimizer_state.pt")
        state = torch.load(path)
        state["loss_scaler"] = scaler
        self.save_object(state, path, kind)
        half = self.compile_mlp("h", "--precision", "fp16")
        self.adopt(plan=zg.load(half), target="c3")
        index = self.json("c3", TAG, "index.json")
        self.assertEqual(index["loss_scale"], {
            "scale": 4096, "steps": BEFORE, "last_overflow": 1,
            "hysteresis": 2})
        self.goes_on()  # in float32 there is no scale

    def scaler_class(self):
        return type("DynamicLossScaler", (), {
            "__module__": "deepspeed.runtime.fp16.loss_scaler"})

    def save_object(self, value, path, kind):
        """Saves an object whose class no module has, but for now."""
        parts = kind.__module__.split(".")
        names = [".".join(parts[:i + 1]) for i in range(len(parts))]
        for name in names:
            sys.modules[name] = types.ModuleType(name)
        setattr(sys.modules[names[-1]], kind.__name__, kind)
        try:
            torch.save(value, path)
        finally:
            for name in names:
                del sys.modules[name]

    def test_seed_order_and_note(self):
        with self.assertLogs("zerograph", logging.INFO) as logs:
            self.adopt(seed=5, shuffle=6)
        self.assertIn(f"c2/{TAG}: 12 tensors of u/{TAG}, after {BEFORE} steps "
                      f"and {BEFORE} updates; 0 of load_weights",
                      logs.output[-1])
        index = self.json("c2", TAG, "index.json")
        self.assertEqual((index["seed"], index["shuffle"], index["samples"]),
                         (5, 6, 0))

    def test_what_it_cannot_have_written(self):
        states = "mp_rank_00_model_states.pt"
        optimizer = "zero/optimizer_state.pt"
        kind = self.scaler_class()
        for name, changed, part in (
                (states, {"global_steps": "3"}, "no number 'global_steps'"),
                (states, {"global_steps": True}, "no number 'global_steps'"),
                (states, {"skipped_steps": None}, "no number 'skipped_steps'"),
                (states, {"global_samples": [1]}, "no number 'global_samples'"),
                (optimizer, {"loss_scaler": {}}, "no number 'cur_scale'"),
                (optimizer, {"loss_scaler": {"cur_scale": float("nan")}},
                 "no number 'cur_scale' above 0"),
                (optimizer, {"loss_scaler": {"cur_scale": 2.0, "cur_iter": 3,
                                             "last_overflow_iter": 3}},
                 "its loss scale is none that a run can have"),
                (optimizer, {"optimizer_state_dict": {
                    "state": {0: {"step": 2.5}}}}, "it counts no updates")):
            path = self.path("u", TAG, name)
            shutil.copy(path, "kept")
            if "loss_scaler" in changed:
                scaler = kind()
                scaler.__dict__ = changed["loss_scaler"]
                changed = {"loss_scaler": scaler}
            self.save_object({**torch.load(path), **changed}, path, kind)
            self.fails(self.adopt, parts=[path.removeprefix(
                self.path() + "/"), part])
            shutil.copy("kept", path)
        for changed in {"optimizer_state_dict": None}, {
                "optimizer_state_dict": {"state": []}}:
            path = self.path("u", TAG, optimizer)
            torch.save({**torch.load(path), **changed}, path)
            self.adopt()  # parameters count too
            shutil.rmtree("c2")

    def test_weights_that_it_lacks(self):
        self.succeeds("compile", MLP, "-o", "f", "--micro-batch", "8",
                      "--freeze", "fc1.*")
        whole = self.train("f", "--data", MLP_DATA)
        for folder in "c", "u":
            shutil.rmtree(folder)
        self.train("f", "--data", MLP_DATA, to=BEFORE, keep=True)
        with self.assertWarnsRegex(Warning, "2 parameters and running"):
            zg.convert.checkpoint_to_deepspeed("c", "u")
        zg.convert.checkpoint_to_torch("c", "all.pt")
        shutil.rmtree(self.zero("fc1.weight"))
        shutil.rmtree(self.zero("fc1.bias"))
        self.fails(self.adopt, plan="f", parts=[
            "there is no zero/fc1.weight/fp32.pt, which is 'fc1.weight'",
            "zero/fc1.bias/fp32.pt", "load_weights= has values"])
        arrays = {name: one.numpy() for name, one in
                  torch.load("all.pt").items()}
        turned = {"fc1.weight": {"name": "net", "transposed": True}}
        for weights, names in (("all.pt", None), (arrays, None), (
                {**arrays, "net": arrays["fc1.weight"].T}, turned)):
            shutil.rmtree("c2", ignore_errors=True)
            self.adopt(names, plan="f", load_weights=weights)
            found = self.train("f", "--data", MLP_DATA, resume="c2")
            self.assertTrue(all(map(same, found, whole)))
        self.fails(self.adopt, plan="f", load_weights={"fc1.bias": "text"},
                   parts=["load_weights: 'fc1.bias' is no array"])

    def test_what_does_not_fit(self):
        sgd = self.compile_mlp("sgd", "--optimizer", "sgd")
        self.fails(self.adopt, plan=sgd, parts=[
            "does not fit the plan",
            "the plan has nothing for zero/fc1.bias/exp_avg.pt"])
        self.fails(self.adopt, {"fc1.weight": "net.0.weight"}, parts=[
            "there is no zero/net.0.weight/fp32.pt, which is 'fc1.weight'"])
        self.fails(self.adopt, {"fc1.weight": {"name": "fc1.weight",
                                               "transposed": True}}, parts=[
            "'fc1.weight' (fp32) is [128, 64], expected [64, 128] of "
            "'fc1.weight'"])
        torch.save(2, self.zero("fc1.bias", "step.pt"))
        self.fails(self.adopt, parts=["'fc1.bias' was updated",
                                      "a plan updates all parameters at once"])
        torch.save("text", self.zero("fc1.bias", "step.pt"))
        self.fails(self.adopt, parts=["step.pt: it counts no updates"])
        self.assertFalse(os.path.exists("c2"))

    def test_nothing_is_executed(self):
        class Evil:
            def __reduce__(self):
                return os.system, ("touch " + trace,)
        trace = self.path("trace")
        for path in (self.zero("fc1.bias", "fp32.pt"),
                     self.zero("optimizer_state.pt"),
                     self.path("u", TAG, "mp_rank_00_model_states.pt")):
            shutil.copy(path, "kept")
            torch.save({"param": Evil()}, path)
            self.fails(self.adopt, parts=[
                os.path.basename(path), "posix.system",
                "Nothing in it was executed"])
            shutil.copy("kept", path)
        torch.save({"fc1.bias": Evil()}, "weights.pt")
        with self.assertRaisesRegex(zg.InvalidArgument, "posix.system"):
            zg.Trainer(zg.load(self.plan), load_weights="weights.pt")
        self.assertFalse(os.path.exists(trace))

    def test_files_that_are_none(self):
        path = self.zero("fc1.bias", "fp32.pt")
        content = self.bytes_of(path)
        for data in content[:-1], b"", content[:100], b"text":
            self.put(path, data)
            self.fails(self.adopt, parts=["fp32.pt: torch.load"])
        self.put(path, content)
        self.put("u/latest_universal", "../c")
        self.fails(self.adopt, parts=["latest_universal names '../c'"])
        os.rename("u/latest_universal", "u/latest")
        self.fails(self.adopt, parts=["not in the universal layout",
                                      "ds_to_universal"])
        os.remove("u/latest")
        self.fails(self.adopt, parts=["it is no universal checkpoint"])
        self.assertFalse(os.path.exists("c2"))


class Refusals(Convert):

    def setUp(self):
        super().setUp()
        self.plan = self.compile_mlp()
        self.train(self.plan, "--data", MLP_DATA, to=BEFORE, keep=True)

    def to_deepspeed(self, *parts, source="c", target="u", names=None):
        self.fails(zg.convert.checkpoint_to_deepspeed, source, target, names,
                   parts=parts)

    def test_what_is_there_stays(self):
        zg.convert.checkpoint_to_deepspeed("c", "u")
        self.to_deepspeed("there is such a checkpoint already")
        self.to_deepspeed("it is a checkpoint: choose another folder",
                          target=f"c/{TAG}")
        self.fails(zg.convert.deepspeed_to_checkpoint, "u", self.plan, "c",
                   parts=["there is such a checkpoint already"])
        self.to_deepspeed("there is no checkpoint in it", source="u/" + TAG)

    def test_the_command_says_what_to_do(self):
        zg.convert.checkpoint_to_deepspeed("c", "u")
        for path in "u", f"u/{TAG}":
            for command in (["train", self.plan, "--data", MLP_DATA,
                             "--resume", path],
                            ["checkpoint", "convert", path, "-o", "w"]):
                self.refused(*command, lines=0, parts=[
                    "it is a checkpoint of DeepSpeed",
                    f"zerograph.convert.deepspeed_to_checkpoint('{path}'"])
        self.refused("checkpoint", "convert", "c", "-o", "w.pt", parts=[
            "zerograph.convert.checkpoint_to_torch('c', 'w.pt')"])
        zg.convert.checkpoint_to_torch("c", "w.pt")
        for command in (["train", MLP, "--data", MLP_DATA, "--micro-batch", "8",
                         "--load-weights", "w.pt"],
                        ["train", MLP, "--data", "w.pt", "--micro-batch", "8"],
                        ["export", "w.pt", MLP, "-o", "trained.onnx"]):
            self.refused(*command, lines=0, parts=[
                "w.pt: it is a ZIP file, as torch.save writes it",
                "zerograph.convert.torch_to_safetensors"])

    def test_folders_that_are_ours(self):
        """A link to the newest, and both kinds in one folder."""
        os.symlink(TAG, "c/latest")
        zg.convert.checkpoint_to_deepspeed("c", "u")
        shutil.copytree(f"u/{TAG}", f"c/{TAG}-deepspeed")
        shutil.copy("u/latest_universal", "c")
        self.train(self.plan, "--data", MLP_DATA, resume="c")

    def test_a_full_disk(self):
        before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGXFSZ, before)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, hard))
        try:
            self.to_deepspeed()
            for target in "w.pt", "w.safetensors":
                self.fails(zg.convert.torch_to_safetensors, "w", target)
            self.fails(zg.convert.checkpoint_to_torch, "c", "w.pt")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        self.assertEqual(os.listdir("u"), [])
        self.assertEqual([name for name in os.listdir(".") if "w." in name], [])

    def test_nothing_is_left_of_what_fails(self):
        path = self.path("c", TAG, "rank-00001.safetensors")
        with open(path, "r+b") as file:
            file.seek(-3, os.SEEK_END)
            file.write(b"xxx")
        self.to_deepspeed("rank-00001.safetensors", "is damaged")
        self.fails(zg.convert.checkpoint_to_torch, "c", "w.pt",
                   parts=["is damaged"])
        self.assertFalse(os.path.exists("u"))
        self.assertFalse(os.path.exists("w.pt"))

    def test_maps_that_are_none(self):
        for text, part in (
                ("[]", "it is no JSON object"), ("{", "no map of names"),
                ('{"a": 1}', "'a' has none"), ('{"a": ""}', "'a' has none"),
                ('{"a": ["b"]}', "'a' has none"),
                ('{"a": {"name": "b"}}', "'a' has none"),
                ('{"a": {"name": "b", "transposed": 1}}', "'a' has none"),
                ('{"a": "b", "a": "c"}', "'a' is there twice"),
                ('{"a": "c", "b": "c"}', "'a' and 'b' are both 'c'")):
            self.put("names.json", text)
            self.fails(zg.convert.checkpoint_to_torch, "c", "w.pt",
                       "names.json", parts=["names.json: no map of names",
                                            part])

    def test_names_that_cannot_be(self):
        turned = {"fc1.bias": {"name": "b", "transposed": True}}
        self.to_deepspeed("'fc1.bias' (values) is transposed in names, which "
                          "only a matrix can be: its shape is [128]",
                          names=turned)
        self.fails(zg.convert.checkpoint_to_torch, "c", "w.pt", turned,
                   parts=["'b' is transposed, which only a matrix can be"])
        for name in "a/b", "..", ".":
            self.to_deepspeed(f"in a folder '{name}'",
                              names={"fc1.bias": name})
        twice = {"fc1.bias": "fc2.bias"}
        self.to_deepspeed("'fc1.bias' and 'fc2.bias' would both be 'fc2.bias'",
                          names=twice)
        self.fails(zg.convert.checkpoint_to_torch, "c", "w.pt", twice,
                   parts=["'fc1.bias' and 'fc2.bias' are both 'fc2.bias'"])
        self.to_deepspeed("'a' and 'b' are both 'c'",
                          names={"a": "c", "b": "c"})
        self.assertFalse(os.path.exists("u"))

    def test_float64_is_refused(self):
        self.put("m.onnx", linear(dtype=DOUBLE))
        write_tensors(self.path("d"), {"x": ("F64", [4, 4], bytes(128))})
        self.succeeds("train", "m.onnx", "--data", "d", "--micro-batch", "2",
                      "--checkpoint", "d64")
        self.to_deepspeed("'w' (values) is of F64, and DeepSpeed keeps all in "
                          "float32", source="d64")


class Weights(Convert):
    """Files of torch.save and folders of Hugging Face, to begin with."""

    def setUp(self):
        super().setUp()
        self.succeeds("train", MLP, "--data", MLP_DATA, "--micro-batch", "8",
                      "--checkpoint", "c", "--save-weights", "w.safetensors")
        self.weights = safetensors.torch.load_file("w.safetensors")

    def begins_with(self, weights, **options):
        plan = zg.compile(MLP, micro_batch=8)
        with zg.Trainer(plan, load_weights=weights, **options) as trainer:
            found = trainer.state_dict()
        return same({name: torch.tensor(one) for name, one in found.items()},
                    self.weights)

    def test_a_checkpoint_as_a_state_dict(self):
        zg.convert.checkpoint_to_torch("c", "w.pt")
        self.assertTrue(same(torch.load("w.pt"), self.weights))
        zg.convert.checkpoint_to_torch("c", "half.pt", type="BF16")
        self.assertTrue(same(torch.load("half.pt"), {
            name: one.bfloat16() for name, one in self.weights.items()}))
        zg.convert.torch_to_safetensors("half.pt", "half.safetensors")
        self.assertTrue(same(safetensors.torch.load_file("half.safetensors"),
                             torch.load("half.pt")))
        self.fails(zg.convert.checkpoint_to_torch, "c", "x.pt", type="F8",
                   parts=["expected F32, F16 or BF16"])

    def test_all_that_a_trainer_begins_with(self):
        torch.save(self.weights, "state.pt")
        torch.save({"epoch": 3, "state_dict": self.weights}, "lightning.ckpt")
        os.rename("lightning.ckpt", "lightning.pt")
        torch.save(self.weights, "old.pt",
                   _use_new_zipfile_serialization=False)
        for name in "state.pt", "lightning.pt", "old.pt", "w.safetensors":
            self.assertTrue(self.begins_with(name), name)
        names = {name: {"name": "net." + name, "transposed": True}
                 if one.ndim == 2 else "net." + name
                 for name, one in self.weights.items()}
        torch.save({"net." + name: one.T.contiguous() if one.ndim == 2 else one
                    for name, one in self.weights.items()}, "theirs.pt")
        self.put("names.json", json.dumps(names))
        self.assertTrue(self.begins_with("theirs.pt", names="names.json"))
        self.assertTrue(self.begins_with("theirs.pt", names=names))
        torch.save({"a": torch.zeros(2, dtype=torch.float8_e4m3fn)}, "f8.pt")
        self.fails(zg.convert.torch_to_safetensors, "f8.pt", "o",
                   parts=["f8.pt: 'a' is torch.float8_e4m3fn"])

    def test_folders_of_hugging_face(self):
        first, second = (dict(list(self.weights.items())[i::2]) for i in (0, 1))
        for kind, save in ("safetensors", safetensors.torch.save_file), (
                "bin", torch.save):
            stem = "model" if kind == "safetensors" else "pytorch_model"
            os.makedirs(f"one.{kind}")
            save(self.weights, f"one.{kind}/{stem}.{kind}")
            os.makedirs(f"two.{kind}")
            for i, part in enumerate((first, second)):
                save(part, f"two.{kind}/{i}.{kind}")
            self.put(f"two.{kind}/{stem}.{kind}.index.json", json.dumps({
                "weight_map": {**{name: f"0.{kind}" for name in first},
                               **{name: f"1.{kind}" for name in second}}}))
            self.assertTrue(self.begins_with(f"one.{kind}"))
            self.assertTrue(self.begins_with(f"two.{kind}"))
        os.makedirs("base")
        safetensors.torch.save_file({"net." + name: one for name, one in
                                     self.weights.items()},
                                    "base/model.safetensors")
        with self.assertRaisesRegex(
                zg.Error, r"^base holds none of the model's 4 parameters.*'net."
                "fc1.bias' may be 'fc1.bias': leave out the 'net.' in front"):
            self.begins_with("base")
        self.put("two.bin/pytorch_model.bin.index.json", "{}")
        self.fails(self.begins_with, "two.bin", parts=["no 'weight_map'"])
        self.put("two.bin/pytorch_model.bin.index.json", "{")
        self.fails(self.begins_with, "two.bin", parts=["bin.index.json: "])
        self.fails(self.begins_with, 5, parts=["5"])
        os.makedirs("none")
        self.fails(self.begins_with, "none", parts=["none: it has none of",
                                                    "model.safetensors"])

    def test_what_is_no_state_dict(self):
        torch.save([1], "list.pt")
        torch.save({"epoch": 3}, "numbers.pt")
        for name, part in (("list.pt", "it holds a list, expected"),
                           ("numbers.pt", "'epoch' is a int, expected a"),
                           ("missing.pt", "there is no such file")):
            self.fails(zg.convert.torch_to_safetensors, name, "o", parts=[part])
        self.assertFalse(os.path.exists("o"))


if __name__ == "__main__":
    main()
