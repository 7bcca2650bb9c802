// Each phase, run alone on what --dump-ir wrote after the one before, gives to
// the letter what the compiler had, but for the comments of a dump: it holds all
// that the next phase needs.

// RUN: rm -rf %t && mkdir %t
// RUN: zerograph compile %models/mlp-digits/model.onnx -o %t/plan --dump-ir %t --micro-batch 4 --ranks 2 --zero 3 --accumulate 2 --prefetch 2 --bucket-bytes 4096 --optimizer sgd --lr 0.1 --momentum 0.9

// RUN: zerograph-opt --mlir-print-debuginfo %t/00-import.mlir --zg-differentiate=loss=loss > %t/1 && grep -v '^ *//' %t/01-differentiate.mlir | diff %t/1 -
// RUN: zerograph-opt --mlir-print-debuginfo %t/01-differentiate.mlir --zg-zero="ranks=2 zero=3 accumulate=2 bucket-bytes=4096 optimizer=sgd lr=0.1 momentum=0.9" > %t/2 && grep -v '^ *//' %t/02-zero.mlir | diff %t/2 -
// RUN: zerograph-opt --mlir-print-debuginfo %t/02-zero.mlir --zg-prefetch=prefetch=2 > %t/3 && grep -v '^ *//' %t/03-prefetch.mlir | diff %t/3 -
// RUN: zerograph-opt --mlir-print-debuginfo %t/03-prefetch.mlir --zg-decompose > %t/4 && grep -v '^ *//' %t/04-decompose.mlir | diff %t/4 -
// RUN: zerograph-opt --mlir-print-debuginfo %t/04-decompose.mlir --zg-kernels > %t/5 && grep -v '^ *//' %t/05-kernels.mlir | diff %t/5 -
// RUN: zerograph-opt --mlir-print-debuginfo %t/05-kernels.mlir --zg-schedule > %t/6 && grep -v '^ *//' %t/06-schedule.mlir | diff %t/6 -
// RUN: zerograph-opt --mlir-print-debuginfo %t/06-schedule.mlir --zg-memory > %t/7 && grep -v '^ *//' %t/07-memory.mlir | diff %t/7 -

// All of them in one pipeline.

// RUN: zerograph-opt --mlir-print-debuginfo %t/00-import.mlir --zg-differentiate --zg-zero="ranks=2 zero=3 accumulate=2 bucket-bytes=4096 optimizer=sgd lr=0.1 momentum=0.9" --zg-prefetch=prefetch=2 --zg-decompose --zg-kernels --zg-schedule --zg-memory > %t/8 && grep -v '^ *//' %t/07-memory.mlir | diff %t/8 -

// An option matters, and one that a phase lacks is refused.

// RUN: zerograph-opt --mlir-print-debuginfo %t/01-differentiate.mlir --zg-zero=zero=2 > %t/9 && grep -v '^ *//' %t/02-zero.mlir | not diff %t/9 -
// RUN: not zerograph-opt %t/01-differentiate.mlir --zg-zero=steps=3 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: no such option steps
// RUN: not zerograph-opt %t/04-decompose.mlir --zg-kernels=max=3 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: no such option max
// RUN: zerograph-opt --mlir-print-debuginfo %t/07-memory.mlir --sched-limit-memory=device=1000000 > %t/10 && grep -v '^ *//' %t/07-memory.mlir | diff %t/10 -
// RUN: not zerograph-opt %t/07-memory.mlir --sched-limit-memory=device=64 2>&1 | FileCheck %s --check-prefix=LIMIT
// LIMIT: bytes of device memory ({{.*}}), but the limit is 64

// A model that is only run.

// RUN: rm -rf %t.run && mkdir %t.run
// RUN: zerograph run %models/mlp-digits/model.onnx --data %models/mlp-digits/batches.safetensors --micro-batch 4 -o %t.run/out --dump-ir %t.run
// RUN: zerograph-opt --mlir-print-debuginfo %t.run/00-import.mlir --zg-forward > %t.run/1 && grep -v '^ *//' %t.run/01-forward.mlir | diff %t.run/1 -
// RUN: zerograph-opt --mlir-print-debuginfo %t.run/01-forward.mlir --zg-decompose > %t.run/2 && grep -v '^ *//' %t.run/02-decompose.mlir | diff %t.run/2 -
// RUN: zerograph-opt --mlir-print-debuginfo %t.run/02-decompose.mlir --zg-kernels > %t.run/3 && grep -v '^ *//' %t.run/03-kernels.mlir | diff %t.run/3 -
