// RUN: zerograph-opt %s --sched-lower | FileCheck %s

// A master is updated in the buffer that it was read to. Parameters that are
// made of it are made in a buffer of their own, not in that from which they were
// fetched, and go from there to the file.

// CHECK: sched.copy on(read) (read %fc.shard[0 for 512], write %[[GATHERED:.+]][0 for 512]) "fc param" reason "forward of fc"
// CHECK-NEXT: sched.copy on(fetch) (read %[[GATHERED]][0 for 512], write %[[SHARD:.+]][0 for 512])
// CHECK-NEXT: sched.all_gather on(gather) (read %[[SHARD]][0 for 512], write
// CHECK: sched.copy on(read) (read %fc.master[0 for 1024], write %[[MASTER:.+]][0 for 1024]) "fc master" reason "update of fc"
// CHECK-NEXT: sched.launch @{{.+}} on(update) (read %[[MASTER]][0 for 1024], write %[[MASTER]][0 for 1024], write %[[MADE:.+]][0 for 512])
// CHECK-NEXT: sched.copy on(write) (read %[[MASTER]][0 for 1024], write %fc.master[0 for 1024]) "fc master" reason "update of fc"
// CHECK-NEXT: sched.copy on(write) (read %[[MADE]][0 for 512], write %fc.shard[0 for 512]) "fc param" reason "update of fc"
// CHECK-DAG: %fc.shard = sched.slice "fc param" param_shard in nvme bytes 512 carried
// CHECK-DAG: %[[GATHERED]] = sched.slice "{{.*}}" param_shard in pinned bytes 512
// CHECK-DAG: %[[SHARD]] = sched.slice "{{.*}}" param_shard in device bytes 512
// CHECK-DAG: %[[MASTER]] = sched.slice "{{.*}}" optimizer in pinned bytes 1024
// CHECK-DAG: %[[MADE]] = sched.slice "{{.*}}" param_shard in pinned bytes 512
!host = tensor<256xf32, #zero<space host>>
!host16 = tensor<256xbf16, #zero<space host>>
!file = tensor<256xf32, #zero<space nvme>>
!file16 = tensor<256xbf16, #zero<space nvme>>
#p = #zero.state<unit = 0, segment = 0, "param", sharded = true>
#m = #zero.state<unit = 0, segment = 0, "master", sharded = true>
module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = true, persistent = false, reason = "r", axes = ["data"], segments = [512], states = [<"param", bf16, sharded = true, space = nvme>, <"master", f32, sharded = true, space = nvme>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<512xf32>, offset = 0>]>]
  nn.program @step(%p: !file16 {zero.state = #p}, %m: !file {zero.state = #m})
      -> (!file {zero.updates = #m}, !file16 {zero.updates = #p}) {
    %0 = zero.read %p unit 0 segment 0 bytes 512 reason "forward of fc" : !file16 -> !host16
    %1 = zero.fetch %0 unit 0 segment 0 bytes 512 reason "forward of fc" : !host16 -> tensor<256xbf16>
    %2 = zero.all_gather %1 unit 0 stay forward group ["data"] reason "forward of fc" : tensor<256xbf16> -> tensor<512xbf16>
    zero.release %2 unit 0 : tensor<512xbf16>
    %3 = zero.read %m unit 0 segment 0 bytes 1024 reason "update of fc" : !file -> !host
    %4:2 = nn.kernel rows (%a = %3) : (!host) -> (!host, !host16) {
      %7 = nn.unary neg %a : !host -> !host
      %8 = nn.convert %7 : !host -> !host16
      nn.yield %7, %8 : !host, !host16
    }
    %5 = zero.write %4#0 unit 0 segment 0 bytes 1024 reason "update of fc" : !host -> !file
    %6 = zero.write %4#1 unit 0 segment 0 bytes 512 reason "update of fc" : !host16 -> !file16
    nn.return %5, %6 : !file, !file16
  }
}
