# Writes OUTPUT, the C++ of the function FUNCTION that HEADER declares, which
# returns the texts of FILES in the order of their names.
list(SORT FILES)
set(rows "")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND rows "      {\"${name}\", R\"embedded(${text})embedded\"},\n")
endforeach()
string(REGEX MATCH "^(.*)::([^:]*)$" matched ${FUNCTION})
file(WRITE ${OUTPUT} "#include \"${HEADER}\"

namespace ${CMAKE_MATCH_1} {

const std::vector<EmbeddedFile> &${CMAKE_MATCH_2}() {
  static const std::vector<EmbeddedFile> all = {
${rows}  };
  return all;
}

} // namespace ${CMAKE_MATCH_1}
")
