#!/usr/bin/env python3
"""Compares the machine code of generated kernels with budgets.json:
sass_test.py BIN MODELS [--update]. README.md says what the figures are."""

import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

BIN, MODELS = sys.argv[1:3]
BUDGETS = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                       "budgets.json")
SKIPPED = 77  # what CMakeLists.txt tells ctest
ARCHITECTURE = "sm_90"

GPT = ["--dim", "seq=1024", "--micro-batch", "8"]
# The name of a case: model and options of `compile`.
CASES = {
    "gpt2-small bf16": ("structure/gpt2-small.onnx",
                        [*GPT, "--precision", "bf16", "--math", "fast"]),
    "gpt2-small fp32": ("structure/gpt2-small.onnx", GPT),
    "llama3-8b bf16": ("structure/llama3-8b.onnx",
                       ["--dim", "seq=8192", "--micro-batch", "1", "--ranks",
                        "8", "--zero", "3", "--precision", "bf16"]),
    "resnet-mini fp32": ("resnet-mini/model.onnx",
                         ["--micro-batch", "32", "--convolution", "library"]),
}

# CUDA C++ Programming Guide, "Compute Capabilities", of a processor of sm_90.
REGISTERS, SHARED_BYTES, WARPS, BLOCKS = 65536, 228 << 10, 64, 32

# Wider or more is better of these; less is of any other.
MORE_IS_BETTER = ("load", "store", "warps")

ENTRY = re.compile(r"\.entry (\w+)\(.*?\n\{(.*?)\n\}", re.DOTALL)
SECTION = re.compile(r"\s*\.section\s+(\S+?),")
LABEL = re.compile(r"\s*\.L_\w+:")
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?\w+\s+)?([A-Z][\w.]*)")
WIDTH = re.compile(r"\.[US]?(8|16|64|128|256)\b")


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}: {result.stderr}{result.stdout}")
    return result.stdout


def find_tool(name):
    """Returns a program of CUDA's toolkit; ends the test where there is none."""
    path = shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin")
    if not path:
        print(f"Skipped: {name} is not in PATH: pip install nvidia-cuda-nvcc "
              f"nvidia-cuda-nvdisasm, and add site-packages/nvidia/cu13/bin")
        sys.exit(SKIPPED)
    return path


def release(tool):
    """Returns the release of CUDA that a tool is of: "13.5"."""
    return re.search(r"release ([\d.]+)", run(tool, "--version"))[1]


def disassemble(ptx, folder):
    """Returns the instructions of each kernel's machine code, by its symbol;
    None stands where a block of instructions begins."""
    source, cubin = (os.path.join(folder, f"k.{kind}")
                     for kind in ("ptx", "cubin"))
    with open(source, "w") as file:
        file.write(ptx)
    run(PTXAS, f"-arch={ARCHITECTURE}", source, "-o", cubin)
    kernels, code = {}, []
    for line in run(NVDISASM, "-c", cubin).splitlines():
        if match := SECTION.match(line):
            code = []
            if match[1].startswith(".text."):
                kernels[match[1].removeprefix(".text.")] = code
        elif LABEL.match(line):
            code.append(None)
        elif match := INSTRUCTION.search(line):
            code.append(match[1])
    return kernels


def width(instruction):
    """Returns the bytes that a thread's load or store moves."""
    found = WIDTH.search(instruction)
    return int(found[1]) // 8 if found else 4


def loads_after_stores(code):
    """Returns how many loads come after a store in their block of instructions:
    ptxas moves no load before a store that could write what it reads."""
    count, stored = 0, False
    for instruction in code:
        if not instruction or instruction.startswith(("BRA", "BAR", "WARPSYNC")):
            stored = False
        elif instruction.startswith("STG"):
            stored = True
        elif instruction.startswith("LDG"):
            count += stored
    return count


def warps(launch):
    """Returns how many warps of a kernel a processor holds at once."""
    block = -(-launch["block"] // 32)
    of_a_warp = -(-launch["registers"] * 32 // 256) * 256
    shared = launch["shared_bytes"] + 1024  # the system's, of every block
    blocks = min(REGISTERS // of_a_warp // block, SHARED_BYTES // shared,
                 WARPS // block, BLOCKS)
    return blocks * block


def figures(launch, code):
    """Returns what the table has of a kernel."""
    code = [each for each in code if each != "NOP"]
    loads = [width(each) for each in code if each and each.startswith("LDG")]
    stores = [width(each) for each in code if each and each.startswith("STG")]
    return {
        "instructions": sum(each is not None for each in code),
        "registers": launch["registers"],
        "warps": warps(launch),
        "load": max(loads, default=0),
        "store": max(stores, default=0),
        "loads_after_stores": loads_after_stores(code),
    }


def contractions(case, ptx, kernels):
    """Returns a line for each kernel of which ptxas made products and sums that
    the text rounds one after the other into an FFMA, which rounds once: more
    FFMA than fma, and not as a loop is unrolled, whose products and sums are
    more too. Quotients and roots are left out: ptxas computes them by FFMA."""
    lines = []
    for symbol, text in ENTRY.findall(ptx):
        fma, others = (len(re.findall(rf"\b(?:{kinds})(?:\.rn)?\.f32", text))
                       for kinds in ("fma", "mul|add|sub"))
        code = [each for each in kernels[symbol] if each]
        found, found_others = (sum(each.startswith(kinds) for each in code)
                               for kinds in ("FFMA", ("FMUL", "FADD")))
        unrolled = found > fma and found_others >= others
        if (found != fma and not unrolled
                and not re.search(r"\b(div|sqrt|rcp)\.rn", text)):
            lines.append(f"{case}: {symbol} has {found} FFMA for {fma} fma")
    return lines


def measure(case):
    """Returns the figures of each kernel, and lines of what is wrong."""
    model, options = CASES[case]
    with tempfile.TemporaryDirectory() as folder:
        plan = os.path.join(folder, "x.zgplan")
        run(ZEROGRAPH, "compile", os.path.join(MODELS, model), "-o", plan,
            "--target", f"cuda:{ARCHITECTURE}", *options)
        report = json.loads(run(ZEROGRAPH, "inspect", plan, "--kernels",
                                "--json"))
        ptx = run(ZEROGRAPH, "inspect", plan, "--ptx")
        kernels = disassemble(ptx, folder)
    table = {}
    for kernel in report["kernel_list"]["kernels"]:
        for launch in kernel["launches"]:
            symbol = launch["symbol"]
            # Numbers of kernels change with every kernel before them.
            name = f"{kernel['first_step']} {symbol.partition('_')[2]}"
            while name in table:
                name += "'"
            table[name] = figures(launch, kernels[symbol])
    return table, contractions(case, ptx, kernels)


def differences(case, budget, found):
    """Returns lines that say what changed in a case, and in which kernel."""
    lines = []
    for name in sorted(budget.keys() | found.keys()):
        before, after = budget.get(name), found.get(name)
        if not before or not after:
            lines.append(f"{case}: {name} is {'new' if after else 'gone'}")
            continue
        for key in after:
            if after[key] != before[key]:
                better = (after[key] > before[key]) == (key in MORE_IS_BETTER)
                lines.append(f"{case}: {key} of {name} is {after[key]}, the "
                             f"table has {before[key]}: "
                             f"{'better' if better else 'WORSE'}")
    return lines


def write(table):
    """Writes the table, one line a kernel."""
    with open(BUDGETS, "w") as file:
        file.write(f'{{"release": "{table["release"]}", "cases": {{\n')
        file.write(",\n".join(
            f" {json.dumps(case)}: {{\n" +
            ",\n".join(f"  {json.dumps(name)}: {json.dumps(kernel)}"
                       for name, kernel in kernels.items()) + "}"
            for case, kernels in table["cases"].items()))
        file.write("}}\n")


def main():
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        measured = dict(zip(CASES, threads.map(measure, CASES)))
    wrong = [line for _, lines in measured.values() for line in lines]
    found = {case: table for case, (table, _) in measured.items()}
    if wrong:
        sys.exit("\n".join(wrong))
    if "--update" in sys.argv[3:]:
        write({"release": release(PTXAS), "cases": found})
        return
    with open(BUDGETS) as file:
        budgets = json.load(file)
    if budgets["release"] != release(PTXAS):
        print(f"Skipped: the table is of ptxas {budgets['release']}, this one "
              f"is of {release(PTXAS)}; each fma is one FFMA")
        sys.exit(SKIPPED)
    lines = [line for case in sorted(found.keys() | budgets["cases"].keys())
             for line in differences(case, budgets["cases"].get(case, {}),
                                     found.get(case, {}))]
    print("\n".join(lines or [f"{sum(map(len, found.values()))} kernels are as "
                              f"the table says"]))
    if lines:
        sys.exit("If that is meant: tests/sass/sass_test.py BIN MODELS "
                 "--update, and commit the table.")


if __name__ == "__main__":
    ZEROGRAPH = os.path.join(BIN, "zerograph")
    PTXAS, NVDISASM = map(find_tool, ("ptxas", "nvdisasm"))
    main()
