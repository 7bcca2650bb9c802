// A constant that is no splat holds at most 64 KiB: 8192 numbers of 8 bytes are
// accepted, 8193 are not.

// RUN: awk 'BEGIN { printf "nn.program @f() { %%%%c = nn.constant dense<[1"; for (i = 1; i < 8192; ++i) printf ", 0"; print "]> : tensor<8192xi64> nn.return }" }' > %t.most
// RUN: zerograph-opt %t.most | FileCheck %s --check-prefix=MOST
// MOST: nn.constant {{.*}} : tensor<8192xi64>

// RUN: awk 'BEGIN { printf "nn.program @f() { %%%%c = nn.constant dense<[1"; for (i = 1; i < 8193; ++i) printf ", 0"; print "]> : tensor<8193xi64> nn.return }" }' > %t.more
// RUN: not zerograph-opt %t.more 2>&1 | FileCheck %s --check-prefix=MORE
// MORE: 'nn.constant' op holds 65544 bytes, more than the limit of 65536

// RUN: echo 'nn.program @f() { %%c = nn.constant dense<0> : tensor<8193xi64> nn.return }' > %t.splat
// RUN: zerograph-opt %t.splat
