"""`zerograph advise`: which strategy trains a model fastest."""

import json
import os
import re

from support import Case, GPT, MODELS, main

ADVISE = ["advise", GPT, "--dim", "seq=16", "--machine", "h100-sxm", "--ranks",
          "2", "--convolution", "generated"]
DEEP = os.path.join(MODELS, "structure", "gpt2-medium.onnx")
# A card with this leaves 0.1 * 10^9 bytes for the arena of one of two ranks.
SMALL = ["--what-if", "memory=5.24"]
# Here some strategies fit, and others need more.
TIGHT = ["--what-if", "memory=5.18"]


class Advise(Case):

    def advise(self, *options):
        result = self.run_program(*ADVISE, "--json", *options)
        return json.loads(result.stdout)

    def test_the_first_is_the_fastest_and_fits(self):
        report = self.advise("--recompute", "none", "--global-batch", "16")
        rates = [t["samples_per_second"] for t in report["trials"]]
        self.assertEqual(rates, sorted(rates, reverse=True))
        self.assertEqual(len(rates), 4, "stages")
        first = report["trials"][0]
        self.assertEqual(first["micro_batch"] * first["accumulate"] * 2, 16)
        self.succeeds("compile", GPT, "-o", "x.zgplan", "--dim", "seq=16",
                      "--ranks", "2", "--target", report["target"],
                      "--convolution", "generated",
                      "--micro-batch", str(first["micro_batch"]),
                      "--accumulate", str(first["accumulate"]),
                      *first["strategy"].split())
        seen = json.loads(self.succeeds("simulate", "x.zgplan", "--machine",
                                        "h100-sxm", "--json").stdout)
        self.assertEqual(seen["step_seconds"], first["step_seconds"])

    def test_the_largest_micro_batch_is_proved(self):
        report = self.advise(*SMALL, "--zero", "3", "--recompute", "units")
        largest = report["trials"][0]["largest_micro_batch"]
        for size, fits in ((largest, True), (largest + 1, False)):
            self.succeeds("compile", GPT, "-o", "x.zgplan", "--dim", "seq=16",
                          "--ranks", "2", "--target", "cuda:sm_90", "--zero",
                          "3", "--recompute", "units", "--convolution",
                          "generated", "--micro-batch", str(size))
            seen = json.loads(self.succeeds(
                "simulate", "x.zgplan", "--machine", "h100-sxm", "--json",
                *SMALL).stdout)
            self.assertEqual(seen["fits"], fits, size)

    def test_stages_1_and_2_differ_by_accumulation(self):
        # So advice tries one of them where there is none.
        for options in ([], ["--recompute", "units"],
                        ["--offload-optimizer", "cpu"]):
            plans = []
            for stage in "12":
                self.succeeds("compile", GPT, "-o", "x.zgplan", "--dim",
                              "seq=16", "--ranks", "2", "--target",
                              "cuda:sm_90", "--zero", stage, "--convolution",
                              "generated", "--micro-batch", "4", *options)
                plan = json.loads(self.succeeds("inspect", "x.zgplan",
                                                "--json").stdout)
                self.assertEqual(plan.pop("zero_stage"), int(stage))
                del plan["hash"]
                plans.append(plan)
            self.assertEqual(*plans)
        trials = {t["strategy"]: t for t in self.advise("--recompute", "none")
                  ["trials"]}
        first, second = trials["--zero 1"], trials["--zero 2"]
        for trial in first, second:
            del trial["strategy"], trial["options"]
        self.assertEqual(first, second)

    def test_what_does_not_fit_says_what_it_needs(self):
        result = self.run_program(*ADVISE, "--what-if", "memory=5.14",
                                  "--recompute", "none", "--zero", "0")
        self.assertRegex(result.stdout, r"--zero 0 does not fit: needs [0-9.]+ "
                         r"MiB of [0-9.]+ [KM]iB at a micro-batch of 1\n")
        self.assertEqual(result.returncode, 1)

    def test_states_that_do_not_fit(self):
        """A plan says it also of what computes more again."""
        # Leaves 5.3 MiB: of two ranks at stage 1 the states take 6.5, at 3 4.8.
        text = self.run_program(*ADVISE, "--what-if", "memory=5.1436",
                                "--all").stdout
        for strategy in ("0 --recompute units", "1 --recompute selective"):
            self.assertRegex(text, rf"--zero {strategy} does not fit: needs at "
                             r"least [0-9.]+ MiB of [0-9.]+ MiB for parameters "
                             r"and states alone\n")
        self.assertRegex(text, r"--zero 3 --recompute units does not fit: needs "
                         r"[0-9.]+ MiB of [0-9.]+ MiB at a micro-batch of 1\n")

    def test_what_makes_another_fit(self):
        """What a rejected strategy lacks is one that was seen to fit."""
        report = self.advise(*TIGHT, "--all")
        fitting = {t["strategy"] for t in report["trials"]}
        self.assertTrue(report["rejected"])
        for rejected in report["rejected"]:
            options = dict(re.findall(r"--([a-z-]+) (\w+)",
                                      rejected["strategy"]))
            options.update(re.findall(r"--([a-z-]+) (\w+)",
                                      rejected["fits_with"]))
            order = ("zero", "recompute", "offload-optimizer", "offload-param")
            self.assertIn(" ".join(
                f"--{key} {options[key]}" for key in order
                if options.get(key, "none") != "none"), fitting)
        text = self.succeeds(*ADVISE, *TIGHT, "--all").stdout
        self.assertRegex(text, r"does not fit: needs .*; it does with --.*, "
                         r"[0-9,.]+ samples a second\n")

    def test_the_command_and_the_file_of_the_fastest(self):
        """Both make a plan that takes as long as was said."""
        options = ["--precision", "bf16", "--global-batch", "16",
                   "--deepspeed", "ds.json"]
        first = self.advise(*options)["trials"][0]
        text = self.succeeds(*ADVISE, *options).stdout
        command = re.search(r"^next: zerograph (compile .*?);", text, re.M)[1]
        self.succeeds(*command.split())
        predicted = ["--machine", "h100-sxm", "--json"]
        seen = json.loads(self.succeeds("simulate", "PLAN", *predicted).stdout)
        self.assertEqual(seen["step_seconds"], first["step_seconds"])
        self.succeeds("compile", GPT, "-o", "x.zgplan", "--config", "ds.json",
                      "--dim", "seq=16", "--ranks", "2", "--target",
                      "cuda:sm_90", "--convolution", "generated")
        plan = self.inspect("x.zgplan")
        self.assertEqual(plan["micro_batch"], first["micro_batch"])
        self.assertEqual(plan["accumulate"], first["accumulate"])
        self.assertEqual(f"--zero {plan['zero_stage']}",
                         first["strategy"][:len("--zero 0")])
        self.assertEqual(plan["parameter_types"][0]["type"], "bf16")

    def test_a_configuration(self):
        """Its batch is the global batch; the command stands without it."""
        self.put("c.json", json.dumps({
            "gradient_accumulation_steps": 8,
            "train_micro_batch_size_per_gpu": 4,
            "zero_optimization": {"stage": 2}}))
        options = ["--config", "c.json", "--recompute", "none"]
        first = self.advise(*options)["trials"][0]
        self.assertEqual(first["micro_batch"] * first["accumulate"] * 2, 64)
        text = self.succeeds(*ADVISE, *options).stdout
        command = re.search(r"^next: zerograph (compile .*?);", text, re.M)[1]
        self.succeeds(*command.split())
        seen = json.loads(self.succeeds(
            "simulate", "PLAN", "--machine", "h100-sxm", "--json").stdout)
        self.assertEqual(seen["step_seconds"], first["step_seconds"])
        self.refused(*ADVISE, *options, "--deepspeed", "c.json",
                     parts=["--deepspeed would write over c.json"])

    def test_a_strategy_that_is_refused(self):
        report = self.advise("--recompute", "none", "--reduce", "last",
                             "--global-batch", "16")
        self.assertEqual({t["strategy"] for t in report["trials"]},
                         {"--zero 0", "--zero 1"})
        self.assertEqual([r["strategy"] for r in report["rejected"]],
                         ["--zero 2", "--zero 3"])
        for rejected in report["rejected"]:
            self.assertRegex(rejected["rejected"], "^while running .* which "
                             "ZeRO stage [23] is there to avoid; expected "
                             "stage 0 or 1$")

    def test_a_limit_of_memory(self):
        report = self.advise("--recompute", "none", "--zero", "3", "--memory",
                             "50MiB")
        self.assertLessEqual(report["trials"][0]["device_bytes"], 50 << 20)

    def test_several_numbers_of_ranks(self):
        options = ["--recompute", "none", "--zero", "1", "--global-batch", "16",
                   "--or-ranks", "4,8", "--tokens", "1e9", "--price", "2"]
        report = self.advise(*options)
        self.assertEqual(report["ranks"], 2)
        self.assertEqual([one["ranks"] for one in report["or_ranks"]], [4, 8])
        for one in [report, *report["or_ranks"]]:
            first = one["trials"][0]
            self.assertEqual(
                first["micro_batch"] * first["accumulate"] * one["ranks"], 16)
            days = 1e9 / first["tokens_per_second"] / 86400
            self.assertAlmostEqual(first["days"], days)
            self.assertAlmostEqual(first["price"],
                                   days * 24 * 2 * one["ranks"])
        text = self.succeeds(*ADVISE, *options).stdout
        self.assertRegex(text, r"\n +ranks  options +memory +step  samples a "
                         r"second +a rank +days +price\n +2  --zero 1 ")
        self.assertRegex(text, r"next: zerograph compile .* --ranks [48] ")

    def test_refusals(self):
        self.refused(*ADVISE, "--or-ranks", "3", "--global-batch", "16",
                     parts=["each of 3 ranks"])
        self.refused(*ADVISE, "--price", "2", parts=["--tokens"])
        self.refused(*ADVISE, "--recompute", "50MiB", "--zero", "1",
                     parts=["advise tries none, selective and units"])
        self.refused(*ADVISE, "--deepspeed", "none/ds.json",
                     parts=["there is no folder none"])
        self.refused(*ADVISE, "--micro-batch", "4",
                     parts=["--global-batch"])
        self.refused(*ADVISE, "--global-batch", "3",
                     parts=["expected a multiple of 2"])


class DeepModels(Case):
    """Has 24 layers: all plans but the fastest are estimated by fewer."""

    def test_estimates_are_near_the_whole(self):
        model = [DEEP, "--dim", "seq=128", "--ranks", "2", "--precision",
                 "bf16"]
        machine = ["--machine", "h100-sxm"]
        report = json.loads(self.succeeds(
            "advise", *model, *machine, "--zero", "3", "--all",
            "--global-batch", "16", "--json").stdout)
        trials = report["trials"]
        self.assertGreater(len(trials), 6)
        self.assertEqual([t["estimated"] for t in trials],
                         [i >= 3 for i in range(len(trials))])
        for trial in trials[2:6]:
            self.succeeds("compile", *model, "-o", "x.zgplan", "--target",
                          report["target"], "--micro-batch",
                          str(trial["micro_batch"]), "--accumulate",
                          str(trial["accumulate"]),
                          *trial["strategy"].split())
            seen = json.loads(self.succeeds("simulate", "x.zgplan", "--json",
                                            *machine).stdout)
            near = 0.05 if trial["estimated"] else 1e-9
            for figure in ("step_seconds", "device_bytes"):
                self.assertLess(abs(trial[figure] / seen[figure] - 1), near,
                                trial)

    def trials(self, *options):
        """Four strategies, so that one would be estimated."""
        return json.loads(self.succeeds(
            "advise", DEEP, "--dim", "seq=128", "--ranks", "2", "--precision",
            "bf16", "--machine", "h100-sxm", "--recompute", "none",
            "--global-batch", "2", "--json", *options).stdout)["trials"]

    def test_an_option_about_a_layer_that_was_left_out(self):
        trials = self.trials("--group", "transformer.h.20.*:lr=0.1")
        self.assertEqual([t["estimated"] for t in trials], [False] * 4)

    def test_options_by_which_few_layers_do_not_tell(self):
        for option in (["--prefetch", "4"], ["--units", "300000000"]):
            self.assertFalse(self.trials(*option)[-1]["estimated"], option)

    def test_layers_that_are_frozen_are_others(self):
        """Freezes the first 10 of 24."""
        trial = self.trials("--freeze", "transformer.h.?.*")[-1]
        self.assertTrue(trial["estimated"])
        self.succeeds("compile", DEEP, "--dim", "seq=128", "--ranks", "2",
                      "--precision", "bf16", "--target", "cuda:sm_90", "-o",
                      "x.zgplan", "--freeze", "transformer.h.?.*",
                      "--micro-batch", "1", *trial["strategy"].split())
        seen = json.loads(self.succeeds("simulate", "x.zgplan", "--machine",
                                        "h100-sxm", "--json").stdout)
        for figure in ("step_seconds", "device_bytes"):
            self.assertLess(abs(trial[figure] / seen[figure] - 1), 0.05,
                            figure)

    def test_no_advice_by_an_option_about_nothing(self):
        self.refused("advise", GPT, "--dim", "seq=16", "--machine", "h100-sxm",
                     "--group", "h.99.*:lr=0.1", parts=["h.99.*"], lines=None)


if __name__ == "__main__":
    main()
