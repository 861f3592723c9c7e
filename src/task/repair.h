#pragma once

#include <span>
#include <string_view>

#include "task/task.h"

namespace assay {

/// A change to a task that makes it worth judging where trivial programs pass the original: other
/// inputs, or weights that keep a signal alive. A variant is a task of its own with the id
/// "<id>~<name>", whose source is the original's with a few lines behind it; the file stays as it
/// is, and what is known of the original (health, roofline) is not known of the variant.
///
///     reweighted  parameters are drawn anew when Model is built: matrices and filters normal with
///     a
///                 variance that keeps a signal's size (2 / fan in where the task has a ReLU, else
///                 1 / fan in), vectors near 1 or 0, as they were
///     signed      uniform inputs are stretched to [-4, 4), normal ones doubled
///     scaled      magnitudes 2^u with u uniform in [-6, 6), signs at random
struct Repair {
  const char* name;
  const char* what;  ///< for people
};

/// All of them.
std::span<const Repair> Repairs();

/// The id's original and the variant's name; an empty name where the id is no variant's.
struct VariantId {
  std::string_view original;
  std::string_view repair;
};
VariantId SplitVariant(std::string_view id);

/// The variant `name` of a task. kNotFound names those there are.
Result<Task> MakeVariant(const Task& task, std::string_view name);

}  // namespace assay
