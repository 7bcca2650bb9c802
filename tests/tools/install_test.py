"""`cmake --install` makes a folder that works wherever it is moved."""

import os
import re
import shutil
import subprocess

from support import BIN, Case, MLP, MLP_DATA, MODELS, ZEROGRAPH, main


class Installed(Case):

    def setUp(self):
        super().setUp()
        subprocess.run(["cmake", "--install", os.path.dirname(BIN), "--prefix",
                        self.path("here")], check=True, capture_output=True)
        os.rename(self.path("here"), self.path("there"))

    def program(self, name):
        return self.path("there", "bin", name)

    def train(self, weights, env, program="zerograph"):
        return self.succeeds(
            "train", MLP, "--data", MLP_DATA, "--steps", "2", "--micro-batch",
            "8", "--ranks", "2", "--zero", "3", "--save-weights", weights,
            program=program, env=env)

    def test_it_works_elsewhere_without_an_environment(self):
        self.train("built", None, ZEROGRAPH)
        self.train("moved", {}, self.program("zerograph"))
        self.assertEqual(self.tensors("built"), self.tensors("moved"))
        for name in ("zerograph-run", "zerograph-opt"):
            self.succeeds("--help", program=self.program(name), env={})
        for path in (["LICENSE"], ["docs", "install.md"]):
            self.assertTrue(os.path.exists(
                self.path("there", "share", "doc", "zerograph", *path)), path)

    def test_it_knows_no_folder_of_the_build(self):
        for folder in ("bin", "lib"):
            for name in os.listdir(self.path("there", folder)):
                if os.path.isdir(self.path("there", folder, name)):
                    continue
                found = subprocess.run(
                    ["readelf", "-d", self.path("there", folder, name)],
                    capture_output=True, text=True, check=True).stdout
                paths = re.findall(r"\((?:RPATH|RUNPATH|NEEDED)\).*\[(.*)\]",
                                   found)
                self.assertTrue(paths, name)
                for path in ":".join(paths).split(":"):
                    # Debian's MLIR, which is not where the loader looks.
                    self.assertRegex(path, r"^(\$ORIGIN/|/usr/lib/|[^/]*$)",
                                     name)

    def test_a_program_in_c(self):
        """It finds the library as docs/c.md says, and nothing else."""
        example = os.path.join(os.path.dirname(MODELS), "examples", "train.c")
        self.put("CMakeLists.txt", f"""
cmake_minimum_required(VERSION 3.18)
project(user LANGUAGES C)
find_package(zerograph REQUIRED)
add_executable(user {example})
target_link_libraries(user PRIVATE zerograph::zerograph)
""")
        found = self.path("there", "lib", "cmake", "zerograph")
        for arguments in (["-G", "Ninja", "-S", ".", "-B", "user",
                           f"-Dzerograph_DIR={found}"],
                          ["--build", "user"]):
            self.succeeds(*arguments, program="cmake")
        result = self.succeeds(MLP, "w.safetensors",
                               program=self.path("user", "user"), env={})
        self.assertIn("step 20  loss ", result.stdout)

    def test_without_mpi(self):
        # A launcher of MPI set these, and MPI is not there.
        ranks = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}
        module = self.path("there", "lib", "libzerograph-mpi.so")
        os.remove(module)
        self.refused("train", MLP, "--data", MLP_DATA, "--steps", "2",
                     "--micro-batch", "8", program=self.program("zerograph"),
                     env=ranks, parts=[module, "cannot open MPI",
                                       "install Open MPI", "docs/install.md"])
        self.assertIn("cannot open MPI", self.succeeds(
            "env", program=self.program("zerograph"), env={}).stdout)
        self.train("threads", {}, self.program("zerograph"))
        # One of another version.
        shutil.copy(os.path.realpath("/lib/x86_64-linux-gnu/libz.so.1"), module)
        self.refused("train", MLP, "--data", MLP_DATA, "--steps", "2",
                     "--micro-batch", "8", program=self.program("zerograph"),
                     env=ranks, parts=[module, "another version"])


if __name__ == "__main__":
    main()
