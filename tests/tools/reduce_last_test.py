"""--reduce last with what else a step may have."""


from support import Case, GPT, GPT_DATA, main

STEPS = 4


class ReduceLast(Case):

    def train(self, *options):
        self.succeeds("train", GPT, "--data", GPT_DATA, "--steps", str(STEPS),
                      "--micro-batch", "1", "--ranks", "2", "--log", "l.jsonl",
                      "--accumulate", "2", "--reduce", "last",
                      "--save-weights", "w.safetensors", *options)
        losses = self.losses("l.jsonl")
        return losses, self.tensors("w.safetensors")

    def stages_agree(self, *options):
        """What both stages that may reduce last come to."""
        losses, weights = self.train("--zero", "0", *options)
        self.assertEqual((losses, weights), self.train("--zero", "1", *options))
        self.assertEqual(len(losses), STEPS)
        return losses, weights

    def test_16_bits(self):
        self.stages_agree("--precision", "bf16", "--clip-norm", "0.1")
        self.stages_agree("--precision", "bf16", "--master-precision", "bf16")

    def test_steps_that_are_skipped(self):
        """The first overflows at 2^30: the second finds nothing updated."""
        scaled = ("--precision", "fp16", "--loss-scale-hysteresis", "1",
                  "--initial-scale-power")
        skipped, _ = self.stages_agree(*scaled, "30")
        stepped, _ = self.stages_agree(*scaled, "8")
        untrained, _ = self.train(*scaled, "8", "--lr", "0")
        self.assertEqual(skipped[:2], untrained[:2])
        self.assertNotEqual(stepped[1], untrained[1])

    def test_adapters(self):
        self.stages_agree("--lora", "2:*attn*", "--optimizer", "lamb")

    def test_recomputation(self):
        options = ("--clip-value", "0.01")
        self.assertEqual(self.stages_agree(*options),
                         self.stages_agree(*options, "--recompute", "units"))


if __name__ == "__main__":
    main()
