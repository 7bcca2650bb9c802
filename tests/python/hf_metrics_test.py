"""zerograph.hf: metrics, predictions and the best model as transformers has
them."""

import copy
import os

from package import need

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")
need("torch", "transformers", "accelerate", "onnxscript")

import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
import zerograph as zg  # noqa: E402
from hf_case import Against, Rows, padded  # noqa: E402
from support import main  # noqa: E402
from zerograph import hf  # noqa: E402


class Tokenizer:
    """Pads nothing, and leaves a file."""

    padding_side = "right"

    def pad(self, items, **_):
        return {name: torch.stack([one[name] for one in items])
                for name in items[0]}

    def save_pretrained(self, folder):
        with open(os.path.join(folder, "tokenizer"), "w", encoding="utf-8"):
            pass


def accuracy(found):
    labels = found.label_ids
    right = (np.argmax(found.predictions, -1) == labels)[labels != -100]
    return {"accuracy": right.mean(), "count": len(labels)}


class Metrics(Against):

    def test_metrics_and_predictions(self):
        ours, theirs = self.both({}, given=lambda: {"compute_metrics": accuracy})
        for mine, one in zip(
                (line for line in ours.state.log_history
                 if "eval_loss" in line),
                (line for line in theirs.state.log_history
                 if "eval_loss" in line), strict=True):
            self.equal(mine, one)
        self.equal(ours.evaluate(), theirs.evaluate())
        ragged = Rows(8, lengths=(12, 5))
        for one in (ours, theirs):
            one.data_collator = padded
            one.args.per_device_eval_batch_size = 1
        ours.model.train()
        mine, one = ours.predict(ragged), theirs.predict(ragged)
        self.assertTrue(ours.model.training)
        self.assertEqual(mine.predictions.shape, (8, 12, 2))
        np.testing.assert_allclose(mine.predictions, one.predictions, 0, 1e-5)
        np.testing.assert_array_equal(mine.label_ids, one.label_ids)
        self.equal(mine.metrics, one.metrics)
        self.assertIn("test_accuracy", mine.metrics)

    def test_what_metrics_take(self):
        seen = []

        def metrics(found):
            seen.append([found.predictions, found.label_ids, found.inputs,
                         found.losses])
            return {}

        ours, theirs = self.both(
            {"include_for_metrics": ["inputs", "loss"], "num_train_epochs": 1,
             "eval_strategy": "no"},
            {"a": Rows(8), "b": Rows(7, seed=3)}, lambda: {
                "compute_metrics": metrics,
                "preprocess_logits_for_metrics": lambda found, _: found[..., 0]})
        self.equal(ours.evaluate(), theirs.evaluate())
        self.assertEqual(len(seen), 4)
        for mine, one in zip(seen[:2], seen[2:]):
            self.assertEqual(len(mine[0].shape), 2)
            for a, b in zip(mine, one):
                np.testing.assert_allclose(a, b, 0, 1e-5)
        for one in (ours, theirs):
            one.args.eval_do_concat_batches = False
        self.equal(ours.evaluate(Rows(8)), theirs.evaluate(Rows(8)))
        self.assertEqual(len(seen[-2][0]), 2)  # of two batches
        for one in (ours, theirs):
            one.args.prediction_loss_only = True
        self.equal(ours.predict(Rows(8)).metrics, theirs.predict(Rows(8)).metrics)
        self.assertEqual(len(seen), 6)

    def test_a_model_that_generates(self):
        self.model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
            vocab_size=64, hidden_size=32, intermediate_size=48,
            num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2))
        ours, theirs = self.both(
            {"num_train_epochs": 1},
            given=lambda: {"compute_metrics": accuracy})
        self.assertTrue(ours.model.config.use_cache)
        mine, one = ours.predict(Rows(7)), theirs.predict(Rows(7))
        np.testing.assert_allclose(mine.predictions, one.predictions, 0, 1e-4)
        self.equal(mine.metrics, one.metrics)

    def test_without_evaluation_in_the_plan(self):
        trainer = hf.Trainer(self.model, self.arguments(), Rows(32))
        with self.assertRaisesRegex(zg.InvalidArgument, "give eval_dataset="):
            trainer.evaluate()
        with torch.no_grad():
            wanted = self.model(**padded([Rows(6)[i] for i in range(6)])).loss
        self.assertAlmostEqual(trainer.evaluate(Rows(6))["eval_loss"],
                               float(wanted), 5)

    def test_another_loss_than_the_models(self):
        def smoothed(logits, labels):
            return torch.nn.functional.cross_entropy(
                logits.flatten(0, 1), labels.flatten(), label_smoothing=0.1)

        mine = hf.Trainer(copy.deepcopy(self.model), self.arguments(), Rows(32),
                          Rows(20, seed=2), loss=smoothed,
                          compute_metrics=accuracy)
        theirs = transformers.Trainer(
            self.model, self.arguments("other"), train_dataset=Rows(32),
            eval_dataset=Rows(20, seed=2), compute_metrics=accuracy,
            compute_loss_func=lambda output, labels, **_: smoothed(
                output.logits, labels))
        self.assertAlmostEqual(mine.train().training_loss,
                               theirs.train().training_loss, 4)
        self.equal(mine.evaluate(), theirs.evaluate())

    def test_a_loss_beside_the_model(self):
        class Line(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = torch.nn.Linear(3, 1)

            def forward(self, x):
                return self.fc(x)

        items = [{"x": torch.randn(3), "y": torch.randn(1)} for _ in range(10)]
        model = Line()
        trainer = hf.Trainer(model, self.arguments(), items[:8], items,
                             loss=torch.nn.functional.mse_loss,
                             compute_metrics=lambda found: {
                                 "mse": np.mean((found.predictions -
                                                 found.label_ids) ** 2)})
        trainer.train()
        found = trainer.evaluate()
        self.assertAlmostEqual(found["eval_mse"], found["eval_loss"], 5)
        found = trainer.predict(items)
        self.assertAlmostEqual(found.metrics["test_mse"],
                               found.metrics["test_loss"], 5)

        class Loss(Line):
            def forward(self, x, labels):
                return torch.nn.functional.mse_loss(self.fc(x), labels)

        items = [{"x": one["x"], "labels": one["y"]} for one in items]
        with self.assertRaisesRegex(zg.InvalidArgument, "its loss alone"):
            hf.Trainer(Loss(), self.arguments(), items[:8], items,
                       compute_metrics=accuracy).train()


class Best(Against):

    def setUp(self):
        super().setUp()
        self.best = {"eval_strategy": "steps", "eval_steps": 2,
                     "save_strategy": "steps", "save_steps": 2,
                     "learning_rate": 0.02, "load_best_model_at_end": True}

    def folders(self, trainer):
        return sorted(name for name in os.listdir(trainer._checkpoints())
                      if name.startswith("step-"))

    def check_best(self, ours, theirs, left):
        for name in ("global_step", "best_global_step"):
            self.assertEqual(getattr(ours.state, name),
                             getattr(theirs.state, name), name)
        self.assertAlmostEqual(ours.state.best_metric, theirs.state.best_metric, 4)
        best = f"step-{ours.state.best_global_step:08d}"
        self.assertEqual(os.path.basename(ours.state.best_model_checkpoint), best)
        self.assertEqual(self.folders(ours), sorted(
            name + end for name in {best, *left} for end in ("", ".json")))
        self.assertLess(ours.state.best_global_step, ours.state.global_step)
        for (name, mine), one in zip(ours.model.named_parameters(),
                                     theirs.model.parameters()):
            if not name.endswith("key.bias"):  # its gradients are rounding
                self.assertLess(float((mine - one).abs().max()), 1e-4, name)
        again = ours.evaluate()
        key = ours.args.metric_for_best_model
        key = key if key.startswith("eval_") else f"eval_{key}"
        self.assertAlmostEqual(again[key], ours.state.best_metric, 5)

    def test_the_best_is_loaded_after_an_early_stop(self):
        given = lambda: {"callbacks": [  # noqa: E731
            transformers.EarlyStoppingCallback(early_stopping_patience=2)]}
        ours, theirs = self.both(
            {**self.best, "num_train_epochs": 20, "save_total_limit": 1},
            Rows(20, seed=2, right=8), given)
        self.assertLess(ours.state.global_step, 20)
        self.check_best(ours, theirs, [])
        # A run can go on from what is left.
        more = hf.Trainer(ours.model, self.arguments(num_train_epochs=20),
                          Rows(32), Rows(20, seed=2))
        stop = ours.state.best_global_step + 1
        more.args.max_steps = stop
        self.assertEqual(more.train(resume_from_checkpoint=True).global_step, stop)
        self.assertEqual(more.state.best_metric, ours.state.best_metric)
        self.assertEqual(more.state.log_history[0], ours.state.log_history[0])

    def test_another_metric_of_one_of_two_datasets(self):
        ours, theirs = self.both(
            {**self.best, "metric_for_best_model": "eval_b_accuracy",
             "greater_is_better": True, "save_strategy": "best",
             "save_total_limit": 2, "num_train_epochs": 5},
            {"a": Rows(8), "b": Rows(20, seed=2, right=10)},
            lambda: {"compute_metrics": accuracy})
        left = [f"step-{int(name.split('-')[1]):08d}" for name in
                os.listdir(theirs.args.output_dir) if "checkpoint-" in name]
        self.check_best(ours, theirs, left)

    def test_what_finds_no_best_model_is_refused(self):
        arguments = self.arguments(**self.best)
        with self.assertRaisesRegex(
                zg.InvalidArgument, "load_best_model_at_end=True compares "
                "evaluations: give eval_dataset="):
            hf.Trainer(self.model, arguments, Rows(32))
        arguments = self.arguments(save_strategy="best")
        with self.assertRaisesRegex(zg.InvalidArgument, "save_strategy='best'"):
            hf.Trainer(self.model, arguments, Rows(32), Rows(8))


class Events(transformers.TrainerCallback):

    def __init__(self):
        self.seen = []

    def on_epoch_begin(self, args, state, control, **_):
        self.seen.append(("epoch", state.global_step))

    def on_step_begin(self, args, state, control, **_):
        self.seen.append(("step", state.global_step))

    def on_evaluate(self, args, state, control, metrics, **_):
        self.seen.append(("evaluate", state.global_step))


class Scripts(Against):
    """Fine-tuning scripts call methods besides."""

    def test_the_end_of_a_script(self):
        class Texts(Rows):
            def __getitem__(self, i):
                return {**super().__getitem__(i), "text": "some words"}

        events = Events()
        trainer = hf.Trainer(
            self.model, self.arguments(max_steps=6, save_strategy="steps"),
            train_dataset=Texts(32), eval_dataset=Texts(8),
            data_collator=transformers.DataCollatorForTokenClassification(
                Tokenizer()), optimizers=(None, None), model_init=None)
        trainer.add_callback(events)
        found = trainer.train().metrics
        self.assertEqual(events.seen, [
            ("epoch", 0), *(("step", i) for i in range(4)), ("evaluate", 4),
            ("epoch", 4), ("step", 4), ("step", 5), ("evaluate", 6)])
        trainer.remove_callback(events)
        trainer.log_metrics("train", found)
        trainer.save_metrics("train", found)
        trainer.save_state()
        trainer.save_model()
        trainer.create_model_card()
        self.assertTrue(trainer.is_world_process_zero())
        for name in ("train_results.json", "all_results.json",
                     "trainer_state.json", "tokenizer", "model.safetensors",
                     "README.md"):
            self.assertTrue(os.path.exists(self.path("out", name)), name)
        with self.assertRaisesRegex(zg.InvalidArgument,
                                    "resume_from_checkpoint=True"):
            trainer.train()

    def test_what_is_taken_by_another_name(self):
        for given, part in (
                ({"model_init": print}, "model_init= is not taken here: call it"),
                ({"optimizers": (1, 2)}, "optimizers= is not.* optim="),
                ({"compute_loss_func": print}, "give loss="),
                ({"tokenizer": 1}, "give it as processing_class="),
                ({"no_such": 1}, "no_such")):
            with self.assertRaisesRegex(zg.InvalidArgument, part):
                hf.Trainer(self.model, self.arguments(), Rows(32), **given)

        class Weighted(hf.Trainer):
            def compute_loss(self, model, inputs):
                return 0

        with self.assertRaisesRegex(zg.InvalidArgument,
                                    "Weighted has a method compute_loss"):
            Weighted(self.model, self.arguments(), Rows(32))
        with self.assertRaisesRegex(zg.InvalidArgument,
                                    "the dataset is a function"):
            hf.Trainer(self.model, self.arguments(), padded, Rows(32))

    def test_without_training(self):
        trainer = hf.Trainer(self.model, self.arguments(), eval_dataset=Rows(9))
        self.assertIn("eval_loss", trainer.evaluate())
        with self.assertRaisesRegex(zg.InvalidArgument, "give train_dataset="):
            trainer.train()


if __name__ == "__main__":
    main()
