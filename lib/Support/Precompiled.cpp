// Carries the precompiled header; see lib/CMakeLists.txt.
