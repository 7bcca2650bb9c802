"""zerograph.hf: the batches of an epoch, of one length or of several."""

import copy
import os
import warnings

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


class Batches(Against):

    def test_every_epoch_has_the_order_of_transformers(self):
        ours, theirs = self.both({"train_sampling_strategy": "random",
                                  "logging_steps": 1, "data_seed": 7})
        losses = [[one["loss"] for one in trainer.state.log_history
                   if "loss" in one] for trainer in (ours, theirs)]
        self.assertEqual(len(losses[0]), 8)
        for mine, one in zip(*losses):
            self.assertAlmostEqual(mine, one, 3)

    def test_tied_weights_are_evaluated(self):
        model = transformers.BertForMaskedLM(self.model.config)
        trainer = hf.Trainer(model, self.arguments(), Rows(16), Rows(6))
        batch = {name: torch.stack([Rows(6)[i][name] for i in range(6)])
                 for name in Rows(1)[0]}
        with torch.no_grad():
            loss = model.eval()(**batch).loss.item()
        self.assertAlmostEqual(trainer.evaluate()["eval_loss"], loss, 5)

    def test_an_epoch_ends_with_a_smaller_step(self):
        ours, theirs = self.both({"logging_steps": 1}, train=Rows(21))
        losses = [[one["loss"] for one in trainer.state.log_history
                   if "loss" in one] for trainer in (ours, theirs)]
        self.assertEqual(len(losses[0]), 6)
        np.testing.assert_allclose(*losses, rtol=1e-4)
        trainer = hf.Trainer(self.model, self.arguments(
            eval_strategy="no", dataloader_drop_last=True), Rows(21))
        self.assertEqual(len(trainer.get_train_dataloader()), 2)

    def test_a_smaller_step_is_accumulated(self):
        trainer = hf.Trainer(self.model, self.arguments(
            eval_strategy="no", gradient_accumulation_steps=2), Rows(28))
        self.assertEqual([(plan.samples, plan.facts["micro_batch"])
                          for plan in trainer.plans], [(16, 8), (12, 6)])
        trainer.train()
        self.assertEqual(trainer.state.global_step, 4)

    def test_samples_that_make_no_step_are_named(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaisesRegex(UserWarning, "the last 5 of the 21 of "
                                        "train_dataset are left out"):
                hf.Trainer(self.model, self.arguments(eval_strategy="no"),
                           Rows(21), ranks=2)

    def test_nothing_to_go_on_from(self):
        trainer = hf.Trainer(self.model, self.arguments(eval_strategy="no"),
                             Rows(16))
        with self.assertRaisesRegex(zg.InvalidArgument,
                                    "there is no checkpoint in .*out"):
            trainer.train(resume_from_checkpoint=True)

    def test_a_batch_of_another_length_is_refused(self):
        trainer = hf.Trainer(self.model, self.arguments(eval_strategy="no"),
                             Rows(16, lengths=[12] * 8 + [9] * 8), None, padded)
        with self.assertRaisesRegex(zg.InvalidArgument, "samples of shape "
                                    r"\[9\], and the first had \[12\].*pad"):
            trainer.train()

    def test_batches_of_several_lengths(self):
        """Have the losses, and evaluations, that they have in transformers."""
        rows = Rows(32, lengths=[12] * 8 + [9] * 8)
        held = Rows(12, lengths=[9] * 6 + [12] * 6, seed=2)
        logs = []
        for kind, folder, given in ((hf.Trainer, "out", {"lengths": (9, 14, 20)}),
                                    (transformers.Trainer, "other", {})):
            trainer = kind(copy.deepcopy(self.model),
                           self.arguments(folder, logging_steps=1),
                           train_dataset=rows, eval_dataset=held,
                           data_collator=padded, **given)
            trainer.train()
            logs.append([one.get("loss", one.get("eval_loss"))
                         for one in trainer.state.log_history[:-1]])
        self.assertEqual(len(logs[0]), 8 + 2)
        np.testing.assert_allclose(*logs, rtol=1e-4)

    def test_lengths_that_are_grouped(self):
        rows = Rows(128, lengths=(12, 9))
        trainer = hf.Trainer(
            self.model, self.arguments(
                eval_strategy="no", num_train_epochs=1, train_sampling_strategy="group_by_length"),
            rows, None, padded, lengths=(9, 12))
        found = [batch["input_ids"].shape[1]
                 for batch in trainer.get_train_dataloader()]
        self.assertEqual(set(found), {9, 12})
        trainer.train()

    def test_lengths_without_a_plan_are_named(self):
        trainer = hf.Trainer(self.model, self.arguments(eval_strategy="no"),
                             Rows(16, lengths=[9] * 8 + [12] * 8), None, padded,
                             lengths=(10, 8))
        with self.assertRaisesRegex(
                zg.InvalidArgument, r"samples of shape \[12\], and there are plans "
                r"for \[10\], \[8\]: add this one to lengths="):
            trainer.train()
        for wrong in 12, "12", [], [0], [12.5], 12.5, [12, "a"]:
            with self.assertRaisesRegex(zg.InvalidArgument, "numbers of tokens"):
                hf.Trainer(self.model, self.arguments(eval_strategy="no"),
                           Rows(16), lengths=wrong)


if __name__ == "__main__":
    main()
