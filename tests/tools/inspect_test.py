"""`inspect` and what `compile` says: one screen, sections, sizes, and that no
older plan stays for one that is refused."""

import json
import os
import re
import shutil

from support import GPT, MLP, MODELS, Case, main

COMPILE = ["compile", MLP, "-o", "x.zgplan", "--micro-batch", "8"]
SECTIONS = ["settings", "units", "memory", "precision", "collectives",
            "transfers", "findings", "slices", "steps", "kernels"]


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
                             "Fits: ", "Traffic: ", "Steps: ",
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
                  parts=["--reduction nccl is for"])
        self.gone("compile", "none.onnx", *COMPILE[2:], parts=["none.onnx"])
        # So do wrong arguments.
        self.gone(*COMPILE, "--zero", "5", codes=(2,), parts=["--zero"])
        self.gone(*COMPILE, "--zeor", "3", codes=(2,), parts=["--zero?"])

    def test_only_a_plan_goes(self):
        with open(self.path("x.zgplan"), "w") as file:
            file.write("not a plan")
        self.refused(*COMPILE, "--memory", "1KiB", lines=0)
        self.assertIn("x.zgplan", os.listdir(self.folder))
        # Nor does what was given as the model.
        self.refused("compile", "older", "-o", "older", lines=0)
        self.assertIn("older", os.listdir(self.folder))
        self.succeeds("verify", "older")


if __name__ == "__main__":
    main()
