#pragma once

// What all binding files share: views of Python arrays, and Results as exceptions.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rl/batch.h"
#include "rl/evaluation.h"

namespace assay::python {

namespace nb = nanobind;
using namespace nb::literals;  // NOLINT(google-build-using-namespace)

template <typename T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Maybe = std::optional<In<T>>;
template <typename T>
using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Array = nb::ndarray<T, nb::numpy, nb::ndim<1>>;

template <typename T>
std::span<const T> View(const In<T>& array) {
  return {array.data(), array.size()};
}
template <typename T>
std::span<const T> View(const Maybe<T>& array) {
  return array ? View(*array) : std::span<const T>();
}
template <typename T>
std::span<T> View(const Out<T>& array) {
  return {array.data(), array.size()};
}

template <typename T>
Array<T> Give(std::vector<T> values) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array<T>(owned->data(), {owned->size()}, owner);
}

inline nb::dict Give(const rl::Metrics& metrics) {
  nb::dict out;
  for (const auto& [name, value] : metrics) out[name.c_str()] = value;
  return out;
}

inline nb::tuple Give(const rl::Interval& interval) {
  return nb::make_tuple(interval.value, interval.low, interval.high);
}

inline void Check(const assay::Status& status) {
  if (!status.ok()) throw nb::value_error(status.error().message.c_str());
}

template <typename T>
T Take(assay::Result<T> result) {
  if (!result.ok()) throw nb::value_error(result.error().message.c_str());
  return *std::move(result);
}

/// Runs `work` without the interpreter lock and hands on its Result.
template <typename Work>
auto Unlocked(const Work& work) {
  nb::gil_scoped_release release;
  return work();
}

/// The row arrays of a batch with their index.
class Batch {
 public:
  Batch(In<int64_t> group, In<int64_t> trajectory, In<int64_t> turn, Maybe<double> reward,
        Maybe<uint8_t> keep)
      : group_(std::move(group)),
        trajectory_(std::move(trajectory)),
        turn_(std::move(turn)),
        reward_(std::move(reward)),
        keep_(std::move(keep)),
        rows_{View(group_), View(trajectory_), View(turn_), View(reward_), View(keep_)},
        index_(Take(rl::Index::Build(rows_))) {}

  [[nodiscard]] const rl::Rows& rows() const { return rows_; }
  [[nodiscard]] const rl::Index& index() const { return index_; }

 private:
  In<int64_t> group_;
  In<int64_t> trajectory_;
  In<int64_t> turn_;
  Maybe<double> reward_;
  Maybe<uint8_t> keep_;
  rl::Rows rows_;
  rl::Index index_;
};

void BindAdvantages(nb::module_& m);
void BindMismatch(nb::module_& m);
void BindLosses(nb::module_& m);
void BindSelection(nb::module_& m);
void BindStatistics(nb::module_& m);
void BindReports(nb::module_& m);

}  // namespace assay::python
