int onnx_aot_answer(void) { return 42; }
