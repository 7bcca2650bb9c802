"""`--offload-optimizer nvme`: states in a file per rank, which `--nvme-path`
has a folder for."""

import json
import os
import signal
import subprocess
import time

from support import (Case, GPT, GPT_DATA, MLP, MLP_DATA, ZEROGRAPH,
                     limit_file_size, main)

NVME = ["--offload-optimizer", "nvme"]
RUN = ["train", MLP, "--data", MLP_DATA, "--micro-batch", "8"]


class Nvme(Case):

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("disk"))
        self.disk = ["--nvme-path", "disk"]

    def left(self, name):
        return (self.tensors(name + ".w"),
                self.tensors(name + ".s"))

    def leave(self, name):
        return ["--save-weights", name + ".w", "--dump-states", name + ".s"]

    def test_a_folder_is_needed(self):
        self.compile_mlp("x.zgplan", *NVME)
        train = ["train", "x.zgplan", "--data", MLP_DATA]
        self.refused(*train, parts=["in a file", "give --nvme-path DIR"])
        self.refused(*train, "--nvme-path", "none",
                     parts=["--nvme-path none", "No such file"])
        self.refused(*train, *self.disk, "--nvme-block-size", "5000",
                     parts=["--nvme-block-size 5000", "multiple of 4096"])

    def test_a_folder_is_looked_at_before_compiling(self):
        # The compiler would refuse the output that is not there.
        self.refused(*RUN, *NVME, "--nvme-path", "none", "--loss-output", "no",
                     parts=["--nvme-path none", "No such file"])

    def test_a_deepspeed_file_names_the_folder(self):
        states = {"device": "nvme", "nvme_path": "disk"}
        with open(self.path("ds.json"), "w") as file:
            json.dump({"zero_optimization": {"stage": 1,
                                             "offload_optimizer": states},
                       "gradient_clipping": 0,
                       "aio": {"block_size": 8192}}, file)
        run = [*RUN, "--config", "ds.json"]
        self.succeeds(*run, *self.leave("config"))
        self.succeeds(*RUN, *NVME, "--zero", "1", *self.disk,
                      *self.leave("option"))
        self.assertEqual(self.left("config"), self.left("option"))
        os.rename(self.path("disk"), self.path("other"))
        said = self.succeeds(*run, "--nvme-path", "other", "--notes").stderr
        self.assertIn("--nvme-path other of the command line wins over", said)
        said = self.succeeds("compile", MLP, "-o", "x.zgplan", "--micro-batch",
                             "8", "--config", "ds.json").stderr
        self.assertIn("is for the run: train PLAN --nvme-path disk", said)
        self.assertIn("is for the run: train PLAN --nvme-block-size 8192", said)
        said = self.succeeds("explain", "ds.json", MLP).stdout
        self.assertIn("--nvme-path disk", said)

    def test_where_it_has_no_effect(self):
        said = self.succeeds(*RUN, *self.disk).stderr
        self.assertIn("--nvme-path has no effect", said)
        said = self.succeeds(*RUN, *NVME, "--optimizer", "sgd").stderr
        self.assertIn("--offload-optimizer nvme has no effect: sgd keeps "
                      "nothing", said)

    def test_a_full_disk_is_said_before_the_first_step(self):
        self.succeeds("compile", GPT, "-o", "x.zgplan", "--micro-batch", "1",
                      "--dim", "seq=64", *NVME)
        self.refused("train", "x.zgplan", "--data", GPT_DATA, *self.disk,
                     "--log", "log", lines=0, **limit_file_size(4 << 20),
                     parts=["cannot make a file of", "states of rank 0",
                            "are free there"])
        self.assertEqual(os.listdir(self.path("disk")), [])

    def test_what_is_predicted_is_measured(self):
        said = self.succeeds("train", GPT, "--data", GPT_DATA, "--micro-batch",
                             "1", "--dim", "seq=64", "--ranks", "2", "--zero",
                             "2", *NVME, *self.disk).stdout
        for what in ("touched, nvme", "read from its file", "and written",
                     "memory and file allocated"):
            line = next(line for line in said.splitlines() if what in line)
            predicted, measured = line.split()[-2:]
            self.assertEqual(predicted, measured, line)
        self.assertEqual(os.listdir(self.path("disk")), [])

    def test_inspect_names_reads_and_writes(self):
        self.compile_mlp("x.zgplan", *NVME)
        report = self.inspect("x.zgplan")
        streams = {item["stream"] for item in report["transfers"]}
        self.assertEqual(streams, {"offload", "fetch", "read", "write"})
        traffic = report["traffic"]
        self.assertEqual(traffic["read"], traffic["written"])
        arena = next(arena for arena in report["memory"]["arenas"]
                     if arena["space"] == "nvme")
        self.assertGreaterEqual(arena["bytes"], traffic["read"])

    def test_inspect_says_how_long_a_disk_lasts(self):
        self.compile_mlp("x.zgplan", *NVME)
        ask = ["inspect", "x.zgplan", "--disk-tbw", "600", "--step-time", "0.5"]
        report = json.loads(self.succeeds(*ask, "--json").stdout)
        written = report["traffic"]["written"]
        self.assertEqual(report["disk"]["steps"], int(600e12 / written))
        self.assertEqual(report["disk"]["written_a_day"], written * 172800)
        self.assertAlmostEqual(report["disk"]["days"],
                               600e12 / written / 172800, delta=1e-6)
        text = self.succeeds(*ask, "--bytes").stdout
        self.assertRegex(text, f"written_a_day +{written * 172800:,}\n")
        self.assertRegex(text, f"steps +{int(600e12 / written):,}\n")
        self.refused("inspect", "x.zgplan", "--disk-tbw", "nan",
                     parts=["--disk-tbw", "nan is no number above 0"])
        self.compile_mlp("y.zgplan")
        self.assertNotIn("steps  ", self.succeeds("inspect", "y.zgplan",
                                                  "--disk-tbw", "600").stdout)

    def test_it_is_what_needs_less_of_the_host(self):
        compile_gpt = ["compile", GPT, "-o", "x.zgplan", "--micro-batch", "1",
                       "--dim", "seq=64"]

        def of_host(*options):
            self.succeeds(*compile_gpt, *options)
            return sum(arena["bytes"] for arena in
                       self.inspect("x.zgplan")["memory"]["arenas"]
                       if arena["space"] in ("pinned", "host"))

        cpu = ["--offload-optimizer", "cpu"]
        most = of_host(*cpu)
        self.assertLess(of_host(*NVME), most)
        self.refused(*compile_gpt, *cpu, "--memory", f"host={most - 1}",
                     lines=0, parts=[f"needs {most} bytes of host memory",
                                     "is enough with --offload-optimizer nvme"])

    def test_a_checkpoint_does_not_know_where_states_lay(self):
        """Saved from a file and resumed without, and the other way."""
        run = [*RUN, "--ranks", "2", "--zero", "2"]
        self.succeeds(*run, "--steps", "4", *self.leave("whole"))
        for first, second in ((NVME + self.disk, []), ([], NVME + self.disk),
                              (NVME + self.disk, NVME + self.disk)):
            folder = "c" + str(len(first)) + str(len(second))
            self.succeeds(*run, *first, "--steps", "2", "--checkpoint", folder)
            self.succeeds(*run, *second, "--steps", "4", "--resume", folder,
                          *self.leave("on"))
            self.assertEqual(self.left("on"), self.left("whole"))

    def test_nothing_is_left_of_a_run_that_was_killed(self):
        process = subprocess.Popen(
            [ZEROGRAPH, *RUN, "--steps", "1000000", *NVME, *self.disk,
             "--log", "log"], cwd=self.path(), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        while not (os.path.exists(self.path("log")) and
                   os.path.getsize(self.path("log")) > 0):
            time.sleep(0.05)
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertEqual(os.listdir(self.path("disk")), [])


if __name__ == "__main__":
    main()
