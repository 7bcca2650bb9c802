//===- Options.cpp - what sanitizers do unless told otherwise -------------===//

extern "C" const char *__asan_default_options() {
  // LLVM's and protobuf's libraries are not instrumented: memory that their
  // headers poison they would never mark as used. An allocation beyond the
  // limit is an exception, as it is in the product.
  return "allow_user_poisoning=0:allocator_may_return_null=1:"
         "handle_abort=1";
}

extern "C" const char *__ubsan_default_options() {
  return "print_stacktrace=1";
}
