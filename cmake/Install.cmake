# What `cmake --install` and the wheel put where. The binary finds the rest relative to itself:
#
#   bin/assay
#   share/assay/python/assay/…                     what judge and candidates run
#   share/assay/python/assay/libassay_native.so    its native part
#   share/assay/tasks/…                            the built-in tasks
#   share/assay/schema/…                           the JSON schema of a verdict
#
# In a wheel these folders are those of the environment (bin and share beside each other), and
# scikit-build-core adds the Python package to site-packages for `import assay`; assay.rl's compiled part
# goes there (elsewhere into share/assay/python), built for the interpreter that builds the wheel.
include(GNUInstallDirs)
if(SKBUILD)
  set(ASSAY_INSTALL_BIN ${SKBUILD_SCRIPTS_DIR})
  set(ASSAY_INSTALL_SHARE ${SKBUILD_DATA_DIR}/share/assay)
  set(ASSAY_INSTALL_PACKAGE ${SKBUILD_PLATLIB_DIR}/assay)
else()
  set(ASSAY_INSTALL_BIN ${CMAKE_INSTALL_BINDIR})
  set(ASSAY_INSTALL_SHARE ${CMAKE_INSTALL_DATADIR}/assay)
  set(ASSAY_INSTALL_PACKAGE ${ASSAY_INSTALL_SHARE}/python/assay)
endif()

if(TARGET assay)
  install(TARGETS assay RUNTIME DESTINATION ${ASSAY_INSTALL_BIN})
endif()
if(TARGET assay_native)
  install(TARGETS assay_native LIBRARY DESTINATION ${ASSAY_INSTALL_SHARE}/python/assay)
endif()
if(TARGET assay_rl_python)
  install(TARGETS assay_rl_python LIBRARY DESTINATION ${ASSAY_INSTALL_PACKAGE}/rl)
endif()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/python/assay DESTINATION ${ASSAY_INSTALL_SHARE}/python
        FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/tasks DESTINATION ${ASSAY_INSTALL_SHARE}
        FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/schema DESTINATION ${ASSAY_INSTALL_SHARE}
        FILES_MATCHING PATTERN "*.json")
