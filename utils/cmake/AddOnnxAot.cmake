# The project's wrappers round MLIR's CMake functions: every room is made by one
# of these, so that flags, include paths and the shared libMLIR stay in one place.

set(ONNX_AOT_WARNINGS -Wall -Wextra -Werror -Wno-unused-parameter -Wno-deprecated-declarations)
# LLVM is built without RTTI and exceptions, and so are we.
set(ONNX_AOT_FLAGS ${ONNX_AOT_WARNINGS} -fno-rtti -fno-exceptions -UNDEBUG)
# Lets ccache reuse objects that were built with a precompiled header.
add_compile_options("$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")

# onnx_aot_library(NAME sources... [DEPENDS generated targets] [LINK_LIBS libs])
function(onnx_aot_library name)
  cmake_parse_arguments(ARG "EXCEPTIONS" "" "DEPENDS;LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE ${ONNX_AOT_FLAGS})
  if(ARG_EXCEPTIONS)
    target_compile_options(${name} PRIVATE -fexceptions -frtti)
  endif()
  if(NOT ARG_EXCEPTIONS AND NOT CMAKE_BUILD_TYPE STREQUAL "")
    target_precompile_headers(${name} REUSE_FROM OnnxAotPch)
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS} MLIR LLVM)
  add_dependencies(${name} onnx-aot-headers ${ARG_DEPENDS})
endfunction()

# onnx_aot_tool(NAME sources... [LINK_LIBS libs])
function(onnx_aot_tool name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE ${ONNX_AOT_FLAGS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} MLIR LLVM)
  add_dependencies(${name} onnx-aot-headers)
  install(TARGETS ${name} RUNTIME DESTINATION bin)
endfunction()

# onnx_aot_tablegen(FILE.td OUTPUT generator...): one generated header. A macro,
# since LLVM's function collects the outputs in its caller's scope.
macro(onnx_aot_tablegen td output)
  set(LLVM_TARGET_DEFINITIONS ${td})
  mlir_tablegen(${output} ${ARGN} EXTRA_INCLUDES ${CMAKE_SOURCE_DIR}/include)
endmacro()

# The operator categories, in the order in which they are registered. A category
# has the same name in every room: <Category>Ops.td, <Category>Ops.cpp, ...
set(ONNX_AOT_CATEGORIES Elementwise Logical Reduction MatMul Convolution Pooling
    Normalization Shape Indexing Quantization Recurrent Sequence Random
    ControlFlow Loss Contrib Constant)
