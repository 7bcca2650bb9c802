"""`zerograph simulate`: how long a step of a plan takes, and why."""

import json

from support import Case, GPT, main

COMPILE = ["compile", GPT, "-o", "x.zgplan", "--micro-batch", "4", "--dim",
           "seq=16", "--target", "cuda:sm_90", "--convolution", "generated"]


class Simulate(Case):

    def predict(self, *options):
        return json.loads(self.succeeds("simulate", "x.zgplan", "--json",
                                        *options).stdout)

    def test_report(self):
        self.succeeds(*COMPILE, "--ranks", "8", "--zero", "3")
        json_ = self.predict("--machine", "h100-sxm")
        self.assertAlmostEqual(sum(json_["parts"].values()),
                               json_["step_seconds"], delta=1e-9)
        self.assertAlmostEqual(json_["tokens_per_second"],
                               16 * json_["samples_per_second"], delta=1e-3)
        self.assertTrue(json_["fits"])
        self.assertLess(json_["peak_share"], 0.1)
        self.assertIn("all_gather", {e["op"] for e in json_["exposed"]})
        text = self.succeeds("simulate", "x.zgplan", "--machine",
                             "h100-sxm").stdout
        self.assertRegex(text, r"^a step takes about [0-9.]+ [mu]?s on 8 ranks, "
                         r"8 a node, of NVIDIA H100 SXM, 80 GB\n[0-9,]+ samples "
                         r"a second, [0-9,]+ tokens a second\n")
        for part in ("it fits: ", "products by a library", "streams work for:",
                     "it waits longest for:", "all_gather"):
            self.assertIn(part, text)

    def test_several_nodes_are_slower(self):
        self.succeeds(*COMPILE, "--ranks", "8", "--zero", "3")
        one = self.predict("--machine", "h100-sxm")
        four = self.predict("--machine", "h100-sxm", "--nodes", "4")
        self.assertEqual((four["nodes"], four["ranks_per_node"]), (4, 2))
        self.assertGreater(four["parts"]["waits"], one["parts"]["waits"])
        also = self.predict("--machine", "h100-sxm", "--ranks-per-node", "2")
        self.assertEqual(also, four)
        self.succeeds(*COMPILE, "--ranks", "16", "--zero", "3")
        several = self.predict("--machine", "h100-sxm")
        self.assertEqual((several["nodes"], several["ranks_per_node"]), (2, 8))

    def test_ranks_of_a_host_share_its_memory(self):
        self.succeeds("compile", GPT, "-o", "x.zgplan", "--micro-batch", "4",
                      "--dim", "seq=16", "--ranks", "2")
        report = self.predict("--machine", "x86-server")
        self.assertEqual(report["ranks_per_device"], 2)
        arenas = self.inspect("x.zgplan")["memory"]
        self.assertIn("for 2 ranks together", self.succeeds(
            "simulate", "x.zgplan", "--machine", "x86-server").stdout)
        self.assertEqual(report["device_bytes"] % 2, 0, arenas)

    def test_what_if_is_another_machine(self):
        self.succeeds(*COMPILE)
        a = self.predict("--machine", "h100-sxm", "--what-if",
                         "memory_bandwidth=4800")
        b = self.predict("--machine", "h200")
        self.assertEqual(a["step_seconds"], b["step_seconds"])

    def test_trace(self):
        """One run of each program, after the other; evaluations have none."""
        self.succeeds(*COMPILE, "--accumulate", "2", "--evaluate")
        self.succeeds("simulate", "x.zgplan", "--machine", "h100-sxm",
                      "--trace", "trace.json")
        with open(self.path("trace.json"), encoding="utf-8") as file:
            events = [e for e in json.load(file)["traceEvents"]
                      if e["ph"] == "X"]
        times = {}
        for event in events:
            times.setdefault(event["args"]["program"], []).append(
                (event["ts"], event["ts"] + event["dur"]))
        self.assertEqual(set(times), {"micro", "update"})
        self.assertGreater(len(times["micro"]), 20)
        self.assertGreaterEqual(min(times["update"])[0],
                                max(end for _, end in times["micro"]) - 1)

    def test_calibrate(self):
        """What is measured here is a machine's file."""
        result = self.succeeds("calibrate", "-o", "here.yaml", "--threads", "1")
        self.assertIn("made here.yaml", result.stdout)
        self.succeeds("compile", GPT, "-o", "x.zgplan", "--micro-batch", "4",
                      "--dim", "seq=16")
        report = self.predict("--machine", "here.yaml")
        self.assertEqual(report["machine"], "this machine")
        self.assertLess(report["step_seconds"], 10)
        self.refused("calibrate", "-o", "missing/here.yaml",
                     parts=["there is no folder"])

    def test_refusals(self):
        self.succeeds(*COMPILE)
        self.refused("simulate", "x.zgplan", "--machine", "h100",
                     parts=["no machine 'h100'", "h100-sxm"])
        self.refused("simulate", "x.zgplan", "--machine", "x86-server",
                     parts=["the plan is for cuda", "--target host"])
        self.refused("simulate", "x.zgplan", "--machine", "h200", "--nodes",
                     "2", parts=["the 1 ranks of the plan are not 2 nodes of 1"])
        self.refused("simulate", "x.zgplan", "--machine", "a100-80",
                     parts=["the plan is for sm_90", "(sm_80) cannot run",
                            "--target cuda:sm_80"])
        self.refused("simulate", "x.zgplan", "--machine", "h200", "--trace",
                     "x.zgplan", parts=["would write over x.zgplan"])
        self.succeeds("verify", "x.zgplan")
        self.refused("simulate", "x.zgplan", "--machine", "h200", "--what-if",
                     "links=2x", parts=["'links' is no figure"])


if __name__ == "__main__":
    main()
