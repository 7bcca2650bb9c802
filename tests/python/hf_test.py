"""zerograph.hf: transformers.Trainer's numbers from the same arguments."""

import copy
import os
import unittest.mock
import warnings

from package import need

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")
need("torch", "transformers", "accelerate", "onnxscript")

import torch  # noqa: E402
import transformers  # noqa: E402
import zerograph as zg  # noqa: E402
from hf_case import HfCase  # noqa: E402
from support import Case, main  # noqa: E402
from zerograph import _hf_arguments, hf  # noqa: E402


class Rows(torch.utils.data.Dataset):

    def __init__(self, count):
        random = torch.Generator().manual_seed(1)
        self.ids = torch.randint(3, 64, (count, 12), generator=random)

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": (self.ids[i, 0] > 30).long(),
                "attention_mask": torch.ones(12, dtype=torch.long),
                "note": i}


class Videos(Rows):
    """Hides other patches of each video, but as many."""

    def __init__(self, count, hidden=5):
        random = torch.Generator().manual_seed(1)
        self.ids = torch.randn(count, 4, 3, 16, 16, generator=random)
        self.hidden = torch.rand(count, 8, generator=random).argsort(1) < hidden

    def __getitem__(self, i):
        return {"pixel_values": self.ids[i], "bool_masked_pos": self.hidden[i]}


class Seen(transformers.TrainerCallback):

    def __init__(self):
        self.events = []

    def on_step_end(self, args, state, control, **_):
        self.events.append(state.global_step)
        control.should_training_stop |= state.global_step == 5


class HuggingFace(HfCase):
    ARGUMENTS = {"weight_decay": 0.01, "warmup_steps": 2}

    def test_the_numbers_are_those_of_transformers(self):
        theirs = copy.deepcopy(self.model)
        trainer = hf.Trainer(self.model, self.arguments(), Rows(36), Rows(20))
        done = trainer.train()
        other = transformers.Trainer(
            theirs, self.arguments(), train_dataset=Rows(36),
            eval_dataset=Rows(20))
        self.assertAlmostEqual(done.training_loss, other.train().training_loss, 5)
        self.assertEqual(done.global_step, other.state.global_step)
        ours = trainer.state.log_history
        self.assertEqual(len(ours), len(other.state.log_history))
        for mine, one in zip(ours, other.state.log_history):
            self.assertEqual(mine["step"], one["step"])
            for key in ("loss", "eval_loss", "grad_norm", "learning_rate"):
                self.assertEqual(key in mine, key in one, (key, mine, one))
                if key in mine:
                    self.assertAlmostEqual(mine[key], one[key], 5, key)
        for (name, mine), one in zip(self.model.named_parameters(),
                                     theirs.parameters()):
            self.assertLess(float((mine - one).abs().max()), 1e-5, name)
        # After training too; and the model can be saved and read again.
        self.assertAlmostEqual(trainer.evaluate()["eval_loss"],
                               ours[-1]["eval_loss"], 6)
        trainer.save_model()
        again = type(self.model).from_pretrained(self.path("out"))
        self.assertTrue(torch.equal(again.classifier.weight,
                                    self.model.classifier.weight))

    def test_masks_of_as_many(self):
        """Each batch of the run decides what the first does, and those of an
        evaluation too."""
        model = transformers.VideoMAEForPreTraining(transformers.VideoMAEConfig(
            image_size=16, patch_size=8, num_frames=4, hidden_size=32,
            num_hidden_layers=1, num_attention_heads=4, intermediate_size=48,
            decoder_hidden_size=16, decoder_num_hidden_layers=1,
            decoder_num_attention_heads=2, decoder_intermediate_size=32))
        theirs = copy.deepcopy(model)
        trainer = hf.Trainer(model, self.arguments(), Videos(32), Videos(20),
                             fixed="bool_masked_pos")
        done = trainer.train()
        other = transformers.Trainer(
            theirs, self.arguments(eval_strategy="no"), train_dataset=Videos(32))
        self.assertAlmostEqual(done.training_loss, other.train().training_loss, 5)
        with self.assertRaisesRegex(zg.InvalidArgument, "'bool_masked_pos' decides "
                                    "at modeling_videomae.py.*, is 16, and was 24"):
            trainer.evaluate(Videos(8, hidden=6))

    def test_ranks_and_accumulation(self):
        one = hf.Trainer(copy.deepcopy(self.model), self.arguments(), Rows(64))
        two = hf.Trainer(self.model, self.arguments(
            per_device_train_batch_size=2, gradient_accumulation_steps=2),
            Rows(64), ranks=2, zero=2)
        self.assertAlmostEqual(one.train().training_loss,
                               two.train().training_loss, 5)

    def test_a_micro_batch_that_fits(self):
        step = {"global_batch": 32, "micro_batch": "auto"}
        whole = hf.Trainer(self.model, self.arguments(), Rows(64),
                           memory="1GiB", **step).plan
        self.assertEqual((whole.samples, whole.facts["accumulate"]), (32, 1))
        limit = whole.memory["device"] - 1
        less = hf.Trainer(self.model, self.arguments(), Rows(64), memory=limit,
                          **step).plan
        self.assertEqual((less.samples, less.facts["accumulate"]), (32, 2))
        with self.assertRaisesRegex(zg.InvalidArgument, "give global_batch="):
            hf.Trainer(self.model, self.arguments(), Rows(64),
                       micro_batch="auto", memory="1GiB")

    def test_callbacks_and_checkpoints(self):
        seen = Seen()
        whole = hf.Trainer(copy.deepcopy(self.model), self.arguments(),
                           Rows(64)).train()
        first = hf.Trainer(self.model, self.arguments(
            save_strategy="steps", save_steps=5), Rows(64), callbacks=[seen])
        self.assertEqual(first.train().global_step, 5)
        self.assertEqual(seen.events, [1, 2, 3, 4, 5])
        second = hf.Trainer(self.model, self.arguments(), Rows(64))
        done = second.train(resume_from_checkpoint=True)
        self.assertEqual(done.global_step, 16)
        self.assertEqual(whole.global_step, 16)

    def test_activations_are_computed_again(self):
        trainer = hf.Trainer(self.model, self.arguments(
            gradient_checkpointing=True,
            gradient_checkpointing_kwargs={"use_reentrant": False}), Rows(64))
        self.assertEqual(trainer.plan.facts["recompute"], "units")

    def test_where_it_reports_to(self):
        """transformers' own callbacks say what they need."""
        class Reports(transformers.TrainerCallback):
            logged = []

            def on_log(self, args, state, control, logs, **_):
                self.logged.append(logs)

        with unittest.mock.patch.dict(
                transformers.integrations.integration_utils
                .INTEGRATION_TO_CALLBACK, {"tensorboard": Reports}):
            hf.Trainer(self.model, self.arguments(report_to="tensorboard"),
                       Rows(16)).train()
        self.assertEqual(["loss" in one for one in Reports.logged],
                         [True] * 2 + [False])
        self.assertIn("train_loss", Reports.logged[-1])

    def test_every_argument_is_accounted_for(self):
        for changed, part in (
                ({"neftune_noise_alpha": 5.0}, "neftune_noise_alpha=5.0"),
                ({"label_smoothing_factor": 0.1},
                 "label_smoothing_factor=0.1, give loss="),
                ({"optim": "adafactor"}, "optim")):
            with self.assertRaisesRegex(zg.InvalidArgument, part):
                hf.Trainer(self.model, self.arguments(**changed), Rows(64),
                           Rows(8))
        known = _hf_arguments._TAKEN | set(_hf_arguments._NO_EFFECT)
        self.assertFalse(_hf_arguments._TAKEN & set(_hf_arguments._NO_EFFECT))
        self.assertIn("learning_rate", known)
        with self.assertRaisesRegex(zg.InvalidArgument, "has 4 samples, and a"):
            hf.Trainer(self.model, self.arguments(), Rows(4))


class Mixtures(Case):
    """Models whose tokens choose experts, which PyTorch cannot export."""

    def trained(self, model, batch):
        """Returns the losses of a run and its weights, and those of PyTorch."""
        theirs = copy.deepcopy(model)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            plan = zg.compile(model.train(), batch, optimizer="sgd", lr=0.1)
        self.assertIn("a mixture of 4 experts: in the file each computes every "
                      "token, 2 times the products of the 2 that a token chooses",
                      [str(one.message) for one in said])
        with zg.Trainer(plan) as trainer:
            losses = [float(trainer.step(batch)) for _ in range(2)]
            trainer.load_into(model)
        sgd = torch.optim.SGD(theirs.parameters(), lr=0.1)
        wanted = []
        for _ in range(2):
            sgd.zero_grad()
            loss = theirs(**batch).loss
            loss.backward()
            sgd.step()
            wanted.append(float(loss.detach()))
        return losses, wanted, dict(model.named_parameters()), theirs

    def test_each_computes_every_token(self):
        torch.manual_seed(0)
        ids = torch.randint(0, 64, (4, 8))
        batch = {"input_ids": ids, "labels": ids.clone()}
        sizes = dict(
            vocab_size=64, hidden_size=32, intermediate_size=16,
            num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2,
            num_local_experts=4, num_experts_per_tok=2, use_cache=False)
        for model in (  # the second has biases and a gate of its own
                transformers.MixtralForCausalLM(
                    transformers.MixtralConfig(**sizes)),
                transformers.GptOssForCausalLM(
                    transformers.GptOssConfig(**sizes, head_dim=8))):
            losses, wanted, ours, theirs = self.trained(model, batch)
            for one, other in zip(losses, wanted):
                self.assertAlmostEqual(one, other, 5)
            for name, one in theirs.named_parameters():
                self.assertTrue(torch.allclose(one, ours[name], 1e-4, 1e-5),
                                name)


if __name__ == "__main__":
    main()
