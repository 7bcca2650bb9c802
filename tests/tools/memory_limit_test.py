"""`--memory`: what a plan may need, what would need less, and `--offload auto`,
which offloads that."""

from support import Case, MLP, main

COMPILE = ["compile", MLP, "-o", "x.zgplan", "--micro-batch", "8"]


class MemoryLimit(Case):

    def test_a_limit_of_memory_says_what_would_fit(self):
        ranks = (*COMPILE, "--ranks", "2")
        self.succeeds(*ranks)
        needed = self.inspect("x.zgplan")["memory"]["arenas"][0]["bytes"]
        self.succeeds(*ranks, "--memory", f"device={needed}")
        self.refused(*ranks, "--memory", f"device={needed - 1}", lines=0,
                     parts=[f"needs {needed} bytes of device memory",
                            f"device={needed - 1} is enough with --zero 1"])
        self.refused(*ranks, "--memory", "1KiB", lines=0,
                     parts=["needs so little; a smaller --micro-batch, as auto"])
        self.refused(*ranks, "--memory", "disk=1KiB", codes=(2,),
                     parts=["'disk=1KiB': expected BYTES"])

    def test_offloads_what_does_not_fit(self):
        shards = (*COMPILE, "--ranks", "2", "--zero", "3")

        def compiled(*options):
            """Notes, bytes of the plan, and of its device."""
            notes = self.succeeds(*shards, *options).stderr
            needed = self.inspect("x.zgplan")["memory"]["arenas"][0]["bytes"]
            return notes, self.bytes_of("x.zgplan"), needed

        def within(limit):
            return ("--offload", "auto", "--memory", f"device={limit}")

        _, plain, limit = compiled()
        notes, plan, _ = compiled(*within(limit))
        self.assertEqual(plan, plain)
        self.assertNotIn("--offload auto", notes)
        optimizer = ("--offload-optimizer", "cpu")
        for choice in ((*optimizer, "--offload-ratio", "0.25"), optimizer,
                       (*optimizer, "--offload-param", "cpu")):
            _, by_hand, limit = compiled(*choice)
            notes, plan, _ = compiled(*within(limit))
            self.assertEqual(plan, by_hand)
            self.assertIn("note: --offload auto: " + " ".join(choice), notes)
        self.refused(*shards, *within(limit - 1), lines=0,
                     parts=["needs", f"the limit is {limit - 1}"])
        # The advice has nothing that `auto` would refuse.
        said = self.refused(*COMPILE, "--ranks", "2", "--zero", "0",
                            *within(limit), lines=0,
                            parts=["is enough with --zero 3\n"]).stderr
        self.assertNotIn("--offload-", said)
        self.refused(*shards, "--offload", "auto",
                     parts=["as with --memory device=80GiB"])
        for also in (("--offload-optimizer", "cpu"), ("--offload-ratio", "0.5")):
            self.refused(*shards, *within(limit), *also,
                         lines=0, parts=[
                             f"--offload auto excludes {' '.join(also)}: it "
                             "chooses what is offloaded; give one of them"])

    def test_advice_offloads_sums_before_parameters(self):
        adds = ("compile", MLP.replace("mlp-digits", "gpt2-nano"), "-o",
                "x.zgplan", "--micro-batch", "1", "--dim", "seq=16",
                "--ranks", "2", "--accumulate", "2")

        def needs(*options):
            self.succeeds(*adds, *options)
            return self.inspect("x.zgplan")["memory"]["arenas"][0]["bytes"]

        sums = ("--offload-optimizer", "cpu", "--offload-gradients", "cpu")
        least = ("--zero", "3", "--prefetch", "0", "--recompute", "units")
        self.refused(*adds, *least, "--memory",
                     f"device={needs(*least, *sums)}", lines=0,
                     parts=["is enough with " + " ".join(sums)])
        self.refused(*adds, "--zero", "1", "--reduce", "last", "--memory",
                     "device=1", lines=0, parts=["or --reduce each"])
        self.refused(*adds, "--zero", "1", "--reduce", "last", *sums,
                     parts=["--offload-gradients cpu excludes --reduce last",
                            "give one of them"])
        limit = needs("--zero", "1", "--offload-optimizer", "cpu")
        self.refused(*adds, "--zero", "1", "--memory",
                     f"device={limit},host=1000", lines=0,
                     parts=["the limit of the host is in the way"])


if __name__ == "__main__":
    main()
