# SPDX-License-Identifier: MIT
#
# What find_package(talus) reads. Targets: talus::talus (the shared library), talus::static, and
# talus::header_only, which links nothing. Each brings the include folder.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/talus-targets.cmake)
