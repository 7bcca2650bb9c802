"""`--recompute auto` and BYTES: the cheapest recomputation that fits, and
`--offload-activations`."""

from support import Case, MLP, main

NANO = MLP.replace("mlp-digits", "gpt2-nano")
COMPILE = ["compile", NANO, "-o", "x.zgplan", "--micro-batch", "4", "--dim",
           "seq=32"]


class RecomputeBudget(Case):

    def compiled(self, *options):
        """The note of what was chosen, bytes of the plan, and of the device."""
        said = self.succeeds(*COMPILE, *options).stderr
        notes = [line for line in said.splitlines()
                 if line.startswith("note: for --")]
        plan = self.inspect("x.zgplan")
        return ("\n".join(notes), self.bytes_of("x.zgplan"),
                plan["memory"]["arenas"][0]["bytes"])

    def test_every_budget_is_kept_and_less_memory_costs_more(self):
        _, none, most = self.compiled()
        *_, least = self.compiled("--recompute", "units",
                                  "--offload-activations", "cpu")
        *_, units = self.compiled("--recompute", "units")
        self.assertLess(least, units)
        self.assertLess(units, most)
        costs, peaks = [], []
        for i in range(20):
            budget = most - (most - least) * i // 19
            note, plan, peak = self.compiled(
                "--recompute", "auto", "--offload-activations", "cpu",
                "--memory", f"device={budget}")
            self.assertLessEqual(peak, budget)
            self.assertIn(f"for --memory device={budget}: --recompute ", note)
            peaks.append(peak)
            cost = self.inspect("x.zgplan")["costs"]
            costs.append((cost["read"] + cost["written"], -peak))
            if i == 0:
                self.assertEqual(plan, none)
                self.assertIn("--recompute none is enough", note)
        self.assertEqual(peaks, sorted(peaks, reverse=True))
        self.assertEqual(costs, sorted(costs))
        self.assertGreater(len(set(peaks)), 4)
        self.assertEqual(peaks[-1], least)
        self.assertIn("--recompute units --offload-activations cpu", note)
        note, *_ = self.compiled("--recompute", str(units),
                                 "--offload-activations", "cpu")
        self.assertIn("--offload-activations cpu is not needed", note)

    def test_bytes_are_a_budget(self):
        *_, units = self.compiled("--recompute", "units")
        limit = ("--memory", f"device={units}")
        chosen = self.compiled("--recompute", "auto", *limit)
        given = self.compiled("--recompute", str(units))
        self.assertEqual(chosen[1:], given[1:])
        self.assertEqual(chosen[1:],
                         self.compiled("--recompute", str(10 * units),
                                       *limit)[1:])

    def test_what_is_chosen_can_be_given(self):
        *_, most = self.compiled()
        note, plan, _ = self.compiled("--recompute", str(most * 9 // 10))
        chosen = note.split(": ")[-1].split(";")[0].split()
        self.assertIn("MiB of the device instead of ", note)
        self.assertIn("of forward, by " + " ".join(chosen), self.shown())
        self.assertIn("--recompute-ratio", chosen)
        self.assertEqual(plan, self.compiled(*chosen)[1])

    def test_recomputes_before_it_offloads(self):
        *_, units = self.compiled("--recompute", "units")
        choose = ("--recompute", "auto", "--offload", "auto", "--memory")
        said = self.succeeds(*COMPILE, *choose, f"device={units}").stderr
        self.assertNotIn("--offload-optimizer", said)
        *_, least = self.compiled("--recompute", "units",
                                  "--offload-optimizer", "cpu")
        said = self.succeeds(*COMPILE, *choose, f"device={least}").stderr
        self.assertIn("--offload auto: --offload-optimizer cpu", said)
        self.assertIn(f"for --memory device={least}: --recompute units", said)

    def shown(self):
        """The first screen of `inspect`, its lines as one."""
        return " ".join(self.succeeds("inspect", "x.zgplan").stdout.split())

    def test_the_plan_says_what_the_host_keeps(self):
        self.compiled("--recompute", "units", "--offload-activations", "cpu")
        self.assertRegex(self.shown(),
                         "Repeats: [0-9]+ operations of forward, by --recompute "
                         "units; the host keeps [0-9.]+ [KM]iB of activations")
        self.compiled()
        self.assertNotIn("Repeats", self.shown())

    def test_refuses(self):
        self.refused(*COMPILE, "--recompute", "auto", lines=0,
                     parts=["--recompute auto computes again what does not fit",
                            "give --memory, as --memory device=80GiB"])
        self.refused(*COMPILE, "--recompute", "1GiB", "--recompute-ratio",
                     "0.5", lines=0, parts=["leave --recompute-ratio out"])
        self.refused(*COMPILE, "--recompute", "some", codes=(2,),
                     parts=["some is no kind of recomputation", "40GiB"])
        self.refused(*COMPILE, "--recompute", "1KiB", lines=0,
                     parts=["the limit is 1024", "needs so little"])
        *_, units = self.compiled("--recompute", "units", "--recompute-ratio",
                                  "0.75")
        self.refused(*COMPILE, "--recompute", str(units - 1), "--zero", "3",
                     lines=0, parts=[
                         f"a rank needs {units} bytes of device memory",
                         f"--recompute {units - 1} is enough with "
                         "--offload-activations cpu"])
        self.refused(*COMPILE, "--offload-activations", "cpu",
                     parts=["--offload-activations cpu", "--recompute"])


if __name__ == "__main__":
    main()
