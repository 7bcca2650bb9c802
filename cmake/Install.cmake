# What `cmake --install BUILD --prefix FOLDER` makes: a folder that works
# wherever it is moved.

install(TARGETS zerograph zerograph-run zg_mpi_module
        RUNTIME DESTINATION bin LIBRARY DESTINATION lib)
# Programs in C find it: find_package(zerograph) has zerograph::zerograph.
set_target_properties(libzerograph PROPERTIES EXPORT_NAME zerograph)
install(TARGETS libzerograph EXPORT zerograph LIBRARY DESTINATION lib
        INCLUDES DESTINATION include)
install(FILES api/zerograph.h DESTINATION include)
install(EXPORT zerograph NAMESPACE zerograph:: FILE zerographConfig.cmake
        DESTINATION lib/cmake/zerograph)
# For who works on the compiler.
install(TARGETS zerograph-opt RUNTIME DESTINATION bin COMPONENT opt)
# Compiled again for another MPI: docs/install.md.
install(FILES runtime/comm/mpi/module/MpiModule.c
              runtime/comm/mpi/module/MpiCalls.h DESTINATION share/zerograph/mpi)
install(FILES README.md LICENSE DESTINATION share/doc/zerograph)
install(DIRECTORY docs DESTINATION share/doc/zerograph)
if(TARGET zg_parquet)
  file(GLOB arrow ${ZEROGRAPH_DEPS}/arrow/libarrow.so.*
                  ${ZEROGRAPH_DEPS}/arrow/libparquet.so.*)
  install(TARGETS zg_parquet LIBRARY DESTINATION lib COMPONENT parquet)
  install(FILES ${arrow} DESTINATION lib COMPONENT parquet)
endif()
