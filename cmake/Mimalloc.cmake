# Object library `assay_mimalloc`: the allocator of the `assay` program, in place of the C library's. A
# busy server makes and frees many small pieces of memory on several threads, and glibc's heaps take locks
# and system calls for that (docs/measurements.md has the figures).
#
# Distributions ship it as a shared library only, which the program could not take along. So its source
# (130 kB) comes, pinned by hash, from Debian's archive into <source>/.deps at the first configure; later
# ones need no network. Where it cannot be had the build goes on without it. Sanitizers bring an allocator
# of their own. Nothing else links it: candidates and judges have their Python's.
include(${CMAKE_CURRENT_LIST_DIR}/FetchPinned.cmake)

option(ASSAY_MIMALLOC "Use mimalloc in the assay program" ON)
set(ASSAY_MIMALLOC_SOURCE "" CACHE PATH
    "Folder with mimalloc's include/ and src/; empty: fetched from Debian's archive")

if(ASSAY_SANITIZE OR NOT ASSAY_MIMALLOC)
  message(STATUS "mimalloc: not used (ASSAY_MIMALLOC=${ASSAY_MIMALLOC}, ASSAY_SANITIZE=${ASSAY_SANITIZE})")
  return()
endif()
if(ASSAY_MIMALLOC_SOURCE)
  set(source ${ASSAY_MIMALLOC_SOURCE})
else()
  set(name mimalloc-2.0.9+ds)
  assay_fetch_pinned(source
    ARCHIVE ${name}.tar.xz
    SHA256 cbc9d207ff105ad1f0cb739c378076143a6452b8d0624309cea0abfb040e972b
    URL http://deb.debian.org/debian/pool/main/m/mimalloc/mimalloc_2.0.9+ds.orig.tar.xz
    FOLDER ${name} HAS src/static.c)
  if(NOT source)
    message(STATUS
      "mimalloc: not used, its source could not be fetched:\n     ${source_PROBLEM}\n"
      "   The server works with the C library's allocator, with fewer requests a second. To have it all "
      "the same put the file as\n     ${CMAKE_SOURCE_DIR}/.deps/${name}.tar.xz\n"
      "   or name its unpacked folder with -DASSAY_MIMALLOC_SOURCE=...")
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
