"""Compiling PyTorch modules with functions that no exporter writes: special
functions, linear algebra, CTC."""

from package import need

need("torch", "onnx", "onnxscript")

import math  # noqa: E402

import torch  # noqa: E402
import zerograph as zg  # noqa: E402
from function_case import Each, FunctionCase  # noqa: E402
from support import main  # noqa: E402
from torch import distributions as D  # noqa: E402
from torch import linalg, nn, special  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from zerograph._functions import WrittenFunctions  # noqa: E402


def definite(x):
    return x @ x.transpose(-2, -1) + torch.eye(x.shape[-2])


def apart(x):
    """Returns matrices whose inverses are not large, but which need pivots."""
    return (x.tanh() + 2 * torch.eye(x.shape[-1])).flip(-2)


POINTWISE = {
    "lgamma": lambda x: torch.lgamma(x.exp()) + (-x.sigmoid()).lgamma(),
    "gammaln": lambda x: special.gammaln(10 * x.exp()),
    "mvlgamma": lambda x: torch.mvlgamma(x.exp() + 1, 3),
    "digamma": lambda x: x.exp().digamma() + torch.digamma(-x.sigmoid()),
    "psi": lambda x: special.psi(10 * x.exp()),
    "polygamma": lambda x: torch.polygamma(1, x.exp()) + x.exp().polygamma(0),
    "erfinv": lambda x: torch.erfinv(x.tanh()),
    "erfc": lambda x: (2 * x).erfc_().log() + special.erfcx(2 * x),
    "log_ndtr": lambda x: special.log_ndtr(5 * x),
    "ndtri": lambda x: special.ndtri(x.sigmoid()),
    "i0": lambda x: torch.i0(x) + special.i0e(5 * x),
    "i1": lambda x: special.i1(x) + special.i1e(5 * x),
    "hypot": lambda x: torch.hypot(x, x.flip(-1)),
}

MATRICES = {
    "inv": lambda x: linalg.inv(apart(x)) + apart(x).inverse(),
    "solve": lambda x: linalg.solve(apart(x), x),
    "solve_vector": lambda x: linalg.solve(apart(x), x[..., 0]),
    "solve_right": lambda x: linalg.solve(apart(x), x[:, :2], left=False),
    "det": lambda x: torch.det(x).unsqueeze(-1),
    "slogdet": lambda x: x.slogdet().logabsdet.unsqueeze(-1),
    "logdet": lambda x: definite(x).logdet().unsqueeze(-1),
    "power": lambda x: linalg.matrix_power(apart(x), -2) + x.matrix_power(5),
    "exp": lambda x: torch.matrix_exp(x),
    "triangular": lambda x: linalg.solve_triangular(apart(x.flip(-2)).flip(-2), x,
                                                    upper=False),
    "cholesky": lambda x: linalg.cholesky(definite(x)),
    "cholesky_solve": lambda x: torch.cholesky_solve(
        x, linalg.cholesky(definite(x))),
    "qr": lambda x: torch.cat(linalg.qr(x[..., :3]), 1),
    "pinv": lambda x: linalg.pinv(x[..., :2]),
    "cov": lambda x: torch.cov(x[:, 0].T).expand(len(x), -1, -1),
    "corrcoef": lambda x: torch.corrcoef(x[:, 1].T).expand(len(x), -1, -1),
}


def of_three(function):
    """Returns a function of three positive columns."""
    return lambda x: function(*x.exp().unbind(-1)[:3])


Y = torch.linspace(0.1, 0.8, 4)
DISTRIBUTIONS = {
    "student": of_three(lambda a, b, c: D.StudentT(a, b, c).log_prob(Y)),
    "gamma": of_three(lambda a, b, c: D.Gamma(a, b).log_prob(Y) +
                      D.Gamma(a, c).entropy()),
    "negative_binomial": of_three(lambda a, b, c: D.NegativeBinomial(
        a, logits=b).log_prob(torch.arange(4.0))),
    "beta": of_three(lambda a, b, c: D.Beta(a, b).log_prob(Y)),
    "dirichlet": lambda x: D.Dirichlet(x.exp()).log_prob(F.softmax(x, -1)),
    "kl_gamma": of_three(lambda a, b, c: D.kl_divergence(
        D.Gamma(a, b), D.Gamma(b, c))),
    "kl_beta": of_three(lambda a, b, c: D.kl_divergence(
        D.Beta(a, b), D.Beta(b, c))),
    "kl_dirichlet": lambda x: D.kl_divergence(
        D.Dirichlet(x.exp()), D.Dirichlet(x.flip(-1).exp())),
    "normal": lambda x: D.MultivariateNormal(
        x[..., 0], definite(x)).log_prob(Y).unsqueeze(1),
    "normal_of_factor": lambda x: D.MultivariateNormal(
        x[..., 1], scale_tril=(x / 2).exp().tril()).log_prob(Y).unsqueeze(1),
}


class Speech(nn.Module):

    def __init__(self, **options):
        super().__init__()
        self.hidden, self.out = nn.Linear(8, 8), nn.Linear(8, 6)
        self.loss = nn.CTCLoss(**options)

    def forward(self, frames, targets, lengths, sizes):
        scores = self.out(self.hidden(frames).tanh()).log_softmax(-1)
        return self.loss(scores.transpose(0, 1), targets, lengths, sizes).mean()


class ExportFunctions(FunctionCase):

    def setUp(self):
        super().setUp()
        self.matrices = torch.randn(6, 4, 4)
        self.y = torch.randn(6)
        self.speech = {
            "frames": torch.randn(5, 9, 8), "targets": torch.randint(1, 5, (5, 3)),
            "lengths": torch.tensor([7, 4, 7, 6, 2]),
            "sizes": torch.tensor([3, 1, 2, 0, 3])}  # the last does not fit

    def test_special_functions(self):
        self.same(Each(POINTWISE, 4), (torch.randn(6, 4), self.y))

    def test_linear_algebra(self):
        self.same(Each(MATRICES, 4, 4), (self.matrices, self.y))

    def test_the_older_exporter(self):
        functions = {**POINTWISE, **MATRICES}
        self.same(Each(functions, 4, 4, older=True), (self.matrices, self.y))

    def test_distributions(self):
        self.same(Each(DISTRIBUTIONS, 4, 4), (self.matrices, self.y))

    def test_ctc(self):
        self.same(Speech(zero_infinity=True), self.speech, None)
        self.same(Speech(zero_infinity=True, reduction="none", blank=5),
                  self.speech, None)

        def same_lengths(scores, targets):
            each = F.ctc_loss(scores.log_softmax(-1).transpose(0, 1), targets,
                              (9,) * len(targets), (3,) * len(targets),
                              reduction="none")
            return each.mean()
        self.same(nn.Linear(8, 6), (self.speech["frames"],
                                    self.speech["targets"]), same_lengths)

    def test_trains_as_pytorch(self):
        self.trains_as_pytorch(Speech(zero_infinity=True), None, self.speech)
        functions = {**POINTWISE, **MATRICES, **DISTRIBUTIONS}
        names = "digamma", "inv", "cholesky", "student", "normal"
        self.trains_as_pytorch(
            Each({name: functions[name] for name in names}, 4, 4), F.mse_loss,
            {"x": self.matrices, "labels": self.y}, rate=0.02)

    def test_gradients_that_the_loss_takes(self):
        class Penalty(Each):
            def forward(self, x):
                x = x.requires_grad_()
                found = super().forward(x)
                slope, = torch.autograd.grad(found.sum(), x, create_graph=True)
                return found + slope.square().mean((1, 2))
        names = "lgamma", "erfinv", "error", "inv", "slogdet", "cholesky", "qr"
        functions = {**POINTWISE, **MATRICES, "error": torch.erfc}
        self.same(Penalty({name: functions[name] for name in names}, 4, 4),
                  (self.matrices, self.y))

    def test_ranges(self):
        places = torch.cat([
            torch.logspace(-3, 2, 200), torch.linspace(0.2, 9, 200),
            -torch.arange(0.2, 3, 0.29)])
        for function in torch.lgamma, torch.digamma, special.psi:
            self.as_pytorch(function, places)
        self.as_pytorch(lambda x: torch.polygamma(1, x), places[10:400])
        self.as_pytorch(torch.erfinv, torch.linspace(-0.999, 0.999, 99))
        self.as_pytorch(lambda x: x.erfc().log(), torch.linspace(-3, 8, 99))
        self.as_pytorch(special.erfcx, torch.linspace(-3, 0, 50))
        self.as_pytorch(special.erfcx, torch.linspace(0, 20, 50))
        self.as_pytorch(special.ndtri, torch.logspace(-6, -0.01, 99))
        for function in special.i0e, special.i1, special.i1e, torch.i0:
            self.as_pytorch(function, torch.linspace(-6, 6, 50))

    def test_kinds_of_matrices(self):
        self.as_pytorch(torch.det, torch.eye(5)[[1, 0, 4, 2, 3]])
        self.as_pytorch(lambda x: torch.logdet(x), -torch.eye(3))  # it is NaN
        for n in 1, 3, 16:
            wide = torch.randn(2, 2, n, n + 2)
            square, right = wide[..., :n] / n**0.5, wide[..., n:]
            triangle = square.tril(-1) / 4 + torch.eye(n)
            self.as_pytorch(lambda x: linalg.qr(x).R, wide)
            self.as_pytorch(lambda x: linalg.qr(x).Q, wide.mT)
            self.as_pytorch(lambda x: linalg.matrix_exp(20 * (x - x.mT)), square)
            self.as_pytorch(lambda x: linalg.pinv(x), wide)
            for upper in False, True:
                matrix = triangle.mT if upper else triangle
                self.as_pytorch(lambda x, y: linalg.solve_triangular(
                    x, y, upper=upper, unitriangular=True), matrix, right)
                self.as_pytorch(lambda x, y: linalg.solve_triangular(
                    x, y, upper=upper, left=False), matrix, right.mT)
                self.as_pytorch(lambda x: torch.cholesky_inverse(x, upper), matrix)
                self.as_pytorch(lambda x, y: torch.cholesky_solve(y, x, upper),
                                matrix, right)
                # It reads one triangle.
                self.as_pytorch(lambda x: linalg.cholesky(x, upper=upper),
                                definite(square) + 0.1 * triangle)

    def test_kinds_of_ctc(self):
        scores, targets = torch.randn(9, 5, 6), self.speech["targets"]
        targets[:2] = 1  # only a blank tells equal ones apart
        lengths, sizes = self.speech["lengths"] + 2, self.speech["sizes"]
        padded = targets.clone()
        padded[3] = -1
        for options in {}, {"blank": 5}:
            self.as_pytorch(lambda x: F.ctc_loss(
                x.log_softmax(-1), padded, lengths, sizes, reduction="none",
                **options), scores)
        with WrittenFunctions():
            self.assertEqual(F.ctc_loss(scores, targets, lengths - 5, sizes),
                             math.inf)
        self.as_pytorch(lambda x: F.ctc_loss(
            x, targets[:, :2], (9,) * 5, (2,) * 5), scores - 3)
        self.as_pytorch(lambda x: F.ctc_loss(x[:, 0].log_softmax(-1), targets[0],
                                             (9,), (3,)), scores)

    def test_ctc_of_labels_that_a_mask_chooses(self):
        """Speech models of transformers have such; the mask may have holes."""
        scores, targets = torch.randn(9, 5, 6), self.speech["targets"].clone()
        targets[0, 0] = targets[1, 1] = targets[2, :] = targets[4, 1:] = -100
        mask = targets != -100
        for choose in (lambda: targets[mask], lambda: targets.masked_select(mask),
                       lambda: torch.masked_select(targets, mask)):
            self.as_pytorch(lambda x: F.ctc_loss(
                x.log_softmax(-1), choose(), self.speech["lengths"], mask.sum(1),
                reduction="none"), scores)
        with WrittenFunctions():
            loss = F.ctc_loss(scores, targets[mask], self.speech["lengths"],
                              self.speech["sizes"], reduction="none")
            self.assertTrue(torch.equal(
                loss.isnan(), mask.sum(1) != self.speech["sizes"]))
            for other in (lambda: targets[mask] + 1, lambda: targets[mask].sum(),
                          lambda: F.cross_entropy(scores[0], targets[mask])):
                with self.assertRaisesRegex(zg.Error, "targets of ctc_loss alone"):
                    other()

    def test_refusals(self):
        self.refused(lambda x: linalg.eigvalsh(definite(x)),
                     "^torch.linalg.eigvalsh: no exporter writes it.*as an input")
        self.refused(lambda x: torch.svd(x)[1], "^torch.svd: no exporter")
        self.refused(lambda x: linalg.matrix_norm(x, "nuc")[:, None],
                     "matrix_norm of order 'nuc'")
        self.refused(lambda x: linalg.qr(x.mT, "complete")[0],
                     "expected \"reduced\"")
        self.refused(lambda x: torch.polygamma(2, x.exp()), "orders 0 and 1 alone")
        self.refused(lambda x: linalg.pinv(x, rtol=0.1),
                     "pinv with more than a matrix")
        self.refused(lambda x: linalg.inv(definite(x)),
                     "linalg.inv of a matrix of size 65: .* up to 64",
                     torch.randn(6, 65, 2))
        self.refused(lambda x: linalg.cholesky(definite(x.flatten(1)))[:, :1],
                     "cholesky of a matrix whose size may vary.*inputs of shape .sets")

    def test_refusals_of_ctc(self):
        def refused(text, targets, *lengths, dynamic=()):
            def loss(scores, targets):
                return F.ctc_loss(scores.log_softmax(-1).transpose(0, 1), targets,
                                  *lengths)
            with self.assertRaisesRegex(zg.Error, text):
                self.export(nn.Linear(8, 6), {
                    "input": self.speech["frames"], "targets": targets}, loss,
                    dynamic=dict(dynamic))
        targets = self.speech["targets"]
        refused("in one row.*a row per sample", targets.flatten(), (9,) * 5,
                (3,) * 5)
        refused("not all the same.*an input", targets, (9,) * 5, (3, 2, 3, 3, 3))
        refused("frames that may vary.*Pad", targets, (9,) * 5, (3,) * 5,
                dynamic={"input": {1: "frames"}})


if __name__ == "__main__":
    main()
