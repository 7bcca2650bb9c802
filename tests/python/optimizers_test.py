"""Compiling with an optimizer of PyTorch in place of its name and numbers."""

from package import need

need("torch", "onnx", "onnxscript")

import copy  # noqa: E402
import warnings  # noqa: E402

import numpy as np  # noqa: E402
import zerograph as zg  # noqa: E402
from export_models import ExportCase, steps_as_pytorch  # noqa: E402
from support import main  # noqa: E402
from torch import nn, optim  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from zerograph._optimizers import pattern_of  # noqa: E402

schedules = optim.lr_scheduler


class Net(nn.Module):

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(),
                                  nn.Linear(16, 16))
        self.head = nn.Linear(16, 4)
        self.unused = nn.Linear(2, 2)

    def forward(self, x):
        return self.head(self.body(x))


def by_dimensions(module):
    parameters = list(module.parameters())
    return [{"params": [one for one in parameters if one.ndim > 1],
             "weight_decay": 0.1},
            {"params": [one for one in parameters if one.ndim < 2],
             "weight_decay": 0.0, "betas": (0.8, 0.99)}]


def by_depth(module):
    return [{"params": module.body.parameters(), "lr": 1e-2},
            {"params": module.unused.parameters()},
            {"params": module.head.parameters()}]


class Optimizers(ExportCase):

    def plan(self, module, optimizer, **options):
        return zg.compile(module, (self.x, self.labels), F.cross_entropy,
                          optimizer=optimizer, **options)

    def goes_as_pytorch(self, make, schedule=None):
        module = Net()
        theirs = copy.deepcopy(module)
        ours, optimizer = make(module), make(theirs)
        plan = self.plan(module, ours)
        rates = schedule and schedule(ours)
        scheduler = schedule and schedule(optimizer)
        with warnings.catch_warnings(), zg.Trainer(plan) as trainer:
            warnings.simplefilter("error")
            for _ in range(4):
                steps_as_pytorch(self, trainer, theirs, optimizer,
                                 {"x": self.x, "labels": self.labels},
                                 F.cross_entropy,
                                 lr=rates and rates.get_last_lr())
                ours.step()
                if schedule:
                    rates.step()
                    scheduler.step()
            trainer.load_into(module)
        for (name, one), other in zip(module.named_parameters(),
                                      theirs.parameters()):
            np.testing.assert_allclose(one.detach(), other.detach(), atol=1e-5,
                                       err_msg=name)
        return plan

    def test_kinds(self):
        for make in (
                lambda module: optim.SGD(module.parameters(), 0.1),
                lambda module: optim.SGD(module.parameters(), 0.1, momentum=0.9,
                                         nesterov=True, weight_decay=0.1),
                lambda module: optim.Adam(module.parameters(), 1e-2, eps=1e-3,
                                          weight_decay=1),
                lambda module: optim.Adam(module.parameters(), 1e-2,
                                          weight_decay=1,
                                          decoupled_weight_decay=True),
                lambda module: optim.AdamW(module.parameters(), 1e-2,
                                           betas=(0.8, 0.9), foreach=True),
                lambda module: optim.Adagrad(module.parameters(), 1e-2)):
            with self.subTest(str(make(Net()))):
                plan = self.goes_as_pytorch(make)
                self.assertEqual(plan.groups, ["default"])

    def test_groups(self):
        plan = self.goes_as_pytorch(
            lambda module: optim.AdamW(by_dimensions(module), 1e-2),
            lambda optimizer: schedules.CosineAnnealingLR(optimizer, 4))
        self.assertEqual(plan.groups, ["@(*.0.weight|*.3.weight|head.weight)",
                                       "default"])
        plan = self.goes_as_pytorch(
            lambda module: optim.SGD(by_depth(module), 0.1, momentum=0.9),
            lambda optimizer: schedules.LambdaLR(
                optimizer, [lambda step: 1 / (1 + step), lambda step: 0.,
                            lambda step: 0.9**step]))
        self.assertEqual(plan.groups, ["default", "", "head.*"])

    def test_what_is_in_no_group_stays(self):
        self.goes_as_pytorch(
            lambda module: optim.Adam(module.head.parameters(), 1e-2))
        module = Net()
        plan = self.plan(module, optim.SGD(by_depth(module), 0.1),
                         freeze="head.*")
        self.assertEqual(plan.groups, ["default", "", ""])
        plan = self.plan(module, optim.Adam(module.parameters(), 1e-2),
                         freeze="head.bias")
        before = module.head.bias.detach().clone()
        with zg.Trainer(plan) as trainer:
            trainer.step((self.x, self.labels))
            trainer.load_into(module)
        np.testing.assert_array_equal(module.head.bias.detach(), before)

    def test_rates(self):
        module = Net()
        optimizer = optim.SGD(module.parameters(), 0.1)
        schedules.LinearLR(optimizer, 0.1)
        plan = self.plan(module, optimizer)
        self.assertEqual(plan.facts["groups"][0]["learning_rate"], 0.1)
        plan = self.plan(module, optim.SGD(by_depth(module), 0.1))
        other = zg.compile(module, (self.x, self.labels), F.cross_entropy)
        for made, says in ((plan, "lr has 2 rates, and the optimizer had 3"),
                           (other, "that was compiled with an optimizer of")):
            with zg.Trainer(made) as trainer, self.refuses(says):
                trainer.step((self.x, self.labels), lr=[0.1, 0.2])

    def test_refusals(self):
        module = Net()
        parameters = list(module.parameters())
        used = optim.AdamW(parameters)
        F.cross_entropy(module(self.x), self.labels).backward()
        used.step()
        cycled = optim.SGD(parameters, 0.1, momentum=0.9)
        schedules.OneCycleLR(cycled, 0.1, total_steps=10)
        mixed = optim.SGD([{"params": parameters[:1], "nesterov": True},
                           {"params": parameters[1:]}], 0.1, momentum=0.9)
        decoupled = optim.Adam([{"params": parameters[:1],
                                 "decoupled_weight_decay": True},
                                {"params": parameters[1:]}])
        for optimizer, says in (
                (optim.RMSprop(parameters), "RMSprop: a plan has SGD, Adam"),
                (optim.Adam(parameters, amsgrad=True), "amsgrad other than False"),
                (optim.SGD(parameters, 0.1, momentum=0.9, dampening=0.5),
                 "dampening other than 0"),
                (optim.Adam(Net().parameters()), "none of the module's"),
                (used, "has made steps"),
                (cycled, "cycle_momentum=False"),
                (mixed, "with and without nesterov"),
                (decoupled, "with and without decoupled_weight_decay"),
                (optim.AdamW, "optimizer may be one of torch.optim")):
            with self.subTest(says), self.refuses(says):
                self.plan(module, optimizer)
        with self.refuses("lr is the optimizer's: leave it out"):
            self.plan(module, optim.AdamW(parameters), lr=0.1)
        with self.refuses("config has an optimizer too"):
            self.plan(module, optim.AdamW(parameters),
                      config={"optimizer": {"type": "Adam"}})
        with self.refuses("give an optimizer of one group"):
            self.plan(module, optim.AdamW(by_depth(module)), lora=["2:body.*"])

    def refuses(self, says):
        return self.assertRaisesRegex(zg.InvalidArgument, says)

    def test_patterns(self):
        for names, others, pattern in (
                (["a.w", "a.b"], ["c.w"], "a.*"),
                (["a.b", "c.b"], ["a.w", "c.w"], "*.b"),
                (["a.w", "c.b"], ["a.b", "c.w"], "@(a.w|c.b)"),
                (["w"], ["a.w", "ww"], "w"),
                (["a[1].w"], ["a1.w"], r"a\[1\].*"),
                (["a;b"], ["c"], "a?b")):
            self.assertEqual(pattern_of(names, others), pattern)


if __name__ == "__main__":
    main()
