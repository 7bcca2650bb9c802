"""A trainer of several plans beside PyTorch, which takes batches as they come."""

import copy
import warnings

from package import need

need("torch", "transformers")

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
import transformers  # noqa: E402
import zerograph as zg  # noqa: E402
from export_models import (ExportCase, ends_as_pytorch,  # noqa: E402
                           steps_as_pytorch)
from support import main  # noqa: E402


class Recurrent(torch.nn.Module):

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(16, 8)
        self.lstm = torch.nn.LSTM(8, 8, batch_first=True)
        self.norm = torch.nn.BatchNorm1d(8)
        self.head = torch.nn.Linear(8, 4)

    def forward(self, ids):
        return self.head(self.norm(self.lstm(self.embed(ids))[0][:, -1]))


def small_models():
    """Models of transformers that take tokens and labels."""
    sizes = {"vocab_size": 48, "hidden_size": 16, "intermediate_size": 24,
             "num_hidden_layers": 2, "num_attention_heads": 2,
             "max_position_embeddings": 32}
    none = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    yield transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=48, n_embd=16, n_layer=2, n_head=2, n_positions=32,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0))
    yield transformers.LlamaForCausalLM(transformers.LlamaConfig(
        **sizes, num_key_value_heads=1))
    yield transformers.BertForMaskedLM(transformers.BertConfig(**sizes, **none))
    yield transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=48, d_model=16, d_kv=8, d_ff=24, num_layers=1, num_heads=2,
        dropout_rate=0.0, decoder_start_token_id=0))


class Shapes(ExportCase):

    def compare(self, module, batches, loss=None):
        """Steps of batches of all shapes, in turn, are PyTorch's."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plans = [zg.compile(module, batch, loss, optimizer="sgd", lr=0.1)
                     for batch in batches]
        theirs = copy.deepcopy(module).train()
        optimizer = torch.optim.SGD(theirs.parameters(), 0.1)
        with zg.Trainer(plans) as trainer:
            for batch in [*batches, *reversed(batches)]:
                steps_as_pytorch(self, trainer, theirs, optimizer, batch, loss)
            if loss is None:
                ends_as_pytorch(trainer, theirs)

    def test_lengths(self):
        for model in small_models():
            with self.subTest(model=type(model).__name__):
                batches = []
                for samples, length in (4, 12), (4, 7), (1, 12):
                    ids = torch.randint(1, 48, (samples, length))
                    batches.append({"input_ids": ids,
                                    "attention_mask": torch.ones_like(ids),
                                    "labels": ids})
                self.compare(model.train(), batches)

    def test_last_batch(self):
        module = Recurrent().train()
        self.compare(module, [
            {"ids": torch.randint(0, 16, (samples, length)),
             "labels": torch.randint(0, 4, (samples,))}
            for samples, length in ((6, 9), (6, 4), (2, 9))], F.cross_entropy)


if __name__ == "__main__":
    main()
