"""zerograph.names, and that PyTorch loads what `--names` says.

Needs PyTorch with its exporter, in the Python that ZEROGRAPH_DEEPSPEED names.
"""

import os
import random
import struct
import subprocess
import unittest

from support import (Case, main, package_environment, python_with,
                     write_tensors)

PYTHON, WHY = python_with("ZEROGRAPH_DEEPSPEED", "torch", "onnx", "onnxscript")
HERE = os.path.dirname(os.path.abspath(__file__))


def setUpModule():
    if PYTHON is None:
        raise unittest.SkipTest(WHY)


class Names(Case):

    def peer(self, *arguments):
        result = subprocess.run(
            [PYTHON, os.path.join(HERE, "names_peer.py"), *arguments],
            cwd=self.folder, capture_output=True, text=True, timeout=600,
            env=package_environment())
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def export(self, how):
        self.peer("export", "model.onnx", "names.json", how)
        return self.json("names.json")

    def data(self):
        draw = random.Random(1)
        labels = b"".join(struct.pack("<q", draw.randrange(11))
                          for _ in range(24))
        write_tensors(self.path("data"), {"ids": ("I64", [12, 2], labels),
                                          "labels": ("I64", [12, 2], labels)})

    def test_what_was_trained_is_loaded(self):
        names = self.export("dynamo")
        self.assertEqual(sorted(names.values()),
                         ["last.bias", "last.weight", "mix.bias", "mix.weight",
                          "table.weight"])
        self.assertTrue(all(name.startswith("model.") for name in names))
        self.data()
        self.succeeds("train", "model.onnx", "--data", "data", "--micro-batch",
                      "2", "--steps", "4", "--lr", "0.1", "--checkpoint", "c",
                      "--save-weights", "w")
        self.convert(PYTHON, "checkpoint_to_torch", "c", "w.pt", "names.json")
        self.peer("load", "w.pt", "values.json")
        loaded = self.json("values.json")
        for name, (_, _, data) in self.tensors("w").items():
            self.assertEqual(loaded.pop(names[name]), list(
                struct.unpack(f"<{len(data) // 4}f", data)))
        self.assertEqual(loaded, {})

    def test_what_was_renamed_and_transposed(self):
        names = self.export("torchscript")
        turned = {name: to["name"] for name, to in names.items()
                  if isinstance(to, dict)}
        self.assertIn("last.weight", turned.values())
        for name in turned:
            self.assertRegex(name, "^onnx::")
        # It has the table twice; the head's keeps its values.
        self.check_begins_with_a_state_dict(names, "--micro-batch", "3",
                                            "--allow-exporter-damage")

    def test_a_run_begins_with_a_state_dict(self):
        self.check_begins_with_a_state_dict(self.export("dynamo"),
                                            "--micro-batch", "2")

    def check_begins_with_a_state_dict(self, names, *options):
        """Saved by PyTorch under its names, as the model has them."""
        self.peer("save", "state.pt", "values.json")
        self.convert(PYTHON, "torch_to_safetensors", "state.pt",
                     "state.safetensors")
        saved = self.json("values.json")
        self.data()
        for ranks in ([], ["--ranks", "2", "--zero", "3"]):
            said = self.succeeds(
                "train", "model.onnx", "--data", "data", *options, "--lr", "0",
                "--load-weights", "state.safetensors", "--names", "names.json",
                "--save-weights", "w", *ranks).stderr
            self.assertIn("no such parameter: head.weight", said)
            left = dict(saved)
            for name, (_, shape, data) in self.tensors("w").items():
                values = list(struct.unpack(f"<{len(data) // 4}f", data))
                to = names.get(name)
                if to is None:
                    self.assertIn("the model's values stay", said)
                    continue
                if isinstance(to, dict):
                    rows, columns = shape
                    to, values = to["name"], [
                        values[i * columns + j] for j in range(columns)
                        for i in range(rows)]
                self.assertEqual(left.pop(to), values)
            self.assertEqual(left, {})


if __name__ == "__main__":
    main()
