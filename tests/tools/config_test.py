"""DeepSpeed's and Accelerate's files: explained, and trained with."""

import json
import os
import re
import shlex
import shutil
import subprocess

from configs import AS_OPTIONS, GOOD, ConfigCase
from onnx_bytes import linear
from support import BIN, GPT, MLP, MLP_DATA, main

EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))), "config", "examples")


class Applied(ConfigCase):

    def test_a_file_is_as_good_as_options(self):
        self.write(GOOD)
        plan, said = self.compiles_to("a", "--config", "ds.json")
        self.assertEqual(plan, self.compiles_to("b", *AS_OPTIONS)[0])
        self.assertIn("note: ds.json: train_batch_size 32 / (8 x 2) makes "
                      "--ranks 2", said)
        self.assertIn("note: ds.json: no effect: "
                      "zero_optimization.overlap_comm; "
                      "'zerograph explain ds.json' says why\n", said)
        self.assertIn("note: ds.json: 'steps_per_print' (ds.json, line 23) is "
                      "for the run: train PLAN --print-every 10\n", said)
        self.assertIn("applied differently: zero_optimization."
                      "reduce_bucket_size; ", said)
        self.assertNotEqual(plan, self.compiles_to("c", "--micro-batch", "8")[0])

    def test_train_takes_a_file(self):
        self.write(GOOD)
        arguments = ["train", MLP, "--data", MLP_DATA, "--steps", "2"]
        by_file = self.succeeds(*arguments, "--config", "ds.json",
                                "--save-weights", "a.safetensors")
        self.succeeds(*arguments, *AS_OPTIONS, "--save-weights",
                      "b.safetensors")
        self.assertEqual(self.bytes_of("a.safetensors"),
                         self.bytes_of("b.safetensors"))
        self.assertIn("loss", by_file.stdout)

    def test_a_schedule_ends_with_the_run(self):
        self.write({"train_micro_batch_size_per_gpu": 8, "gradient_clipping": 0,
                    "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}},
                    "scheduler": {"type": "WarmupDecayLR", "params": {
                        "total_num_steps": "auto", "warmup_max_lr": 1e-3,
                        "warmup_type": "linear", "warmup_num_steps": 2}}})
        explained = self.succeeds("explain", "ds.json").stdout
        self.assertIn("--schedule warmup-decay", explained)
        self.assertNotIn("--total-steps", explained)
        train = ["train", MLP, "--data", MLP_DATA, "--config", "ds.json"]
        self.succeeds(*train, "--steps", "6", "--log", "log.jsonl")
        rates = [record["lr"] for record in self.records("log.jsonl")]
        # DeepSpeed asks its schedule for the rate of the step to come.
        self.assertEqual(rates, [0, 0, 5e-4, 1e-3, 7.5e-4, 5e-4])
        # The data say how long an epoch is: 8 x 12 samples.
        def rates_of(*options):
            self.succeeds(*train, *options, "--log", "log.jsonl")
            return [record["lr"] for record in self.records("log.jsonl")]
        epochs = rates_of("--epochs", "2")
        self.assertEqual(epochs, rates_of("--steps", str(len(epochs))))
        self.assertLess(epochs[-1], 2e-4)
        self.assertEqual(epochs[:6], rates_of("--steps", "6", "--total-steps",
                                              str(len(epochs))))
        self.assertEqual(rates[3:], rates_of("--epochs", "2", "--total-steps",
                                             "6")[3:6])
        result = self.run_program("compile", MLP, "-o", "x", "--config",
                                  "ds.json")
        self.assertEqual(result.returncode, 1)
        self.assertIn("--schedule warmup-decay needs --total-steps",
                      result.stderr)
        result = self.succeeds("train", MLP, "--data", MLP_DATA, "--epochs",
                               "1", "--micro-batch", "8", "--schedule",
                               "linear", "--warmup-steps", "1000")
        self.assertIn("before its warm-up", result.stderr)

    def test_the_command_line_wins_and_that_is_said(self):
        self.write(GOOD)
        _, said = self.compiles_to("a", "--config", "ds.json", "--lr", "0.5",
                                   "--zero", "3")
        self.assertIn("--lr 0.5 of the command line wins over "
                      "'optimizer.params.lr' (ds.json, line 8)", said)
        self.assertIn("--zero 3 of the command line wins", said)
        told = self.succeeds("explain", "ds.json", "--lr", "0.5").stdout
        self.assertRegex(told, r"(?s)no effect\n.*optimizer.params.lr = .*  "
                         "the command line's --lr 0.5 wins")
        self.assertIn("0.5", self.succeeds("inspect", "a", "--steps").stdout
                      + json.dumps(self.inspect("a")))

    def test_offload_auto_wins_over_the_files_places(self):
        self.write({"train_micro_batch_size_per_gpu": 8, "gradient_clipping": 0,
                    "zero_optimization": {"stage": 3, "offload_optimizer":
                                          {"device": "cpu", "ratio": 0.5}}})
        options = ["--config", "ds.json", "--memory", "device=1GiB"]
        plan, said = self.compiles_to("a", *options, "--offload", "auto")
        for key in "device", "ratio":
            self.assertIn("--offload auto of the command line wins over "
                          "'zero_optimization.offload_optimizer." + key, said)
        self.assertEqual(plan, self.compiles_to(
            "b", "--micro-batch", "8", "--zero", "3")[0])
        self.assertNotEqual(plan, self.compiles_to("c", *options)[0])

    def test_activation_checkpointing(self):
        self.write({"train_micro_batch_size_per_gpu": 8, "gradient_clipping": 0,
                    "activation_checkpointing": {
                        "partition_activations": True}})
        options = ["--micro-batch", "8", "--units", "fc*"]
        plan, said = self.compiles_to("a", "--config", "ds.json", *options)
        self.assertEqual(plan, self.compiles_to("b", "--recompute", "units",
                                                *options)[0])
        self.assertIn("applied differently: activation_checkpointing."
                      "partition_activations; ", said)
        plan, said = self.compiles_to("a", "--config", "ds.json", "--recompute",
                                      "none", *options)
        self.assertEqual(plan, self.compiles_to("b", *options)[0])
        self.assertIn("--recompute none of the command line wins", said)

    def test_the_command_that_is_printed_does_the_same(self):
        self.write(GOOD)
        plan, _ = self.compiles_to("a", "--config", "ds.json")
        said = self.succeeds("explain", "ds.json", MLP).stdout
        command = shlex.split(said.splitlines()[-1])
        self.assertEqual(command[:3], ["zerograph", "train", MLP])
        options = command[3:]
        at = options.index("--data")
        del options[at:at + 2]
        at = options.index("--print-every")  # which is for the run
        del options[at:at + 2]
        self.assertEqual(plan, self.compiles_to("b", *options)[0])

    def test_the_file_that_is_written_does_the_same(self):
        written = self.succeeds("explain", *AS_OPTIONS)
        self.assertEqual(written.stderr, "")
        self.assertEqual(json.loads(written.stdout)["train_batch_size"], 32)
        self.write(written.stdout)
        self.assertEqual(
            self.compiles_to("a", "--config", "ds.json")[0],
            self.compiles_to("b", *AS_OPTIONS)[0])

    def test_what_deepspeed_has_no_key_for(self):
        said = self.succeeds("explain", "--zero", "3", "--target",
                             "cuda:sm_80").stderr
        self.assertEqual(said, "note: DeepSpeed has no key for --target\n")

    def test_what_it_writes_otherwise(self):
        said = self.succeeds("explain", "--micro-batch", "8", "--clip-norm",
                             "inf")
        self.assertIn("note: --clip-norm inf clips nothing", said.stderr)
        self.assertEqual(json.loads(said.stdout)["gradient_clipping"], 0)
        said = self.succeeds("explain", "--warmup-steps", "5")
        self.assertEqual(said.stderr,
                         "note: DeepSpeed has no key for --warmup-steps\n")

    def test_a_file_of_options_and_a_model(self):
        said = self.succeeds("explain", MLP, "--zero", "3")
        self.assertEqual(said.stdout, self.succeeds("explain", "--zero",
                                                    "3").stdout)
        self.assertIn(f"note: nothing of {MLP} is in this file; 'zerograph "
                      f"explain FILE {MLP}' says", said.stderr)
        self.refused("explain", "none.onnx", "--zero", "3",
                     parts=["none.onnx"])
        self.put("fixed.onnx", linear(dims=(4, 4)))
        said = self.succeeds("explain", "fixed.onnx", "--ranks", "2")
        self.assertEqual(json.loads(said.stdout)["train_batch_size"], 8)
        self.assertIn("note: fixed.onnx is for micro-batches of 4", said.stderr)
        self.refused("explain", "fixed.onnx", "--micro-batch", "2",
                     parts=["--micro-batch 2, but fixed.onnx is for "
                            "micro-batches of 4"])

    def test_the_precision_that_auto_waits_for(self):
        self.write({"train_micro_batch_size_per_gpu": 8, "gradient_clipping": 0,
                    "fp16": {"enabled": "auto", "initial_scale_power": 10,
                             "loss_scale_window": 500},
                    "bf16": {"enabled": "auto"},
                    "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}}})
        options = ["--micro-batch", "8", "--weight-decay", "0"]
        for type_, more in (("fp16", ["--initial-scale-power", "10",
                                      "--loss-scale-window", "500"]),
                            ("bf16", ["--skip-nonfinite"])):
            plan, said = self.compiles_to("a", "--config", "ds.json",
                                          "--precision", type_)
            self.assertEqual(plan, self.compiles_to(
                "b", "--precision", type_, *options, *more)[0])
            self.assertIn(f"--reduce-precision {type_} does", said)
            told = self.succeeds("explain", "ds.json", "--precision",
                                 type_).stdout
            self.assertRegex(told, rf'{type_}.enabled = "auto" +--precision '
                             f"{type_}; auto: as the command line says")

    def test_the_printed_equivalent_runs(self):
        """By a shell, as it is printed."""
        for source, name in ((MLP, "it's a model.onnx"),
                             (MLP_DATA, "some data.safetensors")):
            shutil.copy(source, self.path(name))
        trained = ["it's a model.onnx", "--data", "some data.safetensors"]
        trainer = {"train_micro_batch_size_per_gpu": "auto",
                   "gradient_clipping": "auto", "bf16": {"enabled": "auto"},
                   "optimizer": {"type": "AdamW", "params": {
                       "lr": "auto", "betas": "auto", "weight_decay": "auto"}},
                   "scheduler": {"type": "WarmupLR", "params": {
                       "warmup_max_lr": "auto", "warmup_num_steps": "auto"}}}
        watched = {"enabled": True, "output_path": "runs of us",
                   "job_name": "it's one"}
        for config, explain, train in (
                ({**GOOD, "tensorboard": watched}, [], []),
                ({**GOOD, "bf16": {"enabled": True}},
                 ["--group", "*bias:lr=0.1"], ["--group", "*bias:lr=0.1"]),
                (trainer, ["--like", "transformers"],
                 ["--micro-batch", "8", "--lr", "5e-5", "--weight-decay", "0",
                  "--warmup-steps", "1"])):
            self.write(config)
            told = self.succeeds("explain", "ds.json", *trained,
                                 *explain).stdout
            command = told.rstrip().splitlines()[-1]
            result = subprocess.run(
                command + " --steps 3 --save-weights a", shell=True,
                cwd=self.folder, capture_output=True, text=True, timeout=300,
                env={**os.environ, "PATH": BIN + ":" + os.environ["PATH"]})
            self.assertEqual(result.returncode, 0, command + result.stderr)
            self.succeeds("train", *trained, "--config", "ds.json", *train,
                          "--steps", "3", "--save-weights", "b")
            self.assertEqual(self.bytes_of("a"), self.bytes_of("b"), command)
        self.assertEqual(len(os.listdir(self.path("runs of us", "it's one"))),
                         2)
        self.write({"zero_optimization": {"stage": 1}})
        told = self.succeeds("explain", "ds.json").stdout
        self.assertIn(" --micro-batch N", told)

    def test_like_transformers_is_of_a_file(self):
        self.refused("explain", "--like", "transformers", "--zero", "1",
                     parts=["--like says what auto means in a file"])
        self.refused("explain", "--like", "others", codes=(2,),
                     parts=["--like"])

    def test_steps_per_print_is_applied(self):
        self.write({**GOOD, "steps_per_print": 2})
        said = self.succeeds("train", MLP, "--data", MLP_DATA, "--config",
                             "ds.json", "--steps", "5").stdout
        self.assertEqual(re.findall(r"(?m)^step (\d)/5", said),
                         ["2", "4", "5"])

    def test_auto_where_transformers_has_another_number(self):
        self.write({"train_micro_batch_size_per_gpu": 8, "gradient_clipping": 0,
                    "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}},
                    "scheduler": {"type": "WarmupLR", "params": {
                        "warmup_num_steps": "auto", "warmup_type": "linear"}}})
        for command in (["explain", "ds.json"],
                        ["train", MLP, "--data", MLP_DATA, "--steps", "1",
                         "--config", "ds.json"]):
            result = self.succeeds(*command)
            self.assertIn("auto is the default here: warmup_num_steps 1000; "
                          "Transformers fills in its arguments, by default 1: "
                          "give --warmup-steps; 'zerograph explain --like "
                          "transformers' says all of them\n",
                          result.stdout + result.stderr)
            result = self.succeeds(*command, "--warmup-steps", "2")
            self.assertNotIn("auto is the default",
                             result.stdout + result.stderr)

    def test_accelerate_with_a_file(self):
        self.write(GOOD)
        self.write("distributed_type: DEEPSPEED\n"
                   "deepspeed_config:\n  deepspeed_config_file: ds.json\n"
                   "num_processes: 2\n", "a.yaml")
        self.assertEqual(self.compiles_to("a", "--config", "a.yaml")[0],
                         self.compiles_to("b", *AS_OPTIONS)[0])


class Examples(ConfigCase):

    def test_each_is_explained_key_by_key(self):
        names = [name for name in sorted(os.listdir(EXAMPLES))
                 if not name.endswith(".expected")]
        self.assertGreater(len(names), 10)
        for name in names:
            with self.subTest(name):
                with open(os.path.join(EXAMPLES, name + ".expected")) as file:
                    expected = re.findall(r"^([\w.]+) = ", file.read(), re.M)
                result = self.run_program("explain", name, MLP, cwd=EXAMPLES)
                self.assertIn(result.returncode, (0, 1))
                told = re.findall(r"^  ([\w.]+) = ", result.stdout, re.M)
                self.assertEqual(sorted(told), sorted(expected))
                refused = "\nrefused\n" in result.stdout
                self.assertEqual(result.returncode == 1,
                                 refused or "zerograph explain:" in
                                 result.stderr)
                self.assertEqual(result.returncode == 0,
                                 "\nthe same by options\n" in result.stdout)

    def test_what_transformers_makes_of_the_hidden_size(self):
        self.write({"train_micro_batch_size_per_gpu": "auto",
                    "gradient_clipping": 0, "zero_optimization": {
                        "stage": 3, "reduce_bucket_size": "auto",
                        "stage3_prefetch_bucket_size": "auto",
                        "stage3_param_persistence_threshold": "auto"}})
        told = self.succeeds("explain", "ds.json", GPT).stdout
        size = 128
        self.assertIn(f"--bucket-bytes {4 * size * size}; auto: {size * size}, "
                      f"as Transformers makes it of the model's hidden size "
                      f"{size}; ", told)
        self.assertIn(f"--persistence-threshold {10 * size}; ", told)
        self.assertIn(f"auto: {int(0.9 * size * size)}, ", told)
        self.assertIn("no plan to look at: how many samples", told)
        # `train` and `compile` do what was explained.
        options = ["--micro-batch", "2", "--dim", "seq=8"]
        self.succeeds("compile", GPT, "-o", "a", "--config", "ds.json",
                      *options)
        self.succeeds("compile", GPT, "-o", "b", "--zero", "3",
                      "--bucket-bytes", str(4 * size * size),
                      "--persistence-threshold", str(10 * size), *options)
        self.assertEqual(self.bytes_of("a"), self.bytes_of("b"))
        # Its layers have lengths of their own.
        self.assertIn("nothing follows from a model without one",
                      self.succeeds("explain", "ds.json", MLP).stdout)

    def test_what_the_plan_needs(self):
        self.write(GOOD)
        told = self.succeeds("explain", "ds.json", MLP).stdout
        self.compiles_to("a", "--config", "ds.json")
        for arena in self.inspect("a")["memory"]["arenas"]:
            self.assertIn(f"  {arena['bytes']:,} bytes of a rank's "
                          f"{arena['space']} memory\n", told)
        self.assertRegex(told, r"\n  \d+ steps of the program \w+\n")

    def test_the_models_own_batch(self):
        self.write({"train_micro_batch_size_per_gpu": 2,
                    "gradient_clipping": 0})
        self.succeeds("explain", "ds.json", GPT)


if __name__ == "__main__":
    main()
