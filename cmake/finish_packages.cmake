# SPDX-License-Identifier: MIT
#
# Called by CPack when the files of all packages lie in their folders. What the packages' policies
# ask for: archives and objects without debug information, compressed manual pages. All times are
# those of the commit (SOURCE_DATE_EPOCH), so that the packages are the same at each build.
file(GLOB_RECURSE objects ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*.a
  ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*.o)
foreach(object IN LISTS objects)
  execute_process(COMMAND ${CPACK_STRIP_EXECUTABLE} --strip-debug
    --enable-deterministic-archives ${object}
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(GLOB_RECURSE pages ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*.1)
foreach(page IN LISTS pages)
  execute_process(COMMAND gzip -9n ${page} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND find ${CPACK_TEMPORARY_INSTALL_DIRECTORY} -exec
    touch -h -d "@$ENV{SOURCE_DATE_EPOCH}" {} + COMMAND_ERROR_IS_FATAL ANY)
endif()
