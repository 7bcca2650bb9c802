"""What writes into a live trainer, beside the same in PyTorch."""

from package import need

need("torch", "onnx", "onnxscript")

import numpy as np  # noqa: E402
import torch  # noqa: E402
import zerograph as zg  # noqa: E402
from support import Case, main  # noqa: E402
from torch import nn  # noqa: E402


class Writing(Case):

    def test_clamped_weights(self):
        """A critic whose weights are clamped after each step (WGAN)."""
        torch.manual_seed(0)
        critic = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
        batches = torch.randn(10, 16, 8)
        signs = torch.tensor([1.0, -1.0]).repeat(8)[:, None]

        def loss(score, sign):
            return (score * sign).mean()

        plan = zg.compile(critic, (batches[0], signs), loss, ranks=2, zero=2,
                          lr=0.01)
        optimizer = torch.optim.AdamW(critic.parameters(), 0.01)
        with zg.Trainer(plan) as trainer:
            for x in batches:
                ours = trainer.step((x, signs))
                trainer.load_state_dict({
                    name: array.clip(-0.1, 0.1)
                    for name, array in trainer.state_dict().items()})
                optimizer.zero_grad()
                theirs = loss(critic(x), signs)
                theirs.backward()
                optimizer.step()
                with torch.no_grad():
                    for one in critic.parameters():
                        one.clamp_(-0.1, 0.1)
                # It is the difference of means that are much larger.
                np.testing.assert_allclose(ours, theirs.item(), rtol=2e-5,
                                           atol=2e-6)
        self.assertEqual(max(one.abs().max() for one in critic.parameters()),
                         np.float32(0.1))


if __name__ == "__main__":
    main()
