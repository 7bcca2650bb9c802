"""Losses as PyTorch's exporters write them, at logits from 0 to ±1000: values
and gradients are those of PyTorch's own functions in float64."""

import json
import os

from support import Case, MODELS, main, write_tensors
from tensors import flat, tensor_of, values_of

FOLDER = os.path.join(MODELS, "losses")
with open(os.path.join(FOLDER, "reference.json")) as file:
    REFERENCE = json.load(file)

# These operators ONNX has itself; nothing is unstable in the files.
WHOLE = {"log_softmax", "logsumexp", "softplus", "softplus_beta"}


class Losses(Case):

    def measure(self, exporter, name):
        """The loss element by element, its gradient, and what was said."""
        model = os.path.join(FOLDER, exporter, name + ".onnx")
        t = REFERENCE[name]["t"]
        numbers = flat(t)
        write_tensors(self.path("data.safetensors"), {
            "t": tensor_of("F32", [len(t), len(t[0])], numbers)})
        trained = self.succeeds(
            "train", model, "--data", "data.safetensors", "--steps", "1",
            "--optimizer", "sgd", "--lr", "0", "--dump-gradients",
            "gradients.safetensors", "--save-weights", "z.safetensors")
        # Loaded weights are no constants, of which the importer would compute
        # the outputs itself.
        self.succeeds("run", model, "--data", "data.safetensors", "-o",
                      "out.safetensors", "--load-weights", "z.safetensors")
        each = self.tensors("out.safetensors")["each"]
        gradient = self.tensors("gradients.safetensors")["z"]
        return values_of(each), values_of(gradient), trained.stderr

    def compare(self, what, got, wanted, row_error):
        self.assertEqual(len(got), len(wanted), what)
        for i, (a, b) in enumerate(zip(got, wanted)):
            # Below the smallest normal number float32 may give 0. A softmax
            # rounds next to the largest logit of its row, as PyTorch's does.
            self.assertLessEqual(abs(a - b), 1.2e-38 + row_error + 1e-6 * abs(b),
                                 f"{what} [{i}]: {a}, wanted {b}")

    def check(self, exporter):
        tested = 0
        for name, reference in REFERENCE.items():
            if exporter not in reference["exporters"]:
                continue
            with self.subTest(name):
                each, gradient, said = self.measure(exporter, name)
                error = 3e-7 if reference["rows"] else 0
                wanted = flat(reference["each"])
                # PyTorch itself subtracts two numbers of this size here.
                cancels = name.startswith("bce_with_logits")
                self.compare(f"{exporter} {name}", each, wanted,
                             max(error, 1e-14 if cancels else 0))
                self.compare(f"{exporter} {name}, gradient", gradient,
                             flat(reference["gradient"]), error)
                self.assertEqual("nothing overflows or vanishes" in said,
                                 name not in WHOLE, said)
            tested += 1
        self.assertGreaterEqual(tested, 17)

    def test_the_default_exporter(self):
        self.check("dynamo")

    def test_torchscript(self):
        self.check("torchscript")

    def test_the_note_names_nodes(self):
        _, _, said = self.measure("torchscript", "bce_with_logits")
        self.assertIn("note: 2 nodes are computed so that nothing overflows or "
                      "vanishes, as PyTorch does but its exporters do not "
                      "write: '/Log' (log(sigmoid(x))), '/Log_1' (log(1 - "
                      "sigmoid(x)))\n", said)
        _, _, said = self.measure("dynamo", "bce_with_logits_pos_weight")
        self.assertIn("(log(sigmoid(x))), ", said)
        self.assertIn("(binary cross entropy with logits)\n", said)


if __name__ == "__main__":
    main()
