# Writes JSON of the data folder into headers: the program needs no file beside it.
function(npgpu_embed folder array)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/data/${folder}/*.json)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  set(texts "")
  foreach(file ${files})
    file(READ ${file} text)
    string(APPEND texts "    R\"json(${text})json\",\n")
  endforeach()
  set(header ${PROJECT_BINARY_DIR}/generated/npgpu_${folder}.hpp)
  file(WRITE ${header}.new
    "// From data/${folder}.\n#pragma once\n\nnamespace npgpu::model {\ninline constexpr const char* ${array}[] = {\n${texts}};\n}  // namespace npgpu::model\n")
  file(COPY_FILE ${header}.new ${header} ONLY_IF_DIFFERENT)
endfunction()

npgpu_embed(references shipped_references)  # figures of healthy GPUs
npgpu_embed(published shipped_publications)  # figures of papers
