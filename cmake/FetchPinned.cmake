# assay_fetch_pinned(<out> ARCHIVE <file> SHA256 <hash> FOLDER <folder> HAS <file> URL <url>)
#
# A source that is not committed: the first configure takes its archive from `URL` into <source>/.deps; later
# ones need no network. The archive is checked against the hash, and unpacked unless `FOLDER` has `HAS`. Sets
# <out> to the unpacked `FOLDER`; to nothing where the archive cannot be had, and <out>_PROBLEM to why: what
# follows from that is the caller's to say.
# A build folder that failed to fetch it does not try again: waiting for no network takes a while.
# An archive that is another than the pinned one always ends the configure.
function(assay_fetch_pinned out)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ARCHIVE;SHA256;FOLDER;HAS;URL" "")
  set(deps ${CMAKE_SOURCE_DIR}/.deps)
  set(archive ${deps}/${arg_ARCHIVE})
  set(${out} "" PARENT_SCOPE)
  if(NOT EXISTS ${archive})
    string(MAKE_C_IDENTIFIER "ASSAY_UNREACHABLE_${arg_ARCHIVE}" memory)
    if(DEFINED CACHE{${memory}})
      set(${out}_PROBLEM "$CACHE{${memory}}" PARENT_SCOPE)
      return()
    endif()
    # A private folder and a final rename: an interrupted or parallel configure leaves no half archive.
    string(RANDOM LENGTH 8 salt)
    set(staging ${deps}/fetch-${salt})
    file(MAKE_DIRECTORY ${staging})
    message(STATUS "Fetching ${arg_URL}")
    file(DOWNLOAD ${arg_URL} ${staging}/${arg_ARCHIVE} TIMEOUT 60 INACTIVITY_TIMEOUT 15 STATUS status)
    list(POP_FRONT status code)
    set(problem "${arg_URL}: ${status}")
    if(NOT code EQUAL 0)
      file(REMOVE_RECURSE ${staging})
      set(${memory} "${problem}" CACHE INTERNAL "why ${arg_ARCHIVE} could not be fetched")
      set(${out}_PROBLEM "${problem}" PARENT_SCOPE)
      return()
    endif()
    file(RENAME ${staging}/${arg_ARCHIVE} ${archive})
    file(REMOVE_RECURSE ${staging})
  endif()
  file(SHA256 ${archive} hash)
  if(NOT hash STREQUAL arg_SHA256)
    message(FATAL_ERROR "${archive} has SHA-256\n  ${hash}, expected\n  ${arg_SHA256}.\n"
                        "Delete it and configure again.")
  endif()
  if(NOT EXISTS ${deps}/${arg_FOLDER}/${arg_HAS})
    file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${deps})
  endif()
  set(${out} ${deps}/${arg_FOLDER} PARENT_SCOPE)
endfunction()
