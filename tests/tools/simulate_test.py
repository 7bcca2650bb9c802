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
        self.assertRegex(text, r"^a step takes about [0-9.]+ [mu]?s on NVIDIA "
                         r"H100 SXM, 80 GB: [0-9,]+ samples a second, [0-9,]+ "
                         r"tokens a second\n")
        for part in ("it fits: ", "products by a library", "streams work for:",
                     "it waits longest for:", "all_gather"):
            self.assertIn(part, text)

    def test_several_nodes_are_slower(self):
        self.succeeds(*COMPILE, "--ranks", "8", "--zero", "3")
        one = self.predict("--machine", "h100-sxm")
        four = self.predict("--machine", "h100-sxm", "--nodes", "4")
        self.assertEqual((four["nodes"], four["ranks_per_node"]), (4, 2))
        self.assertGreater(four["parts"]["waits"], one["parts"]["waits"])

    def test_what_if_is_another_machine(self):
        self.succeeds(*COMPILE)
        a = self.predict("--machine", "h100-sxm", "--what-if",
                         "memory_bandwidth=4800,memory=141")
        b = self.predict("--machine", "h200")
        self.assertEqual(a["step_seconds"], b["step_seconds"])

    def test_trace(self):
        self.succeeds(*COMPILE)
        self.succeeds("simulate", "x.zgplan", "--machine", "h100-sxm",
                      "--trace", "trace.json")
        with open(self.path("trace.json"), encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        self.assertGreater(len([e for e in events if e["ph"] == "X"]), 20)

    def test_refusals(self):
        self.succeeds(*COMPILE)
        self.refused("simulate", "x.zgplan", "--machine", "h100",
                     parts=["'h100' is no file", "h100-sxm"])
        self.refused("simulate", "x.zgplan", "--machine", "x86-server",
                     parts=["the plan is for cuda", "--target host"])
        self.refused("simulate", "x.zgplan", "--machine", "h200", "--nodes",
                     "2", parts=["other ranks than the 1 of the plan"])
        self.refused("simulate", "x.zgplan", "--machine", "h200", "--what-if",
                     "links=2x", parts=["'links' is no figure"])


if __name__ == "__main__":
    main()
