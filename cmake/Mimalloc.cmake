# Object library `assay_mimalloc`: the allocator of the `assay` program, in place of the C library's. A
# busy server makes and frees many small pieces of memory on several threads, and glibc's heaps take locks
# and system calls for that (docs/measurements.md has the figures).
#
# Distributions ship it as a shared library only, which the program could not take along. So its source
# (130 kB) comes, pinned by hash, from Debian's archive into <source>/.deps at the first configure; later
# ones need no network. Where it cannot be had the build goes on without it. Sanitizers bring an allocator
# of their own. Nothing else links it: candidates and judges have their Python's.
option(ASSAY_MIMALLOC "Use mimalloc in the assay program" ON)
set(ASSAY_MIMALLOC_SOURCE "" CACHE PATH
    "Folder with mimalloc's include/ and src/; empty: fetched from Debian's archive")

set(ASSAY_MIMALLOC_VERSION 2.0.9)
set(ASSAY_MIMALLOC_SHA256 cbc9d207ff105ad1f0cb739c378076143a6452b8d0624309cea0abfb040e972b)
set(ASSAY_MIMALLOC_URL
    http://deb.debian.org/debian/pool/main/m/mimalloc/mimalloc_${ASSAY_MIMALLOC_VERSION}+ds.orig.tar.xz)

# Downloads and unpacks the source unless it is there; sets `out` to its folder, or to nothing.
function(assay_fetch_mimalloc out)
  set(deps ${CMAKE_SOURCE_DIR}/.deps)
  set(name mimalloc-${ASSAY_MIMALLOC_VERSION}+ds)
  set(archive ${deps}/${name}.tar.xz)
  set(${out} "" PARENT_SCOPE)
  if(NOT EXISTS ${archive})
    # Tried once for each build folder: where there is no way out, waiting for it takes a while.
    if(ASSAY_MIMALLOC_UNREACHABLE)
      message(STATUS "mimalloc: not used, ${ASSAY_MIMALLOC_UNREACHABLE} (there is no ${archive})")
      return()
    endif()
    # A private name and a final rename: an interrupted or parallel configure leaves no half archive.
    string(RANDOM LENGTH 8 salt)
    file(MAKE_DIRECTORY ${deps})
    file(DOWNLOAD ${ASSAY_MIMALLOC_URL} ${archive}.${salt} TIMEOUT 60 INACTIVITY_TIMEOUT 15 STATUS status)
    list(GET status 0 code)
    list(GET status 1 text)
    if(NOT code EQUAL 0)
      file(REMOVE ${archive}.${salt})
      set(ASSAY_MIMALLOC_UNREACHABLE "its source could not be fetched: ${text}" CACHE INTERNAL "")
      message(STATUS
        "mimalloc: not used, its source could not be fetched (${text}) from\n     ${ASSAY_MIMALLOC_URL}\n"
        "   The server works with the C library's allocator, with fewer requests a second. To have it all "
        "the same put the file as\n     ${archive}\n   or name its unpacked folder with "
        "-DASSAY_MIMALLOC_SOURCE=...")
      return()
    endif()
    file(RENAME ${archive}.${salt} ${archive})
  endif()
  file(SHA256 ${archive} hash)
  if(NOT hash STREQUAL ASSAY_MIMALLOC_SHA256)
    message(FATAL_ERROR "${archive} has SHA-256\n  ${hash}, expected\n  ${ASSAY_MIMALLOC_SHA256}.\n"
                        "Delete it and configure again.")
  endif()
  if(NOT EXISTS ${deps}/${name}/src/static.c)
    file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${deps})
  endif()
  set(${out} ${deps}/${name} PARENT_SCOPE)
endfunction()

if(ASSAY_SANITIZE OR NOT ASSAY_MIMALLOC)
  message(STATUS "mimalloc: not used (ASSAY_MIMALLOC=${ASSAY_MIMALLOC}, ASSAY_SANITIZE=${ASSAY_SANITIZE})")
  return()
endif()
if(ASSAY_MIMALLOC_SOURCE)
  set(source ${ASSAY_MIMALLOC_SOURCE})
else()
  assay_fetch_mimalloc(source)
  if(NOT source)
    return()
  endif()
endif()
if(NOT EXISTS ${source}/src/static.c OR NOT EXISTS ${source}/include/mimalloc.h)
  message(FATAL_ERROR "${source} has no src/static.c or no include/mimalloc.h; ASSAY_MIMALLOC_SOURCE must "
                      "name mimalloc's source folder.")
endif()

# An object and not an archive: its malloc must win over the C library's, wherever it stands on the command
# line. One unit, so that malloc() and the rest are inlined into each other.
add_library(assay_mimalloc OBJECT ${source}/src/static.c)
target_include_directories(assay_mimalloc SYSTEM PUBLIC ${source}/include)
target_compile_definitions(assay_mimalloc PRIVATE MI_MALLOC_OVERRIDE NDEBUG)
# Thread-local words of the program itself are reached without a call; malloc must not be taken for the
# compiler's own idea of it.
target_compile_options(assay_mimalloc PRIVATE -w -O3 -ftls-model=initial-exec -fno-builtin-malloc)
set_target_properties(assay_mimalloc PROPERTIES C_STANDARD 11 C_EXTENSIONS ON)
