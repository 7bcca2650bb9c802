"""`--data`, `--epochs` and `--shuffle`: which samples a run takes."""

import math
import os
import struct

from support import (Case, MLP, MLP_DATA, main, read_tensors,
                     write_tensors)

SGD = ["--micro-batch", "8", "--optimizer", "sgd", "--lr", "0.1"]
M32, M64 = (1 << 32) - 1, (1 << 64) - 1


def philox(counter, key):
    for _ in range(10):
        first, second = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        counter = [second >> 32 ^ counter[1] ^ key[0], second & M32,
                   first >> 32 ^ counter[3] ^ key[1], first & M32]
        key = [key[0] + 0x9E3779B9 & M32, key[1] + 0xBB67AE85 & M32]
    return counter


def order(seed, count, epoch):
    """The order of an epoch, as runtime/state/Permutation.h describes it."""
    a = math.isqrt(count - 1) + 1
    sizes = [a, -(-count // a)]

    def mix(number):
        left, right = number % a, number // a
        for turn in range(12):
            bits = philox([right, 0x53687500 | turn, epoch & M32, epoch >> 32],
                          [seed & M32, seed >> 32])
            size = sizes[turn % 2]
            left, right = right, (left + (bits[0] << 32 | bits[1])) % size
        return right * a + left

    places = []
    for place in range(count):
        place = mix(place)
        while place >= count:
            place = mix(place)
        places.append(place)
    return places


def pick(tensor, samples):
    """These samples of a (dtype, shape, bytes)."""
    dtype, shape, data = tensor
    size = len(data) // shape[0]
    return (dtype, [len(samples)] + shape[1:],
            b"".join(data[i * size:(i + 1) * size] for i in samples))


class Data(Case):

    def setUp(self):
        super().setUp()
        self.arrays = read_tensors(MLP_DATA)

    def write(self, name, samples):
        """A file of these samples."""
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        write_tensors(self.path(name), {n: pick(a, samples)
                                        for n, a in self.arrays.items()})
        return name

    def train(self, *options, data=("d",), model=MLP):
        """Losses, weights and what was said."""
        compile = SGD if model == MLP else []
        result = self.succeeds("train", model, "--data", *data, *compile,
                               "--log", "log", "--save-weights", "w", *options)
        losses = self.losses()
        return losses, self.tensors("w"), result.stderr

    def test_epochs_are_whole_steps(self):
        self.write("d", range(50))
        losses, weights, said = self.train("--epochs", "2", "--ranks", "2")
        self.assertEqual(len(losses), 2 * 3)  # 16 samples a step
        self.assertIn("the last 2 samples are not used", said)
        again = self.train("--steps", "6", "--ranks", "2")
        self.assertEqual((losses, weights), again[:2])

    def test_steps_or_epochs(self):
        self.write("d", range(50))
        self.refused("train", MLP, "--data", "d", *SGD, "--steps", "3",
                     "--epochs", "1", parts=["--epochs 1 excludes --steps"])
        for count in ("0", "-1", "1.5"):
            self.refused("train", MLP, "--data", "d", *SGD, "--epochs", count,
                         codes=(2,), parts=["--epochs"])
        self.refused("train", MLP, "--data", "d", *SGD, "--shuffle", "-1",
                     codes=(2,), parts=["--shuffle"])

    def test_a_shuffled_run_is_one_of_shuffled_data(self):
        """The order is what it is said to be, whoever computes it."""
        self.write("d", range(50))
        for seed in (7, 1 << 40):
            orders = [order(seed, 50, epoch)[:48] for epoch in range(3)]
            self.assertNotEqual(sorted(orders[0]), sorted(orders[1]))
            self.write("e", sum(orders, []))
            expected = self.train("--epochs", "1", "--ranks", "2", data=["e"])
            shuffled = self.train("--epochs", "3", "--ranks", "2", "--shuffle",
                                  str(seed))
            self.assertEqual(shuffled[:2], expected[:2])
            self.assertIn("2 samples are left out of each epoch, others each "
                          "time", shuffled[2])

    def test_ranks_and_accumulation_keep_the_order(self):
        self.write("d", range(200))
        expected = self.train("--epochs", "2", "--shuffle", "3",
                              "--accumulate", "4")
        for ranks, accumulate, zero in ((2, 2, 3), (4, 1, 1)):
            found = self.train("--epochs", "2", "--shuffle", "3", "--ranks",
                               str(ranks), "--accumulate", str(accumulate),
                               "--zero", str(zero))
            self.assertEqual(found[:2], expected[:2])
        other = self.train("--epochs", "2", "--shuffle", "4", "--accumulate",
                           "4")
        self.assertNotEqual(other[:2], expected[:2])

    def test_labels_of_what_is_read_are_looked_at(self):
        self.write("d", range(50))
        tensors = self.tensors("d")
        dtype, shape, data = tensors["labels"]
        self.assertEqual(dtype, "I64")
        places = order(5, 50, 0)
        bad = places[49]  # in the first epoch left out
        data = bytearray(data)
        struct.pack_into("<q", data, 8 * bad, 1000)
        tensors["labels"] = (dtype, shape, bytes(data))
        write_tensors(self.path("d"), tensors)
        part = f"input 'labels' has the value 1000 in sample {bad}"
        shuffled = ["train", MLP, "--data", "d", *SGD, "--shuffle", "5"]
        self.succeeds(*shuffled, "--epochs", "1")
        self.refused(*shuffled, "--epochs", "2", parts=[part], lines=0)
        self.succeeds(*shuffled, "--steps", "6")
        # The other way round: one that the first step takes.
        struct.pack_into("<q", data, 8 * bad, 0)
        struct.pack_into("<q", data, 8 * places[3], 1000)
        tensors["labels"] = (dtype, shape, bytes(data))
        write_tensors(self.path("d"), tensors)
        self.refused(*shuffled, "--steps", "1", lines=0,
                     parts=[f"the value 1000 in sample {places[3]}"])

    def test_files_are_one_after_the_other(self):
        self.write("d", range(100))
        # A step takes 16: files end in the middle of one, and of a micro-batch.
        self.write("one", range(0, 37))
        self.write("two", range(37, 40))
        self.write("three", range(40, 100))
        self.write("shards/1.safetensors", range(0, 37))
        self.write("shards/2.safetensors", range(37, 100))
        parts = ["one", "two", "three"]
        for options in ([], ["--shuffle", "9"]):
            options += ["--epochs", "2", "--ranks", "2"]
            expected = self.train(*options)[:2]
            for data in (parts, ["one", "two", "--data", "three"],
                         ["shards"], ["one", "--data=two", "--data=three"]):
                self.assertEqual(self.train(*options, data=data)[:2], expected)
        swapped = self.train("--epochs", "2", "--ranks", "2",
                             data=["two", "one", "three"])
        self.assertNotEqual(swapped[:2], self.train("--epochs", "2", "--ranks",
                                                    "2")[:2])

    def test_the_model_may_come_last(self):
        self.write("one", range(0, 32))
        self.write("two", range(32, 64))
        expected = self.train("--epochs", "1", data=["one", "two"])
        self.succeeds("train", "--epochs", "1", *SGD, "--save-weights", "w",
                      "--data", "one", "two", MLP)
        self.assertEqual(self.tensors("w"), expected[1])
        self.succeeds("train", "--data", "one", MLP, *SGD)
        plan = self.compile_mlp()
        self.succeeds("train", "--data", "one", plan)
        self.refused("train", "--data", "one", codes=(2,),
                     parts=["FILE is required"])
        self.refused("run", "--data", "one", "-o", "o", codes=(2,),
                     parts=["MODEL is required"])

    def test_run_takes_several_files(self):
        self.write("d", range(50))
        self.write("one", range(0, 7))
        self.write("two", range(7, 50))
        outputs = []
        for data in (["d"], ["one", "two"]):
            self.succeeds("run", MLP, "--data", *data, "--micro-batch", "10",
                          "-o", "o")
            outputs.append(self.tensors("o"))
        self.assertEqual(outputs[0], outputs[1])

    def test_a_file_of_several_is_not_written_over(self):
        self.write("one", range(50))
        os.mkdir(self.path("empty"))
        self.refused("train", MLP, "--data", "empty", *SGD,
                     parts=["empty: holds no .npy or .safetensors file"])
        self.refused("train", MLP, "--data", "one", "empty", *SGD, "--log",
                     "one", parts=["--log one would write over --data one"])

if __name__ == "__main__":
    main()
