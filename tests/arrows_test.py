"""Fails when a file includes what its folder may not depend on.

    arrows_test.py SOURCE_FOLDER

    runtime/base <- runtime/plan <- runtime/{device,comm,io,state,exec,...}
    runtime/device <- runtime/comm    runtime/device/*.h <- runtime/{state,exec}
    passes/ir <- frontend        passes/ir <- passes <- codegen -> runtime/plan
    frontend/: base <- file <- graph <- exporter <- walk <- ops    emit <- walk
               exporter <- export <- codegen/onnx
    options, runtime/base <- config <- tools
    options/Cards.h, runtime/plan, config/Value.h <- simulate <- report <- tools
    tools, api, examples and tests may use everything
"""

import pathlib
import re
import sys

# The interfaces that a device is to the rest of the runtime. Everything else in
# its folder is of one device, and may have addresses of its memory.
DEVICE_INTERFACES = [
    "runtime/device/Buffer.h",
    "runtime/device/Device.h",
    "runtime/device/Driver.h",
    "runtime/device/FileSupport.h",
    "runtime/device/Operation.h",
]

# The header of what a user of the frontend asks for and gets: its folders know
# that too.
IMPORT = "frontend/Import.h"

# The table of losses, each of which the frontend builds.
LOSSES = "options/Losses.h"

# The one language of patterns.
GLOBS = "options/Globs.h"

# Folder -> (what it may include, why). The longest folder that holds a file
# counts; every folder may include itself.
RULES = {
    "options": (
        [],
        "the table of options stands on nothing, so that all may use it",
    ),
    "config": (
        ["options", "runtime/base"],
        "a configuration becomes options; it knows nothing of what they do",
    ),
    "simulate": (
        ["config/Value.h", "options/Cards.h", "runtime/base", "runtime/plan"],
        "a prediction follows from a plan and a machine's file",
    ),
    "report": (
        ["simulate", "runtime/base", "runtime/plan"],
        "a page shows what plans, predictions and files of runs say",
    ),
    "runtime/base": (
        [],
        "runtime/base stands on nothing of this project",
    ),
    "runtime/plan": (
        ["runtime/base", "options"],
        "the plan format stands on runtime/base and options, so that both the "
        "compiler and the runtime can use it",
    ),
    "runtime/io/parquet": (
        [],
        "it is a library of its own, and the only one that Arrow is linked to",
    ),
    "runtime/comm/mpi/module": (
        [],
        "it is a library of its own, and the only one that MPI is linked to",
    ),
    "runtime": (
        ["runtime", "options"],
        "the runtime knows plans, never the compiler that made them",
    ),
    "runtime/device": (
        ["runtime/base", "runtime/plan"],
        "a device knows plans, not what ranks do together or what files hold",
    ),
    "runtime/comm": (
        [
            "runtime/base",
            "runtime/plan",
            *DEVICE_INTERFACES,
            # Collectives that the processor works on address the buffers.
            "runtime/device/host/HostBuffer.h",
            # So do those of ranks on GPUs, which enqueue besides.
            "runtime/device/cuda/CudaApi.h",
            "runtime/device/cuda/CudaBuffer.h",
            "runtime/device/cuda/CudaContext.h",
            "runtime/device/cuda/CudaMemory.h",
            "runtime/device/cuda/CudaModule.h",
            "runtime/device/cuda/FoldKernel.h",
            # Theirs is found as the device's are.
            "runtime/device/cuda/Libraries.h",
        ],
        "collectives are bound to a device's buffers and know nothing else of it",
    ),
    "runtime/backend": (
        ["runtime/base", "runtime/plan", "runtime/comm", "runtime/device"],
        "an entry joins a device to what its ranks exchange by, and is all that "
        "others know of it",
    ),
    "runtime/io": (
        ["runtime/base", "runtime/plan"],
        "files hold arrays, whatever device they are for",
    ),
    "runtime/state": (
        ["runtime/base", "runtime/plan", "runtime/io", *DEVICE_INTERFACES],
        "parameters are ranges of buffers: only a device has their addresses",
    ),
    "runtime/checkpoint": (
        [
            "runtime/base",
            "runtime/plan",
            "runtime/io",
            "runtime/state",
            *DEVICE_INTERFACES,
        ],
        "what a thread writes beside steps may not use what ranks exchange by",
    ),
    "runtime/exec": (
        [
            "runtime/base",
            "runtime/plan",
            "runtime/backend",
            "runtime/comm",
            "runtime/io",
            "runtime/state",
            "runtime/checkpoint",
            # The options that train can be given.
            "options",
            *DEVICE_INTERFACES,
        ],
        "plans run on any device: no address of its memory, no class of the "
        "host's",
    ),
    "passes/ir": (
        [],
        "the dialects stand on nothing: frontend, passes and codegen all use "
        "them",
    ),
    "passes": (
        ["passes", "options"],
        "passes transform dialects; they know no ONNX, no plan and no machine",
    ),
    "frontend": (
        ["passes/ir", "runtime/base", LOSSES],
        "the frontend turns ONNX into the nn dialect and knows no pass",
    ),
    "frontend/base": (
        ["runtime/base"],
        "errors, shapes and constants stand on nothing of the frontend",
    ),
    "frontend/file": (
        ["frontend/base", "runtime/base"],
        "a file is read as it is, whatever is made of it",
    ),
    "frontend/graph": (
        ["frontend/base", "frontend/file", IMPORT, "runtime/base"],
        "the graph is an index over what the file holds; it knows no exporter "
        "and emits nothing",
    ),
    "frontend/parameters": (
        [
            "frontend/base",
            "frontend/file",
            "frontend/graph",
            IMPORT,
            "passes/ir",
            "runtime/base",
            GLOBS,
        ],
        "what is trained is decided before anything is emitted",
    ),
    "frontend/emit": (
        ["frontend/base", "passes/ir", LOSSES],
        "ops of the nn dialect are built without knowing of ONNX's graph",
    ),
    "frontend/walk": (
        [
            "frontend/base",
            "frontend/file",
            "frontend/graph",
            "frontend/parameters",
            "frontend/emit",
            IMPORT,
            "passes/ir",
            "runtime/base",
        ],
        "the walk finds an operator by its name (graph/OpDef.h) and knows none",
    ),
    "frontend/quirks": (
        [
            "frontend/base",
            "frontend/file",
            "frontend/graph",
            "frontend/parameters",
            "frontend/walk",
            IMPORT,
            "passes/ir",
            "runtime/base",
        ],
        "the import walks the list of quirks (walk/Quirk.h) and knows none",
    ),
    "frontend/export": (
        [
            "frontend/base",
            "frontend/file",
            "frontend/graph",
            "frontend/parameters",
            "frontend/quirks",
            IMPORT,
            "runtime/base",
        ],
        "a model's file is changed as it is: nothing is imported",
    ),
    "codegen/onnx": (
        ["passes", "runtime/base", "frontend/export/Export.h"],
        "a program becomes a file of ONNX as an exported model does; no plan is "
        "made",
    ),
    "codegen/emit": (
        ["passes/ir/nn", "passes/kernels/View.h"],
        "the values of kernels are emitted alike for every device: from the nn "
        "dialect, and nothing that one device has",
    ),
    "codegen/plan": (
        [
            "codegen/emit/Cost.h",
            "passes",
            "options",
            "runtime/base",
            "runtime/plan",
        ],
        "a plan is written alike for every device; of the runtime it knows the "
        "plan alone",
    ),
    "codegen/host": (
        [
            "codegen/emit",
            "codegen/plan",
            "passes",
            "options",
            "runtime/plan",
            "runtime/device/host/LibraryCall.h",
            # Workspaces are what the library says, by the very code that
            # will call it.
            "runtime/device/host/ConvolutionLibrary.h",
            "runtime/device/host/MatmulLibrary.h",
        ],
        "a device's folder adds its forms and its code; of the runtime it knows "
        "the plan, and its own libraries for workspaces",
    ),
    "codegen/cuda": (
        [
            "codegen/emit",
            "codegen/plan",
            # The host's code, which helps.
            "codegen/host/OpenHost.h",
            "passes",
            "options",
            "runtime/plan",
            # What this machine has, where a target is "native".
            "runtime/device/cuda/CudaDriver.h",
            "runtime/device/cuda/CudnnApi.h",
            "runtime/device/cuda/Architectures.h",
            # The kernel that collectives launch, and no step names.
            "runtime/device/cuda/FoldKernel.h",
            # How a workspace lies, and what convolutions get.
            "runtime/device/cuda/CudnnWorkspace.h",
            "runtime/device/cuda/LibraryWorkspace.h",
        ],
        "a device's folder adds its forms and its code; of the runtime it knows "
        "the plan, which GPUs there are, the kernels that its collectives need, "
        "and its own library's workspaces",
    ),
}
FOLDERS = ["options", "config", "runtime", "passes", "frontend", "codegen", "tools", "tests"]

# Libraries -> the folders that may use them, and why no other.
LIBRARIES = {
    "mlir": (
        ["passes", "frontend", "codegen", "tools", "tests"],
        "the runtime runs where there is no compiler: no MLIR in it",
    ),
    "llvm": (
        ["passes", "frontend", "codegen", "tools", "tests"],
        "the runtime runs where there is no compiler: no LLVM in it",
    ),
    "lld": (
        ["codegen/host"],
        "only what links kernels knows the linker",
    ),
    "onnx": (
        ["frontend", "codegen/onnx", "tests"],
        "only what reads and writes ONNX knows it",
    ),
    "yaml-cpp": (
        ["config", "tests"],
        "only config reads YAML",
    ),
}

INCLUDE = re.compile(r'^\s*(?:#\s*include|include|import)\s*[<"]([^">]+)[">]')


def within(path, folder):
    return path == folder or path.startswith(folder + "/")


def problem(file, included):
    """Why `file` may not include `included`, or None. Both are relative to
    the source folder; `included` may also name a library's header."""
    for library, (users, why) in LIBRARIES.items():
        if within(included, library) and not any(
            within(file, user) for user in users
        ):
            return why
    if included.split("/")[0] not in FOLDERS:
        return None
    if within(file, "tools") or within(file, "tests"):
        return None
    if within(included, "tools") or within(included, "tests"):
        return "nothing depends on tools or tests"
    if within(included, "config") and not within(file, "config"):
        return "only tools know configuration files"
    folders = [folder for folder in RULES if within(file, folder)]
    if not folders:
        return None
    folder = max(folders, key=len)
    allowed, why = RULES[folder]
    if any(within(included, target) for target in [folder, *allowed]):
        return None
    return why


def main(source):
    found = []
    files = 0
    for folder in FOLDERS:
        for path in sorted((source / folder).rglob("*")):
            if path.suffix not in {".h", ".cpp", ".td", ".def", ".proto"}:
                continue
            files += 1
            file = path.relative_to(source).as_posix()
            lines = path.read_text(errors="replace").splitlines()
            for number, line in enumerate(lines, 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                included = match[1]
                if (path.parent / included).exists():
                    included = (
                        (path.parent / included)
                        .resolve()
                        .relative_to(source)
                        .as_posix()
                    )
                why = problem(file, included)
                if why:
                    found.append(
                        f"{file}:{number}: includes {included}: {why}"
                    )
    if files == 0:
        found.append(f"no sources in {source}")
    print("\n".join(found) or f"{files} files, every arrow as drawn")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
