# SPDX-License-Identifier: MIT
#
# How programs end that contain Talus or are linked to it. There is a program with a fixed address,
# one without, as compilers build by default, and one linked statically without. Part of
# tests/entry.

# end_entry(name source library pie|no_pie|static_pie): tests entry.<name>_<kind>.
function(end_entry name source library kind)
  set(program entry_${name}_${kind})
  set(flags_pie -fPIE -pie)
  set(flags_no_pie -fno-pie -no-pie)
  set(flags_static_pie -fPIE -static-pie)
  add_executable(${program} ${source})
  set_target_properties(${program} PROPERTIES CXX_STANDARD 17 CXX_EXTENSIONS OFF)
  list(GET flags_${kind} 0 compiled)
  list(GET flags_${kind} 1 linked)
  target_compile_options(${program} PRIVATE ${header_warnings} ${compiled})
  target_link_options(${program} PRIVATE ${linked})
  target_link_libraries(${program} PRIVATE ${library} Threads::Threads)
  entry_test(${name}_${kind} ${program})
  set_tests_properties(entry.${name}_${kind} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()

end_entry(program_end_header program_end.cpp talus_header_only pie)
foreach(kind pie no_pie)
  end_entry(program_end_shared program_end.cpp talus_shared ${kind})
endforeach()
foreach(kind pie no_pie static_pie)
  end_entry(program_end_archive program_end.cpp talus_static ${kind})
  end_entry(exit_in_handler exit_in_handler.c talus_static ${kind})
endforeach()
end_entry(exit_in_handler_shared exit_in_handler.c talus_shared pie)
