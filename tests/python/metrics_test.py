"""Metrics of PyTorch modules, which are told beside the loss."""

import copy
import warnings

from package import need

need("torch", "onnx", "onnxscript")

import numpy as np  # noqa: E402
import torch  # noqa: E402
import zerograph as zg  # noqa: E402
from support import Case, main  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


def accuracy(output, batch):
    return (output.argmax(-1) == batch["labels"]).float().mean()


def correct(output, batch):
    return (output.argmax(-1) == batch["labels"]).sum()


class Coder(nn.Module):
    """Returns its loss and the parts of it."""

    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(8, 3), nn.Linear(3, 8)
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x):
        code = self.norm(self.encode(x))
        parts = {"error": F.mse_loss(self.decode(code), x),
                 "size": code.square().mean()}
        return {"loss": parts["error"] + 0.1 * parts["size"], **parts}


class Metrics(Case):

    def setUp(self):
        super().setUp()
        torch.manual_seed(0)
        self.module = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.5),
                                    nn.Linear(16, 3))
        self.x = torch.randn(24, 8)
        self.labels = torch.randint(0, 3, (24,))

    def compile(self, **options):
        return zg.compile(self.module, (self.x, self.labels), F.cross_entropy,
                          {"accuracy": accuracy, "correct": correct},
                          optimizer="sgd", lr=0.1, **options)

    def test_of_the_output_and_the_batch(self):
        """They are means over micro-batches of all ranks, on the module as each
        step finds it."""
        plan = self.compile(ranks=2, accumulate=3, zero=3, dropout=0)
        now = copy.deepcopy(self.module).eval()
        with zg.Trainer(plan) as trainer:
            for _ in range(3):
                loss = trainer.step((self.x, self.labels))
                own = [{"labels": one} for one in self.labels.split(4)]
                outputs = [now(one) for one in self.x.split(4)]
                for name, metric in (("accuracy", accuracy),
                                     ("correct", correct)):
                    each = [float(metric(*one)) for one in zip(outputs, own)]
                    self.assertAlmostEqual(loss.metrics[name], sum(each) / 6, 6)
                trainer.load_into(now)

    def test_of_an_evaluation(self):
        """Nothing drops out there, and what is left over counts by its samples."""
        plan = self.compile(evaluate=True, micro_batch=8, accumulate=3)
        with zg.Trainer(plan) as trainer:
            for batches in ((self.x[:13], self.labels[:13]),
                            [(self.x[:5], self.labels[:5]),
                             (self.x[5:13], self.labels[5:13])]):
                found = trainer.evaluate(batches)
                with torch.no_grad():
                    output = copy.deepcopy(self.module).eval()(self.x[:13])
                own = {"labels": self.labels[:13]}
                self.assertAlmostEqual(
                    found, float(F.cross_entropy(output, self.labels[:13])), 5)
                self.assertAlmostEqual(found.metrics["accuracy"],
                                       float(accuracy(output, own)), 6)

    def test_of_what_a_module_returns(self):
        """Parts of a loss are not trained a second time, nor does a plan compute
        them twice."""
        parts = {name: lambda output, batch, name=name: output[name]
                 for name in ("error", "size")}
        losses = []
        for metrics in {}, parts:
            module = copy.deepcopy(self.coder())
            plan = zg.compile(module, {"x": self.x}, metrics=metrics, ranks=2,
                              precision="bf16", evaluate=True)
            with zg.Trainer(plan) as trainer:
                losses.append([trainer.step({"x": self.x}) for _ in range(3)])
                found = trainer.evaluate({"x": self.x})
        self.assertEqual(*losses)
        for loss in (*losses[1], found):
            self.assertAlmostEqual(
                loss.metrics["error"] + 0.1 * loss.metrics["size"], loss, 2)
        self.assertEqual(losses[0][0].metrics, {})

    @staticmethod
    def coder():
        torch.manual_seed(1)
        return Coder()

    def test_any_names(self):
        """Also those of what an exporter calls values, and of what a log has."""
        names = ["mean", "argmax", "linear", "softmax", "lr", "eval_loss",
                 "token accuracy", "F1/ä.b"]
        plan = zg.compile(
            self.module, (self.x, self.labels), F.cross_entropy,
            {name: lambda output, batch, i=i: output.softmax(-1).mean() * i
             for i, name in enumerate(names)}, evaluate=True)
        with zg.Trainer(plan, log=self.path("log")) as trainer:
            loss = trainer.step((self.x, self.labels))
        self.assertEqual(list(loss.metrics), names)
        self.assertEqual(self.records()[0]["metrics"], loss.metrics)
        for i, name in enumerate(names):
            self.assertAlmostEqual(loss.metrics[name], i / 3, 6)

    def test_of_a_file(self):
        """An exported one names them; then it is compiled by these names."""
        found = zg.export(self.module, (self.x, self.labels), self.path("m.onnx"),
                          F.cross_entropy, metrics={"accuracy": accuracy})
        self.assertTrue(found.ok, found)
        plan = zg.compile(self.path("m.onnx"), (self.x, self.labels),
                          metric=["accuracy"], dropout=0)
        with zg.Trainer(plan) as trainer:
            loss = trainer.step((self.x, self.labels))
        with torch.no_grad():
            output = copy.deepcopy(self.module).eval()(self.x)
        self.assertAlmostEqual(loss.metrics["accuracy"], float(
            accuracy(output, {"labels": self.labels})), 6)
        with self.assertRaisesRegex(zg.InvalidArgument, "metric=\\["):
            zg.compile(self.path("m.onnx"), metrics={"accuracy": accuracy})

    def test_what_a_metric_keeps(self):
        """Parameters and buffers are those of the step, also where it has kept
        them."""
        module = nn.Sequential(nn.Linear(8, 3), nn.BatchNorm1d(3))
        weight, mean = module[0].weight, module[1].running_mean
        begin = weight.detach().clone()
        plan = zg.compile(
            module, (self.x, self.labels), F.cross_entropy,
            {"moved": lambda output, batch: (weight - begin).abs().sum(),
             "own": lambda output, batch: module[0].weight.norm(),
             "mean": lambda output, batch: mean.sum()},
            optimizer="sgd", lr=0.5, evaluate=True)
        now = copy.deepcopy(module)
        with zg.Trainer(plan) as trainer, torch.no_grad():
            for _ in range(2):
                loss = trainer.step((self.x, self.labels))
                found = {"moved": float((now[0].weight - begin).abs().sum()),
                         "own": float(now[0].weight.norm())}
                for name, number in found.items():
                    self.assertAlmostEqual(loss.metrics[name], number, 4)
                trainer.load_into(now)
            metrics = trainer.evaluate((self.x, self.labels)).metrics
            self.assertAlmostEqual(metrics["mean"],
                                   float(now[1].running_mean.sum()), 5)
        self.assertGreater(found["moved"], 0)

    def test_of_a_loss_that_takes_gradients(self):
        class Slope(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(8, 8), nn.Tanh(),
                                         nn.Linear(8, 1))

            def forward(self, x, y):
                x = x.requires_grad_(True)
                u = self.net(x)
                slope, = torch.autograd.grad(u.sum(), x, create_graph=True)
                parts = {"rest": slope.square().mean(), "fit": F.mse_loss(u, y)}
                return {"loss": parts["rest"] + parts["fit"], **parts}

        module, y = Slope(), torch.randn(24, 1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            plan = zg.compile(module, {"x": self.x, "y": y}, metrics={
                name: lambda output, batch, name=name: output[name]
                for name in ("rest", "fit")})
        expected = module(self.x.clone(), y)
        with zg.Trainer(plan) as trainer:
            loss = trainer.step({"x": self.x, "y": y})
        for name, number in loss.metrics.items():
            self.assertAlmostEqual(number, expected[name].item(), 5)

    def test_what_would_be_a_constant(self):
        total, calls = torch.zeros(()), []

        def counting(output, batch):
            calls.append(1)
            return len(calls)
        for metric, said in (
                (lambda output, batch: output.mean().item(), r"by item\(\)"),
                (lambda output, batch: float(np.mean(
                    np.asarray(output.detach()))), r"by __array__\(\)"),
                (lambda output, batch: len(set(batch["labels"].tolist())),
                 r"by tolist\(\)"),
                (lambda output, batch: 1 if output.sum() > 0 else 0,
                 r"by __bool__\(\)"),
                (counting, "another number each time"),
                (lambda output, batch: total.add_(output.std()),
                 "another number each time"),
                (lambda output, batch: torch.autograd.grad(
                    output.sum(), output)[0].norm(), "takes gradients"),
                (lambda output, batch: batch["label"],
                 "a dictionary with input, labels, raised KeyError: 'label'")):
            with self.subTest(said), self.assertRaisesRegex(
                    zg.InvalidArgument, r"^metrics\['a'\].*" + said):
                zg.compile(self.module, (self.x, self.labels), F.cross_entropy,
                           {"a": metric})

    def test_what_is_none(self):
        with self.assertRaisesRegex(zg.InvalidArgument, "metrics is a list"):
            zg.compile(self.module, (self.x, self.labels), F.cross_entropy,
                       [accuracy])
        for metrics, said in (
                ({"a": lambda output, batch: output},
                 r"metrics\['a'\] returned a tensor of 2 dimensions"),
                ({"a": lambda output, batch: "good"},
                 r"metrics\['a'\] returned a str, expected one number"),
                ({"a": 3}, "is a int, expected a function"),
                ({"loss": accuracy}, "a metric is called 'loss'"),
                ({"labels": accuracy}, "a metric is called 'labels'"),
                ({"0.weight": accuracy}, "a metric is called '0.weight'"),
                ({3: accuracy}, "a metric is called 3, expected a text")):
            with self.subTest(said), self.assertRaisesRegex(
                    zg.InvalidArgument, said):
                zg.compile(self.module, (self.x, self.labels), F.cross_entropy,
                           metrics)


if __name__ == "__main__":
    main()
