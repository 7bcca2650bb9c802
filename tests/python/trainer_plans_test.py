"""A trainer of several plans, for batches of other shapes."""

import itertools
import os
import subprocess
import sys

from package import ROOT, need

need("numpy")

import zerograph as zg  # noqa: E402
from emulator import variables  # noqa: E402
from support import GPT, GPT_DATA, MLP, MLP_DATA, MODELS, Case, main  # noqa: E402
from training_data import arrays, batches  # noqa: E402

DROPOUT = os.path.join(MODELS, "gpt2-nano-dropout", "model.onnx")
RESNET = os.path.join(MODELS, "resnet-mini", "model.onnx")
RESNET_DATA = os.path.join(MODELS, "resnet-mini", "batches.safetensors")

#: Models, their data, and options with which states lie elsewhere.
TRAININGS = (
    (MLP, MLP_DATA, {"schedule": "linear", "total_steps": 9}),
    (MLP, MLP_DATA, {"accumulate": 2, "clip_norm": 1.0}),
    *((GPT, GPT_DATA, {"ranks": 2, "zero": stage}) for stage in range(4)),
    (GPT, GPT_DATA, {"precision": "bf16", "ranks": 2, "zero": 3,
                     "accumulate": 2}),
    (GPT, GPT_DATA, {"precision": "fp16", "initial_scale_power": 8, "zero": 1,
                     "ranks": 2}),
    (DROPOUT, GPT_DATA, {"recompute": "units"}),
    (RESNET, RESNET_DATA, {"ranks": 2, "zero": 2}),
    (MLP, MLP_DATA, {"offload_optimizer": "cpu", "ranks": 2, "zero": 2}),
    (MLP, MLP_DATA, {"offload_optimizer": "nvme", "offload_param": "cpu",
                     "ranks": 2, "zero": 3, "precision": "bf16"}))


class Plans(Case):

    def pair(self, model, options, sizes=(2, 1), lengths=(24, 16)):
        """Plans for micro-batches of other sizes, of texts also of other lengths,
        and what trainers of them need."""
        on_disk = options.get("offload_optimizer") == "nvme"
        return ([zg.compile(model, micro_batch=size, **options,
                            **({"dim": {"seq": length}} if "gpt" in model else {}))
                 for size, length in zip(sizes, lengths)],
                {"nvme_path": self.folder} if on_disk else {})

    def steps(self, data, plans, order):
        """Batches of the plans in this order, with the plan's number."""
        each = [batches({one["name"]: data[one["name"]][
                             :, :one["shape"][1]] if len(one["shape"]) == 2 else
                         data[one["name"]] for one in plan.facts["inputs"]}, plan)
                for plan in plans]
        return [(number, next(each[number])) for number in order]

    def alone(self, plans, steps, folder="after", **opened):
        """Makes each step in a trainer of its plan alone, which goes on from what
        the last one has made."""
        losses, state, resume = [], {}, {}
        for step, (number, batch) in enumerate(steps):
            if state:
                resume = {"resume": self.path(f"{folder}-{step}")}
                plans[number].write_checkpoint(resume["resume"], state,
                                               steps=step)
            with zg.Trainer(plans[number], **resume, **opened) as trainer:
                losses.append(trainer.step(batch))
                state = {**trainer.state_dict(), **trainer.optimizer_state()}
        return losses, state

    def test_steps_are_those_of_each_plan(self):
        """Bit for bit, whatever the order in which shapes come."""
        for number, (model, data, options) in enumerate(TRAININGS):
            with self.subTest(model=model, **options):
                plans, opened = self.pair(model, options)
                steps = self.steps(arrays(data), plans, (0, 1, 1, 0, 1, 0))
                losses, state = self.alone(plans, steps, str(number), **opened)
                with zg.Trainer(plans, **opened) as trainer:
                    self.assertEqual([trainer.step(batch) for _, batch in steps],
                                     losses)
                    self.assertEqual(trainer.steps, len(steps))
                    own = {**trainer.state_dict(), **trainer.optimizer_state()}
                self.assertEqual(set(own), set(state))
                for name, array in own.items():
                    self.assertEqual(array.tobytes(), state[name].tobytes(), name)

    def test_micro_batches_of_another_number(self):
        """Where one plan adds gradients up, another has other things, also in
        the padding, of which the norm is made too."""
        plans = [zg.compile(MLP, micro_batch=4, accumulate=4, clip_norm=0.1),
                 zg.compile(MLP, micro_batch=4, accumulate=1, clip_norm=0.1),
                 zg.compile(MLP, micro_batch=6, accumulate=2, clip_norm=0.1)]
        steps = self.steps(arrays(MLP_DATA), plans, (0, 1, 2, 0, 2, 1, 0))
        losses, _ = self.alone(plans, steps)
        for order in itertools.permutations(range(3)):
            with zg.Trainer([plans[i] for i in order]) as trainer:
                made = [trainer.step(batch) for _, batch in steps]
                self.assertEqual(made, losses, order)
                self.assertEqual([one.gradient_norm for one in made],
                                 [one.gradient_norm for one in losses], order)

    def test_between_accumulate_and_update(self):
        """Gradients and the update are those of the batch's plan."""
        plans = [zg.compile(MLP, micro_batch=4, accumulate=accumulate,
                            dump_gradients=True) for accumulate in (3, 2)]
        for number, batch in self.steps(arrays(MLP_DATA), plans, (0, 1, 0)):
            with zg.Trainer(plans) as trainer, \
                    zg.Trainer(plans[number]) as alone:
                for one in trainer, alone:
                    one.accumulate(batch)
                theirs = alone.gradients()
                for name, array in trainer.gradients().items():
                    self.assertEqual(array.tobytes(), theirs[name].tobytes())
                self.assertEqual(trainer.update(), alone.update())

    def test_evaluation(self):
        """Is of the plan that the samples fit, of any number."""
        data = arrays(MLP_DATA)
        plans, _ = self.pair(MLP, {"evaluate": True}, (8, 4))
        held = {name: array[:13] for name, array in data.items()}
        steps = self.steps(data, plans, (0, 1))
        with zg.Trainer(plans) as trainer, zg.Trainer(plans[0]) as alone:
            for number, batch in steps:
                trainer.step(batch)
                alone.load_state_dict(trainer.state_dict())
                self.assertEqual(trainer.evaluate(held), alone.evaluate(held))

    def test_evaluation_of_several_lengths(self):
        """Is the mean over samples, whatever a plan's micro-batch is."""
        data = arrays(GPT_DATA)
        parts = [{name: array[begin:end, :length] for name, array in data.items()}
                 for begin, end, length in ((0, 3, 24), (3, 12, 16))]
        found = []
        for sizes in (2, 8), (4, 4):
            plans, _ = self.pair(GPT, {"evaluate": True}, sizes)
            with zg.Trainer(plans) as trainer:
                each = [trainer.evaluate(part) for part in parts]
                found.append(trainer.evaluate(parts))
                self.assertAlmostEqual(found[-1], (3 * each[0] + 9 * each[1]) / 12,
                                       5)
        self.assertAlmostEqual(*found, 5)

    def test_ranks_that_share_a_gpu(self):
        """Exchange by each plan's own places."""
        model = os.path.join(MODELS, "gpt2-nano", "model.onnx")
        self.put("script.py", f"""
import sys
sys.path.insert(0, {str(ROOT / "python")!r})
import numpy as np, zerograph as zg
losses = []
for target in "cuda:emulated", "host":
    plans = [zg.compile({model!r}, micro_batch=size, dim={{"seq": length}}, ranks=2,
                        zero=3, matmul="generated", target=target)
             for size, length in ((2, 16), (1, 8))]
    random = np.random.default_rng(0)
    with zg.Trainer(plans) as trainer:
        losses.append([])
        for number in 0, 1, 1, 0:
            shape = plans[number].facts["inputs"][0]["shape"]
            ids = random.integers(0, 50, (2 * shape[0], shape[1]))
            losses[-1].append(float(trainer.step((ids, ids))))
assert losses[0] == losses[1], losses
""")
        done = subprocess.run([sys.executable, self.path("script.py")],
                              capture_output=True, text=True, timeout=300,
                              env={**os.environ, **variables()}, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_weights_that_are_written(self):
        """All plans go on with them."""
        plans, _ = self.pair(MLP, {"ranks": 2, "zero": 3})
        steps = self.steps(arrays(MLP_DATA), plans, (0, 1, 0))
        with zg.Trainer(plans) as trainer, zg.Trainer(plans) as other:
            for _, batch in steps[:2]:
                trainer.step(batch)
            other.step(steps[1][1])
            other.load_state_dict(trainer.state_dict())
            other.load_optimizer_state(trainer.optimizer_state())
            other.step(steps[1][1])
            self.assertNotEqual(other.steps, 0)

    def test_a_batch_of_no_plan_changes_nothing(self):
        data = arrays(MLP_DATA)
        plans, _ = self.pair(MLP, {}, (8, 4))
        batch = next(batches(data, plans[0]))
        with zg.Trainer(plans) as trainer:
            with self.assertRaisesRegex(
                    zg.InvalidArgument,
                    r"is that of none of the trainer's plans. plan 1: the batch: "
                    r"has 5 samples; a step takes 8 .*; plan 2: .*takes 4 "):
                trainer.step({name: array[:5] for name, array in batch.items()})
            loss = trainer.step(batch)
        with zg.Trainer(plans[0]) as trainer:
            self.assertEqual(trainer.step(batch), loss)

    def test_plans_that_do_not_go_together(self):
        plan = zg.compile(MLP, micro_batch=8)
        other_model = zg.compile(RESNET, micro_batch=8)
        for other, why in (
                (zg.compile(MLP, micro_batch=8, ranks=2), "1 ranks, another for 2"),
                (zg.compile(MLP, micro_batch=8, optimizer="sgd"),
                 "has adamw with a rate of 0.001 in one plan and sgd with 0.001"),
                (zg.compile(MLP, micro_batch=8, lr=0.5), "adamw with 0.5 in"),
                (zg.compile(MLP, micro_batch=8, betas=(0.8, 0.9)), "other options"),
                (zg.compile(MLP, micro_batch=8, freeze=["fc1.weight"]),
                 "'fc1.weight' is trained by one plan and not by another"),
                (zg.compile(MLP, micro_batch=8, clip_norm=1), "clip gradients"),
                (zg.compile(MLP, micro_batch=8, evaluate=True), "evaluates"),
                (zg.compile(MLP, micro_batch=8, dump_gradients=True), "evaluates"),
                (zg.compile(MLP, micro_batch=8, precision="bf16"),
                 "computed with f32 in one plan and with bf16 in another"),
                (other_model, "the parameter 'fc1.weight' where another has")):
            with self.assertRaisesRegex(zg.InvalidArgument, why):
                zg.Trainer([plan, other])
        for wrong, why in (([], "needs a plan"), (None, "found a NoneType"),
                           ([plan, None], "list of plans, found a NoneType")):
            with self.assertRaisesRegex(zg.InvalidArgument, why):
                zg.Trainer(wrong)


if __name__ == "__main__":
    main()
