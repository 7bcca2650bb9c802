"""Runs that are stopped behind a checkpoint, and go on."""

import json
import os
import shutil

from support import Case, MLP, MLP_DATA

# Steps of a whole run, and of its part before the checkpoint.
STEPS, BEFORE = 5, 2
FIELDS = "step", "loss", "grad_norm", "lr", "loss_scale", "skipped"


def index_of(folder):
    with open(os.path.join(folder, "index.json")) as file:
        return json.load(file)


class Checkpoints(Case):

    RUN = ["train", MLP, "--data", MLP_DATA, "--micro-batch", "8"]

    def log(self, name):
        with open(self.path(name)) as file:
            return [{field: entry[field] for field in FIELDS if field in entry}
                    for entry in map(json.loads, file)]

    def result(self, name):
        """What a run has left: all weights, all states, each step's numbers."""
        return (self.tensors(name + ".w"),
                self.tensors(name + ".s"), self.log(name + ".log"))

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
