"""What is trained: --train, --freeze, and what `inspect` says about it."""

from support import Case, GPT, GPT_DATA, MLP, main, write_tensors


class Trainable(Case):

    def compile_gpt(self, stage, *options):
        self.succeeds("compile", GPT, "-o", "gpt.zgplan", "--micro-batch", "2",
                      "--dim", "seq=16", "--ranks", "2", "--zero", str(stage),
                      *options)
        return self.inspect("gpt.zgplan")

    def parameters(self, report):
        return {p["name"]: p for unit in report["units"]
                for p in unit["parameters"]}

    def check_only_norms(self, stage):
        report = self.compile_gpt(stage, "--train", "*ln_*")
        for name, parameter in self.parameters(report).items():
            self.assertEqual(parameter["trainable"], "ln_" in name, name)
        frozen = {u["name"]: u for u in report["units"] if not u["trainable"]}
        trained = {u["name"]: u for u in report["units"] if u["trainable"]}
        self.assertEqual(len(trained), 5)
        self.assertEqual(len(frozen), 6)
        for name, unit in frozen.items():
            # No gradient and no optimizer state, sharded in stage 3 alone.
            self.assertEqual({s["role"] for s in unit["states"]}, {"param"})
            for state in unit["states"]:
                self.assertEqual(state["sharded"], stage == 3, name)
        for unit in trained.values():
            roles = {s["role"] for s in unit["states"]}
            self.assertIn("exp_avg", roles)
            self.assertIn("exp_avg_sq", roles)
        # Reductions are of trained units alone, and all of them.
        reduced, gathered = set(), set()
        for item in report["collectives"]:
            if item["op"] == "all_gather":
                gathered.add(item["name"])
            elif item["received"] > 4:  # not the loss, nor the wish to stop
                reduced.add(item["name"])
        self.assertEqual(reduced, set(trained))
        self.assertEqual(gathered & set(frozen),
                         set(frozen) if stage == 3 else set())
        padded = sum(u["elements"] + u["padding"] for u in trained.values())
        exchanged = 4 * padded // 2  # the other rank's half
        self.assertEqual(report["traffic"]["reduce"], exchanged)
        if stage < 3:  # only what was updated is gathered
            self.assertEqual(report["traffic"]["gather"], exchanged)
        # Memory: two Adam states of what is trained, and no more.
        share = 2 if stage > 0 else 1
        device = report["memory"]["arenas"][0]
        self.assertEqual(device["class_peaks"]["optimizer"],
                         2 * 4 * padded // share)
        for kind in ("grad", "grad_shard"):
            self.assertLessEqual(device["class_peaks"].get(kind, 0),
                                 4 * padded, kind)

    def test_only_norms(self):
        for stage in range(4):
            with self.subTest(stage=stage):
                self.check_only_norms(stage)

    def test_the_reason_is_told(self):
        report = self.compile_gpt(3, "--train", "*ln_*", "--freeze", "*bias")
        reasons = {n: (p["trainable"], p["reason"])
                   for n, p in self.parameters(report).items()}
        self.assertEqual(reasons["transformer.h.0.ln_1.weight"],
                         (True, "--train *ln_*"))
        self.assertEqual(reasons["transformer.h.0.ln_1.bias"],
                         (False, "--freeze *bias"))
        self.assertEqual(reasons["lm_head.weight"],
                         (False, "--train does not name it"))
        text = self.succeeds("inspect", "gpt.zgplan", "--units").stdout
        for row in (r"transformer\.h\.0\.ln_1\.weight +\[128\] +yes +0  "
                    r"--train \*ln_\*\n",
                    r"transformer\.h\.0\.ln_1\.bias +\[128\] +no +0  "
                    r"--freeze \*bias\n",
                    r" no +0  --train does not name it\n"):
            self.assertRegex(text, row)

    def test_the_exporter_is_the_reason(self):
        report = self.inspect(self.compile_mlp())
        for parameter in self.parameters(report).values():
            self.assertTrue(parameter["trainable"])
            self.assertIn("exporter", parameter["reason"])

    def test_every_parameter_has_a_reason(self):
        for options in ([], ["--freeze", "*mlp*"], ["--train", "*wpe*"]):
            report = self.compile_gpt(3, *options)
            for name, parameter in self.parameters(report).items():
                self.assertNotEqual(parameter["reason"], "", name)

    def test_a_pattern_without_a_match(self):
        base = ["compile", MLP, "-o", "x", "--micro-batch", "8"]
        self.refused(*base, "--freeze", "*wieght",
                     parts=["--freeze *wieght", "did you mean 'fc1.weight'?"])
        self.refused(*base, "--train", "fc3.bias",
                     parts=["did you mean 'fc1.bias'?"])
        # All of them at once; where nothing is near, what there is.
        self.refused(*base, "--train", "decoder.*", "--freeze", "encoder*",
                     lines=2, parts=["--train decoder.*", "--freeze encoder*",
                                     "there are fc1.weight, fc1.bias"])

    def test_nothing_left_to_train(self):
        self.refused("compile", MLP, "-o", "x", "--micro-batch", "8",
                     "--freeze", "*", parts=["nothing to train"])

    def test_patterns_do_not_swallow_the_model(self):
        self.succeeds("compile", "--train", "fc1*", MLP, "--micro-batch", "8",
                      "-o", "x")

    def test_a_tied_weight_by_its_other_name(self):
        """The file of a model whose head is its embedding has either name."""
        train = ["train", GPT, "--data", GPT_DATA, "--micro-batch", "8",
                 "--dim", "seq=64", "--lr", "0"]
        self.succeeds(*train, "--save-weights", "w")
        weights = self.tensors("w")
        weights["transformer.wte.weight"] = weights.pop("lm_head.weight")
        write_tensors(self.path("w"), weights)
        self.refused(*train, "--load-weights", "w", lines=0, parts=[
            "w seems to have another name for a weight",
            "'lm_head.weight' [256, 128] is not in it, "
            "'transformer.wte.weight' is", "rename it"])
        # A tensor of another shape is no such weight.
        weights["transformer.wte.weight"] = ("F32", [1], bytes(4))
        write_tensors(self.path("w"), weights)
        self.assertIn(
            "lacks lm_head.weight, where the model's values stay",
            self.succeeds(*train, "--load-weights", "w").stderr)


if __name__ == "__main__":
    main()
