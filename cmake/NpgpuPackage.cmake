# `cpack -G DEB` in a build with -DNPGPU_STATIC=ON makes a package for Debian and Ubuntu: the libraries are in the
# program, so that one package serves all of their releases that have its C library or a later one.
set(CPACK_PACKAGE_NAME npgpu)
set(CPACK_PACKAGE_CONTACT "The npgpu maintainers <npgpu@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL program documents)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-h5py, python3-pandas, python3-matplotlib")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
  "Measures copies, kernels and calls on GPUs and the host, judges whether each
GPU is as it should be, derives what the hardware is, and predicts into how
many CUDA streams a job should be cut. Every sample is kept in an HDF5 trace.")
include(CPack)
