# Writes OUTPUT, the C++ of MachineFiles.h, of the files FILES.
list(SORT FILES)
set(rows "")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND rows "      {\"${name}\", R\"yaml(${text})yaml\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"simulate/MachineFiles.h\"

namespace zerograph::simulate {

const std::vector<MachineFile> &machineFiles() {
  static const std::vector<MachineFile> all = {
${rows}  };
  return all;
}

} // namespace zerograph::simulate
")
