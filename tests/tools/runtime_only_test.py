"""zerograph-run: plans where there is no compiler, and plans that moved."""

import os
import shutil
import subprocess

from support import Case, MLP, MLP_DATA, MODELS, ZEROGRAPH, ZEROGRAPH_RUN, main


class RuntimeOnly(Case):

    def test_it_links_no_compiler(self):
        for program, compiler in ((ZEROGRAPH_RUN, False), (ZEROGRAPH, True)):
            libraries = subprocess.run(["ldd", program], capture_output=True,
                                       text=True, check=True).stdout
            for name in ("MLIR", "LLVM", "lld", "onnx"):
                if not compiler:
                    self.assertNotIn(name.lower(), libraries.lower())
        self.assertIn("LLVM", libraries)  # so that the test can fail

    def test_the_same_results(self):
        plan = self.compile_mlp()
        for command in (["inspect", plan], ["inspect", plan, "--all"],
                        ["inspect", plan, "--json"], ["verify", plan]):
            self.assertEqual(
                self.succeeds(*command).stdout,
                self.succeeds(*command, program=ZEROGRAPH_RUN).stdout)
        weights = []
        for name, program in (("a", ZEROGRAPH), ("b", ZEROGRAPH_RUN)):
            self.succeeds("train", plan, "--data", MLP_DATA, "--steps", "4",
                          "--save-weights", name, program=program)
            weights.append(self.tensors(name))
        self.assertEqual(weights[0], weights[1])
        # A model is compiled and trained in one command to the same end.
        self.succeeds("train", MLP, "--data", MLP_DATA, "--steps", "4",
                      "--micro-batch", "8", "--ranks", "2", "--zero", "3",
                      "--save-weights", "c")
        self.assertEqual(weights[0], self.tensors("c"))

    def test_a_model_is_no_plan(self):
        self.refused("train", MLP, "--data", MLP_DATA, program=ZEROGRAPH_RUN,
                     parts=["is an ONNX model, expected a plan",
                            "zerograph compile"])


class Moved(Case):

    def setUp(self):
        super().setUp()
        os.makedirs(self.path("here"))
        for suffix in ("", ".data"):
            shutil.copy(os.path.join(MODELS, "gpt2-nano",
                                     "model_sdpa.onnx" + suffix),
                        self.path("here"))
        self.data = os.path.join(MODELS, "gpt2-nano", "batches.safetensors")
        self.succeeds("compile", "here/model_sdpa.onnx", "-o", "here/plan",
                      "--micro-batch", "2", "--dim", "seq=64")
        self.train(self.path("here/plan"), "before")

    def train(self, plan, weights, **options):
        return self.succeeds("train", plan, "--data", self.data,
                             "--save-weights", self.path(weights),
                             program=ZEROGRAPH_RUN, **options)

    def test_with_its_model(self):
        os.rename(self.path("here"), self.path("there"))
        result = self.train("there/plan", "after")
        self.assertIn("weights are read from there/model_sdpa.onnx",
                      result.stderr)
        self.assertIn("here/model_sdpa.onnx", result.stderr)
        self.assertEqual(self.tensors("before"), self.tensors("after"))

    def test_from_another_folder(self):
        self.train("plan", "after", cwd=self.path("here"))
        self.assertEqual(self.tensors("before"), self.tensors("after"))

    def test_without_its_model(self):
        os.makedirs(self.path("there"))
        os.rename(self.path("here", "plan"), self.path("there", "plan"))
        shutil.rmtree(self.path("here"))
        self.refused("train", "there/plan", "--data", self.data,
                     program=ZEROGRAPH_RUN,
                     parts=["here/model_sdpa.onnx.data", "beside the plan",
                            "52 parameters", "--load-weights"])
        # Any file that holds all of them will do.
        result = self.succeeds("train", "there/plan", "--data", self.data,
                               "--load-weights", "before", "--steps", "1",
                               "--save-weights", "w", program=ZEROGRAPH_RUN)
        self.assertEqual(result.stderr, "")

    def test_a_model_that_was_cut(self):
        path = self.path("here", "model_sdpa.onnx.data")
        os.truncate(path, os.path.getsize(path) // 2)
        self.refused("train", "here/plan", "--data", self.data,
                     program=ZEROGRAPH_RUN, parts=["model_sdpa.onnx.data"])


if __name__ == "__main__":
    main()
