"""Checks of values, which a file cannot make."""

import sys

from package import need

need("torch", "onnx", "onnxscript")

from export_models import Classifier, ExportCase  # noqa: E402
from support import main  # noqa: E402
from zerograph._checks import passing  # noqa: E402


class ExportChecks(ExportCase):

    def test_what_a_check_needs(self):
        """A value that decides about raising alone is to be what raises nothing;
        another one stays what it is."""
        asked = []

        class Value:
            def __bool__(self):
                asked.append(passing(sys._getframe(1)))
                return bool(asked[-1])

        def both(a, b):
            if a and b:
                raise ValueError

        def either(a, b):
            if a or not b:
                raise ValueError("%s" % id(a))

        def neither(a, b):
            assert not a and b, "no"

        def otherwise(a, b):
            if b and not a:
                pass
            else:
                raise ValueError

        def branches(a, b):
            if a:
                return 1
            elif not b:
                raise ValueError

        def handles(a, b):
            try:
                if a:
                    raise ValueError
            except ValueError:
                pass
            if b:
                a = b
            return a

        def computes(a, b):
            number = not a
            return number if b else 2 * number

        for function, expected in (
                (both, [False]), (either, [False, True]),
                (neither, [False, True]), (otherwise, [True, False]),
                (branches, [None, True]), (handles, [None, None]),
                (computes, [None, None])):
            asked.clear()
            function(Value(), Value())
            self.assertEqual(asked, expected, function.__name__)

    def test_checks_that_raise(self):
        """They are passed; a file cannot make them."""
        def checked(check):
            class Checked(Classifier):
                def forward(self, x):
                    check(x)
                    return super().forward(x)
            return Checked()

        def at_once(x):
            if x.max() > 1000:
                raise ValueError("x is too large")

        def by_parts(x):
            if x.isnan().any() or (x.abs().max().item() > 1000 and
                                   x.isinf().any().item()):
                text = "x has no"
                raise ValueError(text)

        def otherwise(x):
            if not x.isnan().any() and (x.abs() < 1000).all():
                x = x * 1
            else:
                raise ValueError("x")

        def asserted(x):
            assert not x.isnan().any() and x.sum() < 1000, "x is too large"
            if len(x) > 10**6:
                raise ValueError("x is too long")

        for check in at_once, by_parts, otherwise, asserted:
            with self.subTest(check.__name__):
                found = self.export(checked(check), (self.x, self.labels))
                self.assertTrue(found.ok, found)

        def mixed(x):
            if x.sum() > 1000 or not x.isnan().any():
                raise ValueError("x")

        def forked(x):
            if x.sum() > 1000:
                return
            raise ValueError("x")

        with self.assertRaisesRegex(ValueError, "x"):  # PyTorch's own
            self.export(checked(mixed), (self.x, self.labels))
        with self.assertRaisesRegex(ValueError, "x"):
            self.export(checked(forked), (self.x, self.labels))


if __name__ == "__main__":
    main()
