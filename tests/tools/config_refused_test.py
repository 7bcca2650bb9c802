"""DeepSpeed's and Accelerate's files that are refused, and what is said."""

import os

from configs import GOOD, ConfigCase
from support import MLP, MLP_DATA, main


class Refused(ConfigCase):

    def test_all_that_is_wrong_is_said_at_once(self):
        self.write({"train_batch_size": 30,
                    "train_micro_batch_size_per_gpu": 8,
                    "zero_optimization": {
                        "stge": 3, "stage": 7,
                        "offload_optimizer": {"device": "nvme",
                                              "super_offload": True}},
                    "optimizer": {"type": "Muon", "params": {"lr": "fast"}}})
        for command in (["compile", MLP, "-o", "x"],
                        ["train", MLP, "--data", MLP_DATA]):
            self.refused(*command, "--config", "ds.json", lines=0, codes=(1,),
                         parts=["train_batch_size 30 is not "
                                "train_micro_batch_size_per_gpu 8 x "
                                "gradient_accumulation_steps ? x ranks 1",
                                "did you mean 'zero_optimization.stage'?",
                                "'zero_optimization.stage' (ds.json, line 6)",
                                "Value 7 not in range 0 to 3",
                                "'zero_optimization.offload_optimizer."
                                "super_offload'",
                                "'optimizer.type' (ds.json, line 13)", "muon",
                                "'optimizer.params.lr' (ds.json, line 15) is "
                                "\"fast\": expected a number"])
        self.assertFalse(os.path.exists(self.path("x")))

    def test_no_note_comes_before_an_error(self):
        config = {"train_micro_batch_size_per_gpu": 8, "gradient_clipping": 0,
                  "zero_optimization": {"stage": "auto"},
                  "optimizer": {"type": "AdamW", "params": {"lr": "auto"}}}
        commands = (["compile", MLP, "-o", "x", "--config", "ds.json"],
                    ["train", MLP, "--data", MLP_DATA, "--steps", "1",
                     "--notes", "--config", "ds.json"],
                    ["explain", "ds.json"])
        self.write(config)
        for command in commands:
            result = self.succeeds(*command)
            self.assertIn("note: ", result.stdout + result.stderr)
        self.write({**config, "gradient_clipping": "x"})
        for command in commands:
            result = self.run_program(*command)
            self.assertEqual(result.returncode, 1)
            self.assertNotIn("note: ", result.stdout + result.stderr)
            self.assertTrue(result.stderr.startswith("zerograph "),
                            result.stderr)

    def test_a_check_of_options_names_the_key(self):
        self.write({"train_micro_batch_size_per_gpu": 8, "gradient_clipping": 0,
                    "optimizer": {"type": "AdamW", "params": {"lr": -1.0}}})
        for command in (["compile", MLP, "-o", "x", "--config", "ds.json"],
                        ["explain", "ds.json"]):
            result = self.run_program(*command)
            self.assertEqual(result.returncode, 1)
            self.assertIn("--lr -1: expected a finite number", result.stderr)
            self.assertIn("--lr is 'optimizer.params.lr' (ds.json, line 7)",
                          result.stderr)

    def test_a_folder_is_needed(self):
        for path in ({}, {"nvme_path": "auto"}):
            self.write({"train_micro_batch_size_per_gpu": 8,
                        "gradient_clipping": 0, "zero_optimization": {
                            "stage": 1, "offload_optimizer": {
                                "device": "nvme", **path}}})
            told = self.succeeds("explain", "ds.json").stdout
            self.assertIn("\nnote: to train, --offload-optimizer nvme needs "
                          "--nvme-path DIR", told)
            self.assertIn("--data DATA --nvme-path DIR\n", told)
            told = self.succeeds("explain", "ds.json", "--nvme-path",
                                 "disk").stdout
            self.assertNotIn("DIR", told)
            # Nothing is compiled before it is said, and a plan needs none.
            result = self.run_program("train", MLP, "--data", MLP_DATA,
                                      "--config", "ds.json", "--dump-ir", "ir")
            self.assertEqual(result.returncode, 1)
            self.assertIn("--offload-optimizer nvme needs --nvme-path DIR",
                          result.stderr)
            self.assertIn("--offload-optimizer is 'zero_optimization."
                          "offload_optimizer.device' (ds.json, line 7)",
                          result.stderr)
            self.assertFalse(os.path.exists(self.path("ir")))
            self.compiles_to("a", "--config", "ds.json")

    def test_files_that_are_none(self):
        self.write("{\n\"a\": [\n", "open.json")
        self.write("", "empty.json")
        self.write("[1, 2]", "list.json")
        for name, part in (("none.json", "there is no such"), (".", "is a folder"),
                           ("open.json", "line"), ("empty.json", "mapping"),
                           ("list.json", "expected one mapping"),
                           ("/dev/zero", "no such")):
            self.refused("explain", name, parts=[name, part])
            self.refused("compile", MLP, "-o", "x", "--config", name,
                         parts=[name, part])
        self.put("big.json", " " * (2 << 20))
        self.refused("explain", "big.json", parts=["too large"])

    def test_a_plan_has_its_configuration(self):
        self.write(GOOD)
        plan = self.compile_mlp()
        self.refused("train", plan, "--data", MLP_DATA, "--config", "ds.json",
                     parts=["leave out --config"])

    def test_explain_what(self):
        self.refused("explain", parts=["explain what?"])
        self.write(GOOD)
        self.refused("explain", "ds.json", "ds.json", parts=["one config"])


if __name__ == "__main__":
    main()
