"""Compiling PyTorch modules: a batch that is taken in parts."""

from package import need

need("torch", "onnx", "onnxscript")

import torch  # noqa: E402
import zerograph as zg  # noqa: E402
from export_models import Classifier, ExportCase, Scaled  # noqa: E402
from support import main  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


def masked(scores, labels, mask):
    each = F.cross_entropy(scores, labels, reduction="none")
    return (each * mask).sum() / mask.sum()


def of_words(scores, labels):
    return F.cross_entropy(scores.flatten(0, 1), labels.flatten())


class ExportParts(ExportCase):

    def setUp(self):
        super().setUp()
        words = torch.randint(0, 4, (6, 5))
        self.words = {"input": words, "labels": words.roll(-1, 1).clone()}
        self.words["labels"][:, -1] = -100  # the same number of each sample

    def test_a_loss_that_is_no_mean_over_samples(self):
        ignored, ragged = self.labels.clone(), self.words["labels"].clone()
        half = self.labels.clone()
        ignored[0] = half[:3] = -100
        ragged[5, 2:] = -100
        table = nn.Sequential(nn.Embedding(4, 8), nn.Linear(8, 4))
        mask = torch.ones(6)
        weights = nn.CrossEntropyLoss(torch.tensor([1.0, 2, 3, 4]))
        for module, example, loss in (
                (Classifier(), (self.x, ignored), F.cross_entropy),
                (Classifier(), (self.x, half), F.cross_entropy),
                (Classifier(), (self.x, self.labels),
                 nn.CrossEntropyLoss(ignore_index=255)),
                (Classifier(), (self.x, self.labels), weights),
                (Classifier(), (self.x, self.labels, mask), masked),
                (Classifier(), (self.x, self.labels, mask == 0),
                 lambda scores, labels, hidden: masked(
                     scores, labels, (~hidden).float())),
                (table, {**self.words, "labels": ragged}, of_words)):
            self.assertRegex(
                "; ".join(self.warnings_of(module, example, loss, ranks=2)),
                "not the mean of its halves' losses.*the mean of 2 micro-batches")

    def test_when_a_batch_is_taken_in_parts(self):
        example = (self.x, self.labels, torch.ones(6))
        for options, count in (
                ({}, 1), ({"ranks": 2, "loss_mean": "tokens"}, 1),
                ({"micro_batch": 2}, 1), ({"accumulate": 3}, 3),
                ({"micro_batch": 2, "global_batch": 6}, 3)):
            said = "; ".join(self.warnings_of(Classifier(), example, masked,
                                              **options))
            self.assertEqual(f"the mean of {count} micro-batches" in said,
                             count > 1, said)

    def test_a_number_of_samples_that_the_model_fixes(self):
        class Fixed(Classifier):
            def forward(self, x):
                return super().forward(x.view(6, -1))
        example = (self.x, self.labels)
        self.export(Fixed(), example)
        for model, loss in ((Fixed(), F.cross_entropy),
                            (self.path("model.onnx"), None)):
            for options in ({"ranks": 2}, {"accumulate": 2}, {
                    "ranks": 2, "config": {"train_batch_size": "auto"}}):
                with self.assertRaisesRegex(
                        zg.InvalidArgument, "fixes 6 samples.*takes 12, and the "
                        "example has 6.*x.shape.*give micro_batch=6"):
                    zg.compile(model, example, loss, **options)
            plan = zg.compile(model, example, loss, ranks=2, micro_batch=6)
            self.assertEqual(plan.samples, 12)
            plan = zg.compile(model, example, loss, ranks=2,
                              config={"train_batch_size": 12})
            self.assertEqual(plan.samples, 12)
            self.assertEqual(zg.compile(model, example, loss).samples, 6)

    def test_a_loss_that_is_a_mean_over_samples(self):
        class Drawn(Classifier):
            def forward(self, x):
                return super().forward(x + torch.randn_like(x))
        module = Classifier()
        kept = list(module.parameters())

        def with_squares(scores, labels):
            return F.cross_entropy(scores, labels) + sum(
                one.pow(2).sum() for one in kept)
        table = nn.Sequential(nn.Embedding(4, 8), nn.Linear(8, 4))
        for module, example, loss in (
                (module, None, with_squares),
                (module, None, nn.CrossEntropyLoss(label_smoothing=0.1)),
                (module, (self.x, 1e4 * torch.randn(6, 4)), F.mse_loss),
                (Classifier().bfloat16(), (self.x.bfloat16(), self.labels),
                 F.cross_entropy),
                (Scaled(), None, F.cross_entropy),  # it has BatchNorms
                (Drawn(), None, F.cross_entropy),
                (table, self.words, of_words)):
            self.assertEqual(self.warnings_of(module, example, loss, ranks=2),
                             [])


if __name__ == "__main__":
    main()
