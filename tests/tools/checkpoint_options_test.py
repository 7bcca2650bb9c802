"""What a run that writes checkpoints or goes on from one is told, and says."""

import math
import os
import shutil
import signal
import subprocess
import time

from checkpoints import Checkpoints
from support import (GPT, GPT_DATA, MLP, MLP_DATA, MODELS, ZEROGRAPH, main,
                     read_tensors)


class Options(Checkpoints):

    def names(self, folder="c"):
        return sorted(name for name in os.listdir(self.path(folder))
                      if name != ".zerograph-lock")

    def test_every_and_keep(self):
        said = self.succeeds(*self.RUN, "--steps", "9", "--checkpoint", "c",
                             "--every", "2", "--keep", "3").stdout
        self.assertEqual(self.names(), ["step-00000006", "step-00000008",
                                        "step-00000009"])
        row = next(line for line in said.splitlines()
                   if "read for checkpoints" in line).split()
        self.assertEqual(row[-1], row[-2])
        # A parameter and two states, in fp32.
        self.assertEqual(int(row[-1].replace(",", "")), 3 * 4 * sum(
            math.prod(shape) for _, shape, _ in read_tensors(os.path.join(
                MODELS, "mlp-digits", "final_adamw.safetensors")).values()))
        self.assertIn("5 checkpoints, the last is c/step-00000009", said)
        self.assertEqual(sorted(os.listdir(self.path("c", "step-00000009"))),
                         ["index.json", "rank-00000.safetensors"])

    def test_a_folder_that_is_to_be_in_none(self):
        """As for --save-weights: a path that is misspelt is found before the
        first step."""
        for option in ("--checkpoint", "--save-weights"):
            self.refused(*self.RUN, "--steps", "1", option, "no/c",
                         parts=["no/c: ", "there is no folder no"])
            self.assertFalse(os.path.exists(self.path("no")))
        os.mkdir(self.path("yes"))
        for place in ("c", "d/", "yes/c", "./yes/d//"):
            self.succeeds(*self.RUN, "--steps", "1", "--checkpoint", place)
            self.assertEqual(self.names(place), ["step-00000001"])

    def test_another_graph_is_said(self):
        """Its tensors are the same, and so are the steps of the data."""
        self.succeeds(*self.RUN, "--steps", "1", "--checkpoint", "c")
        changed = self.bytes_of(MLP).replace(b"Relu", b"Tanh")
        self.put("model.onnx", changed)
        going_on = [*self.RUN, "--steps", "2", "--resume", "c", "--quiet"]
        self.assertEqual(self.succeeds(*going_on).stderr.count("graph"), 0)
        going_on[going_on.index(MLP)] = self.path("model.onnx")
        self.assertIn("was made with another graph than that of model.onnx",
                      self.succeeds(*going_on).stderr)

    def test_waiting_is_said_once(self):
        """A step takes less than a file system does."""
        said = self.succeeds(*self.RUN, "--steps", "40", "--checkpoint", "c",
                             "--every", "1").stderr
        self.assertEqual(said.count("is still being written"), 1)
        self.assertEqual(len(self.names()), 40)

    def test_the_copy_is_what_is_saved(self):
        said = self.succeeds(*self.RUN, "--checkpoint", "c",
                             "--steps", "1").stdout
        copied = int(next(line for line in said.splitlines()
                          if "read for checkpoints" in line
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
        self.assertEqual(self.tensors("w"), self.tensors("v"))

    def test_one_of_several(self):
        self.succeeds(*self.RUN, "--steps", "4", "--checkpoint", "c",
                      "--every", "1")
        said = self.succeeds(*self.RUN, "--steps", "5", "--resume",
                             "c/step-00000002", "--log", "log")
        self.assertIn("c/step-00000002, after 2 steps", said.stderr)
        self.assertIn("at step 3,", said.stdout)
        self.assertEqual([entry["step"] for entry in self.log("log")],
                         [2, 3, 4])
        self.refused(*self.RUN, "--steps", "5", "--resume", "c/step-00000002",
                     "--checkpoint", "c", lines=0,
                     parts=["holds checkpoints of later steps: c/step-00000003,"
                            " c/step-00000004"])

    def test_another_micro_batch_is_said(self):
        self.succeeds(*self.RUN, "--checkpoint", "c", "--steps", "1")
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
        for options, part in ((["--every", "2"], "--every 2 needs --checkpoint"),
                              (["--keep", "2"], "--keep 2 needs --checkpoint"),
                              (["--resume", "latest"], "--resume latest needs"),
                              (["--convert-precision"], "needs --resume")):
            self.refused(*self.RUN, *options, parts=[part])
        self.succeeds(*self.RUN, "--checkpoint", "c", "--save-weights", "w",
                      "--steps", "1")
        said = self.succeeds(*self.RUN, "--resume", "c", "--steps", "2",
                             "--load-weights", "w", "--init-missing",
                             "normal:1", "--lr", "0.5", "--notes").stderr
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
        self.assertEqual(self.tensors("v"), self.tensors("w"))
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
        self.put("log", "mine\nmine\n")
        self.refused(*on, "--steps", "5", codes=(1,), lines=0,
                     parts=["log: line 1 is not of a log"])
        self.assertEqual(self.text("log"), "mine\nmine\n")

    def test_a_model_that_moved(self):
        shutil.copytree(os.path.dirname(MLP), self.path("m"))
        self.succeeds("compile", "m/model.onnx", "-o", "p", "--micro-batch",
                      "8")
        self.succeeds("train", "p", "--data", MLP_DATA, "--checkpoint", "c",
                      "--steps", "1")
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
        self.assertEqual(self.tensors("w"), self.tensors("v"))


if __name__ == "__main__":
    main()
