"""`train`: its log, its progress, how it is stopped, and what it keeps."""

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time

from onnx_bytes import DOUBLE, linear
from support import (Case, MLP, MLP_DATA, MODELS, ZEROGRAPH, main,
                     read_tensors, rows, write_tensors)

SGD = ["--micro-batch", "8", "--ranks", "2", "--zero", "3", "--optimizer",
       "sgd", "--lr", "0.1"]
KEYS = ["step", "loss", "grad_norm", "lr", "step_ms", "samples_per_s"]


class Train(Case):

    def train(self, *options, data=MLP_DATA, model=MLP):
        return self.succeeds("train", model, "--data", data, *SGD, *options)

    def test_the_log(self):
        result = self.train("--steps", "5", "--log", "log",
                            "--print-every", "1")
        records = self.records()
        self.assertEqual([r["step"] for r in records], list(range(5)))
        lines = self.text("log").splitlines()
        for line, record in zip(lines, records):
            self.assertEqual(list(record), KEYS)
            self.assertIsNone(record["grad_norm"])  # nothing is clipped
            self.assertEqual(record["lr"], 0.1)
            self.assertGreater(record["step_ms"], 0)
            # 16 samples a step.
            self.assertAlmostEqual(record["samples_per_s"] *
                                   record["step_ms"] / 16e3, 1, places=9)
            # Shortest digits that read back as the same double.
            for key in ("loss", "step_ms", "samples_per_s"):
                digits = re.search(f'"{key}": ([^,}}]*)', line).group(1)
                self.assertEqual(float(digits), float(repr(record[key])))
        # The same losses on standard output, rounded, as they happen; there
        # steps are counted from 1.
        self.assertEqual(
            re.findall(r"^step (\d+)/5  loss (\S+)  lr 0.1  \S+ samples/s  "
                       r"\d+ s left$", result.stdout, re.M),
            [(str(r["step"] + 1), f"{r['loss']:.6f}") for r in records])

    def test_clipping(self):
        self.train("--steps", "3", "--log", "plain.jsonl")
        self.train("--steps", "3", "--log", "inf.jsonl", "--clip-norm", "inf")
        self.train("--steps", "3", "--log", "norm.jsonl", "--clip-norm", "0.1")
        self.train("--steps", "3", "--log", "value.jsonl", "--clip-value",
                   "0.001")
        losses = {name: [r["loss"] for r in self.records(name + ".jsonl")]
                  for name in ("plain", "inf", "norm", "value")}
        self.assertEqual(losses["inf"], losses["plain"])
        for name in ("norm", "value"):  # other steps, from the first update on
            self.assertEqual(losses[name][0], losses["plain"][0])
            self.assertNotEqual(losses[name][1], losses["plain"][1])
        first = [self.records(name + ".jsonl")[0]["grad_norm"]
                 for name in ("inf", "norm")]
        self.assertGreater(first[0], 0.1)
        self.assertEqual(first[0], first[1])  # before clipping

    def test_the_schedule(self):
        """Each step has its rate: in the log, and in what it does."""
        self.train("--steps", "4", "--schedule", "linear", "--log", "log",
                   "--save-weights", "four")
        self.assertEqual([r["lr"] for r in self.records()],
                         [0.1, 0.1 * 0.75, 0.1 * 0.5, 0.1 * 0.25])
        # Its end is where --total-steps has it. One step with a rate of 0 does
        # nothing.
        self.train("--steps", "5", "--total-steps", "4", "--schedule",
                   "linear", "--log", "log", "--save-weights", "five")
        self.assertEqual(self.records()[4]["lr"], 0)
        self.assertEqual(self.tensors("four"), self.tensors("five"))
        # Another first step alone, whatever the number of ranks and the stage.
        self.train("--steps", "1", "--schedule", "constant", "--warmup-steps",
                   "5", "--save-weights", "none")
        self.succeeds("train", MLP, "--data", MLP_DATA, *SGD[:-1], "0",
                      "--steps", "1", "--save-weights", "start")
        self.assertEqual(self.tensors("none"), self.tensors("start"))

    def test_the_report(self):
        result = self.train("--steps", "2", "--save-weights", "w")
        self.assertEqual(result.stderr, "")
        self.assertNotIn("\r", result.stdout)
        measured = re.findall(r"^  .*?([\d,]+) +([\d,]+)$", result.stdout,
                              re.M)
        self.assertEqual(len(measured), 6, result.stdout)
        for predicted, found in measured:
            self.assertEqual(predicted, found)
        self.assertIn("MiB resident", result.stdout)

    def test_float64(self):
        """Weights and losses of float64, to its last digits."""
        self.put("m.onnx", linear(dtype=DOUBLE))
        # Columns with the means 1/3 and 3: a float32 is 1e-8 off.
        rows = [[1 / 3, 3, 1 / 3, 3]] * 4
        write_tensors(self.path("d"), {"x": ("F64", [4, 4], struct.pack(
            "<16d", *sum(rows, [])))})
        self.succeeds("train", "m.onnx", "--data", "d", "--ranks", "2",
                      "--zero", "3", "--micro-batch", "2", "--optimizer",
                      "sgd", "--lr", "0.1", "--steps", "3", "--log", "log",
                      "--save-weights", "w")
        weights = [1, 2, 3, 4]
        for record in self.records():
            loss = sum(w * x for w, x in zip(weights, rows[0])) / 4
            self.assertLess(abs(record["loss"] - loss), 1e-14)
            weights = [w - 0.1 * x / 4 for w, x in zip(weights, rows[0])]
        saved = struct.unpack("<4d", self.tensors("w")["w"][2])
        for found, weight in zip(saved, weights):
            self.assertLess(abs(found - weight), 1e-14)

    def test_no_step(self):
        self.refused("train", MLP, "--data", MLP_DATA, *SGD, "--steps", "0",
                     "--save-weights", "w", codes=(2,), parts=["--steps"])
        self.assertEqual(os.listdir(self.folder), [])

    def test_one_epoch_where_nothing_says_more(self):
        said = self.train("--log", "log", "--save-weights", "w",
                          "--schedule", "linear").stderr
        self.assertEqual(said, "note: neither --steps nor --epochs is given: "
                         "one epoch, 40 steps of 16 samples\n")
        self.assertEqual([r["step"] for r in self.records()], list(range(40)))
        once = self.tensors("w")
        said = self.train("--epochs", "1", "--save-weights", "w", "--schedule",
                          "linear").stderr
        self.assertEqual((self.tensors("w"), said), (once, ""))

    def test_a_run_that_keeps_nothing(self):
        """Said before the first step, and after the last."""
        result = self.train("--steps", "2")
        self.assertEqual(
            result.stderr,
            "warning: the trained weights will not be kept: give "
            "--save-weights FILE or --checkpoint DIR\n"
            "note: the trained weights were not kept: neither --save-weights "
            "nor --checkpoint was given\n")
        for keeps in (["--save-weights", "w"], ["--checkpoint", "c"],
                      ["--lora", "2:*", "--save-adapters", "a"]):
            result = self.train("--steps", "2", *keeps)
            self.assertNotIn("kept", result.stderr)

    def steps_printed(self, *options):
        said = self.train(*options, "--save-weights", "w").stdout
        return [int(step) for step in re.findall(r"^step (\d+)/", said, re.M)]

    def test_progress_in_a_file(self):
        """A line now and then, the last one too."""
        self.assertEqual(self.steps_printed("--steps", "25"),
                         [1, 2, 5, 10, 20, 25])
        self.assertEqual(self.steps_printed("--steps", "5", "--print-every",
                                            "2"), [2, 4, 5])
        result = self.train("--steps", "25", "--quiet", "--save-weights", "w")
        self.assertEqual((result.stdout, result.stderr), ("", ""))
        # Warnings are given all the same.
        result = self.succeeds("train", MLP, "--data", MLP_DATA, "--steps",
                               "25", "--micro-batch", "8", "--quiet",
                               "--prefetch", "1")
        self.assertEqual(result.stdout, "")
        self.assertIn("warning: --prefetch 1 has no effect", result.stderr)
        self.assertIn("warning: the trained weights will not", result.stderr)
        self.assertNotIn("note", result.stderr)

    def test_tokens_a_second(self):
        folder = os.path.join(MODELS, "gpt2-nano")
        result = self.succeeds(
            "train", os.path.join(folder, "model.onnx"), "--data",
            os.path.join(folder, "batches.safetensors"), "--micro-batch", "2",
            "--steps", "2", "--save-weights", "w")
        rates = re.findall(r"  ([\d.,]+) samples/s  ([\d.,]+) tokens/s  ",
                           result.stdout)
        self.assertEqual(len(rates), 2, result.stdout)
        for samples, tokens in rates:
            samples, tokens = (float(rate.replace(",", ""))
                               for rate in (samples, tokens))
            self.assertAlmostEqual(tokens / samples / 64, 1, delta=0.02)

    def test_three_notes_and_what_matters_first(self):
        with open(self.path("ds.json"), "w") as file:
            json.dump({"zero_optimization": {"stage": 2, "prefetch_bucket_size":
                                             5}}, file)
        arrays = {name: rows(a, 0, 50)
                  for name, a in read_tensors(MLP_DATA).items()}
        write_tensors(self.path("d"), {**arrays, "more": arrays["labels"]})
        options = ["train", MLP, "--data", "d", "--micro-batch", "8",
                   "--prefetch", "1", "--reduce", "last"]
        said = self.succeeds(*options).stderr.splitlines()
        before = said[:-1]
        self.assertEqual(len(before), 3, said)
        self.assertTrue(all(line.startswith("warning: ") for line in before))
        self.assertRegex(before[-1], r" \(--notes has \d more\)$")
        self.assertTrue(any("will not be kept" in line for line in before))
        said = self.succeeds(*options, "--notes").stderr
        for part in ("will not be kept", "--prefetch 1 has no effect",
                     "--reduce last has no effect", "the last 2 samples",
                     "no input of the model: more", "one epoch"):
            self.assertEqual(said.count(part), 1, said)

    def test_that_weights_are_tied_is_said_last(self):
        folder = os.path.join(MODELS, "gpt2-nano")
        run = ["train", os.path.join(folder, "model.onnx"), "--data",
               os.path.join(folder, "batches.safetensors"), "--micro-batch",
               "3", "--steps", "1", "--save-weights", "w", "--lora",
               "2:*c_attn.weight", "--shuffle", "5"]
        said = self.succeeds(*run, "--notes").stderr.splitlines()
        self.assertIn("they are tied to ones that it holds", said[-1])
        self.assertIn("note: adapters of 4 weights", said[-2])
        said = self.succeeds(*run, "--graph", "off").stderr
        self.assertIn("note: adapters of 4 weights", said)
        self.assertNotIn("tied", said)

    def test_weights_whose_folder_is_gone_are_put_elsewhere(self):
        for gone, environment in (
                ("out", {}),
                (".", {"TMPDIR": tempfile.mkdtemp(dir=self.folder)})):
            here = self.path("here")
            os.makedirs(os.path.join(here, "out"), exist_ok=True)
            process = subprocess.Popen(
                [ZEROGRAPH, "train", MLP, "--data", MLP_DATA, *SGD, "--steps",
                 "100000000", "--print-every", "1", "--save-weights", "out/w"],
                cwd=here, env={**os.environ, **environment}, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(process.kill)
            process.stdout.readline()
            shutil.rmtree(os.path.normpath(os.path.join(here, gone)))
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=60)[1]
            self.assertEqual(process.returncode, 1, said)
            where = re.search(r"saving weights: out/w: .*; the file is in (\S+) "
                              "instead\n", said)[1]
            # In shared folders nobody else can guess its name, or read it.
            own = os.path.dirname(where)
            self.assertEqual(os.path.dirname(own),
                             environment.get("TMPDIR", here))
            self.assertRegex(os.path.basename(own), r"^zerograph-\w{6}$")
            self.assertNotIn(str(process.pid), where)
            self.assertEqual(os.stat(own).st_mode & 0o777, 0o700)
            self.assertEqual(os.path.basename(where), "w")
            self.assertEqual(len(read_tensors(where)), 4)

    def test_weights_that_are_not_finite_are_said(self):
        """Also under --quiet; the run ends as others do."""
        train = ["train", MLP, "--data", MLP_DATA, *SGD[:-1]]
        for options in (["--quiet"], []):
            for keeps in ("--save-weights", "--checkpoint"):
                said = self.succeeds(
                    *train, "1e38", "--steps", "4", keeps,
                    f"{keeps[2:]}{len(options)}",
                    *options).stderr.splitlines()
                self.assertEqual(len(said), 2, said)
                self.assertRegex(said[0], r"^warning: the loss of step [234] ")
                self.assertRegex(
                    said[1], r"^warning: the weights that were kept are not "
                             r"all finite: element \d+ of the \d+ of "
                             r"'fc\S+' is (NaN|-?inf)\. .*--debug-nonfinite")
        # The last update alone: no loss is computed of it.
        said = self.succeeds(*train, "1e39", "--steps", "1",
                             "--save-weights", "w").stderr
        self.assertEqual(said.count("\n"), 1, said)
        self.assertIn("the weights that were kept are not all finite", said)

    def test_another_file_that_is_put_elsewhere_says_nothing_of_weights(self):
        os.mkdir(self.path("out"))
        process = subprocess.Popen(
            [ZEROGRAPH, "train", MLP, "--data", MLP_DATA, *SGD, "--steps",
             "100000000", "--print-every", "1", "--dump-states", "out/s",
             "--save-weights", "w"], cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        process.stdout.readline()
        shutil.rmtree(self.path("out"))
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 1, said)
        self.assertRegex(said, "stopped by SIGINT .*; the weights are in w\n")
        self.assertIn("dumping optimizer states: out/s: ", said)

    def test_a_folder_that_cannot_be_written_is_found_before_the_run(self):
        options = self.without_privileges()
        os.mkdir(self.path("out"), 0o500)
        said = self.refused("train", MLP, "--data", MLP_DATA, *SGD, "--steps",
                            "2", "--save-weights", "out/w", **options).stderr
        self.assertIn("Permission denied", said)

    def test_data_wraps_around(self):
        # With a rate of 0 the second pass repeats the first.
        arrays = {n: rows(a, 0, 48) for n, a in read_tensors(MLP_DATA).items()}
        write_tensors(self.path("short.safetensors"), arrays)
        self.succeeds("train", MLP, "--data", "short.safetensors", *SGD[:-1],
                      "0", "--steps", "7", "--log", "log")
        losses = [r["loss"] for r in self.records()]
        self.assertEqual(losses[3:6], losses[:3])
        self.assertEqual(losses[6], losses[0])
        self.assertEqual(len(set(losses[:3])), 3)

    def test_saved_weights_go_on_exactly(self):
        # Plain SGD has no state but the parameters: 10 steps are 5 steps and,
        # from what these saved, 5 more on the samples that follow.
        self.train("--steps", "10", "--save-weights", "ten", "--log", "a")
        self.train("--steps", "5", "--save-weights", "five")
        rest = {n: rows(a, 5 * 16, 640)
                for n, a in read_tensors(MLP_DATA).items()}
        write_tensors(self.path("rest.safetensors"), rest)
        self.train("--steps", "5", "--load-weights", "five", "--save-weights",
                   "again", "--log", "b", data="rest.safetensors")
        self.assertEqual([r["loss"] for r in self.records("a")][5:],
                         [r["loss"] for r in self.records("b")])
        self.assertEqual(self.tensors("ten"), self.tensors("again"))
        self.assertNotEqual(self.tensors("ten"), self.tensors("five"))
        # A file may be loaded and written over at the end.
        self.train("--steps", "5", "--load-weights", "five", "--save-weights",
                   "five", data="rest.safetensors")
        self.assertEqual(self.tensors("ten"), self.tensors("five"))

    def test_the_seed_decides_made_up_weights(self):
        folder = os.path.join(MODELS, "gpt2-nano")
        shutil.copy(os.path.join(folder, "model_sdpa.onnx"), self.folder)
        arguments = ["train", "model_sdpa.onnx", "--data",
                     os.path.join(folder, "batches.safetensors"),
                     "--micro-batch", "2", "--zero", "0"]
        result = self.run_program(*arguments)
        self.assertEqual(result.returncode, 1)
        self.assertIn("the model's weights are in ./model_sdpa.onnx.data, "
                      "which is missing", result.stderr)
        self.assertIn("--init-missing", result.stderr)
        files = []
        for name, options in (("a", ["--seed", "5"]),
                              ("b", ["--seed", "5", "--ranks", "2", "--zero",
                                     "3"]),
                              ("c", ["--seed", "6"])):
            result = self.succeeds(*arguments[:-2], "--init-missing",
                                   "normal:0.02", "--steps", "1",
                                   "--optimizer", "sgd", "--lr", "0",
                                   "--save-weights", name, *options)
            files.append(self.tensors(name))
            # A few names of many.
            self.assertRegex(result.stderr,
                             r"52 parameters begin with made up values: "
                             r"\S+, \S+, \S+ and 49 more\n")
        self.assertEqual(files[0], files[1])
        self.assertNotEqual(files[0], files[2])
        ones = files[0]["transformer.h.0.ln_1.weight"][2]
        self.assertEqual(ones, b"\0\0\x80\x3f" * 128)

    def test_a_model_in_the_current_folder(self):
        for suffix in ("", ".data"):
            shutil.copy(os.path.join(MODELS, "gpt2-nano",
                                     "model_sdpa.onnx" + suffix), self.folder)
        data = os.path.join(MODELS, "gpt2-nano", "batches.safetensors")
        self.succeeds("train", "model_sdpa.onnx", "--data", data,
                      "--micro-batch", "2")
        os.mkdir(self.path("plans"))
        self.succeeds("compile", "model_sdpa.onnx", "-o", "plans/plan",
                      "--micro-batch", "2", "--dim", "seq=64")
        self.succeeds("train", "plans/plan", "--data", data)


class Stop(Case):

    def start(self, *options):
        plan = self.compile_mlp("p", "--optimizer", "sgd", "--lr", "0.01")
        process = subprocess.Popen(
            [ZEROGRAPH, "train", plan, "--data", MLP_DATA, "--steps",
             "100000000", "--log", "log", *options], cwd=self.folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if (os.path.exists(self.path("log")) and
                    os.path.getsize(self.path("log")) > 500):
                return plan, process
            time.sleep(0.01)
        self.fail("the run did not begin")

    def check(self, number, status):
        plan, process = self.start("--save-weights", "w")
        process.send_signal(number)
        self.assertEqual(process.wait(60), status)
        said = process.stderr.read()
        steps = int(re.search(r"after (\d+) of 100000000 steps", said)[1])
        self.assertIn(signal.Signals(number).name, said)
        self.assertIn("the weights are in w", said)
        records = self.records()
        self.assertEqual([r["step"] for r in records], list(range(steps)))
        # All ranks ended after the same step: what they saved together is
        # what a run of so many steps gives.
        self.succeeds("train", plan, "--data", MLP_DATA, "--steps",
                      str(steps), "--save-weights", "whole")
        self.assertEqual(self.tensors("w"), self.tensors("whole"))

    def test_interrupt(self):
        self.check(signal.SIGINT, 130)

    def test_terminate(self):
        self.check(signal.SIGTERM, 143)

    def test_a_batch_systems_signal(self):
        self.check(signal.SIGUSR1, 138)

    def test_a_signal_that_comes_twice_at_once(self):
        _, process = self.start("--save-weights", "w")
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(60), 130)
        self.assertIn("the weights are in w", process.stderr.read())

    def test_nobody_reads_the_progress(self):
        process = subprocess.Popen(
            [ZEROGRAPH, "train", MLP, "--data", MLP_DATA, *SGD, "--steps",
             "20", "--save-weights", "w"], cwd=self.folder,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        process.stdout.close()
        self.assertEqual(process.wait(60), 1)
        self.assertIn(b"standard output could not be written",
                      process.stderr.read())
        self.assertTrue(os.path.exists(self.path("w")))

    def test_no_weights_to_save(self):
        _, process = self.start()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(60), 130)
        self.assertIn("no weights were to be saved", process.stderr.read())
        self.assertEqual(sorted(os.listdir(self.folder)), ["log", "p"])


class Terminal(Case):

    def in_terminal(self, *arguments, columns=0):
        """All that a terminal gets, one of so many columns."""
        master, slave = pty.openpty()
        if columns:
            fcntl.ioctl(slave, termios.TIOCSWINSZ,
                        struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([ZEROGRAPH, *arguments], cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stdout=slave,
                                   stderr=slave)
        os.close(slave)
        text = b""
        while True:
            ready = select.select([master], [], [], 60)[0]
            try:
                part = os.read(master, 65536) if ready else b""
            except OSError:  # the other end is closed
                part = b""
            if not part:
                break
            text += part
        os.close(master)
        self.assertEqual(process.wait(60), 0, text)
        return text.decode()

    def test_progress(self):
        text = self.in_terminal("train", MLP, "--data", MLP_DATA, *SGD,
                                "--steps", "400")
        lines = re.findall(r"\rstep (\d+)/400  loss \S+  lr 0.1  (\S+) "
                           r"samples/s  ([\d hms]+) left", text)
        self.assertGreaterEqual(len(lines), 2, text)
        self.assertEqual(lines[-1][0], "400")
        self.assertEqual(lines[-1][2], "0 s")
        for _, rate, _ in lines:
            self.assertGreater(float(rate.replace(",", "")), 0)
        # The losses are in that line, and not said twice.
        self.assertIsNone(re.search(r"^step ", text, re.M))
        # The report begins on a line of its own.
        self.assertRegex(text, r"\nloss \S+ at step 1, \S+ at step 400")

    def test_lines_that_stay(self):
        text = self.in_terminal("train", MLP, "--data", MLP_DATA, *SGD,
                                "--steps", "40", "--print-every", "20")
        self.assertEqual(re.findall(r"\nstep (\d+)/40", text), ["20", "40"])

    def test_a_narrow_terminal(self):
        """A line that wraps could not be drawn over."""
        text = self.in_terminal("train", MLP, "--data", MLP_DATA, *SGD,
                                "--steps", "40", columns=30)
        for line in re.findall(r"\r(step [^\r\n\x1b]*)", text):
            self.assertLess(len(line), 30)

    def test_what_is_said_has_its_own_line(self):
        text = self.in_terminal("train", MLP, "--data", MLP_DATA,
                                *SGD[:-1], "1e38", "--steps", "20")
        self.assertRegex(text, r"\r\nwarning: the loss of step \d+ is "
                               r"(NaN|infinite); the run goes on\. "
                               r"--debug-nonfinite names the node that made "
                               r"it so\r\n")
        self.assertEqual(text.count("warning: the loss"), 1)


if __name__ == "__main__":
    main()
