"""Samples from Parquet files: the same as from .safetensors files."""

import os
import random
import shutil
import struct

from onnx_bytes import FLOAT, INT64, model, node, tensor, value_info
from support import BIN, Case, MODELS, ZEROGRAPH, main, write_tensors

FOLDER = os.path.join(MODELS, "parquet")
MODULE = os.path.join(os.path.dirname(BIN), "lib", "libzg_parquet.so")


class Parquet(Case):

    def setUp(self):
        super().setUp()
        # As models/parquet/make.py has them.
        draw = random.Random(7)
        numbers = [draw.randrange(-31, 32) / 32 for _ in range(96)]
        for name, shape in ("flat", [4]), ("nested", [2, 2]):
            self.write(name, shape, numbers)

    def write(self, name, shape, numbers):
        with open(self.path(name + ".onnx"), "wb") as file:
            file.write(model(
                [node("flat", "Flatten", ["x"], ["h"]),
                 node("product", "MatMul", ["h", "w"], ["y"]),
                 node("loss", "SoftmaxCrossEntropyLoss", ["y", "labels"],
                      ["loss"])],
                [tensor("w", [4, 3], [0.125] * 12)],
                [value_info("x", ["n", *shape], FLOAT),
                 value_info("labels", ["n"], INT64)],
                [value_info("loss", [])]))
        write_tensors(self.path(name + ".safetensors"), {
            "x": ("F32", [24, *shape], struct.pack("<96f", *numbers)),
            "labels": ("I64", [24],
                       struct.pack("<24q", *(i % 3 for i in range(24))))})

    def options(self, name, *data):
        return ["train", name + ".onnx", "--data", *data, "--micro-batch", "4",
                "--lr", "0.1", "--epochs", "2", "--shuffle", "1",
                "--save-weights", "w", "--log", "log"]

    def weights(self, *arguments):
        result = self.succeeds(*self.options(*arguments))
        with open(self.path("log")) as file:
            self.assertEqual(len(file.readlines()), 12)
        return self.tensors("w"), result.stderr

    def file(self, name):
        if not os.path.exists(MODULE):
            self.skipTest("built without Apache Arrow: tools/setup.sh "
                          "--parquet brings it")
        return os.path.join(FOLDER, name + ".parquet")

    def test_the_same_samples(self):
        for name, files in (("flat", ["lists", "fixed"]),
                            ("nested", ["nested"])):
            expected, _ = self.weights(name, name + ".safetensors")
            for file in files:
                with self.subTest(file):
                    self.assertEqual(
                        self.weights(name, self.file(file))[0], expected)

    def test_several_files_and_folders(self):
        os.mkdir(self.path("parts"))
        for part in "ab":
            shutil.copy(self.file("lists"), self.path(f"parts/{part}.parquet"))
        self.succeeds(*self.options("flat", "parts"))
        with open(self.path("log")) as file:
            self.assertEqual(len(file.readlines()), 24)
        shutil.copy(self.path("flat.safetensors"), self.path("parts"))
        self.refused(*self.options("flat", "parts"),
                     parts=["holds .parquet and .safetensors files"])

    def test_ranks_and_an_evaluation(self):
        evaluate = ["--eval-data", self.file("fixed"), "--ranks", "2", "--zero",
                    "3"]
        found = []
        for data in "flat.safetensors", self.file("lists"):
            self.succeeds(*self.options("flat", data), *evaluate)
            with open(self.path("log")) as file:
                found.append([line.split('"step_ms"')[0] for line in file])
        self.assertEqual(*found)

    def test_what_is_wrong_is_named(self):
        for name, part in (
                ("ragged", "column 'x' has a list of 5 elements, and one of 4 "
                           "in its first row"),
                ("null", "column 'x' has 1 values that are missing (null) in "
                         "the rows from 20 on"),
                ("missing", "column 'labels' has 1 values that are missing"),
                ("double", "input 'x' is F64 [24, 4], expected F32")):
            with self.subTest(name):
                self.refused(*self.options("flat", self.file(name)),
                             parts=[name + ".parquet: ", part])

    def test_a_damaged_file(self):
        good = self.bytes_of(self.file("lists"))
        draw = random.Random(3)
        for i in range(40):
            bad = bytearray(good)
            if i % 2:
                del bad[draw.randrange(len(bad)):]
            else:
                for _ in range(3):
                    bad[draw.randrange(len(bad))] = draw.randrange(256)
            self.put("bad.parquet", bad)
            result = self.run_program(*self.options("flat", "bad.parquet"))
            self.assertIn(result.returncode, (0, 1, 2), result.stderr)
            if result.returncode:
                self.assertIn("bad.parquet", result.stderr)

    def test_a_build_without_arrow(self):
        os.makedirs(self.path("elsewhere/bin"))
        os.makedirs(self.path("elsewhere/lib"))
        shutil.copy(ZEROGRAPH, self.path("elsewhere/bin"))
        shutil.copy(os.path.join(os.path.dirname(BIN), "lib",
                                 "libzerograph.so"), self.path("elsewhere/lib"))
        self.refused(*self.options("flat",
                                   os.path.join(FOLDER, "lists.parquet")),
                     program=self.path("elsewhere/bin/zerograph"),
                     parts=["needs Apache Arrow", "tools/setup.sh --parquet"])
        self.refused(*self.options("flat", "none.parquet"),
                     parts=["none.parquet: cannot open: No such file"])


main()
