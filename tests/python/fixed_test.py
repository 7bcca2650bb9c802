"""Compiling PyTorch modules in which values of inputs decide shapes, or which way
forward() goes."""

from package import need

need("torch", "onnx", "onnxscript")

import logging  # noqa: E402
import math  # noqa: E402
import subprocess  # noqa: E402
import warnings  # noqa: E402

import numpy as np  # noqa: E402
import torch  # noqa: E402
import zerograph as zg  # noqa: E402
from export_models import (Classifier, ends_as_pytorch,  # noqa: E402
                           steps_as_pytorch)
from fixed_models import Forked, Grids, Masked, Real, masks  # noqa: E402
from support import BIN, Case, main  # noqa: E402
from torch.nn import functional as F  # noqa: E402


class Fixed(Case):

    def setUp(self):
        super().setUp()
        torch.manual_seed(0)
        self.generator = torch.Generator().manual_seed(0)

    def draw(self, *shape):
        return torch.randn(*shape, generator=self.generator)

    def masked(self, count=3):
        return {"x": self.draw(4, 8, 4), "mask": masks(self.generator, count)}

    def grids(self, *sizes):
        grid = torch.tensor(sizes or ((2, 2), (3, 1), (2, 2)))
        return {"patches": self.draw(int(grid.prod(-1).sum()), 4), "grid": grid,
                "labels": torch.randint(0, 3, (len(grid),),
                                        generator=self.generator)}

    def pictures(self, *zeros):
        pictures = self.draw(3, 3, 4)
        for place in zeros:
            pictures[place] = 0
        return {"pictures": pictures, "labels": torch.randint(
            0, 8, (3,), generator=self.generator)}

    def compile(self, module, example, fixed, loss=None, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return zg.compile(module, example, loss, fixed=fixed,
                              optimizer="sgd", lr=0.1, **options)

    def trains(self, module, batches, fixed, *wrong, **options):
        """Compares steps with PyTorch's, and has others refused: of each its
        batch, and what the refusal says."""
        plan = self.compile(module, batches[0], fixed, **options)
        optimizer = torch.optim.SGD(module.parameters(), 0.1)
        with zg.Trainer(plan) as trainer:
            for batch in batches:
                for other, text in wrong:
                    with self.assertRaisesRegex(zg.InvalidArgument, text):
                        trainer.step(other)
                steps_as_pytorch(self, trainer, module, optimizer, batch)
            ends_as_pytorch(trainer, module)
        return plan

    def test_counts_of_masks(self):
        """Each batch has its own places; as many as in the example."""
        self.trains(
            Masked(), [self.masked() for _ in range(3)], "mask",
            (self.masked(2),
             r"how many of 32 are true, which 'mask' decides at fixed_models.py:\d+, "
             "is 24, and was 20 in the example.*Make another plan"))

    def test_grids(self):
        self.trains(
            Grids(), [self.grids() for _ in range(3)], ["grid"],
            (self.grids((3, 1), (2, 2), (2, 2)),
             r"'grid' decides at fixed_models.py:\d+, is \[\[3, 1\], \[2, 2\], "
             r"\[2, 2\]\], and was \[\[2, 2\], "))

    def test_what_is_computed_of_inputs(self):
        zeros = ((0, 0), (2, 1)), ((0, 2), (2, 2)), ((0, 1), (2, 0))
        self.trains(Real(), [self.pictures(*one) for one in zeros], ["pictures"],
                    (self.pictures((1, 1)), "'pictures' decides.* is 8, and was 7"))

    def test_all_of_them(self):
        """A mask that is true everywhere chooses all: nothing is looked for."""
        plan = self.trains(Real(), [self.pictures() for _ in range(3)],
                           ["pictures"],
                           (self.pictures((1, 1)), "is 8, and was 9"))
        with zg.Trainer(plan) as trainer:
            trainer.step(self.pictures())

    def test_ways(self):
        module, x = Forked(), self.draw(4, 8)
        labels = torch.tensor([0, 1, 2, 3])

        def batch(*mask):
            return {"x": x, "mask": torch.tensor(mask).view(4, 1),
                    "labels": labels}

        plan = self.compile(module, batch(True, False, True, True), "mask",
                            F.cross_entropy)
        with zg.Trainer(plan) as trainer:
            for one in (True, False, True, True), (False, True, True, True):
                one = batch(*one)
                own = F.cross_entropy(module(x, one["mask"]), labels)
                self.assertAlmostEqual(trainer.step(one, lr=0), own.item(), 5)
            for one, text in ((False,) * 4, "False, and was True"), (
                    (True,) * 4, "1.0, and was 0.75"):
                with self.assertRaisesRegex(zg.InvalidArgument, text):
                    trainer.step(batch(*one))

    def test_parts(self):
        """Each micro-batch, of each rank, decides what the example does."""
        module, first = Masked(), self.masked()
        with self.assertWarnsRegex(UserWarning, "depends on the other samples"):
            plan = zg.compile(module, first, fixed="mask", optimizer="sgd",
                              lr=0.1, micro_batch=4, ranks=2, evaluate=True)
        batch = {name: torch.cat([one, second]) for (name, one), second in
                 zip(first.items(), self.masked().values())}
        uneven = {**batch, "mask": torch.cat([first["mask"],
                                              self.masked(2)["mask"]])}
        with zg.Trainer(plan) as trainer:
            own = np.mean([float(module(**{
                name: part.chunk(2)[i] for name, part in batch.items()}).detach())
                for i in range(2)])
            self.assertAlmostEqual(trainer.evaluate(batch), own, 5)
            with self.assertRaisesRegex(zg.InvalidArgument, "is 24, and was 20"):
                trainer.evaluate(uneven)
            # An evaluation computes two samples twice.
            part = {name: one[:6] for name, one in batch.items()}
            trainer.evaluate(part)
            self.assertAlmostEqual(trainer.step(batch), own, 5)
            for call in trainer.step, trainer.accumulate:
                with self.assertRaisesRegex(zg.InvalidArgument, "is 24"):
                    call(uneven)

    def test_labels_of_parts(self):
        """The number of samples says which inputs have them, also if labels are of
        what a mask hides."""
        class Hidden(Classifier):
            def forward(self, x, mask, labels):
                return F.cross_entropy(super().forward(x[mask]), labels)

        def batch():
            return {"x": self.draw(4, 8, 8), "mask": masks(self.generator),
                    "labels": torch.randint(0, 4, (12,))}

        plan = self.trains(Hidden(), [batch() for _ in range(3)], "mask",
                           micro_batch=4)
        self.assertEqual([one["per_sample"] for one in plan.facts["inputs"]],
                         [True] * 3)
        self.assertEqual(plan.samples, 4)

    def test_rows_of_samples(self):
        """Micro-batches, of ranks too, have their own patches, of which a sample
        has several."""
        module, sizes = Grids(), ((2, 2), (4, 1))
        parts = [self.grids(*sizes) for _ in range(4)]
        plan = self.compile(module, parts[0], "grid", micro_batch=2, ranks=2,
                            accumulate=2)
        batch = {name: torch.cat([one[name] for one in parts])
                 for name in parts[0]}
        other = {**batch, "grid": batch["grid"].flip(0)}
        self.steps_with_mean(plan, module, parts, batch, other, "'grid' decides")

    def steps_with_mean(self, plan, module, parts, batch, other, text):
        """Makes a step of the mean of the parts' losses, and refuses another."""
        with zg.Trainer(plan) as trainer:
            own = np.mean([float(module(**one).detach()) for one in parts])
            self.assertAlmostEqual(trainer.step(batch), own, 5)
            with self.assertRaisesRegex(zg.InvalidArgument, text):
                trainer.step(other)

    def test_rows_that_decide(self):
        """A sample has several rows, and those of a micro-batch are looked at."""
        class Rows(Real):
            def forward(self, pictures, labels):
                return super().forward(pictures.view(-1, 3, 4), labels)

        def batch(*zeros):
            found = self.pictures(*zeros)
            return {**found, "pictures": found["pictures"].flatten(0, 1)}

        module, parts = Rows(), [batch((1, 1)), batch((2, 0))]
        plan = self.compile(module, parts[0], "pictures", micro_batch=3,
                            accumulate=2)
        whole = {name: torch.cat([one[name] for one in parts])
                 for name in parts[0]}
        other = {name: one.clone() for name, one in whole.items()}
        other["pictures"][17] = 0
        self.steps_with_mean(plan, module, parts, whole, other, "is 7, and was 8")

    def test_files(self):
        """The loss of a batch that decides otherwise is NaN, if nobody looks before
        a step."""
        module, good, bad = Masked(), self.masked(), self.masked(2)
        self.compile(module, good, "mask").save(self.path("saved.zgplan"))
        with zg.Trainer(zg.load(self.path("saved.zgplan")),
                        load_weights={
                            name: one.detach() for name, one in
                            module.named_parameters()}) as trainer:
            self.assertAlmostEqual(trainer.step(good, lr=0),
                                   float(module(**good).detach()), 5)
            with self.assertWarnsRegex(UserWarning, "is NaN"):
                self.assertTrue(math.isnan(trainer.step(bad)))
            self.assertAlmostEqual(trainer.step(good),
                                   float(module(**good).detach()), 5)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = zg.export(module, good, self.path("model.onnx"), fixed="mask")
        self.assertTrue(found.ok, found)
        for batch in good, bad:
            torch.save(batch, self.path("data.pt"))
            zg.convert.torch_to_safetensors(self.path("data.pt"),
                                            self.path("data.safetensors"))
            done = subprocess.run(
                [f"{BIN}/zerograph", "train", self.path("model.onnx"), "--data",
                 self.path("data.safetensors"), "--steps", "1", "--lr", "0"],
                capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("is NaN" in done.stderr, batch is bad, done.stderr)

    def test_tokens(self):
        """A sum that a count divides is still one."""
        class Labelled(Classifier):
            def forward(self, x, mask, labels):
                places = mask.nonzero()
                return F.cross_entropy(super().forward(x[mask]),
                                       labels[places[:, 0], places[:, 1]],
                                       ignore_index=0)

        module, batches = Labelled(), []
        for _ in range(2):
            batches.append({"x": self.draw(4, 8, 8), "mask": masks(self.generator),
                            "labels": torch.randint(0, 4, (4, 8))})
        plan = self.compile(module, batches[0], "mask", micro_batch=4,
                            accumulate=2, loss_mean="tokens")
        counts = [int((one["labels"][one["mask"]] > 0).sum()) for one in batches]
        own = sum(float(module(**one).detach()) * count for one, count in
                  zip(batches, counts)) / sum(counts)
        with zg.Trainer(plan) as trainer:
            self.assertAlmostEqual(trainer.step({
                name: torch.cat([one[name] for one in batches])
                for name in batches[0]}), own, 5)

    def test_is_asked_for(self):
        """Names what decides, and then notes it."""
        for module, example, names in (
                (Masked(), self.masked(), "mask"), (Grids(), self.grids(), "grid"),
                (Real(), self.pictures(), "pictures")):
            with self.assertRaisesRegex(
                    zg.Error, rf'Or, where what {names} decides is the same in '
                    rf'every batch, give fixed=\["{names}"\]$'):
                zg.compile(module, example)
        with self.assertLogs("zerograph", logging.INFO) as said:
            self.compile(Grids(), self.grids(), "grid")
        self.assertRegex(said.output[0], r"what grid decides is fixed as in the "
                         r"example.*: fixed_models.py:\d+, fixed_models.py")

    def test_refusals(self):
        module, example = Masked(), self.masked()
        with self.assertRaisesRegex(zg.InvalidArgument,
                                    "'grid' is no input; the example has x, mask"):
            zg.compile(module, example, fixed=["mask", "grid"])
        with self.assertRaisesRegex(zg.InvalidArgument, "exclude each other"):
            zg.export(module, example, self.path("model.onnx"), fixed="mask",
                      dynamic={"x": {1: "patches"}})
        with self.assertRaisesRegex(zg.InvalidArgument, "for modules of PyTorch"):
            zg.compile("model.onnx", fixed="x")
        with self.assertWarnsRegex(UserWarning, r'fixed=\["x"\] decides nothing'):
            zg.compile(module, example, fixed=["x", "mask"])

    def test_batches_that_fit_no_plan(self):
        """They are refused as ever."""
        good = self.masked()
        plan = self.compile(Masked(), good, "mask")
        mask = good["mask"].numpy()
        mask.flags.writeable = False
        with zg.Trainer(plan) as trainer:
            for other in (good["mask"][:, :4], good["mask"].int(), mask[0, 0]):
                with self.assertRaisesRegex(zg.InvalidArgument, "'mask'") as caught:
                    trainer.step({**good, "mask": other})
                self.assertNotIn("decides", str(caught.exception))
            with self.assertRaises(zg.InvalidArgument):
                trainer.step({"x": good["x"]})
            trainer.step((good["x"], mask))

    def test_halves(self):
        """Inputs of 16 bits decide too."""
        class Kept(Classifier):
            def forward(self, x, weights):
                return super().forward(x[weights > 0]).square().mean()

        weights = torch.tensor([0.5, 0, 2, 0], dtype=torch.bfloat16)
        self.trains(Kept(), [{"x": self.draw(4, 8), "weights": one} for one in
                             (weights, weights.flip(0), weights * 3)], "weights",
                    ({"x": self.draw(4, 8), "weights": weights + 1},
                     "is 4, and was 2"))

    def test_gradients_within(self):
        """A module may take gradients itself, and the older exporter may have to
        write the file."""
        class Slope(Classifier):
            def forward(self, x, mask):
                x = x.requires_grad_(True)
                y = super().forward(x)[mask]
                slope, = torch.autograd.grad(y.sum(), x, create_graph=True)
                return slope.square().mean() + y.mean()

        class Older(Classifier):
            def forward(self, x, mask):
                assert not torch.compiler.is_exporting()
                return super().forward(x[mask]).square().mean()

        masks = [torch.tensor(one) > 0 for one in
                 ((1, 1, 0, 0), (0, 1, 0, 1), (0, 0, 1, 1))]
        for module in Slope(), Older():
            with self.subTest(type(module).__name__):
                self.trains(module, [{"x": self.draw(4, 8), "mask": one}
                                     for one in masks], "mask",
                            ({"x": self.draw(4, 8), "mask": masks[0] | masks[1]},
                             "is 3, and was 2"))

    def test_parameters_decide(self):
        """They change with each step, so nothing can be fixed."""
        class Chosen(Masked):
            def forward(self, x, mask):
                return self.encode(x)[self.encode(x) > 0].mean()

        with self.assertRaises(zg.Error) as caught, self.assertWarns(UserWarning):
            zg.compile(Chosen(), self.masked(), fixed="mask")
        self.assertNotIn("fixed=", str(caught.exception))

    def test_values_that_are_lost(self):
        """A tensor that others were written into has no value of inputs alone, and
        random numbers never have one."""
        class Written(Masked):
            def forward(self, x, mask):
                total = mask.float().sum(1)
                total += self.encode(x).mean((1, 2))
                return x[(total > 0)].mean() + self.hidden.mean()

        class Drawn(Masked):
            def forward(self, x, mask):
                keep = torch.rand(mask.shape) > 0.5
                return self.encode(x)[keep & mask].mean()

        for module in Written(), Drawn():
            with self.assertRaises(zg.Error), self.assertWarns(UserWarning):
                zg.compile(module, self.masked(), fixed=["x", "mask"])


if __name__ == "__main__":
    main()
