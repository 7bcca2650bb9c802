"""`inspect` and what `compile` says: one screen, sections, sizes, and that no
older plan stays for one that is refused."""

import json
import os
import re
import shutil

from onnx_bytes import INT64, model, node, tensor, value_info
from support import GPT, MLP, MODELS, Case, main

COMPILE = ["compile", MLP, "-o", "x.zgplan", "--micro-batch", "8"]
SECTIONS = ["settings", "units", "memory", "precision", "costs",
            "collectives", "transfers", "findings", "slices", "steps", "kernels"]


class Inspect(Case):

    def show(self, *options):
        return self.succeeds("inspect", "x.zgplan", *options).stdout

    def test_first_one_screen(self):
        gpt = ["compile", GPT, "-o", "x.zgplan", "--dim", "seq=64"]
        for options in (
                ["--ranks", "2", "--zero", "3", "--micro-batch", "2"],
                ["--micro-batch", "2", "--precision", "bf16", "--accumulate",
                 "2", "--ranks", "4", "--evaluate", "--offload-optimizer",
                 "nvme", "--no-decay", "--clip-norm", "1"],
                ["--micro-batch", "1", "--target", "cuda:sm_90"]):
            self.succeeds(*gpt, *options)
            for exact in ([], ["--bytes"]):
                text = self.show(*exact)
                self.assertLessEqual(len(text.splitlines()), 24, text)
                for line in text.splitlines():
                    self.assertLessEqual(len(line), 80)
                    self.assertFalse(line.endswith("..."), line)
                for word in ("Memory of a rank", "live at most", "allocated",
                             "Fits: ", "Traffic: ", "Steps: ", "Costs: ",
                             "Findings: none\n", "docs/inspect.md"):
                    self.assertIn(word, text)
            for section in SECTIONS:
                self.assertIn("--" + section, text)

    def test_its_numbers_are_the_reports(self):
        self.succeeds(*COMPILE, "--ranks", "2", "--zero", "3")
        text, report = self.show("--bytes"), json.loads(self.show("--json"))
        rows = dict(re.findall(r"(?m)^  (\w[\w ]*?)  +(.*)$", text))
        arenas = report["memory"]["arenas"]
        self.assertEqual(rows["Memory of a rank"].split(),
                         [arena["space"] for arena in arenas])
        self.assertEqual(rows["allocated"].split(),
                         [f"{arena['bytes']:,}" for arena in arenas])
        live = {name: bytes
                for name, bytes in
                arenas[0]["programs"][0]["by_class"].items()}
        for name, bytes in live.items():
            if name in rows:
                self.assertEqual(rows[name].split()[0], f"{bytes:,}")
        self.assertIn("optimizer", rows)
        self.assertIn(f"gathers {report['traffic']['gather']:,}, reductions "
                      f"{report['traffic']['reduce']:,}", text)
        costs = report["costs"]
        self.assertIn(f"{costs['read']:,} read, {costs['written']:,} written, "
                      f"{costs['launches']:,} launches\n", text)
        whole = sum(arena["bytes"] for arena in arenas)
        self.assertIn(f"Fits:     a host with {whole:,} free a rank (2: "
                      f"{2 * whole:,}), 150 MiB a process\n", text)

    def test_sections(self):
        self.succeeds(*COMPILE, "--ranks", "2", "--zero", "3")
        screen, whole = self.show(), self.show("--all")
        self.assertTrue(whole.startswith(screen))
        for section in SECTIONS:
            text = self.show("--" + section)
            self.assertNotIn("Read on", text)
            self.assertIn(text, whole)
        both = self.show("--steps", "--units")
        self.assertIn(self.show("--units"), both)
        self.assertIn(self.show("--steps"), both)
        self.refused("inspect", "x.zgplan", "--step",
                     parts=["did you mean --step"])

    def test_costs_of_steps_name_their_kernels(self):
        self.succeeds(*COMPILE, "--target", "cuda:sm_90")
        report = json.loads(self.show("--json"))
        launches = [step for step in report["steps"] if step["op"] == "launch"]
        kernels, ptx = self.show("--kernels"), self.show("--ptx")
        self.assertIn(".target sm_90", ptx)
        for step in launches:
            self.assertIn(step["kernel"].partition("_")[0] + "_", ptx)
            self.assertIn(f" {step['kernel']}", kernels)
            self.assertGreater(step["elements_a_thread"], 0)
            self.assertIn(step["narrowest_access"], (0, 1, 2, 4, 8, 16))
        for key in ("read", "written", "operations", "launches"):
            self.assertEqual(sum(step["cost"][key] for step in report["steps"]),
                             report["costs"][key])

    def test_a_plan_for_cpus_has_no_ptx(self):
        self.succeeds(*COMPILE)
        self.refused("inspect", "x.zgplan", "--ptx",
                     parts=["for CPUs and have no PTX", "--target cuda:sm_90"])

    def test_attention_whose_scores_are_stored_is_named(self):
        biases = [tensor(name, [4, 4], [0.1] * 16) for name in ("one", "two")]
        with open(self.path("biased.onnx"), "wb") as file:
            file.write(model(
                [node("scores", "Einsum", ["x", "x"], ["s"],
                      texts={"equation": "nid,njd->nij"}),
                 node("biased", "Add", ["s", "one"], ["b"]),
                 node("again", "Add", ["b", "two"], ["c"]),
                 node("weights", "Softmax", ["c"], ["p"], {"axis": 2}),
                 node("mixed", "MatMul", ["p", "x"], ["logits"])],
                biases, [value_info("x", ["n", 4, 8])],
                [value_info("logits", ["n", 4, 8])]))
        options = ["compile", self.path("biased.onnx"), "-o", "x.zgplan",
                   "--micro-batch", "2", "--loss", "mse"]
        note = "the scores of attention are stored at node 'weights', because"
        reason = "two biases of its scores, 'one' and 'two', are trained"
        self.assertIn(note + " " + reason, self.succeeds(*options).stderr)
        self.assertEqual(json.loads(self.show("--json"))["costs"]["unfused"],
                         [{"attention": "weights", "reason": reason}])
        self.assertIn("are trained", self.show("--costs"))
        # One bias, of as many blocks as samples, is not in the way.
        options[options.index("2")] = "1"
        self.assertNotIn(note, self.succeeds(*options, "--freeze", "two").stderr)
        self.assertNotIn(note, self.succeeds(
            *options, "--attention", "products").stderr)
        self.assertRegex(self.show("--costs"),
                         r"weights +1 +--attention products")

    def test_slices_have_places_and_lives(self):
        self.succeeds(*COMPILE, "--ranks", "2", "--zero", "3", "--accumulate",
                      "2")
        report = json.loads(self.show("--json"))
        ends = {}
        for slice in report["slices"]:
            end = slice["offset"] + slice["bytes"]
            ends[slice["space"]] = max(end, ends.get(slice["space"], 0))
            self.assertTrue(slice["carried"] or slice["lives"], slice)
        self.assertEqual(ends, {arena["space"]: arena["peak"]
                                for arena in report["memory"]["arenas"]})
        # No two that live at once in a program lie on the same bytes.
        for program in ("micro", "update"):
            steps = [step for step in report["steps"]
                     if step["program"] == program]
            for step in range(len(steps)):
                live = sorted(
                    (s["space"], s["offset"], s["offset"] + s["bytes"])
                    for s in report["slices"] if s["carried"] or any(
                        life["program"] == program
                        and life["first"] <= step <= life["last"]
                        for life in s["lives"]))
                for one, two in zip(live, live[1:]):
                    self.assertTrue(one[0] != two[0] or one[2] <= two[1],
                                    (one, two))


def placed(made, module, line):
    """A node of that module's line, as PyTorch's exporter writes it."""
    return made + [(9, [(1, "pkg.torch.onnx." + key), (2, text)])
                   for key, text in (
                       ("name_scopes", f"['', '{module}', 'n']"),
                       ("stack_trace",
                        f'File "/home/me/net.py", line {line}, in forward'))]


class Places(Case):
    """What a unit's name does not say of its place in the user's code."""

    def compile(self, *options):
        shapes = {"layers.0.a": [2, 3], "layers.0.b": [3, 3],
                  "layers.1.fc.c": [3, 4]}
        with open(self.path("m.onnx"), "wb") as file:
            file.write(model(
                [placed(node("n0", "MatMul", ["x", "layers.0.a"], ["h"]),
                        "layers.0", 10),
                 placed(node("n1", "MatMul", ["h", "layers.0.b"], ["i"]),
                        "layers.0", 11),
                 placed(node("n2", "MatMul", ["i", "layers.1.fc.c"], ["j"]),
                        "layers.1.fc", 20),
                 placed(node("n3", "SoftmaxCrossEntropyLoss", ["j", "labels"],
                             ["cost"]), "layers", 30)],
                [tensor(name, dims, range(dims[0] * dims[1]))
                 for name, dims in shapes.items()],
                [value_info("x", ["n", 2]), value_info("labels", ["n"], INT64)],
                [value_info("cost", [])]))
        self.succeeds("compile", "m.onnx", "-o", "x.zgplan", "--micro-batch",
                      "2", "--ranks", "2", "--zero", "3", *options)
        return json.loads(self.succeeds("inspect", "x.zgplan",
                                        "--json").stdout)

    def test_units_steps_and_slices(self):
        report = self.compile()
        self.assertEqual([(unit["name"], unit["place"])
                          for unit in report["units"]],
                         [("layers.0", "net.py:10"), ("layers.1", "")])
        names = {step["op"]: set() for step in report["steps"]}
        for step in report["steps"]:
            names[step["op"]].add(step["name"])
        for op in ("all_gather", "reduce_scatter"):
            self.assertEqual(names[op], {"layers.0 in net.py:10", "layers.1"})
        slices = {slice["name"] for slice in report["slices"]}
        self.assertLessEqual(
            {"layers.0 param in net.py:10", "layers.1 param", "x",
             "n1 in layers.0 (net.py:11)"}, slices)
        table = self.succeeds("inspect", "x.zgplan", "--units").stdout
        self.assertRegex(table, r"layers\.0 .* net\.py:10\n")

    def test_groups_are_in_the_module_of_all(self):
        (unit,) = self.compile("--units", "1048576")["units"]
        self.assertEqual((unit["name"], unit["place"]),
                         ("group.0", "layers (net.py:30)"))

    def test_no_column_where_nothing_is_known(self):
        self.succeeds(*COMPILE)
        self.assertNotIn("place", self.succeeds("inspect", "x.zgplan",
                                                "--units").stdout)

    def test_the_loss_is_called_as_the_output(self):
        report = self.compile()
        self.assertEqual(report["loss"], "cost")
        self.assertEqual(report["loss_node"], "n3 in layers (net.py:30)")
        self.assertIn('loss "cost"\n',
                      self.succeeds("inspect", "x.zgplan").stdout)

    def test_each_step_is_called_by_node_or_unit(self):
        """No kernel is just a kind of operation."""
        for options in ([], ["--accumulate", "2", "--clip-norm", "1",
                             "--skip-nonfinite"],
                        ["--offload-optimizer", "cpu", "--precision", "bf16"],
                        ["--optimizer", "lamb", "--evaluate"]):
            for step in self.compile(*options)["steps"]:
                self.assertNotRegex(step["name"], r"^(nn|zero|sched)\.", options)


class Made(Case):

    def test_four_lines(self):
        said = self.succeeds(*COMPILE, "--ranks", "2", "--zero", "3").stdout
        lines = said.splitlines()
        self.assertEqual(len(lines), 4, said)
        self.assertRegex(lines[0], r"^made x\.zgplan \([\d.]+ .iB\) of "
                         r"model\.onnx: ZeRO stage 3 on 2 ranks$")
        self.assertRegex(lines[1], r"^memory a rank: device [\d.]+ .?i?B, "
                         r"pinned .*; fits a host with .*, 150 MiB a process")
        self.assertIn("gathers", lines[2])
        self.assertEqual(lines[3], "next: zerograph train x.zgplan --data "
                         "FILE; zerograph inspect x.zgplan")

    def test_cards(self):
        gpu = [*COMPILE, "--target", "cuda:sm_80"]
        self.assertIn("; fits GPUs from a10 on, ", self.succeeds(*gpu).stdout)
        self.succeeds(*gpu, "--memory", "H100")
        self.succeeds(*gpu, "--memory", "device=a100-80,host=16GB")
        self.refused(*gpu, "--memory", "h1000", codes=(2,),
                     parts=["'h1000': expected", "a100-40", "b200"])
        small = os.path.join(MODELS, "structure", "llama3-8b.onnx")
        self.refused("compile", small, "-o", "y", "--micro-batch", "1", "--dim",
                     "seq=64", "--precision", "bf16", "--memory", "l4",
                     "--prefetch", "0", lines=0,
                     parts=["GiB), but the limit is ", "l4: 20.5 GiB of its "
                            "21.7 GiB are for the plan; CUDA, libraries"])


class Refused(Case):
    """An older plan would be trained instead, by mistake."""

    def setUp(self):
        super().setUp()
        self.succeeds(*COMPILE)
        shutil.copy(self.path("x.zgplan"), self.path("older"))

    def gone(self, *command, **options):
        shutil.copy(self.path("older"), self.path("x.zgplan"))
        self.refused(*command, lines=0, **options)
        self.assertEqual(os.listdir(self.folder), ["older"])

    def test_what_is_refused_leaves_no_older_plan(self):
        self.gone(*COMPILE, "--memory", "1KiB",
                  parts=["but the limit is 1024"])
        self.gone(*COMPILE, "--reduction", "nccl",
                  parts=["--reduction nccl needs --target cuda"])
        self.gone("compile", "none.onnx", *COMPILE[2:], parts=["none.onnx"])
        # So do wrong arguments.
        self.gone(*COMPILE, "--zero", "5", codes=(2,), parts=["--zero"])
        self.gone(*COMPILE, "--zeor", "3", codes=(2,), parts=["--zero?"])

    def test_only_a_plan_goes(self):
        self.put("x.zgplan", "not a plan")
        self.refused(*COMPILE, "--memory", "1KiB", lines=0)
        self.assertIn("x.zgplan", os.listdir(self.folder))
        # Nor does what was given as the model.
        self.refused("compile", "older", "-o", "older", lines=0)
        self.assertIn("older", os.listdir(self.folder))
        self.succeeds("verify", "older")


if __name__ == "__main__":
    main()
