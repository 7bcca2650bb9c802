import os

import lit.formats

config.name = "zerograph"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["models"]
config.substitutions.append(
    ("%models", os.path.join(config.source_dir, "models")))
config.environment["PATH"] = os.pathsep.join(
    [config.program_dir, config.llvm_tools_dir, os.environ["PATH"]])
