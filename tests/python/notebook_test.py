"""The notebook of examples/, its cells run in order."""

import json
import os
import pathlib
import sys
import warnings

TESTS = pathlib.Path(__file__).resolve().parent.parent
ROOT = TESTS.parent
sys.path.insert(0, str(TESTS / "tools"))
sys.path.insert(0, str(ROOT / "python"))

from support import BIN, Case, main  # noqa: E402

os.environ["ZEROGRAPH_HOME"] = str(pathlib.Path(BIN).parent)
try:
    import onnxscript  # noqa: F401
    import torch  # noqa: F401
except ImportError:
    # The words are unittest's, which tests/skipped.py reads.
    print("setUpModule (__main__) ... skipped 'this Python has no torch and onnxscript; set "
          "ZEROGRAPH_TORCH to one that has'")
    print("Ran 0 tests")
    sys.exit(0)


class Notebook(Case):

    def test_it_trains_as_pytorch_does(self):
        path = ROOT / "examples" / "finetune.ipynb"
        cells = json.loads(path.read_text())["cells"]
        os.chdir(path.parent)
        scope = {}
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            for cell in cells:
                self.assertFalse(cell.get("outputs"), "it is kept without output")
                if cell["cell_type"] == "code":
                    exec("".join(cell["source"]), scope)
        self.assertLess(scope["text_gap"], 2e-3)
        self.assertLess(scope["image_gap"], 2e-3)
        self.assertLess(scope["ours"][-1], 0.5)
        self.assertIn("<iframe", scope["plan"]._repr_html_())


if __name__ == "__main__":
    main()
