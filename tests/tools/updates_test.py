"""The options of the update: clipping, groups of parameters, schedules."""

import os

from support import Case, GPT, MLP, MODELS, main

COMPILE = ["compile", MLP, "-o", "x.zgplan", "--micro-batch", "8"]


class UpdateOptions(Case):

    def test_limits_of_gradients_are_above_zero(self):
        for option in ("--clip-norm", "--clip-value"):
            for value in ("0", "-1", "nan", "x"):
                self.refused(*COMPILE, f"{option}={value}",
                             parts=[option, f"{value} is no number above 0"])
        self.succeeds(*COMPILE, "--clip-norm", "inf")

    def test_groups_of_parameters(self):
        result = self.succeeds(*COMPILE, "--no-decay", "--group",
                               "fc2.*:betas=0.5,0.25,lr=2e-4")
        self.assertEqual(result.stderr, "")
        report = self.inspect("x.zgplan")
        groups = report["groups"]
        self.assertEqual([g["name"] for g in groups],
                         ["default", "fc2.*", "no-decay"])
        self.assertEqual(groups[1]["betas"], [0.5, 0.25])
        self.assertEqual([g["learning_rate"] for g in groups],
                         [1e-3, 2e-4, 1e-3])
        self.assertEqual([g["weight_decay"] for g in groups], [0.01, 0.01, 0])
        self.assertEqual({p["name"]: p["group"] for unit in report["units"]
                          for p in unit["parameters"]},
                         {"fc1.weight": 0, "fc1.bias": 2, "fc2.weight": 1,
                          "fc2.bias": 1})
        text = self.succeeds("inspect", "x.zgplan", "--units",
                             "--settings").stdout
        self.assertRegex(text, r"groups +adamw, name fc2\.\*, learning_rate "
                         r"0\.0002, betas \[0\.5, 0\.25\]")
        self.assertRegex(text, r"fc1\.bias +\[128\] +yes +2 ")
        result = self.succeeds(*COMPILE, "--optimizer", "sgd", "--no-decay")
        self.assertIn("--no-decay has no effect", result.stderr)

    def test_lamb(self):
        self.succeeds(*COMPILE, "--optimizer", "lamb", "--lamb-max-coeff",
                      "3", "--no-decay", "--weight-decay", "0.1")
        optimizer = self.inspect("x.zgplan")["optimizer"]
        self.assertEqual(optimizer, {
            "kind": "lamb", "learning_rate": 1e-3, "betas": [0.9, 0.999],
            "epsilon": 1e-8, "coefficients": [0.01, 3], "weight_decay": 0.1})
        for options, parts in (
                (["--lamb-min-coeff", "1"],
                 ["--lamb-min-coeff is for --optimizer lamb; adamw"]),
                (["--optimizer", "lamb", "--lamb-min-coeff", "11"],
                 ["--lamb-min-coeff 11: expected at "
                  "most lamb_max_coeff, 10"]),
                (["--optimizer", "lamb", "--eps", "0"],
                 ["--eps 0: expected a finite number above 0"]),
                (["--optimizer", "lamb", "--group", "*:eps=0"],
                 ["eps is 0", "above 0"]),
                (["--optimizer", "lamb", "--momentum", "0.9"],
                 ["--momentum is for --optimizer sgd"])):
            with self.subTest(options=options):
                self.refused(*COMPILE, *options, parts=parts, lines=0)

    def test_when_gradients_are_reduced(self):
        traffic = []
        for reduce in ("each", "last"):
            self.succeeds(*COMPILE, "--ranks", "2", "--accumulate", "3",
                          "--zero", "1", "--reduce", reduce)
            report = self.inspect("x.zgplan")
            self.assertEqual(report["reduce"], reduce)
            traffic.append(report["traffic"])
        each, last = traffic
        self.assertEqual(each["reduce"], 3 * last["reduce"])
        self.assertEqual(last["saved_by_reducing_last"],
                         each["reduce"] - last["reduce"])
        self.assertEqual(each["gather"], last["gather"])
        self.assertIn(", --reduce last\n",
                      self.succeeds("inspect", "x.zgplan").stdout)
        self.assertRegex(
            self.succeeds("inspect", "x.zgplan", "--collectives",
                          "--bytes").stdout,
            f"saved_by_reducing_last +{last['saved_by_reducing_last']:,}\n")
        for stage in "23":
            self.refused(*COMPILE, "--ranks", "2", "--accumulate", "3",
                         "--zero", stage, "--reduce", "last", lines=0,
                         parts=["--reduce last needs --zero 0|1, and --zero is "
                                f"{stage}: with more, each rank would keep "
                                "whole gradients"])
        self.refused(*COMPILE, "--ranks", "2", "--accumulate", "3",
                     "--reduce", "last", "--dump-gradients", lines=0,
                     parts=["--dump-gradients with --reduce last"])
        for options, why in ((["--ranks", "2"], "out --accumulate"),
                             (["--ranks", "1", "--accumulate", "3"],
                              " --ranks 1: there is nobody")):
            result = self.succeeds(*COMPILE, *options, "--reduce", "last")
            self.assertIn("--reduce last has no effect with" + why,
                          result.stderr)

    def test_options_of_another_schedule(self):
        for options, parts in (
                (["--step-size", "3"],
                 ["--step-size is for --schedule step; constant does not"]),
                (["--schedule", "linear", "--total-steps", "9",
                  "--warmup-type", "log"],
                 ["--warmup-type", "warmup, warmup-decay and warmup-cosine"]),
                (["--schedule", "warmup", "--total-steps", "9"],
                 ["--total-steps", "warmup does not use it"]),
                (["--schedule", "cosine"],
                 ["--schedule cosine needs --total-steps"]),
                (["--schedule", "step"], ["needs --step-size"]),
                (["--schedule", "one-cycle"], ["needs --cycle-min-lr"]),
                (["--schedule", "one-cycle", "--cycle-min-lr", "0",
                  "--cycle-min-momentum", "0.8"],
                 ["--cycle-min-momentum 0.8 needs --cycle-max-momentum"]),
                (["--schedule", "one-cycle", "--cycle-min-lr", "0",
                  "--cycle-max-momentum", "0.9", "--optimizer", "lion"],
                 ["--cycle-max-momentum is for", "lion does not use it"]),
                (["--schedule", "warmup", "--warmup-steps", "0"],
                 ["--warmup-steps 0 with --schedule warmup: expected at least "
                  "1", "--schedule constant has no warm-up"]),
                (["--schedule", "warmup-decay", "--warmup-steps", "0",
                  "--total-steps", "9"], ["--schedule linear has no warm-up"]),
                (["--schedule", "warmup-cosine", "--warmup-steps", "0",
                  "--total-steps", "9"], ["--schedule cosine has no warm-up"]),
        ):
            with self.subTest(options=options):
                self.refused(*COMPILE, *options, parts=parts, codes=(1,))
        for option, value in (("--schedule", "sine"), ("--min-lr", "-1"),
                              ("--total-steps", "0"), ("--step-gamma", "nan"),
                              ("--cosine-min-ratio", "2"),
                              ("--warmup-type", "slow")):
            self.refused(*COMPILE, option, value, codes=(2,), parts=[option])

    def test_a_schedule_that_is_upside_down(self):
        for schedule, option, more in (
                ("cosine", "--min-lr", ["--total-steps", "9"]),
                ("linear", "--min-lr", ["--total-steps", "9"]),
                ("warmup", "--warmup-min-lr", []),
                ("one-cycle", "--cycle-min-lr", [])):
            for low, said in (("1", True), ("1e-3", False), ("0", False)):
                with self.subTest(schedule=schedule, low=low):
                    result = self.succeeds(*COMPILE, "--schedule", schedule,
                                           option, low, "--lr", "1e-3", *more)
                    self.assertEqual(
                        f"warning: {option} 1 is above --lr 0.001, the peak "
                        f"of --schedule {schedule}: " in result.stderr, said)

    def test_a_schedule_is_in_the_plan(self):
        result = self.succeeds(*COMPILE, "--schedule", "warmup-decay",
                               "--total-steps", "500", "--warmup-type",
                               "linear")
        self.assertIn("ends at step 500, before its warm-up, --warmup-steps "
                      "1000", result.stderr)
        self.assertEqual(self.inspect("x.zgplan")["schedule"],
                         {"kind": "warmup-decay", "total_steps": 500,
                          "warmup_steps": 1000, "warmup_type": "linear"})
        self.assertRegex(
            self.succeeds("inspect", "x.zgplan", "--settings").stdout,
            "schedule +warmup-decay, total_steps 500, warmup_steps 1,000, "
            "warmup_type linear")

    def test_clipping_is_in_the_plan(self):
        self.succeeds(*COMPILE, "--clip-norm", "0.5", "--clip-value", "2")
        report = self.inspect("x.zgplan")
        self.assertEqual((report["clip_norm"], report["clip_value"]), (0.5, 2))
        settings = ["inspect", "x.zgplan", "--settings"]
        self.assertRegex(self.succeeds(*settings).stdout,
                         r"clip_norm +0\.5\n +clip_value +2\.0\n")
        for limits in [], ["--clip-norm", "inf"]:
            self.succeeds(*COMPILE, *limits)
            self.assertNotIn("clip", self.succeeds(*settings).stdout)

    def test_precision_and_recomputation_are_in_the_plan(self):
        model = ["compile", GPT, "--dim", "seq=32",
                 "--micro-batch", "1", "-o", "x.zgplan"]
        self.succeeds(*model)
        settings = ["inspect", "x.zgplan", "--settings"]
        self.assertNotIn("recomputed", self.succeeds(*settings).stdout)
        whole = self.inspect("x.zgplan")
        self.succeeds(*model, "--recompute", "units")
        again = self.inspect("x.zgplan")
        self.assertEqual(whole["recomputed"], 0)
        self.assertRegex(self.succeeds(*settings).stdout,
                         f"recomputed +{again['recomputed']}\n")
        self.assertLess(2 * self.kept(again)["f32"], self.kept(whole)["f32"])

    def kept(self, report):
        return {each["type"]: each["bytes"]
                for each in report["precision"]["kept"]}

    def test_inspect_shows_what_stays_in_float32(self):
        model = ["compile", GPT, "--dim", "seq=32",
                 "--micro-batch", "1", "-o", "x.zgplan", "--precision", "bf16"]
        self.succeeds(*model)
        report = self.inspect("x.zgplan")
        text = self.succeeds("inspect", "x.zgplan", "--precision").stdout
        library = report["precision"]["library"]
        # Where the library takes bf16, it also gives f32: of parameters'
        # gradients.
        kinds = {(each["op"], each["type"], each["result"])
                 for each in library}
        self.assertIn(kinds, ({("products", "f32", "f32")},
                              {("products", "bf16", "bf16"),
                               ("products", "bf16", "f32")}))
        for each in library:
            self.assertRegex(text, f"\n  products +{each['type']} +"
                             f"{each['result']} +{each['steps']}\n")
        # Softmax and norms keep 32 bits of a row, all else 16.
        self.assertLess(10 * self.kept(report)["f32"],
                        self.kept(report)["bf16"])
        self.assertRegex(text, r"\n  bf16 +\d+ +[\d.]+ .iB\n")
        self.assertRegex(text, "\n  states +param bf16\n")
        self.succeeds(*model, "--matmul", "generated")
        self.assertNotIn("  products", self.succeeds("inspect", "x.zgplan",
                                                     "--precision").stdout)

    def test_inspect_lists_what_repeats_together(self):
        resnet = os.path.join(MODELS, "resnet-mini", "model.onnx")
        self.succeeds("compile", resnet, "-o", "x.zgplan", "--micro-batch", "1",
                      "--precision", "bf16")
        names = [each["name"] for kept in
                 self.inspect("x.zgplan")["precision"]["kept"]
                 for each in kept["names"] if kept["type"] == "f32"]
        self.assertIn("node_conv2d", names)
        self.assertLess(len([name for name in names if "batch_norm" in name]),
                        2)


if __name__ == "__main__":
    main()
