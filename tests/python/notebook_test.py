"""The notebook of examples/, its cells run in order."""

import json
import os
import warnings

from package import ROOT, need

need("torch", "onnx", "onnxscript")

from support import Case, main  # noqa: E402


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
