"""The examples, called as they say.

    examples_test.py BIN MODELS EXAMPLE_C EXAMPLE_CPP
"""

import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))

from support import BIN, MLP, Case, main  # noqa: E402

C, CPP = sys.argv[3:5]
del sys.argv[3:5]


class Examples(Case):

    def trains(self, *arguments, program, **options):
        """The loss falls, and the weights are there."""
        result = self.run_program(*arguments, "w.safetensors", program=program,
                                  **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        losses = [float(loss) for loss in
                  re.findall(r"^step \d+  loss (\S+)", result.stdout, re.M)]
        self.assertEqual(len(losses), 20)
        self.assertLess(losses[-1], losses[0] * 0.7)
        self.assertIn("fc1.weight", self.tensors("w.safetensors"))
        return result

    def test_c(self):
        result = self.trains(MLP, program=C)
        self.assertIn("ZeRO stage 2 on 2 ranks", result.stdout)
        result = self.run_program(self.path("no.onnx"), "w", program=C)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, "^train: .*no.onnx")

    def test_cpp(self):
        self.succeeds("compile", MLP, "--micro-batch", "32", "--lr", "0.01",
                      "-o", "mlp.zgplan")
        self.trains(self.path("mlp.zgplan"), program=CPP)

    def test_python(self):
        self.trains(str(ROOT / "examples" / "train.py"), MLP,
                    program=sys.executable,
                    env={**os.environ, "PYTHONPATH": str(ROOT / "python"),
                         "ZEROGRAPH_HOME": str(pathlib.Path(BIN).parent)})


if __name__ == "__main__":
    main()
