# Writes the figures of healthy GPUs (data/references/*.json) into a header: the program needs no file beside it.
file(GLOB _references CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/data/references/*.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${_references})
set(_texts "")
foreach(_file ${_references})
  file(READ ${_file} _text)
  string(APPEND _texts "    R\"json(${_text})json\",\n")
endforeach()
file(WRITE ${PROJECT_BINARY_DIR}/generated/npgpu_references.hpp.new
  "// From data/references.\n#pragma once\n\nnamespace npgpu::model {\ninline constexpr const char* shipped_references[] = {\n${_texts}};\n}  // namespace npgpu::model\n")
file(COPY_FILE ${PROJECT_BINARY_DIR}/generated/npgpu_references.hpp.new
  ${PROJECT_BINARY_DIR}/generated/npgpu_references.hpp ONLY_IF_DIFFERENT)
