# Target `tree_sitter_python`: the tree-sitter library and its Python grammar.
#
# The library is the distribution's. The grammar's generated C (3.4 MB) is not committed: the first
# configure takes it, pinned by version and hash, from PyPI into <source>/.deps, and later ones need no
# network. -DASSAY_TREE_SITTER_PYTHON=DIR names a folder with parser.c and scanner.c instead.
include(${CMAKE_CURRENT_LIST_DIR}/FetchPinned.cmake)

set(ASSAY_TREE_SITTER_PYTHON "" CACHE PATH
    "Folder with parser.c and scanner.c of tree-sitter-python; empty: fetched from PyPI")

if(ASSAY_TREE_SITTER_PYTHON)
  set(grammar ${ASSAY_TREE_SITTER_PYTHON})
else()
  find_program(ASSAY_PYTHON3 python3 REQUIRED)
  # The last release whose tables have ABI 14, the newest that libtree-sitter 0.20 loads.
  set(version 0.23.6)
  set(name tree_sitter_python-${version})
  # pip builds the metadata of an sdist even if it only downloads it, for which it fetches setuptools into an
  # environment of its own; only the grammar is asked for as source.
  assay_fetch_pinned(source
    ARCHIVE ${name}.tar.gz
    SHA256 354bfa0a2f9217431764a631516f85173e9711af2c13dbd796a8815acfe505d9
    COMMAND ${ASSAY_PYTHON3} -m pip download --quiet --disable-pip-version-check --no-deps
            --no-binary tree-sitter-python tree-sitter-python==${version}
    FOLDER ${name} HAS src/parser.c)
  if(NOT source)
    message(FATAL_ERROR
      "The Python grammar could not be fetched from PyPI: ${source_PROBLEM}\n"
      "It needs the network and pip (apt install python3-pip python3-venv). Offline, either put "
      "${name}.tar.gz into ${CMAKE_SOURCE_DIR}/.deps, or unpack it and configure with "
      "-DASSAY_TREE_SITTER_PYTHON=<folder with parser.c and scanner.c>.")
  endif()
  set(grammar ${source}/src)
endif()
foreach(file IN ITEMS parser.c scanner.c)
  if(NOT EXISTS ${grammar}/${file})
    message(FATAL_ERROR "${grammar} has no ${file}; ASSAY_TREE_SITTER_PYTHON must name the grammar's "
                        "src folder.")
  endif()
endforeach()

find_path(ASSAY_TREE_SITTER_INCLUDE tree_sitter/api.h REQUIRED)
assay_find_library(ASSAY_TREE_SITTER tree-sitter)

set(adapter ${CMAKE_CURRENT_LIST_DIR}/../src/lint/grammar)
add_library(tree_sitter_python STATIC ${grammar}/parser.c ${grammar}/scanner.c)
target_include_directories(tree_sitter_python PRIVATE ${adapter})
target_include_directories(tree_sitter_python SYSTEM PUBLIC ${ASSAY_TREE_SITTER_INCLUDE})
# Generated code: no warnings, always optimised (it is the floor of lint's time), and its assertions off,
# because a submission must not be able to end the process.
target_compile_options(tree_sitter_python PRIVATE
  -w -O2 -include ${adapter}/generated_macros.h)
target_compile_definitions(tree_sitter_python PRIVATE NDEBUG)
set_target_properties(tree_sitter_python PROPERTIES C_STANDARD 11)
target_link_libraries(tree_sitter_python PUBLIC ${ASSAY_TREE_SITTER})
