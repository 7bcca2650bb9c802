"""`--names` with `--load-weights`: weights under PyTorch's names and layout.

Here of files that this suite renames and transposes itself. `names_test.py`
asks PyTorch.
"""

import json
import os

from support import Case, GPT, GPT_DATA, MLP, MLP_DATA, main, write_tensors
from tensors import turned

MAP = {"fc1.weight": {"name": "net.0.weight", "transposed": True},
       "fc1.bias": "net.0.bias",
       # Each has the other's name.
       "fc2.weight": "fc2.bias", "fc2.bias": "fc2.weight"}
RANKS = [], ["--ranks", "2", "--zero", "3"]


class LoadNames(Case):

    def setUp(self):
        super().setUp()
        self.train = ["train", MLP, "--data", MLP_DATA, "--micro-batch", "8"]

    def map(self, map, name="names.json"):
        self.put(name, map if isinstance(map, str) else json.dumps(map))

    def theirs(self, tensors, map):
        """The same weights, as a state_dict of that map has them."""
        result = {}
        for name, tensor in tensors.items():
            to = map.get(name, name)
            if isinstance(to, dict):
                to, tensor = to["name"], turned(tensor)
            result[to] = tensor
        return result

    def trained(self, *arguments):
        self.succeeds(*arguments, "--save-weights", "after", "--dump-states",
                      "states")
        return (self.tensors("after"),
                self.tensors("states"))

    def weights(self):
        """Others than the model's own, in two files and a map."""
        self.succeeds(*self.train, "--lr", "0.1", "--save-weights", "own")
        own = self.tensors("own")
        write_tensors(self.path("theirs"), self.theirs(own, MAP))
        self.map(MAP)
        return own

    def test_a_step_has_the_same_bits(self):
        own = self.weights()
        for ranks in RANKS:
            wanted = self.trained(*self.train, *ranks, "--load-weights", "own")
            found = self.trained(*self.train, *ranks, "--load-weights",
                                 "theirs", "--names", "names.json")
            self.assertEqual(found, wanted)
            self.assertNotEqual(found, self.trained(*self.train, *ranks))
            unchanged = self.trained(*self.train, *ranks, "--lr", "0",
                                     "--load-weights", "theirs", "--names",
                                     "names.json")
            self.assertEqual(unchanged[0], own)

    def test_a_name_that_is_misspelt(self):
        self.succeeds(*self.train, "--steps", "1", "--save-weights", "own")
        tensors = self.tensors("own")
        tensors["fc1.bais"] = tensors.pop("fc1.bias")
        write_tensors(self.path("theirs"), tensors)
        self.assertIn(
            "warning: theirs has fc1.bais, which the plan has not, and lacks "
            "fc1.bias", self.succeeds(*self.train, "--steps", "1", "--quiet",
                                      "--load-weights", "theirs").stderr)

    def test_run(self):
        self.weights()
        run = ["run", MLP, "--data", MLP_DATA, "-o", "out"]
        self.succeeds(*run)
        before = self.tensors("out")
        self.succeeds(*run, "--load-weights", "own")
        wanted = self.tensors("out")
        self.assertNotEqual(wanted, before)
        self.succeeds(*run, "--load-weights", "theirs", "--names", "names.json")
        self.assertEqual(self.tensors("out"), wanted)

    def test_export(self):
        """The same file; what a state_dict has more is left out."""
        own = self.weights()
        theirs = self.tensors("theirs")
        theirs["tied.weight"] = own["fc1.weight"]
        write_tensors(self.path("theirs"), theirs)
        self.succeeds("export", "own", MLP, "-o", "own.onnx")
        result = self.succeeds("export", "theirs", MLP, "-o", "theirs.onnx",
                               "--names", "names.json")
        self.assertIn("not read, as the model has no such initializer: "
                      "'tied.weight'", result.stderr)
        self.assertIn("4 weights in theirs.onnx", result.stdout)
        with open(self.path("own.onnx"), "rb") as a, \
                open(self.path("theirs.onnx"), "rb") as b:
            self.assertTrue(a.read() == b.read())
        os.mkdir(self.path("c"))
        export = ["export", "theirs", MLP, "-o", "o.onnx", "--names",
                  "names.json"]
        self.refused(*export[:4], "names.json", *export[5:],
                     parts=["--output", "would write over --names"])
        self.refused("export", "c", *export[2:], parts=["c is a folder of "
                                                        "checkpoints"])
        self.refused("export", "--training-graph", *export[2:],
                     parts=["--training-graph excludes --names names.json"])
        self.map({**MAP, "fc3.weight": "tied.weight"})
        self.refused(*export, lines=2,
                     parts=["'fc3.weight' is no initializer of the model"])
        self.map({**MAP, "fc1.weight": "net.0.weight"})
        self.refused(*export, lines=2, parts=[
            "'fc1.weight' has shape 128x64 in the model and 64x128"])
        self.assertFalse(os.path.exists(self.path("o.onnx")))

    def test_a_checkpoint_there_and_back(self):
        """As `checkpoint convert --names` writes it, in 16 bits too, so that
        masters and parameters both begin with it."""
        train = ["train", GPT, "--data", GPT_DATA, "--micro-batch", "2"]
        self.succeeds(*train, "--checkpoint", "c", "--save-weights", "own")
        names = {}
        for name, (_, shape, _) in self.tensors("own").items():
            names[name] = "model." + name
            if len(shape) == 2:
                names[name] = {"name": "model." + name, "transposed": True}
        self.map(names)
        self.succeeds("checkpoint", "convert", "c", "-o", "theirs", "--names",
                      "names.json")
        for options in ([], ["--ranks", "2", "--zero", "3", "--bucket-bytes",
                             "65536", "--precision", "bf16"]):
            wanted = self.trained(*train, *options, "--load-weights", "own")
            self.assertTrue(wanted == self.trained(
                *train, *options, "--load-weights", "theirs", "--names",
                "names.json"))

    def test_maps_that_do_not_fit(self):
        self.weights()
        load = [*self.train, "--load-weights", "theirs", "--names",
                "names.json"]
        turned = {"name": "net.0.weight", "transposed": True}
        for map, parts in (
                ("{", ["names.json: no map of names: it is no JSON object"]),
                ({**MAP, "fc1.bias": "net.0.b"},
                 ["theirs lacks 1 of the 4 tensors that names.json names",
                  "'net.0.b' (of the model 'fc1.bias')", "It holds 'fc2.bias'",
                  "Correct the names in names.json"]),
                ({**MAP, "fc1.weight": "net.0.weight"},
                 ["'net.0.weight' (of the model 'fc1.weight') is F32 [64, 128]",
                  "expected F32 [128, 64]; it fits if names.json says that it "
                  "is transposed"]),
                ({**MAP, "fc1.bias": {"name": "net.0.bias",
                                      "transposed": True}},
                 ["'net.0.bias' is transposed, which only a matrix can be: "
                  "its shape is [128]"]),
                ({**MAP, "fc1.weight": "fc2.bias", "fc2.weight": turned},
                 ["'fc2.bias' (of the model 'fc1.weight') is F32 [10, 128]",
                  "'net.0.weight' (of the model 'fc2.weight') is F32 [64, 128]",
                  "the transpose of the model's [10, 128]; correct names.json"]),
                ({"fc3.weight": turned},
                 ["'fc1.weight' [128, 64] is not in it, 'fc3.weight' is",
                  "correct names.json"])):
            self.map(map)
            self.refused(*load, lines=0, parts=parts)
        self.assertFalse(os.path.exists(self.path("after")))

    def test_refusals(self):
        self.weights()
        run = ["run", MLP, "--data", MLP_DATA, "-o", "out"]
        for command in self.train, run:
            self.refused(*command, "--names", "names.json", parts=[
                "--names names.json needs --load-weights"])
            self.refused(*command, "--load-weights", "own", "--names", "none",
                         lines=0, parts=["none: cannot open"])
        load = ["--load-weights", "theirs", "--names", "names.json"]
        self.refused(*self.train, *load, "--log", "names.json", lines=0,
                     parts=["--log", "would write over --names"])
        self.refused(*run[:-1], "names.json", *load, lines=0,
                     parts=["--output", "would write over --names"])
        self.refused(*self.train, "--load-weights", "theirs", lines=0, parts=[
            "'fc2.bias' is F32 [10, 128], expected F32 [10]"])


if __name__ == "__main__":
    main()
