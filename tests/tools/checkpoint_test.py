"""`--checkpoint` and `--resume`: a run that was stopped goes on as if it never
had been, whoever goes on with it."""

import itertools
import os
import shutil

from checkpoints import BEFORE, Checkpoints, STEPS, index_of
from mpi import FULL, Mpi
from support import GPT, GPT_DATA, MLP, MLP_DATA, MODELS, ZEROGRAPH_RUN, main

DROPOUT = os.path.join(MODELS, "gpt2-nano-dropout", "model.onnx")
RESNET = os.path.join(MODELS, "resnet-mini", "model.onnx")
RESNET_DATA = os.path.join(MODELS, "resnet-mini", "batches.safetensors")


class SameBits(Checkpoints):

    def layouts(self):
        """By name: a plan for as many samples of a step, on some ranks."""
        layouts = {}
        optimizer = ["--offload-optimizer", "cpu"]
        file = ["--offload-optimizer", "nvme"]
        # 3 ranks want three times as many micro-batches.
        micro_batches = 12 if FULL else 4
        plain = [(ranks, zero) for ranks in (1, 2, 3, 4) for zero in (0, 2, 3)
                 if micro_batches % ranks == 0]
        cells = [(*cell, "", []) for cell in plain]
        cells += [(1, 0, "-optimizer", optimizer),
                  (2, 3, "-both", [*optimizer, "--offload-param", "cpu"])]
        cells += [(*cell, "-file", file) for cell in (plain if FULL else
                                                      [(2, 2)])]
        for ranks, zero, offloads, options in cells:
            name = f"{ranks}-{zero}{offloads}"
            layouts[name] = ["--ranks", str(ranks), "--zero", str(zero),
                             "--accumulate", str(micro_batches // ranks), *options]
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
        # A run that keeps nothing in a file says that its folder has no effect.
        run = ["--data", GPT_DATA, "--shuffle", "3", "--threads", "1",
               "--nvme-path", "."]
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
        self.assertEqual(self.tensors("one").keys(),
                         self.tensors("whole.w").keys())

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
            self.assertEqual(self.tensors("v"), self.tensors("w"))
            shutil.rmtree(self.path("c"))
        self.succeeds(*mlp, "--steps", "3", "--checkpoint", "c",
                      "--save-weights", "w")
        self.succeeds("checkpoint", "convert", "c/step-00000003", "-o", "v",
                      "--type", "BF16")
        for name, (dtype, shape, data) in self.tensors("v").items():
            self.assertEqual(dtype, "BF16")
            _, wide_shape, wide = self.tensors("w")[name]
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


class Processes(Mpi, Checkpoints):

    def test_processes_and_threads(self):
        run = ["train", MLP, "--data", MLP_DATA, "--micro-batch", "8",
               "--zero", "3", "--shuffle", "1"]
        self.succeeds(*run, "--ranks", "2", "--steps", str(STEPS),
                      "--save-weights", "v")
        whole = self.tensors("v")
        result = self.mpirun(2, *run, "--steps", str(BEFORE), "--checkpoint",
                             "c", "--every", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(os.listdir(self.path("c", "step-00000002"))),
                         ["index.json", "rank-00000.safetensors",
                          "rank-00001.safetensors"])
        self.succeeds("checkpoint", "verify", "c")
        self.succeeds(*run, "--ranks", "2", "--resume", "c", "--steps",
                      str(STEPS), "--save-weights", "w")
        self.assertEqual(self.tensors("w"), whole)
        result = self.mpirun(2, *run, "--resume", "latest", "--checkpoint",
                             "c", "--steps", str(STEPS), "--save-weights", "u")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.tensors("u"), whole)
        self.assertEqual(result.stderr.count("goes on from"), 1)
        self.assertIn("1 checkpoint, the last is c/step-00000005",
                      result.stdout)

if __name__ == "__main__":
    main()
