"""Writing into a live trainer, which goes on as if it had begun so."""

import os

from package import need

need("numpy")

import numpy as np  # noqa: E402
import zerograph as zg  # noqa: E402
from support import MLP, MLP_DATA, MODELS, Case, main  # noqa: E402
from training_data import arrays, batches  # noqa: E402

RESNET = os.path.join(MODELS, "resnet-mini", "model.onnx")
RESNET_DATA = os.path.join(MODELS, "resnet-mini", "batches.safetensors")

#: Options of plans, and of their trainers, with which states lie elsewhere.
PLACES = (
    {}, {"optimizer": "sgd", "momentum": 0.9, "accumulate": 2},
    *({"ranks": 2, "zero": stage} for stage in range(4)),
    {"precision": "bf16"}, {"precision": "bf16", "ranks": 2, "zero": 3},
    {"precision": "bf16", "master_precision": "bf16", "ranks": 2},
    {"precision": "fp16", "ranks": 2, "zero": 1},
    {"offload_optimizer": "cpu", "ranks": 2, "zero": 2},
    {"offload_optimizer": "nvme", "precision": "bf16"},
    {"offload_optimizer": "nvme", "offload_param": "cpu", "ranks": 2,
     "zero": 3},
    {"offload_optimizer": "cpu", "offload_param": "cpu", "zero": 3,
     "ranks": 2, "precision": "bf16"})


class Writing(Case):

    def setUp(self):
        super().setUp()
        self.data = arrays(MLP_DATA)

    def compile(self, model=MLP, **options):
        options.setdefault("micro_batch", 8)
        plan = zg.compile(model, **options)
        on_disk = options.get("offload_optimizer") == "nvme"
        return plan, {"nvme_path": self.folder} if on_disk else {}

    def assert_same(self, these, those):
        self.assertEqual(set(these), set(those))
        for name, array in these.items():
            self.assertEqual(array.tobytes(), those[name].tobytes(), name)

    def test_goes_on_from_another(self):
        """Parameters and states of one trainer make another go on as it does."""
        for options in PLACES:
            with self.subTest(**options):
                plan, opened = self.compile(**options)
                steps = batches(self.data, plan)
                one, two, three = (next(steps) for _ in range(3))
                with zg.Trainer(plan, **opened) as trainer, \
                        zg.Trainer(plan, **opened) as other:
                    trainer.step(one)
                    other.step(two)
                    other.load_state_dict(trainer.state_dict())
                    other.load_optimizer_state(trainer.optimizer_state())
                    self.assert_same(other.state_dict(), trainer.state_dict())
                    self.assert_same(other.optimizer_state(),
                                     trainer.optimizer_state())
                    for batch in three, one:
                        self.assertEqual(other.step(batch), trainer.step(batch))
                    self.assert_same(other.state_dict(), trainer.state_dict())

    def test_begins_with(self):
        """Writing before the first step does what load_weights does, also for
        what is frozen, and rounds as it."""
        for options in PLACES:
            with self.subTest(**options):
                plan, opened = self.compile(freeze=["fc1.weight"], **options)
                batch = next(batches(self.data, plan))
                with zg.Trainer(plan, **opened) as trainer:
                    state = {name: array * np.float32(1.01)
                             for name, array in trainer.state_dict().items()}
                    trainer.load_state_dict(state)
                    made = [trainer.step(batch) for _ in range(3)]
                    self.assertEqual(trainer.steps, 3)
                with zg.Trainer(plan, load_weights=state, **opened) as other:
                    self.assertEqual([other.step(batch) for _ in range(3)], made)

    def test_running_statistics(self):
        """Each rank has its own; what is written is on all."""
        plan, _ = self.compile(RESNET, micro_batch=2, ranks=2, zero=2,
                               evaluate=True)
        data = arrays(RESNET_DATA)
        steps = batches(data, plan)
        with zg.Trainer(plan) as trainer:
            for _ in range(2):
                trainer.step(next(steps))
            state = trainer.state_dict()
            self.assertTrue(any("running" in name for name in state))
            trainer.load_state_dict(state)
            batch = next(steps)
            evaluated = trainer.evaluate(batch)
        with zg.Trainer(plan, load_weights=state) as other:
            self.assertEqual(other.evaluate(batch), evaluated)

    def test_some_of_them(self):
        plan, _ = self.compile(ranks=2, zero=3)
        batch = next(batches(self.data, plan))
        with zg.Trainer(plan) as trainer:
            trainer.step(batch)
            before, states = trainer.state_dict(), trainer.optimizer_state()
            zeros = np.zeros_like(before["fc2.bias"])
            trainer.load_state_dict({"fc2.bias": zeros}, strict=False)
            self.assert_same(trainer.state_dict(), {**before, "fc2.bias": zeros})
            self.assert_same(trainer.optimizer_state(), states)
            trainer.load_optimizer_state({"fc2.bias.exp_avg": zeros},
                                         strict=False)
            self.assert_same(trainer.optimizer_state(),
                             {**states, "fc2.bias.exp_avg": zeros})

    def test_errors_write_nothing(self):
        plan, _ = self.compile(ranks=2, zero=1)
        with zg.Trainer(plan) as trainer:
            before = trainer.state_dict()
            state = {name: array + 1 for name, array in before.items()}
            bias = state["fc1.bias"]
            lacking = {**state}
            del lacking["fc2.weight"]
            nan = bias.copy()
            nan[7] = np.nan
            for given, message in (
                    (lacking, "1 of 4 arrays are missing: fc2.weight"),
                    ({**state, "fc1.bais": bias},
                     "there is no 'fc1.bais'; did you mean 'fc1.bias'"),
                    ({**state, "fc1.bias": bias[:5]},
                     r"'fc1.bias' is F32 \[5\], expected F32 \[128\]"),
                    ({**state, "fc1.bias": bias.astype(np.float64)},
                     r"'fc1.bias' is F64 \[128\], expected F32 \[128\]"),
                    ({**state, "fc1.bias": nan},
                     "'fc1.bias' has NaN in element 7"),
                    ({**state, "fc1.bias": bias.astype(np.complex64)},
                     "elements of type complex64"),
                    ({**state, 1: bias}, "the state is a dict, expected a "),
                    (bias, "the state is a ndarray, expected a dictionary")):
                with self.assertRaisesRegex(zg.InvalidArgument, message):
                    trainer.load_state_dict(given)
                self.assert_same(trainer.state_dict(), before)
            trainer.load_state_dict(state)
            self.assert_same(trainer.state_dict(), state)
        with self.assertRaisesRegex(zg.Error, "was closed"):
            trainer.load_state_dict(state)

    def test_views_are_a_state(self):
        plan, _ = self.compile()
        batch = next(batches(self.data, plan))
        with zg.Trainer(plan) as trainer:
            before = trainer.state_dict()
            views = trainer.state_dict(copy=False)
            clipped = {name: view.clip(-0.01, 0.01)
                       for name, view in views.items()}
            trainer.load_state_dict({**views, "fc1.bias": clipped["fc1.bias"]})
            self.assert_same(trainer.state_dict(),
                             {**before, "fc1.bias": clipped["fc1.bias"]})
            trainer.load_state_dict(clipped)
            self.assert_same(views, clipped)
            trainer.step(batch)
        for options in {}, {"ranks": 2}:
            plan, _ = self.compile(**options)
            with zg.Trainer(plan) as trainer:  # from one to the other
                before = trainer.state_dict()
                bias, weight = (trainer.state_dict(copy=False)[name]
                                for name in ("fc1.bias", "fc1.weight"))
                weights = np.resize(np.float32([1, 2, 3]), weight.shape)
                for state in ({"fc1.bias": weight.reshape(-1)[:128],
                               "fc1.weight": weights},
                              {"fc1.bias": np.zeros_like(bias),
                               "fc1.weight": np.broadcast_to(
                                   bias[:, None], weight.shape)}):
                    wanted = {**before, **{name: one.copy()
                                           for name, one in state.items()}}
                    trainer.load_state_dict(state, strict=False)
                    self.assert_same(trainer.state_dict(), wanted)
        plan, _ = self.compile(ranks=2, zero=3)  # none holds them whole
        with zg.Trainer(plan) as trainer:
            for array in trainer.state_dict(copy=False).values():
                with self.assertRaisesRegex(ValueError, "read-only"):
                    array *= 2

    def test_within_a_step(self):
        """Gradients of some parameters update others."""
        plan, _ = self.compile(optimizer="sgd", lr=0.5, accumulate=2, ranks=2,
                               zero=2, dump_gradients=True)
        batch = next(batches(self.data, plan))
        with zg.Trainer(plan) as trainer:
            before = trainer.state_dict()
            trainer.accumulate(batch)
            first = trainer.gradients()
            trainer.discard()
            trainer.load_state_dict({name: array * np.float32(0.5)
                                     for name, array in before.items()})
            trainer.accumulate(batch)
            gradients = trainer.gradients()
            trainer.load_state_dict(before)
            trainer.update()
            self.assertEqual(trainer.steps, 1)
            after = trainer.state_dict()
            for name, gradient in gradients.items():
                self.assertTrue((gradient != first[name]).any())
                np.testing.assert_array_equal(
                    after[name], before[name] - np.float32(0.5) * gradient)
            with self.assertRaisesRegex(zg.Error, "accumulate comes first"):
                trainer.discard()
        plan, _ = self.compile()
        with zg.Trainer(plan) as trainer:
            trainer.accumulate({name: one[:8] for name, one in batch.items()})
            with self.assertRaisesRegex(zg.Error, "made already.* accumulate 2"):
                trainer.load_state_dict(before)
            with self.assertRaisesRegex(zg.Error, "made already.* accumulate 2"):
                trainer.discard()
            trainer.update()

    def test_the_last_checkpoint(self):
        plan, _ = self.compile()
        batch = next(batches(self.data, plan))
        with self.assertWarnsRegex(UserWarning, "last checkpoint has what was"):
            with zg.Trainer(plan, checkpoint=self.path("c"), every=1) as trainer:
                trainer.step(batch)
                state = {name: array * 2
                         for name, array in trainer.state_dict().items()}
                trainer.load_state_dict(state)
                with self.assertRaisesRegex(zg.Error, "has a checkpoint after 1"):
                    trainer.save(self.path("c"))
        with zg.Trainer(plan, resume=self.path("c")) as trainer:
            trainer.load_state_dict(state)
            trainer.save(self.path("d"))
        with zg.Trainer(plan, resume=self.path("d")) as trainer:
            self.assert_same(trainer.state_dict(), state)
            path = trainer.save(self.path("d"))  # there is one
            self.assertEqual(trainer.save(self.path("e")),
                             path.replace(self.path("d"), self.path("e")))
            self.assertEqual(trainer.save(self.path("d")), path)
            trainer.load_state_dict({}, strict=False)  # which changes nothing
            self.assertEqual(trainer.save(self.path("d")), path)
            trainer.load_state_dict(state)
            for folder in "d", "e":
                with self.assertRaisesRegex(zg.Error, "has a checkpoint after 1"):
                    trainer.save(self.path(folder))
            trainer.step(batch)
            trainer.save(self.path("d"))
        with self.assertWarnsRegex(UserWarning, "last checkpoint has what was"):
            with zg.Trainer(plan, resume=self.path("e"),
                            checkpoint=self.path("e")) as trainer:
                trainer.load_state_dict(state)


if __name__ == "__main__":
    main()
