"""Checkpoints that were damaged, of a full disk, and of runs that were killed."""

import os
import random
import subprocess
import time

from checkpoints import Checkpoints, index_of
from mpi import FULL
from onnx_bytes import linear
from support import (MLP, MLP_DATA, ZEROGRAPH_RUN, limit_file_size, main,
                     write_tensors)


class Damage(Checkpoints):

    def setUp(self):
        super().setUp()
        self.succeeds(*self.RUN, "--ranks", "2", "--zero", "1", "--steps", "2",
                      "--checkpoint", "c", "--every", "1")
        self.last = self.path("c", "step-00000002")
        self.shard = os.path.join(self.last, "rank-00001.safetensors")

    def found(self, *parts):
        """verify and --resume name it."""
        result = self.run_program("checkpoint", "verify", "c")
        self.assertEqual(result.returncode, 1, result.stdout)
        for part in (*parts, "cannot be mended"):
            self.assertIn(part, result.stderr)
        # The other one is fine.
        self.assertIn("step-00000001", result.stdout)
        return result.stderr

    def test_list_and_verify(self):
        said = self.succeeds("checkpoint", "list", "c").stdout.splitlines()
        self.assertEqual(len(said), 3)
        self.assertRegex(said[2], r"^ +2  20\S+Z +2 +[\d,]+  model.onnx$")
        said = self.succeeds("checkpoint", "verify", "c").stdout
        self.assertIn("c/step-00000002: 12 tensors in ", said)
        self.succeeds("checkpoint", "verify", "c/step-00000001")
        self.refused("checkpoint", parts=["say what to do: list, verify or"],
                     codes=(1, 2))
        self.refused("checkpoint", "verify", "d", parts=["d: cannot be listed"])

    def test_any_byte(self):
        draw = random.Random(1)
        for name in sorted(os.listdir(self.last)):
            path = os.path.join(self.last, name)
            content = self.bytes_of(path)
            places = {0, 8, len(content) - 1, *(
                draw.randrange(len(content)) for _ in range(12))}
            for place in places:
                changed = bytearray(content)
                changed[place] ^= 1 << draw.randrange(8)
                self.put(path, changed)
                self.found(os.path.join("c/step-00000002", name))
            self.put(path, content)
        self.succeeds("checkpoint", "verify", "c")

    def test_what_a_tensor_lost_is_named_and_not_trained_with(self):
        tensor = next(t for t in index_of(self.last)["tensors"]
                      if t["role"] == "exp_avg")
        piece = next(p for p in tensor["pieces"] if p["file"] == 1)
        with open(self.shard, "r+b") as file:
            file.seek(piece["offset"])
            byte = file.read(1)[0]
            file.seek(piece["offset"])
            file.write(bytes([byte ^ 1]))
        name = f"'{tensor['name']}' (exp_avg) is damaged: bytes "
        self.found(name, "rank-00001.safetensors")
        self.refused(*self.RUN, "--accumulate", "2", "--resume", "c", "--steps",
                     "3", codes=(1,), lines=0, parts=[name])
        # The one before it is as good as ever.
        self.succeeds(*self.RUN, "--accumulate", "2", "--resume",
                      "c/step-00000001", "--steps", "3")

    def test_cut_short_or_missing(self):
        size = os.path.getsize(self.shard)
        os.truncate(self.shard, size - 1)
        part = f"rank-00001.safetensors has {size - 1} bytes, and had {size}"
        self.found(part, "it has pieces of '")
        resume = [*self.RUN, "--accumulate", "2", "--resume", "c", "--steps",
                  "3"]
        self.refused(*resume, codes=(1,), lines=0,
                     parts=[part, "'zerograph checkpoint list'"])
        os.unlink(self.shard)
        self.found("rank-00001.safetensors: cannot open", "it has pieces of '")
        self.refused(*resume, codes=(1,), lines=0,
                     parts=["rank-00001.safetensors: cannot open"])
        os.unlink(os.path.join(self.last, "index.json"))
        self.found("step-00000002/index.json: cannot open")

    def test_a_file_that_has_no_piece_of_a_tensor(self):
        """Of four elements the second rank has none."""
        self.put("linear.onnx", linear())
        write_tensors(self.path("x"), {"x": ("F32", [4, 4], bytes(64))})
        self.succeeds("train", "linear.onnx", "--data", "x", "--ranks", "2",
                      "--zero", "1", "--micro-batch", "2", "--steps", "1",
                      "--checkpoint", "few")
        os.unlink(self.path("few", "step-00000001", "rank-00001.safetensors"))
        self.refused("checkpoint", "verify", "few", codes=(1,), lines=0,
                     parts=["rank-00001.safetensors: cannot open",
                            "(no tensor has a piece in it)"])

    def full(self, run, folder, what, **limit):
        """Ends with the error, and loses nothing."""
        result = self.run_program(*run, **limit)
        self.assertEqual(result.returncode, 1, result.stderr)
        for part in ("the checkpoint after 3 steps is not published", what,
                     "as they were", "rank-00000.safetensors"):
            self.assertIn(part, result.stderr)
        self.succeeds("checkpoint", "verify", folder)

    def check_after(self, on):
        self.succeeds(*on, "--save-weights", "w")
        self.succeeds(*self.RUN, "--accumulate", "2", "--steps", "6",
                      "--save-weights", "v")
        self.assertEqual(self.tensors("w"), self.tensors("v"))

    def test_a_file_that_may_not_grow(self):
        # Room for what compiling writes, but not for a shard.
        size = sum(map(os.path.getsize, (
            self.shard, self.shard.replace("00001", "00000"))))
        plan = self.path("p")
        self.succeeds("compile", MLP, "-o", "p", "--micro-batch", "8",
                      "--accumulate", "2")
        on = ["train", plan, "--data", MLP_DATA, "--checkpoint", "c",
              "--resume", "latest", "--every", "1", "--steps", "6"]
        self.full(on, "c", "File too large", **limit_file_size(size // 2))
        self.check_after(on)

    def test_a_folder_that_may_not_be_written(self):
        os.chmod(self.path("c"), 0o555)
        self.refused(*self.RUN, "--accumulate", "2", "--checkpoint", "c",
                     "--resume", "latest", "--steps", "3", codes=(1,), lines=0,
                     parts=["Permission denied"], **self.without_privileges())


class Killed(Checkpoints):

    def test_the_newest_always_goes_on(self):
        """kill -9 at random moments, most of them while one is written."""
        self.succeeds("compile", MLP, "-o", "p", "--micro-batch", "8",
                      "--ranks", "2", "--zero", "2")
        run = ["train", self.path("p"), "--data", MLP_DATA, "--threads", "1",
               "--log", "log", "--checkpoint", "c", "--resume", "latest",
               "--every", "1", "--keep", "2"]
        draw = random.Random(11)
        newest, moments = 0, 300 if FULL else 25
        caught = 0
        for _ in range(moments):
            process = subprocess.Popen(
                [ZEROGRAPH_RUN, *run, "--steps", "100000000"],
                cwd=self.folder, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL)
            limit = time.monotonic() + 60
            while self.newest() == newest:
                self.assertIsNone(process.poll())
                self.assertLess(time.monotonic(), limit)
                time.sleep(0.002)
            time.sleep(draw.random() * 0.05)
            process.kill()
            process.wait()
            self.assertGreaterEqual(self.newest(), newest)
            newest = self.newest()
            caught += any(name.endswith((".writing", ".removing"))
                          for name in os.listdir(self.path("c")))
            self.succeeds("checkpoint", "verify", "c", program=ZEROGRAPH_RUN)
        # Else the test shows little.
        self.assertGreater(caught, moments // 5)
        steps = str(newest + 2)
        self.succeeds(*run, "--steps", steps, "--save-weights", "w",
                      program=ZEROGRAPH_RUN)
        self.assertEqual([entry["step"] for entry in self.log("log")],
                         list(range(newest + 2)))
        interrupted = self.log("log")
        self.succeeds("train", "p", "--data", MLP_DATA, "--log", "log",
                      "--steps", steps, "--save-weights", "v")
        self.assertEqual(interrupted, self.log("log"))
        self.assertEqual(self.tensors("w"), self.tensors("v"))

    def newest(self):
        if not os.path.isdir(self.path("c")):
            return 0
        return max((int(name[5:]) for name in os.listdir(self.path("c"))
                    if name.startswith("step-") and name[5:].isdigit()),
                   default=0)


if __name__ == "__main__":
    main()
