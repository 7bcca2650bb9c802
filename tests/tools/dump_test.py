"""--dump-ir, and that a plan follows from its inputs alone."""

import os
import shutil

from support import Case, GPT, MLP, ZEROGRAPH_OPT, main

PHASES = ["import", "differentiate", "zero", "prefetch", "decompose",
          "kernels", "schedule", "memory"]


class Dump(Case):

    def test_each_file_is_readable_alone(self):
        for model, options in ((MLP, ["--zero", "1"]),
                               (GPT, ["--zero", "3", "--dim", "seq=16",
                                      "--accumulate", "2"])):
            folder = self.path("ir" + options[1])
            self.succeeds("compile", model, "-o", "plan", "--micro-batch",
                          "2", "--ranks", "2", "--dump-ir", folder, *options)
            names = sorted(os.listdir(folder))
            self.assertEqual([name for name in names if "whole" not in name],
                             [f"{i:02}-{name}.mlir"
                              for i, name in enumerate(PHASES)])
            for name in names:
                text = self.text(os.path.join(folder, name))
                whole = name.replace(".mlir", ".whole.mlir")
                if whole in names:
                    # The head says that no parser takes this, and where it is
                    # whole.
                    self.assertTrue(text.startswith(
                        "// Constants longer than a line are in " + whole))
                    self.assertRegex(text, 'dense<"0x[0-9A-F]+... see ' + whole)
                    continue
                again = self.succeeds(os.path.join(folder, name),
                                      program=ZEROGRAPH_OPT)
                self.assertIn("module", again.stdout, name)

    def test_phases_leave_what_they_are_named_for(self):
        self.succeeds("compile", MLP, "-o", "plan", "--micro-batch", "2",
                      "--ranks", "2", "--zero", "3", "--dump-ir", "ir")

        def phase(name):
            index = PHASES.index(name)
            return self.text("ir", f"{index:02}-{name}.mlir")
        self.assertNotIn(".gradient", phase("import"))
        self.assertIn(".gradient", phase("differentiate"))
        self.assertNotIn("zero.all_gather", phase("differentiate"))
        self.assertIn("zero.all_gather", phase("zero"))
        self.assertIn("zero.prefetch", phase("prefetch"))
        self.assertIn("sched.", phase("schedule"))

    def test_long_constants_are_left_out(self):
        # The mask of attention has 256 numbers, those of the other model few.
        for model, options, whole in ((GPT, ["--dim", "seq=16"], True),
                                      (MLP, [], False)):
            self.succeeds("compile", model, "-o", "plan", "--micro-batch", "2",
                          "--dump-ir", "ir", *options)
            names = os.listdir(self.path("ir"))
            self.assertEqual("00-import.whole.mlir" in names, whole)
            with open(self.path("ir", "00-import.mlir")) as file:
                self.assertLess(max(len(line) for line in file), 1000)
            shutil.rmtree(self.path("ir"))

    def test_comments_say_where_operations_come_from(self):
        self.succeeds("compile", GPT, "-o", "plan", "--micro-batch", "2",
                      "--dim", "seq=16", "--dump-ir", "ir")
        for phase in ("00-import", "01-differentiate", "02-zero", "05-kernels",
                      "06-schedule"):
            with open(self.path("ir", phase + ".mlir")) as file:
                lines = [line.strip() for line in file]
            at = lines.index("// transformer.h.1.mlp.act")
            self.assertIn(" loc(#loc", lines[at + 1], phase)
            # Once for all operations of a place.
            self.assertLess(lines.count("// transformer.h.1.mlp.act"), 20)

    def test_the_first_gather_is_found_without_scrolling(self):
        self.succeeds("compile", GPT, "-o", "plan", "--micro-batch", "2",
                      "--dim", "seq=16", "--ranks", "2", "--zero", "3",
                      "--dump-ir", "ir")
        with open(self.path("ir", "02-zero.mlir")) as file:
            head = [next(file) for _ in range(30)]
        for line in head:
            self.assertLess(len(line), 250)
        gather = [line for line in head if "zero.all_gather" in line][0]
        self.assertIn("%lm_head.flat = zero.all_gather %lm_head.shard ", gather)
        self.assertIn('reason "forward of lm_head, first needed by '
                      'node_embedding in transformer.wte"', gather)
        self.assertTrue(any("%lm_head.weight = zero.view %lm_head.flat" in line
                            for line in head))

    def test_a_dump_changes_no_plan(self):
        self.succeeds("compile", MLP, "-o", "a", "--micro-batch", "2")
        self.succeeds("compile", MLP, "-o", "b", "--micro-batch", "2",
                      "--dump-ir", "ir")
        self.assert_same("a", "b")

    def assert_same(self, a, b):
        with open(self.path(a), "rb") as x, open(self.path(b), "rb") as y:
            self.assertEqual(x.read(), y.read())

    def test_the_same_input_gives_the_same_plan(self):
        for stage in ("0", "3"):
            options = ["--micro-batch", "2", "--dim", "seq=16", "--ranks",
                       "2", "--zero", stage]
            os.makedirs(self.path("elsewhere"), exist_ok=True)
            self.succeeds("compile", GPT, "-o", "a", *options)
            self.succeeds("compile", GPT, "-o", "b", *options)
            self.succeeds("compile", GPT, "-o", self.path("c"), *options,
                          cwd=self.path("elsewhere"))
            self.assert_same("a", "b")
            self.assert_same("a", "c")

    def test_a_relative_path_is_the_same_anywhere(self):
        for folder in ("one", "two"):
            os.makedirs(self.path(folder, "models"))
            shutil.copy(MLP, self.path(folder, "models", "m.onnx"))
            self.succeeds("compile", "models/m.onnx", "-o", "plan",
                          "--micro-batch", "2", cwd=self.path(folder))
        self.assert_same("one/plan", "two/plan")


if __name__ == "__main__":
    main()
