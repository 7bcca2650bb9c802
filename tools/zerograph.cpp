//===- zerograph.cpp - the command ----------------------------------------===//

#include "api/zerograph.h"

int main(int argc, char **argv) { return zg_main(argc, argv); }
