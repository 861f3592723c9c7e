# Target `tree_sitter_python`: the tree-sitter library and its Python grammar.
#
# The library is the distribution's. The grammar's generated C (3.4 MB) is not committed: the first
# configure takes it, pinned by version and hash, from PyPI into <source>/.deps, and later ones need no
# network. -DASSAY_TREE_SITTER_PYTHON=DIR names a folder with parser.c and scanner.c instead.
set(ASSAY_TREE_SITTER_PYTHON "" CACHE PATH
    "Folder with parser.c and scanner.c of tree-sitter-python; empty: fetched from PyPI")

# The last release whose tables have ABI 14, the newest that libtree-sitter 0.20 loads.
set(ASSAY_GRAMMAR_VERSION 0.23.6)
set(ASSAY_GRAMMAR_SHA256 354bfa0a2f9217431764a631516f85173e9711af2c13dbd796a8815acfe505d9)

# Downloads and unpacks the grammar's sdist unless it is there; sets `out` to its folder.
function(assay_fetch_grammar out)
  set(deps ${CMAKE_SOURCE_DIR}/.deps)
  set(name tree_sitter_python-${ASSAY_GRAMMAR_VERSION})
  set(archive ${deps}/${name}.tar.gz)
  set(${out} ${deps}/${name}/src PARENT_SCOPE)

  if(NOT EXISTS ${archive})
    find_program(ASSAY_PYTHON3 python3 REQUIRED)
    # A private folder and a final rename: an interrupted or parallel configure leaves no half archive.
    string(RANDOM LENGTH 8 salt)
    set(staging ${deps}/fetch-${salt})
    file(MAKE_DIRECTORY ${staging})
    # pip builds the metadata of an sdist even if it only downloads it, for which it fetches
    # setuptools into an environment of its own; only the grammar is asked for as source.
    set(command ${ASSAY_PYTHON3} -m pip download --quiet --disable-pip-version-check --no-deps
                --no-binary tree-sitter-python --dest ${staging}
                tree-sitter-python==${ASSAY_GRAMMAR_VERSION})
    list(JOIN command " " shown)
    message(STATUS "Fetching the Python grammar: ${shown}")
    execute_process(COMMAND ${command} RESULT_VARIABLE code OUTPUT_VARIABLE text
                    ERROR_VARIABLE text)
    if(NOT code EQUAL 0 OR NOT EXISTS ${staging}/${name}.tar.gz)
      file(REMOVE_RECURSE ${staging})
      message(FATAL_ERROR
        "The Python grammar could not be fetched from PyPI. The command was\n  ${shown}\n${text}\n"
        "It needs the network and pip (apt install python3-pip python3-venv). Offline, either put "
        "${name}.tar.gz into ${deps}, or unpack it and configure with "
        "-DASSAY_TREE_SITTER_PYTHON=<folder with parser.c and scanner.c>.")
    endif()
    file(RENAME ${staging}/${name}.tar.gz ${archive})
    file(REMOVE_RECURSE ${staging})
  endif()

  file(SHA256 ${archive} hash)
  if(NOT hash STREQUAL ASSAY_GRAMMAR_SHA256)
    message(FATAL_ERROR "${archive} has SHA-256\n  ${hash}, expected\n  ${ASSAY_GRAMMAR_SHA256}.\n"
                        "Delete it and configure again.")
  endif()
  if(NOT EXISTS ${deps}/${name}/src/parser.c)
    file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${deps})
  endif()
endfunction()

if(ASSAY_TREE_SITTER_PYTHON)
  set(grammar ${ASSAY_TREE_SITTER_PYTHON})
else()
  assay_fetch_grammar(grammar)
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
