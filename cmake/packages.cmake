# SPDX-License-Identifier: MIT
#
# Packages of distributions, by CPack: .deb and .rpm. `make dist` configures and calls it
# (tools/dist). Each component of the install rules is one package: library, dev, tools.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

# tools/dist gives a folder with copyright and changelog, for the packages of Debian.
set(TALUS_DEBIAN_TEXTS "" CACHE PATH "Folder with copyright and changelog.Debian.gz")
foreach(pair library=libtalus${PROJECT_VERSION_MAJOR} dev=libtalus-dev tools=talus-tools)
  string(REGEX REPLACE "=.*" "" component ${pair})
  string(REGEX REPLACE ".*=" "" package ${pair})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
  set(CPACK_RPM_${upper}_PACKAGE_NAME ${package})
  if(TALUS_DEBIAN_TEXTS)
    install(FILES ${TALUS_DEBIAN_TEXTS}/copyright ${TALUS_DEBIAN_TEXTS}/changelog.Debian.gz
      DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
  endif()
endforeach()
if(TALUS_DEBIAN_TEXTS)
  install(FILES debian/talus-tools DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
    COMPONENT tools)
endif()

set(CPACK_PACKAGE_NAME talus)
set(CPACK_PACKAGE_VENDOR "The Talus authors")
set(CPACK_PACKAGE_CONTACT "The Talus authors <talus@localhost.localdomain>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL library dev tools)
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};${PROJECT_NAME};ALL;/")
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES OFF)
# The programs that know files of the processor that is compiled for.
set(CPACK_STRIP_EXECUTABLE ${CMAKE_STRIP})
foreach(program OBJCOPY OBJDUMP READELF)
  set(CPACK_${program}_EXECUTABLE ${CMAKE_${program}})
endforeach()
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/finish_packages.cmake)
set(what "Talus is a replacement for malloc that is fast and small at once.\n\
Programs need no rebuild: the library is preloaded, linked,\nor included as one C++ header.")

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY >=)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_LIBRARY_DEBUGINFO_PACKAGE ON)
set(CPACK_DEBIAN_TOOLS_DEBUGINFO_PACKAGE ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(version "${PROJECT_VERSION}-1")
set(library libtalus${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/debian/triggers)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${library} (= ${version}), libc6-dev")
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "${library} (= ${version})")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "memory allocator, shared library\n${what}\n\
This package has the library for LD_PRELOAD and for linked programs.")
set(CPACK_COMPONENT_DEV_DESCRIPTION "memory allocator, development files\n${what}\n\
This package has the headers, the static library,\nand files for CMake and pkg-config.")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "memory allocator, command\n${what}\n\
This package has the command talus, its manual pages and completion for shells.")

set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE MIT)
set(CPACK_RPM_PACKAGE_GROUP "System Environment/Libraries")
set(CPACK_RPM_LIBRARY_PACKAGE_SUMMARY "Memory allocator, shared library")
set(CPACK_RPM_DEV_PACKAGE_SUMMARY "Memory allocator, development files")
set(CPACK_RPM_TOOLS_PACKAGE_SUMMARY "Memory allocator, command")
set(CPACK_RPM_DEV_PACKAGE_REQUIRES "${library} = ${version}")
set(CPACK_RPM_TOOLS_PACKAGE_REQUIRES "${library} = ${version}")
set(CPACK_RPM_LIBRARY_POST_INSTALL_SCRIPT_FILE ${CMAKE_CURRENT_SOURCE_DIR}/ldconfig.sh)
set(CPACK_RPM_LIBRARY_POST_UNINSTALL_SCRIPT_FILE ${CMAKE_CURRENT_SOURCE_DIR}/ldconfig.sh)
# Folders of other packages that may not be there are the packages' own, too: they go with the last.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/share/man /usr/share/man/man1)
set(CPACK_RPM_BUILDREQUIRES cmake)
set(CPACK_RPM_PACKAGE_ARCHITECTURE ${CMAKE_SYSTEM_PROCESSOR})
string(JOIN "\n" CPACK_RPM_SPEC_MORE_DEFINE "%define _build_id_links none"
  "%define use_source_date_epoch_as_buildtime 1" "%define clamp_mtime_to_source_date_epoch 1"
  "%define _buildhost localhost" "%define __strip ${CMAKE_STRIP}"
  "%define __objdump ${CMAKE_OBJDUMP}")
include(CPack)
