"""`--checkpoint` and `--resume`: a run that was stopped goes on as if it never
had been, whoever goes on with it."""

import itertools
import json
import math
import os
import random
import shutil
import signal
import subprocess
import time

from mpi import FULL, Mpi
from support import (Case, GPT, GPT_DATA, MLP, MLP_DATA, MODELS, ZEROGRAPH,
                     ZEROGRAPH_RUN, limit_file_size, main, read_tensors)

DROPOUT = os.path.join(MODELS, "gpt2-nano-dropout", "model.onnx")
RESNET = os.path.join(MODELS, "resnet-mini", "model.onnx")
RESNET_DATA = os.path.join(MODELS, "resnet-mini", "batches.safetensors")
# Steps of a whole run, and of its part before the checkpoint.
STEPS, BEFORE = 5, 2
FIELDS = "step", "loss", "grad_norm", "lr", "loss_scale", "skipped"


def index_of(folder):
    with open(os.path.join(folder, "index.json")) as file:
        return json.load(file)


class Checkpoints(Case):

    def log(self, name):
        with open(self.path(name)) as file:
            return [{field: entry[field] for field in FIELDS if field in entry}
                    for entry in map(json.loads, file)]

    def result(self, name):
        """What a run has left: all weights, all states, each step's numbers."""
        return (read_tensors(self.path(name + ".w")),
                read_tensors(self.path(name + ".s")), self.log(name + ".log"))

    def leave(self, name):
        return ["--save-weights", name + ".w", "--dump-states", name + ".s",
                "--log", name + ".log"]

    def run_and_stop(self, run, *options, **others):
        """The whole run, then its first part with a checkpoint."""
        shutil.rmtree(self.path("c"), ignore_errors=True)
        self.succeeds(*run, *options, "--steps", str(STEPS),
                      *self.leave("whole"), **others)
        self.succeeds(*run, *options, "--steps", str(BEFORE), "--log",
                      "part.log", "--checkpoint", "c", **others)
        return self.result("whole")

    def go_on(self, run, *options, log="part.log", **others):
        """The second part; `log`: of the first."""
        shutil.copy(self.path(log), self.path("on.log"))
        said = self.succeeds(*run, *options, "--resume", "c", "--steps",
                             str(STEPS), *self.leave("on"), **others).stderr
        self.assertIn(f"step-0000000{BEFORE}, after {BEFORE} steps", said)
        return self.result("on")

    def check(self, run, *options, then=(), **others):
        """`then`: options of the second part instead of `options`."""
        whole = self.run_and_stop(run, *options, **others)
        self.assertEqual(self.go_on(run, *(then or options), **others), whole)
        return whole


class SameBits(Checkpoints):

    def layouts(self):
        """By name: a plan for as many samples of a step, on some ranks."""
        layouts = {}
        optimizer = ["--offload-optimizer", "cpu"]
        cells = [(ranks, zero, "", []) for ranks, zero in itertools.product(
            (1, 2, 4), (0, 2, 3))]
        cells += [(1, 0, "-optimizer", optimizer),
                  (2, 3, "-both", [*optimizer, "--offload-param", "cpu"])]
        for ranks, zero, offloads, options in cells:
            name = f"{ranks}-{zero}{offloads}"
            layouts[name] = ["--ranks", str(ranks), "--zero", str(zero),
                             "--accumulate", str(4 // ranks), *options]
            self.succeeds(
                "compile", GPT, "-o", name, "--micro-batch", "1", "--dim",
                "seq=64", *layouts[name], "--schedule", "cosine",
                "--warmup-steps", "2", "--total-steps", "6", "--clip-norm",
                "1", "--no-decay", "--lr", "3e-3", *(
                    ["--bucket-bytes", "100000"] if ranks == 2 else []))
        return list(layouts)

    def test_every_layout_goes_on_with_every_other(self):
        """Each is saved once and resumed once; with --full all pairs."""
        layouts = self.layouts()
        run = ["--data", GPT_DATA, "--shuffle", "3", "--threads", "1"]
        for name in layouts:
            self.succeeds("train", name, *run, "--steps", str(BEFORE), "--log",
                          name + ".part", "--checkpoint", "c-" + name)
        self.succeeds("train", layouts[0], *run, "--steps", str(STEPS),
                      *self.leave("whole"))
        whole = self.result("whole")
        pairs = [(saved, layouts[(i * 4 + 3) % len(layouts)])
                 for i, saved in enumerate(layouts)]
        if FULL:
            pairs = list(itertools.product(layouts, layouts))
        for saved, resumed in pairs:
            os.rename(self.path("c-" + saved), self.path("c"))
            # The seed of --shuffle is the checkpoint's.
            found = self.go_on(["train", resumed], *run[:2], *run[4:],
                               log=saved + ".part")
            self.assertEqual(found, whole, (saved, resumed))
            os.rename(self.path("c"), self.path("c-" + saved))

    def test_dropout(self):
        self.check(["train", DROPOUT, "--data", GPT_DATA, "--micro-batch",
                    "1"], "--seed", "7", "--ranks", "2", "--zero", "2",
                   "--accumulate", "2",
                   then=["--ranks", "4", "--zero", "3"])

    def test_every_optimizer(self):
        mlp = ["train", MLP, "--data", MLP_DATA, "--micro-batch", "8"]
        for optimizer in (["sgd", "--momentum", "0.9"], ["adam"], ["lion"],
                          ["adagrad"], ["lamb"]):
            self.check(mlp, "--ranks", "2", "--zero", "1", "--optimizer",
                       *optimizer, then=["--accumulate", "2", "--optimizer",
                                         *optimizer])

    def test_bf16(self):
        mlp = ["train", MLP, "--data", MLP_DATA, "--micro-batch", "8",
               "--precision", "bf16"]
        self.check(mlp, "--ranks", "4", "--zero", "3",
                   then=["--ranks", "2", "--accumulate", "2", "--zero", "1"])
        roles = {(tensor["role"], tensor["type"], tensor["computed"])
                 for tensor in index_of(self.path("c", "step-00000002"))[
                     "tensors"]}
        self.assertEqual(roles, {("master", "F32", "BF16"),
                                 ("exp_avg", "F32", "BF16"),
                                 ("exp_avg_sq", "F32", "BF16")})
        self.check([*mlp, "--master-precision", "bf16"], "--ranks", "2",
                   "--zero", "2", then=["--accumulate", "2"])

    def test_fp16_goes_on_with_its_loss_scale(self):
        mlp = ["train", MLP, "--data", MLP_DATA, "--micro-batch", "8",
               "--precision", "fp16", "--initial-scale-power", "40",
               "--loss-scale-hysteresis", "1", "--loss-scale-window", "2"]
        whole = self.check(mlp, "--ranks", "2", "--zero", "2",
                           then=["--accumulate", "2"])
        skipped = [entry.get("skipped", False) for entry in whole[2]]
        self.assertIn(True, skipped[:BEFORE])
        index = index_of(self.path("c", "step-00000002"))
        self.assertEqual(index["updates"], BEFORE - sum(skipped[:BEFORE]))
        self.assertEqual(index["loss_scale"]["scale"],
                         whole[2][BEFORE]["loss_scale"])

    def test_each_rank_has_its_running_statistics(self):
        resnet = ["train", RESNET, "--data", RESNET_DATA, "--micro-batch", "2"]
        self.check(resnet, "--ranks", "2", "--zero", "3", "--accumulate", "2",
                   then=["--ranks", "2", "--zero", "0", "--accumulate", "2"])
        ranks = [tensor.get("rank") for tensor in index_of(
            self.path("c", "step-00000002"))["tensors"]]
        self.assertEqual({0, 1, None}, set(ranks))
        said = self.succeeds(*resnet, "--accumulate", "4", "--resume", "c",
                             "--steps", str(STEPS), "--save-weights", "one"
                             ).stderr
        self.assertIn("is of 2 ranks: running statistics", said)
        # Rank 1's are other ones: the first rank's alone matter now.
        self.assertEqual(read_tensors(self.path("one")).keys(),
                         read_tensors(self.path("whole.w")).keys())

    def test_adapters(self):
        run = ["train", GPT, "--data", GPT_DATA, "--micro-batch", "1",
               "--lora", "2:*attn*"]
        self.check(run, "--ranks", "2", "--zero", "3",
                   then=["--accumulate", "2"])

    def test_epochs(self):
        mlp = ["train", MLP, "--data", MLP_DATA, "--micro-batch", "8",
               "--shuffle", "5"]
        self.succeeds(*mlp, "--epochs", "2", *self.leave("whole"))
        steps = len(self.log("whole.log"))
        self.succeeds(*mlp, "--epochs", "2", "--checkpoint", "c", "--every",
                      str(steps // 2 + 3), "--log", "on.log")
        shutil.rmtree(self.path("c", f"step-{steps:08}"))
        self.succeeds(*mlp, "--epochs", "2", "--resume", "c",
                      *self.leave("on"))
        self.assertEqual(self.result("on"), self.result("whole"))

    def test_weights_as_one_file(self):
        mlp = ["train", MLP, "--data", MLP_DATA, "--micro-batch", "8",
               "--ranks", "2", "--zero", "3"]
        for precision in [], ["--precision", "bf16"]:
            self.succeeds(*mlp, *precision, "--steps", "3", "--checkpoint", "c",
                          "--save-weights", "w")
            self.succeeds("checkpoint", "convert", "c", "-o", "v")
            self.assertEqual(read_tensors(self.path("v")),
                             read_tensors(self.path("w")))
            shutil.rmtree(self.path("c"))
        self.succeeds(*mlp, "--steps", "3", "--checkpoint", "c",
                      "--save-weights", "w")
        self.succeeds("checkpoint", "convert", "c/step-00000003", "-o", "v",
                      "--type", "BF16")
        for name, (dtype, shape, data) in read_tensors(self.path("v")).items():
            self.assertEqual(dtype, "BF16")
            _, wide_shape, wide = read_tensors(self.path("w"))[name]
            self.assertEqual(shape, wide_shape)
            for i in range(0, len(data), 2):
                bits = int.from_bytes(wide[2 * i:2 * i + 4], "little")
                rounded = bits + 0x7fff + (bits >> 16 & 1) >> 16
                self.assertEqual(int.from_bytes(data[i:i + 2], "little"),
                                 rounded)
        self.refused("checkpoint", "convert", "c", "-o", "v", "--type", "I8",
                     codes=(1, 2), parts=["--type"])

    def test_the_runtime_alone(self):
        plan = self.compile_mlp()
        self.check(["train", plan, "--data", MLP_DATA], program=ZEROGRAPH_RUN)
        for command in "list", "verify":
            self.succeeds("checkpoint", command, "c", program=ZEROGRAPH_RUN)


class Options(Checkpoints):

    RUN = ["train", MLP, "--data", MLP_DATA, "--micro-batch", "8"]

    def names(self, folder="c"):
        return sorted(name for name in os.listdir(self.path(folder))
                      if name != ".zerograph-lock")

    def test_every_and_keep(self):
        said = self.succeeds(*self.RUN, "--steps", "9", "--checkpoint", "c",
                             "--every", "2", "--keep", "3").stdout
        self.assertEqual(self.names(), ["step-00000006", "step-00000008",
                                        "step-00000009"])
        row = next(line for line in said.splitlines()
                   if "copy for checkpoints" in line).split()
        self.assertEqual(row[-1], row[-2])
        # A parameter and two states, in fp32.
        self.assertEqual(int(row[-1].replace(",", "")), 3 * 4 * sum(
            math.prod(shape) for _, shape, _ in read_tensors(os.path.join(
                MODELS, "mlp-digits", "final_adamw.safetensors")).values()))
        self.assertIn("5 checkpoints, the last is c/step-00000009", said)
        self.assertEqual(sorted(os.listdir(self.path("c", "step-00000009"))),
                         ["index.json", "rank-00000.safetensors"])

    def test_waiting_is_said_once(self):
        """A step takes less than a file system does."""
        said = self.succeeds(*self.RUN, "--steps", "40", "--checkpoint", "c",
                             "--every", "1").stderr
        self.assertEqual(said.count("is still being written"), 1)
        self.assertEqual(len(self.names()), 40)

    def test_the_copy_is_what_is_saved(self):
        said = self.succeeds(*self.RUN, "--checkpoint", "c").stdout
        copied = int(next(line for line in said.splitlines()
                          if "copy for checkpoints" in line
                          ).split()[-1].replace(",", ""))
        arrays = read_tensors(
            self.path("c", "step-00000001", "rank-00000.safetensors"))
        self.assertEqual(copied, sum(len(data) for _, _, data
                                     in arrays.values()))

    def test_latest(self):
        both = [*self.RUN, "--checkpoint", "c", "--resume", "latest"]
        said = self.succeeds(*both, "--steps", "2").stderr
        self.assertIn("there is no checkpoint in c: the run begins", said)
        said = self.succeeds(*both, "--steps", "4").stderr
        self.assertIn("goes on from c/step-00000002, after 2 steps", said)
        said = self.succeeds(*both, "--steps", "4", "--save-weights", "w")
        self.assertIn("all 4 steps have been made already", said.stderr)
        self.assertEqual(self.names(), ["step-00000002", "step-00000004"])
        self.succeeds(*self.RUN, "--steps", "4", "--save-weights", "v")
        self.assertEqual(read_tensors(self.path("w")),
                         read_tensors(self.path("v")))

    def test_one_of_several(self):
        self.succeeds(*self.RUN, "--steps", "4", "--checkpoint", "c",
                      "--every", "1")
        said = self.succeeds(*self.RUN, "--steps", "5", "--resume",
                             "c/step-00000002", "--log", "log")
        self.assertIn("c/step-00000002, after 2 steps", said.stderr)
        self.assertIn("at step 2,", said.stdout)
        self.assertEqual([entry["step"] for entry in self.log("log")],
                         [2, 3, 4])
        self.refused(*self.RUN, "--steps", "5", "--resume", "c/step-00000002",
                     "--checkpoint", "c", lines=0,
                     parts=["holds checkpoints of later steps: c/step-00000003,"
                            " c/step-00000004"])

    def test_another_micro_batch_is_said(self):
        self.succeeds(*self.RUN, "--checkpoint", "c")
        for ranks in (1, 2):
            said = self.succeeds(
                "train", MLP, "--data", MLP_DATA, "--micro-batch",
                str(8 // ranks), "--ranks", str(ranks), "--steps", "2",
                "--resume", "c").stderr
            self.assertEqual("micro-batches have 4 samples, and had 8" in said,
                             ranks == 2, said)

    def test_what_is_refused(self):
        self.succeeds(*self.RUN, "--steps", "3", "--checkpoint", "c",
                      "--shuffle", "4", "--seed", "2")
        on = [*self.RUN, "--resume", "c", "--steps", "5"]
        for options, part in (
                (["--micro-batch", "4"], "a step takes 4 samples, and took 8"),
                (["--seed", "3"], "has the seed 2, and goes on with it"),
                (["--shuffle", "5"], "in the order of --shuffle 4, and"),
                (["--optimizer", "adam"], "was made with --optimizer adamw"),
                (["--steps", "2"], "has made 3 steps, and 2 are wanted"),
                (["--precision", "bf16"], "of another precision: '"),
                (["--freeze", "*.bias"], "the plan does not have: '")):
            run = [*self.RUN, "--resume", "c", "--steps", "5"]
            for name, value in zip(options[::2], options[1::2]):
                if name in run:
                    run[run.index(name) + 1] = value
                else:
                    run += [name, value]
            self.refused(*run, parts=[part], codes=(1,), lines=0)
        self.refused("train", GPT, "--data", GPT_DATA, "--micro-batch", "8",
                     "--resume", "c", codes=(1,), lines=0,
                     parts=["it lacks: '", "the plan does not have: '", "more"])
        self.refused(*self.RUN, "--checkpoint", "c", "--steps", "1",
                     codes=(1,), lines=0,
                     parts=["holds checkpoints of an earlier run: "
                            "c/step-00000003", "--resume latest"])
        self.refused(*self.RUN, "--resume", "d", codes=(1,), lines=0,
                     parts=["d: cannot be listed"])
        self.succeeds(*on, "--seed", "2", "--shuffle", "4")

    def test_what_has_no_effect_is_said(self):
        for options, part in ((["--every", "2"], "--every has no effect"),
                              (["--keep", "2"], "--keep has no effect"),
                              (["--resume", "latest"], "--resume latest has"),
                              (["--convert-precision"], "without --resume")):
            self.refused(*self.RUN, *options, parts=[part])
        said = self.succeeds(*self.RUN, "--checkpoint", "c", "--steps", "0")
        self.assertIn("--checkpoint has no effect", said.stderr)
        self.succeeds(*self.RUN, "--checkpoint", "c", "--save-weights", "w")
        said = self.succeeds(*self.RUN, "--resume", "c", "--steps", "2",
                             "--load-weights", "w", "--init-missing",
                             "normal:1", "--lr", "0.5").stderr
        self.assertIn("--load-weights has no effect", said)
        self.assertIn("--init-missing has no effect", said)
        self.assertIn("groups/0/learning_rate is 0.5, was 0.001", said)

    def test_another_precision_by_option(self):
        self.succeeds(*self.RUN, "--steps", "3", "--checkpoint", "c",
                      "--save-weights", "w")
        said = self.succeeds(*self.RUN, "--resume", "c", "--steps", "3",
                             "--precision", "bf16", "--convert-precision",
                             "--save-weights", "v").stderr
        self.assertIn("values are converted", said)
        # Masters keep all bits.
        self.assertEqual(read_tensors(self.path("v")),
                         read_tensors(self.path("w")))
        self.succeeds(*self.RUN, "--resume", "c", "--steps", "4",
                      "--precision", "fp16", "--convert-precision")

    def test_more_data(self):
        self.succeeds(*self.RUN, "--steps", "3", "--checkpoint", "c")
        said = self.succeeds(*self.RUN, "--data", MLP_DATA, MLP_DATA,
                             "--resume", "c", "--steps", "4").stderr
        self.assertIn("from here on samples are taken as if it had always",
                      said)

    def test_logs_go_on(self):
        self.succeeds(*self.RUN, "--steps", "3", "--checkpoint", "c", "--every",
                      "2", "--log", "log")
        shutil.rmtree(self.path("c", "step-00000003"))
        with open(self.path("log"), "a") as file:
            file.write('{"step": 3, "lo')  # as one who is killed leaves it
        on = [*self.RUN, "--resume", "c", "--log", "log"]
        self.succeeds(*on, "--steps", "5")
        self.assertEqual([entry["step"] for entry in self.log("log")],
                         [0, 1, 2, 3, 4])
        with open(self.path("log"), "w") as file:
            file.write("mine\nmine\n")
        self.refused(*on, "--steps", "5", codes=(1,), lines=0,
                     parts=["log: line 1 is not of a log"])
        with open(self.path("log")) as file:
            self.assertEqual(file.read(), "mine\nmine\n")

    def test_a_model_that_moved(self):
        shutil.copytree(os.path.dirname(MLP), self.path("m"))
        self.succeeds("compile", "m/model.onnx", "-o", "p", "--micro-batch",
                      "8")
        self.succeeds("train", "p", "--data", MLP_DATA, "--checkpoint", "c")
        shutil.rmtree(self.path("m"))
        self.succeeds("train", "p", "--data", MLP_DATA, "--resume", "c",
                      "--steps", "2")

    def test_one_run_at_a_time(self):
        run = subprocess.Popen(
            [ZEROGRAPH, *self.RUN, "--steps", "100000000", "--checkpoint",
             "c", "--log", "log"], cwd=self.folder, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        limit = time.monotonic() + 120
        while not os.path.exists(self.path("log")) or not self.log("log"):
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.01)
        self.refused(*self.RUN, "--checkpoint", "c", codes=(1,), lines=0,
                     parts=["c: another run writes checkpoints there"])
        # A signal ends it with a checkpoint.
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=120)
        self.assertEqual(run.returncode, 130, said)
        name, = self.names()
        steps = int(name[5:])
        self.assertEqual(len(self.log("log")), steps)
        self.assertIn(f"--resume c/{name} goes on", said)
        more = str(steps + 2)
        self.succeeds(*self.RUN, "--resume", "c", "--steps", more,
                      "--save-weights", "w")
        self.succeeds(*self.RUN, "--steps", more, "--save-weights", "v")
        self.assertEqual(read_tensors(self.path("w")),
                         read_tensors(self.path("v")))


class Damage(Checkpoints):

    RUN = Options.RUN

    def setUp(self):
        super().setUp()
        self.succeeds(*self.RUN, "--ranks", "2", "--zero", "1", "--steps", "2",
                      "--checkpoint", "c", "--every", "1")
        self.last = self.path("c", "step-00000002")
        self.shard = os.path.join(self.last, "rank-00001.safetensors")

    def found(self, *parts):
        """verify and --resume name it."""
        result = self.run_program("checkpoint", "verify", "c")
        self.assertEqual(result.returncode, 1, result.stdout)
        for part in (*parts, "cannot be mended"):
            self.assertIn(part, result.stderr)
        # The other one is fine.
        self.assertIn("step-00000001", result.stdout)
        return result.stderr

    def test_list_and_verify(self):
        said = self.succeeds("checkpoint", "list", "c").stdout.splitlines()
        self.assertEqual(len(said), 3)
        self.assertRegex(said[2], r"^ +2  20\S+Z +2 +[\d,]+  model.onnx$")
        said = self.succeeds("checkpoint", "verify", "c").stdout
        self.assertIn("c/step-00000002: 12 tensors in ", said)
        self.succeeds("checkpoint", "verify", "c/step-00000001")
        self.refused("checkpoint", parts=["say what to do: list, verify or"],
                     codes=(1, 2))
        self.refused("checkpoint", "verify", "d", parts=["d: cannot be listed"])

    def test_any_byte(self):
        draw = random.Random(1)
        for name in sorted(os.listdir(self.last)):
            path = os.path.join(self.last, name)
            with open(path, "rb") as file:
                content = file.read()
            places = {0, 8, len(content) - 1, *(
                draw.randrange(len(content)) for _ in range(12))}
            for place in places:
                changed = bytearray(content)
                changed[place] ^= 1 << draw.randrange(8)
                with open(path, "wb") as file:
                    file.write(changed)
                self.found(os.path.join("c/step-00000002", name))
            with open(path, "wb") as file:
                file.write(content)
        self.succeeds("checkpoint", "verify", "c")

    def test_what_a_tensor_lost_is_named_and_not_trained_with(self):
        tensor = next(t for t in index_of(self.last)["tensors"]
                      if t["role"] == "exp_avg")
        piece = next(p for p in tensor["pieces"] if p["file"] == 1)
        with open(self.shard, "r+b") as file:
            file.seek(piece["offset"])
            byte = file.read(1)[0]
            file.seek(piece["offset"])
            file.write(bytes([byte ^ 1]))
        name = f"'{tensor['name']}' (exp_avg) is damaged: bytes "
        self.found(name, "rank-00001.safetensors")
        self.refused(*self.RUN, "--accumulate", "2", "--resume", "c", "--steps",
                     "3", codes=(1,), lines=0, parts=[name])
        # The one before it is as good as ever.
        self.succeeds(*self.RUN, "--accumulate", "2", "--resume",
                      "c/step-00000001", "--steps", "3")

    def test_cut_short_or_missing(self):
        size = os.path.getsize(self.shard)
        os.truncate(self.shard, size - 1)
        part = f"rank-00001.safetensors has {size - 1} bytes, and had {size}"
        self.found(part, "it has pieces of '")
        resume = [*self.RUN, "--accumulate", "2", "--resume", "c", "--steps",
                  "3"]
        self.refused(*resume, codes=(1,), lines=0,
                     parts=[part, "'zerograph checkpoint list'"])
        os.unlink(self.shard)
        self.found("rank-00001.safetensors: cannot open", "it has pieces of '")
        self.refused(*resume, codes=(1,), lines=0,
                     parts=["rank-00001.safetensors: cannot open"])
        os.unlink(os.path.join(self.last, "index.json"))
        self.found("step-00000002/index.json: cannot open")

    def test_what_is_left_over_is_removed(self):
        left = self.path("c", "step-00000003.writing")
        os.mkdir(left)
        for name in "rank-00000.safetensors.12.tmp", "rank-00001.json":
            open(os.path.join(left, name), "w").close()
        os.rename(self.path("c", "step-00000001"),
                  self.path("c", "step-00000001.removing"))
        os.mkdir(self.path("c", "mine.writing"))
        on = [*self.RUN, "--accumulate", "2", "--checkpoint", "c", "--resume",
              "latest"]
        self.succeeds(*on, "--steps", "3")
        self.assertEqual(sorted(os.listdir(self.path("c"))),
                         [".zerograph-lock", "mine.writing", "step-00000002",
                          "step-00000003"])
        os.mkdir(left)
        open(os.path.join(left, "mine"), "w").close()
        self.refused(*on, "--steps", "4", codes=(1,), lines=0,
                     parts=["it holds mine, which is not of a checkpoint"])
        self.assertTrue(os.path.exists(os.path.join(left, "mine")))

    def full(self, run, folder, what, **limit):
        """Ends with the error, and loses nothing."""
        result = self.run_program(*run, **limit)
        self.assertEqual(result.returncode, 1, result.stderr)
        for part in ("the checkpoint after 3 steps is not published", what,
                     "as they were", "rank-00000.safetensors"):
            self.assertIn(part, result.stderr)
        self.succeeds("checkpoint", "verify", folder)

    def check_after(self, on):
        self.succeeds(*on, "--save-weights", "w")
        self.succeeds(*self.RUN, "--accumulate", "2", "--steps", "6",
                      "--save-weights", "v")
        self.assertEqual(read_tensors(self.path("w")),
                         read_tensors(self.path("v")))

    def test_a_file_that_may_not_grow(self):
        # Room for what compiling writes, but not for a shard.
        size = sum(map(os.path.getsize, (
            self.shard, self.shard.replace("00001", "00000"))))
        plan = self.path("p")
        self.succeeds("compile", MLP, "-o", "p", "--micro-batch", "8",
                      "--accumulate", "2")
        on = ["train", plan, "--data", MLP_DATA, "--checkpoint", "c",
              "--resume", "latest", "--every", "1", "--steps", "6"]
        self.full(on, "c", "File too large", **limit_file_size(size // 2))
        self.check_after(on)

    def test_a_full_disk(self):
        disk = self.path("disk")
        os.mkdir(disk)
        used = sum(os.path.getsize(os.path.join(top, name))
                   for top, _, names in os.walk(self.path("c"))
                   for name in names)
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={used * 5 // 4 + 65536}",
             "none", disk], capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest("no file system of its own: " + mounted.stderr)
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        for name in "step-00000001", "step-00000002":
            shutil.copytree(self.path("c", name), os.path.join(disk, name))
        on = [*self.RUN, "--accumulate", "2", "--checkpoint", "disk",
              "--resume", "latest", "--steps", "6"]
        self.full([*on, "--every", "1"], "disk", "No space left")
        shutil.rmtree(os.path.join(disk, "step-00000001"))
        self.check_after(on)

    def test_a_folder_that_may_not_be_written(self):
        os.chmod(self.path("c"), 0o555)
        self.refused(*self.RUN, "--accumulate", "2", "--checkpoint", "c",
                     "--resume", "latest", "--steps", "3", codes=(1,), lines=0,
                     parts=["Permission denied"], **self.without_privileges())
        open(self.path("file"), "w").close()
        self.refused(*self.RUN, "--checkpoint", "file", codes=(1,), lines=0,
                     parts=["file: no checkpoints can be written there"])


class Killed(Checkpoints):

    def test_the_newest_always_goes_on(self):
        """kill -9 at random moments, most of them while one is written."""
        self.succeeds("compile", MLP, "-o", "p", "--micro-batch", "8",
                      "--ranks", "2", "--zero", "2")
        run = ["train", self.path("p"), "--data", MLP_DATA, "--threads", "1",
               "--log", "log", "--checkpoint", "c", "--resume", "latest",
               "--every", "1", "--keep", "2"]
        draw = random.Random(11)
        newest, moments = 0, 300 if FULL else 25
        caught = 0
        for _ in range(moments):
            process = subprocess.Popen(
                [ZEROGRAPH_RUN, *run, "--steps", "100000000"],
                cwd=self.folder, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL)
            limit = time.monotonic() + 60
            while self.newest() == newest:
                self.assertIsNone(process.poll())
                self.assertLess(time.monotonic(), limit)
                time.sleep(0.002)
            time.sleep(draw.random() * 0.05)
            process.kill()
            process.wait()
            self.assertGreaterEqual(self.newest(), newest)
            newest = self.newest()
            caught += any(name.endswith((".writing", ".removing"))
                          for name in os.listdir(self.path("c")))
            self.succeeds("checkpoint", "verify", "c", program=ZEROGRAPH_RUN)
        # Else the test shows little.
        self.assertGreater(caught, moments // 5)
        steps = str(newest + 2)
        self.succeeds(*run, "--steps", steps, "--save-weights", "w",
                      program=ZEROGRAPH_RUN)
        self.assertEqual([entry["step"] for entry in self.log("log")],
                         list(range(newest + 2)))
        interrupted = self.log("log")
        self.succeeds("train", "p", "--data", MLP_DATA, "--log", "log",
                      "--steps", steps, "--save-weights", "v")
        self.assertEqual(interrupted, self.log("log"))
        self.assertEqual(read_tensors(self.path("w")),
                         read_tensors(self.path("v")))

    def newest(self):
        if not os.path.isdir(self.path("c")):
            return 0
        return max((int(name[5:]) for name in os.listdir(self.path("c"))
                    if name.startswith("step-") and name[5:].isdigit()),
                   default=0)


class Processes(Mpi, Checkpoints):

    def test_processes_and_threads(self):
        run = ["train", MLP, "--data", MLP_DATA, "--micro-batch", "8",
               "--zero", "3", "--shuffle", "1"]
        self.succeeds(*run, "--ranks", "2", "--steps", str(STEPS),
                      "--save-weights", "v")
        whole = read_tensors(self.path("v"))
        result = self.mpirun(2, *run, "--steps", str(BEFORE), "--checkpoint",
                             "c", "--every", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(os.listdir(self.path("c", "step-00000002"))),
                         ["index.json", "rank-00000.safetensors",
                          "rank-00001.safetensors"])
        self.succeeds("checkpoint", "verify", "c")
        self.succeeds(*run, "--ranks", "2", "--resume", "c", "--steps",
                      str(STEPS), "--save-weights", "w")
        self.assertEqual(read_tensors(self.path("w")), whole)
        result = self.mpirun(2, *run, "--resume", "latest", "--checkpoint",
                             "c", "--steps", str(STEPS), "--save-weights", "u")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(read_tensors(self.path("u")), whole)
        self.assertEqual(result.stderr.count("goes on from"), 1)
        self.assertIn("1 checkpoints, the last is c/step-00000005",
                      result.stdout)

    def test_a_rank_that_dies_publishes_nothing(self):
        launcher, ranks, _ = self.start(
            2, "train", MLP, "--data", MLP_DATA, "--micro-batch", "8",
            "--checkpoint", "c", "--every", "1", "--keep", "3")
        self.wait_until(lambda: self.steps_logged() > 3)
        os.kill(ranks[1], signal.SIGKILL)
        self.assertNotEqual(launcher.wait(timeout=60), 0)
        self.wait_until(lambda: not self.ranks())
        self.succeeds("checkpoint", "verify", "c")
        newest = max(name for name in os.listdir(self.path("c"))
                     if name.startswith("step-") and name[5:].isdigit())
        result = self.mpirun(
            2, "train", MLP, "--data", MLP_DATA, "--micro-batch", "8",
            "--resume", "latest", "--checkpoint", "c", "--steps",
            str(int(newest[5:]) + 2))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"goes on from c/{newest}", result.stderr)


if __name__ == "__main__":
    main()
