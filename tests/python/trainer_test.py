"""The Python package: plans, trainers, and what can go wrong with them."""

import logging
import os
import tempfile

import package  # noqa: F401  (it finds zerograph)

import numpy as np
import zerograph as zg
from support import GPT, GPT_DATA, MLP, MLP_DATA, Case, main
from training_data import arrays, batches


class Training(Case):

    def setUp(self):
        super().setUp()
        self.data = arrays(MLP_DATA)

    def command(self, *options, model=MLP, data=MLP_DATA):
        """Runs `train`; its losses, and the weights."""
        self.succeeds("train", model, "--data", data, "--log", "log",
                      "--save-weights", "w.safetensors", "--quiet", *options)
        return self.losses(), arrays(self.path("w.safetensors"))

    def train(self, plan, data, steps, **options):
        with zg.Trainer(plan, **options) as trainer:
            losses = [float(trainer.step(batch)) for batch, _ in
                      zip(batches(data, plan), range(steps))]
            return losses, trainer.state_dict()

    def assert_same(self, these, those):
        self.assertEqual(these[0], those[0])
        self.assertEqual(set(these[1]), set(those[1]))
        for name, array in these[1].items():
            self.assertEqual(array.tobytes(), those[1][name].tobytes(), name)

    def test_bits_are_the_commands(self):
        for ranks, zero, accumulate in ((1, 0, 1), (2, 1, 2), (2, 3, 1)):
            plan = zg.compile(MLP, micro_batch=8, ranks=ranks, zero=zero,
                              accumulate=accumulate, lr=0.01)
            self.assert_same(
                self.train(plan, self.data, 5),
                self.command("--steps", "5", "--micro-batch", "8", "--ranks",
                             str(ranks), "--zero", str(zero), "--accumulate",
                             str(accumulate), "--lr", "0.01"))

    def test_bits_of_a_transformer(self):
        data = arrays(GPT_DATA)
        plan = zg.compile(GPT, micro_batch=2, dim={"seq": 64}, ranks=2, zero=2,
                          precision="bf16", clip_norm=1.0, betas=(0.9, 0.95))
        self.assert_same(
            self.train(plan, data, 3),
            self.command("--steps", "3", "--micro-batch", "2", "--ranks", "2",
                         "--zero", "2", "--precision", "bf16", "--clip-norm",
                         "1", "--betas", "0.9,0.95", model=GPT, data=GPT_DATA))

    def test_the_example_says_the_sizes(self):
        data = arrays(GPT_DATA)
        example = {name: array[:8] for name, array in data.items()}
        plan = zg.compile(GPT, example=example, ranks=2, accumulate=2)
        self.assertEqual(plan.samples, 8)
        self.assertEqual(plan.facts["micro_batch"], 2)
        self.assertEqual(plan.inputs, ["input_ids", "labels"])
        with zg.Trainer(plan) as trainer:
            trainer.step(example)
            # A tuple is in the order of the inputs.
            trainer.step((example["input_ids"], example["labels"]))
        fitting = zg.compile(GPT, example=example, micro_batch="auto",
                             memory="20MiB")
        self.assertEqual(fitting.samples, 8)
        self.assertGreater(fitting.facts["accumulate"], 1)
        for wrong, said in (
                ({"ids": example["input_ids"], "labels": example["labels"]},
                 "'input_ids' is missing, and 'ids' is no input"),
                ({**example, "labels": example["labels"][:, :, None]},
                 r"input 'labels' is \[8, 64, 1\], expected \[batch, seq\]")):
            with self.assertRaisesRegex(zg.InvalidArgument, said):
                zg.compile(GPT, example=wrong, ranks=2)
        with self.assertRaisesRegex(zg.InvalidArgument, "no such file"):
            zg.compile("missing.onnx", example=example)
        with self.assertRaisesRegex(zg.InvalidArgument, "5 samples"):
            zg.compile(MLP, example={"x": self.data["x"][:5]}, ranks=2)

    def test_a_loss_knows_more(self):
        plan = zg.compile(MLP, micro_batch=8, clip_norm=1e9, lr=0.5)
        batch = next(batches(self.data, plan))
        with zg.Trainer(plan) as trainer:
            loss = trainer.step(batch)
            self.assertIsInstance(loss, float)
            self.assertGreater(loss.gradient_norm, 0)
            self.assertEqual(loss.learning_rate, 0.5)
            self.assertFalse(loss.skipped)
            self.assertEqual(trainer.step(batch, lr=0.25).learning_rate, 0.25)
            self.assertEqual(trainer.step(batch).learning_rate, 0.5)
            self.assertEqual((trainer.steps, trainer.updates), (3, 3))

    def test_rates_of_groups(self):
        """Rates that a step gives groups are those of a plan that has them."""
        groups = {"*.bias": {"weight_decay": 0}, "fc2.*": {"lr": 0.02}}
        plan = zg.compile(MLP, micro_batch=8, group=groups, ranks=2,
                          schedule="linear", total_steps=10)
        groups = {"*.bias": {"weight_decay": 0, "lr": 0.005},
                  "fc2.*": {"lr": 0.03}}
        fixed = zg.compile(MLP, micro_batch=8, group=groups, lr=0.01, ranks=2)
        batch = next(batches(self.data, plan))
        rates = {"default": 0.01, "*.bias": 0.005, "fc2.*": 0.03}
        with zg.Trainer(plan) as trainer, zg.Trainer(fixed) as other:
            for wrong, said in (
                    ({"fc1.*": 1}, r"no group of parameters is 'fc1.\*'; the plan "
                                   r"has: default, \*.bias, fc2.\*"),
                    ({"default": -1}, "is -1, expected"),
                    ({"fc2.*": float("nan")}, "lr is not a number")):
                with self.assertRaisesRegex(zg.InvalidArgument, said):
                    trainer.step(batch, lr=wrong)
            for _ in range(3):
                loss = trainer.step(batch, lr=rates)
                self.assertEqual(loss, other.step(batch))
                self.assertEqual(loss.learning_rate, 0.01)
            for name, array in trainer.state_dict().items():
                np.testing.assert_array_equal(array, other.state_dict()[name])
            # The plan's holds for others, and for all again.
            before = trainer.state_dict()
            loss = trainer.step(batch, lr={"*.bias": 0, "fc2.*": 0})
            self.assertAlmostEqual(loss.learning_rate, 7e-4)
            for name, array in trainer.state_dict().items():
                self.assertEqual((array != before[name]).any(),
                                 name == "fc1.weight")
            self.assertAlmostEqual(trainer.step(batch).learning_rate, 6e-4)
            self.assertEqual(trainer.step(batch, lr=0.5).learning_rate, 0.5)

    def test_evaluation(self):
        plan = zg.compile(MLP, micro_batch=8, evaluate=True)
        held = {name: array[:21] for name, array in self.data.items()}
        self.command("--steps", "2", "--micro-batch", "8", "--eval-data",
                     MLP_DATA)
        with zg.Trainer(plan) as trainer:
            for batch, _ in zip(batches(self.data, plan), range(2)):
                trainer.step(batch)
            self.assertEqual(trainer.evaluate(self.data),
                             self.records()[-1]["eval_loss"])
            parts = [{name: array[begin:begin + 7]
                      for name, array in held.items()} for begin in (0, 7, 14)]
            self.assertAlmostEqual(trainer.evaluate(parts),
                                   trainer.evaluate(held), places=6)
        with zg.Trainer(zg.compile(MLP, micro_batch=8)) as trainer:
            with self.assertRaisesRegex(zg.Error, "give evaluate when"):
                trainer.evaluate(held)

    def test_gradients(self):
        plan = zg.compile(MLP, micro_batch=8, optimizer="sgd", lr=0.5,
                          dump_gradients=True, ranks=2)
        with zg.Trainer(plan) as trainer:
            before = trainer.state_dict()
            trainer.accumulate(next(batches(self.data, plan)))
            gradients = trainer.gradients()
            trainer.update()
            after = trainer.state_dict()
            for name, gradient in gradients.items():
                np.testing.assert_array_equal(
                    after[name], before[name] - np.float32(0.5) * gradient)
            with self.assertRaisesRegex(zg.Error, "between accumulate and"):
                trainer.gradients()

    def test_views_show_the_latest_update(self):
        plan = zg.compile(MLP, micro_batch=8)
        with zg.Trainer(plan) as trainer:
            views = trainer.state_dict(copy=False)
            before = trainer.state_dict()
            for batch, _ in zip(batches(self.data, plan), range(2)):
                trainer.step(batch)
            after = trainer.state_dict()
            for name, view in views.items():
                np.testing.assert_array_equal(view, after[name])
                self.assertTrue((view != before[name]).any())
                with self.assertRaises(ValueError):
                    view[...] = 0
            self.assertEqual(sorted(trainer.optimizer_state())[0].split(".")[-1],
                             "exp_avg")

    def test_goes_on_from_a_checkpoint(self):
        one = zg.compile(MLP, micro_batch=8)
        two = zg.compile(MLP, micro_batch=4, ranks=2, zero=3)
        whole = self.train(one, self.data, 4)[0]
        steps = batches(self.data, one)
        with zg.Trainer(two) as trainer:
            losses = [float(trainer.step(next(steps))) for _ in range(2)]
            path = trainer.save(self.path("c"))
            self.assertEqual(path, self.path("c", "step-00000002"))
        with zg.Trainer(one, resume=self.path("c")) as trainer:
            self.assertEqual(trainer.steps, 2)
            losses += [float(trainer.step(next(steps))) for _ in range(2)]
        self.assertEqual(losses[:1], whole[:1])
        np.testing.assert_allclose(losses, whole, rtol=1e-6)

    def test_goes_on_from_arrays(self):
        """The state of one trainer is that of another, to the bit."""
        for options in {}, {"ranks": 2, "zero": 3}, {"precision": "bf16"}:
            plan = zg.compile(MLP, micro_batch=8, **options)
            whole = self.train(plan, self.data, 4)
            steps = batches(self.data, plan)
            with zg.Trainer(plan) as trainer:
                for _ in range(2):
                    trainer.step(next(steps))
                state = {**trainer.state_dict(), **trainer.optimizer_state()}
            folder = tempfile.mkdtemp(dir=self.folder)
            path = plan.write_checkpoint(folder, state, steps=2, updates=2)
            self.assertEqual(path, os.path.join(folder, "step-00000002"))
            with zg.Trainer(plan, resume=folder) as trainer:
                losses = [float(trainer.step(next(steps))) for _ in range(2)]
                weights = trainer.state_dict()
            self.assertEqual(losses, whole[0][2:])
            for name, array in whole[1].items():
                np.testing.assert_array_equal(weights[name], array)
        self.assertEqual({one["name"] for one in plan.checkpoint_arrays},
                         set(state))
        del state["fc1.bias"]
        with self.assertRaisesRegex(zg.Error, "'fc1.bias' is missing"):
            plan.write_checkpoint(folder, state, steps=3)
        with self.assertRaisesRegex(zg.InvalidArgument, "no field 'step'"):
            plan.write_checkpoint(folder, state, step=3)

    def test_plans(self):
        plan = zg.compile(MLP, micro_batch=8, ranks=2, zero=3)
        self.assertIn("ZeRO stage 3 on 2 ranks", str(plan))
        self.assertRegex(
            plan._repr_html_(),
            "(?s)^<pre>model.onnx: ZeRO stage 3.*</pre><iframe srcdoc=")
        self.assertEqual(plan.ranks, 2)
        needed = plan.memory["device"]
        self.assertTrue(plan.fits(needed))
        self.assertFalse(plan.fits(needed - 1))
        self.assertTrue(plan.fits("80GiB"))
        self.assertFalse(plan.fits("1 kB"))
        with self.assertRaisesRegex(zg.InvalidArgument, "no size.*target="):
            plan.fits("h100")
        gpu = zg.compile(MLP, micro_batch=8, target="cuda:sm_90")
        self.assertTrue(gpu.fits("H100"))
        with self.assertRaisesRegex(zg.InvalidArgument, "card that runs.*h100"):
            gpu.fits("a100-80")  # of an older architecture
        self.assertIn("activation", plan.inspect("memory"))
        with self.assertRaisesRegex(zg.InvalidArgument, "no part 'memroy'"):
            plan.inspect("memroy")
        plan.save(self.path("p.zgplan"))
        loaded = zg.load(self.path("p.zgplan"))
        self.assertEqual(loaded.facts, plan.facts)
        # It is the command's, byte for byte.
        self.succeeds("compile", MLP, "-o", "q.zgplan", "--micro-batch", "8",
                      "--ranks", "2", "--zero", "3")
        self.assertEqual(self.bytes_of("p.zgplan"), self.bytes_of("q.zgplan"))
        plan.report(self.path("r.html"))
        self.assertIn("<html", self.text("r.html"))
        self.assertGreater(plan.simulate("x86-server")["step_seconds"], 0)
        plan.dump(self.path("ir"))
        self.assertTrue(os.listdir(self.path("ir")))
        with self.assertRaisesRegex(zg.Error, "no model to compile"):
            loaded.dump(self.path("ir2"))

    def test_advice(self):
        """What is advised compiles, and fits as was said."""
        data = arrays(GPT_DATA)
        example = {name: array[:8] for name, array in data.items()}
        given = {"example": example, "target": "cuda:sm_90", "zero": 1,
                 "recompute": "none", "convolution": "generated", "ranks": 2}
        advice = zg.advise(GPT, "h100-sxm", **given)
        self.assertEqual(advice["rejected"], [])
        (best,) = advice["trials"]
        plan = zg.compile(GPT, **{**given, **best["options"]})
        self.assertEqual(plan.samples, 8)
        self.assertEqual(plan.simulate("h100-sxm")["step_seconds"],
                         best["step_seconds"])
        small = zg.advise(GPT, "h100-sxm", what_if="memory=5.14", **given)
        self.assertEqual(small["trials"], [])
        self.assertIn("needs", small["rejected"][0]["rejected"])
        with self.assertRaisesRegex(zg.Error, "no-such-card"):
            zg.advise(GPT, "no-such-card", **given)
        with self.assertRaisesRegex(zg.InvalidArgument, "say global_batch"):
            zg.advise(GPT, "h100-sxm", micro_batch=4, **given)

    def test_options(self):
        with self.assertRaisesRegex(
                zg.InvalidArgument,
                "unknown option 'micro_bach'; did you mean micro_batch"):
            zg.compile(MLP, micro_bach=8)
        with self.assertRaisesRegex(zg.InvalidArgument, "zero is '5'"):
            zg.compile(MLP, micro_batch=8, zero=5)
        plan = zg.compile(MLP, config={
            "train_micro_batch_size_per_gpu": 8,
            "optimizer": {"type": "Adam", "params": {"lr": 0.25}}})
        self.assertEqual(plan.facts["optimizer"]["learning_rate"], 0.25)
        plan = zg.compile(MLP, micro_batch=8,
                          group={"*.bias": {"weight_decay": 0, "lr": 0.5}})
        self.assertEqual(len(plan.facts["groups"]), 2)
        with self.assertRaisesRegex(zg.InvalidArgument,
                                    "'zero'; 'zerograph compile' takes it"):
            zg.Trainer(plan, zero=3)
        with self.assertRaisesRegex(zg.InvalidArgument, "'steps'"):
            zg.Trainer(plan, steps=3)
        with self.assertRaisesRegex(zg.Error, "no.onnx"):
            zg.compile(self.path("no.onnx"), micro_batch=8)
        with self.assertRaisesRegex(zg.Error, "no.zgplan"):
            zg.load(self.path("no.zgplan"))

    def test_lists_that_are_empty(self):
        plan = zg.compile(MLP, micro_batch=8, freeze=[])
        self.assertEqual(plan.facts, zg.compile(MLP, micro_batch=8).facts)
        with self.assertRaisesRegex(zg.InvalidArgument, "names nothing"):
            zg.compile(MLP, micro_batch=8, train=[])

    def test_what_is_no_model(self):
        with self.assertRaisesRegex(zg.InvalidArgument, "found a .*zg.keras"):
            zg.compile(object())

    def test_warnings_and_notes(self):
        with self.assertWarnsRegex(UserWarning, "allow_tf32") as caught:
            zg.compile(MLP, micro_batch=8, allow_tf32=True)
        self.assertEqual(caught.filename, __file__)
        plan = zg.compile(MLP, micro_batch=8)
        with self.assertLogs("zerograph", logging.INFO) as log:
            with zg.Trainer(plan, nvme_path=self.folder):
                pass
        self.assertIn("nvme_path has no effect", log.output[0])

    def test_wrong_batches(self):
        plan = zg.compile(MLP, micro_batch=8)
        good = next(batches(self.data, plan))
        x, labels = good["x"], good["labels"]
        with zg.Trainer(plan) as trainer, zg.Trainer(plan) as other:
            for batch, message in (
                    ({"x": x}, "input 'labels' is missing"),
                    ({"x": x.astype(np.float64), "labels": labels},
                     "'x' is F64.*astype.*tensor.to"),
                    ({"x": x[:, :60], "labels": labels}, r"expected F32 \["),
                    ({"x": x[:4], "labels": labels[:4]}, "has 4 samples"),
                    ({"x": x, "labels": labels + 10}, "'labels' has the value"),
                    ({"x": x.astype(np.complex64), "labels": labels},
                     "elements of type complex64"),
                    ((x,), "1 arrays, and the model 2 inputs: x, labels"),
                    (x, "is a ndarray, expected a dictionary")):
                with self.assertRaisesRegex(zg.InvalidArgument, message):
                    trainer.step(batch)
            # The same values in other forms are the same batch.
            wide = np.zeros((8, 128), np.float32)
            wide[:, ::2] = x
            frozen = labels.copy()
            frozen.flags.writeable = False
            loss = other.step(good)
            self.assertEqual(
                trainer.step({"x": wide[:, ::2], "labels": frozen}), loss)
            self.assertEqual(
                trainer.step({"x": x.astype(">f4"), "labels": labels.tolist()}),
                other.step(good))

    def test_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("this Python has no torch")
        plan = zg.compile(MLP, micro_batch=8)
        good = next(batches(self.data, plan))
        with zg.Trainer(plan) as trainer, zg.Trainer(plan) as other:
            batch = {name: torch.from_numpy(array.copy())
                     for name, array in good.items()}
            batch["x"].requires_grad_()
            self.assertEqual(trainer.step(batch), other.step(good))
            batch["x"] = batch["x"].to("meta")
            with self.assertRaisesRegex(zg.InvalidArgument, "is on meta"):
                trainer.step(batch)

    def test_ends(self):
        plan = zg.compile(MLP, micro_batch=8, ranks=2)
        batch = next(batches(self.data, plan))
        trainer = zg.Trainer(plan)
        trainer.step(batch)
        trainer.close()
        trainer.close()
        for call in (lambda: trainer.step(batch), trainer.state_dict,
                     lambda: trainer.save(self.folder), lambda: trainer.steps):
            with self.assertRaisesRegex(zg.Error, "was closed"):
                call()
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            with zg.Trainer(plan) as trainer:
                trainer.step(batch)
                1 / 0
        with self.assertRaisesRegex(zg.Error, "was closed"):
            trainer.step(batch)
        # Trainers keep their plan.
        trainer = zg.Trainer(zg.compile(MLP, micro_batch=16))
        trainer.step(batch)
        trainer.close()

    def test_nothing_leaks(self):
        plan = zg.compile(MLP, micro_batch=8, ranks=2, zero=2)
        batch = next(batches(self.data, plan))

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        def use(count):
            for _ in range(count):
                with zg.Trainer(plan) as trainer:
                    trainer.step(batch)

        use(50)
        before, files = resident(), len(os.listdir("/proc/self/fd"))
        threads = len(os.listdir("/proc/self/task"))
        use(1000)
        self.assertLess(resident() - before, 8 << 20)
        self.assertEqual(len(os.listdir("/proc/self/fd")), files)
        self.assertEqual(len(os.listdir("/proc/self/task")), threads)


if __name__ == "__main__":
    main()
