// LibrariesTest opens this in the place of a library of NVIDIA's.
int zerograph_test_answer(void) { return 42; }
