"""Compiling PyTorch modules whose gradients stop, or are others than those of
what they compute."""

from package import need

need("torch", "onnx", "onnxscript")


import torch  # noqa: E402
import zerograph as zg  # noqa: E402
from export_models import (  # noqa: E402
    Buffered, Classifier, Doubled, ExportCase, Unknown)
from gradient_models import (  # noqa: E402
    Adversary, Applied, Changed, Checkpointed, Directly, Far, Floored, Halved,
    Narrow, Quantized, Reverse, Rows, Sharing, Siamese, Spike, Spiking, Taught,
    Thresholded, Written)
from support import main  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


def focal(scores, labels):
    """Weighs samples by how wrong they are, and gives the weight no
    gradient."""
    each = F.cross_entropy(scores, labels, reduction="none")
    with torch.no_grad():
        weight = (1 - torch.exp(-each))**2
    return (weight * each).mean()


class ExportGradients(ExportCase):

    def test_where_gradients_stop(self):
        for module in (Siamese(), Quantized(), Taught(), Written(), Floored(), Narrow(),
                       Buffered("detach"), Buffered("no_grad"),
                       Checkpointed(True), Checkpointed(False)):
            with self.subTest(type(module).__name__):
                self.trains_as_pytorch(module)
        self.trains_as_pytorch(Classifier(), focal)
        self.trains_as_pytorch(Siamese(), ranks=2, zero=3)

    def test_functions_that_multiply_gradients(self):
        for module in (Adversary(), Spiking(), Halved(), Sharing(), Far(),
                       Directly()):
            with self.subTest(type(module).__name__):
                self.trains_as_pytorch(module)

    def test_a_file_has_both(self):
        for module in Quantized(), Taught(), Adversary(), Spiking():
            found = self.export(module, (self.x, self.labels))
            self.assertTrue(found.ok, found)

    def test_functions_that_do_more_are_named(self):
        for function in Doubled, Rows, Thresholded:
            self.assertRegex(
                "; ".join(self.warnings_of(Applied(function))),
                f"{function.__name__} of torch.autograd.Function.*more than "
                "multiply")

    def test_what_changes_in_place_is_named(self):
        class Toggled(Classifier):
            def forward(self, x):
                self.hidden.weight.requires_grad_(False)
                hidden = self.hidden(x)
                self.hidden.weight.requires_grad_(True)
                return self.out(hidden)

        class Part(Classifier):
            def forward(self, x):
                hidden = self.hidden(x).sigmoid() + 0
                with torch.no_grad():
                    hidden[:, 0].mul_(2)
                return self.out(hidden)

        class Hooked(Classifier):
            def forward(self, x):
                hidden = self.hidden(x)
                hidden.register_hook(lambda gradient: 0.1 * gradient)
                return self.out(hidden)

        class Cut(Classifier):
            def forward(self, x):
                hidden = 2 * self.hidden(x)
                return self.out(hidden.detach_()) + self.out(self.hidden(x))
        for module, text in (
                (Part(), "of a part taken under torch.no_grad"),
                (Toggled(), "requires_grad_"), (Hooked(), "register_hook"),
                (Cut(), "detach_"),
                (Applied(Changed), "Changed of torch.autograd.Function")):
            with self.subTest(text):
                self.lost(module, (self.x, self.labels), text, compare=False)
        module = Classifier()
        module.out.weight.register_hook(lambda gradient: 0.1 * gradient)
        self.lost(module, (self.x, self.labels), "gradients of out.weight")

    def test_a_loss_stays_as_it_was(self):
        class Centered(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("center", torch.zeros(4))

            def forward(self, scores, labels):
                loss = F.cross_entropy(scores - self.center, labels)
                self.center += scores.detach().mean(0)
                return loss
        loss = Centered()
        zg.compile(Classifier(), (self.x, self.labels), loss)
        self.assertEqual(loss.center.tolist(), [0] * 4)

    def test_functions_stay_as_they_were(self):
        before = Reverse.forward, Spike.forward
        self.export(Adversary(), (self.x, self.labels))
        self.export(Spiking(), (self.x, self.labels))
        self.assertEqual((Reverse.forward, Spike.forward), before)

    def test_a_file_of_the_older_exporter(self):
        """It writes neither detach() nor no_grad()."""
        class Stopped(Unknown):
            def forward(self, x):
                y = super().forward(x)
                with torch.no_grad():
                    z = super().forward(x)
                return y + z + y.detach()
        pictures = torch.randn(6, 3, 6, 6), self.labels
        self.lost(Stopped(), pictures, "torch.no_grad() and detach() gives no "
                  "gradient", compare=False)
        self.assertEqual(self.export(Unknown(), pictures, compare=False).lost,
                         [])

    def test_a_file_that_has_detach_alone(self):
        """The newer exporter follows a number only without what writes
        no_grad()."""
        class Number(Classifier):
            def forward(self, x):
                y = super().forward(x)
                self.largest = float(y.max())
                with torch.no_grad():
                    z = super().forward(x)
                return y + z + y.detach()
        self.assertRegex("; ".join(self.warnings_of(Number())),
                         "numbers of Python.*what torch.no_grad.. gives no "
                         "gradient.*gradients go through")


if __name__ == "__main__":
    main()
