# Everything Assay links comes from the distribution's packages; scripts/setup installs them.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(OpenSSL REQUIRED)

# Boost is used as headers only (Boost.JSON is compiled once, in src/base/json.cc).
find_path(ASSAY_BOOST_INCLUDE boost/json.hpp REQUIRED)

# Prefers the static archive when ASSAY_STATIC is on.
function(assay_find_library out name)
  if(ASSAY_STATIC)
    find_library(${out} NAMES lib${name}.a ${name} REQUIRED)
  else()
    find_library(${out} NAMES ${name} REQUIRED)
  endif()
endfunction()
assay_find_library(ASSAY_SECCOMP seccomp)
assay_find_library(ASSAY_CRYPTO crypto)

if(ASSAY_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
