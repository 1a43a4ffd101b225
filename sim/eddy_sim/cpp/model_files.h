// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// What a model may read of the machine it runs on: the data files of its list, whose contents are in its shared object.
///
/// A memory that is filled from a file that is missing, short or malformed computes wrong results without a word. Here
/// such a model stops: what it asked for is said, and no result leaves it.
#pragma once
#include <cstddef>
#include <string>

/// A data file.
struct ModelFile {
  const char* name;  // without folders
  const char* bytes;
  size_t size;
};

/// Gives a model its files; the generated `eddy_data.h` has one.
struct ModelFiles {
  ModelFiles(const ModelFile* files, size_t count);
};

/// A model cannot go on; the sentence says why.
struct ModelStopped {
  std::string why;
};

/// Whether whoever steps the model catches `ModelStopped`. Else the process ends with the sentence on standard error.
extern bool model_stops_are_caught;

[[noreturn]] void stop_model(const std::string& why);
