#include "roofline/work.h"

#include <algorithm>

namespace assay {
namespace {

constexpr double kMost = 1e24;  // bytes or operations

Status Number(const json::object& object, std::string_view name, double* number) {
  const json::value* value = object.if_contains(name);
  if (value != nullptr && value->is_number()) {
    *number = value->to_number<double>();
    if (*number >= 0 && *number <= kMost) return {};  // Not NaN.
  }
  return Err(ErrorCode::kInvalid, "the work's '{}' must be a number from 0 to {}", name, kMost);
}

Status Tensors(const json::object& document, std::string_view list, std::string_view moved,
               std::vector<Work::Tensor>* tensors) {
  for (const json::value& value : GetArray(document, list)) {
    const json::object* row = value.if_object();
    if (row == nullptr) return Err(ErrorCode::kInvalid, "the work's {} must be objects", list);
    Work::Tensor tensor{.name = GetString(*row, "name"), .dtype = GetString(*row, "dtype")};
    ASSAY_RETURN_IF_ERROR(Number(*row, "bytes", &tensor.bytes));
    ASSAY_RETURN_IF_ERROR(Number(*row, moved, &tensor.moved));
    tensors->push_back(std::move(tensor));
  }
  return {};
}

}  // namespace

Result<Work> ReadWork(const json::object& document) {
  if (GetString(document, "schema") != "assay.work/1")
    return Err(ErrorCode::kInvalid, "not a trace of work: its 'schema' is not \"assay.work/1\"");
  Work work;
  ASSAY_RETURN_IF_ERROR(Tensors(document, "inputs", "read_bytes", &work.inputs));
  ASSAY_RETURN_IF_ERROR(Tensors(document, "outputs", "write_bytes", &work.outputs));
  const std::pair<const char*, double*> totals[] = {{"read_bytes", &work.read_bytes},
                                                    {"write_bytes", &work.write_bytes},
                                                    {"eager_bytes", &work.eager_bytes},
                                                    {"eager_kernels", &work.eager_kernels},
                                                    {"depth", &work.depth}};
  for (const auto& [name, number] : totals) ASSAY_RETURN_IF_ERROR(Number(document, name, number));
  for (const json::value& value : GetArray(document, "ops")) {
    const json::object* row = value.if_object();
    if (row == nullptr) return Err(ErrorCode::kInvalid, "the work's ops must be objects");
    Work::Operator op{.op = GetString(*row, "op"),
                      .matrix = GetString(*row, "class") == "matrix",
                      .dtype = GetString(*row, "dtype")};
    ASSAY_RETURN_IF_ERROR(Number(*row, "flops_nominal", &op.nominal));
    ASSAY_RETURN_IF_ERROR(Number(*row, "flops", &op.flops));
    ASSAY_RETURN_IF_ERROR(Number(*row, "flops_bound", &op.least));
    if (op.flops > op.nominal * (1 + 1e-9) || op.least > op.flops * (1 + 1e-9))
      return Err(ErrorCode::kInvalid, "the work of {} grows where it must shrink", op.op);
    work.operators.push_back(std::move(op));
  }
  for (const json::value& value : GetArray(document, "second_reads")) {
    const json::object* row = value.if_object();
    if (row == nullptr) return Err(ErrorCode::kInvalid, "the work's second_reads must be objects");
    Work::SecondRead again{.op = GetString(*row, "op")};
    ASSAY_RETURN_IF_ERROR(Number(*row, "row_bytes", &again.row_bytes));
    ASSAY_RETURN_IF_ERROR(Number(*row, "bytes", &again.bytes));
    work.second_reads.push_back(std::move(again));
  }
  if (const json::value* admitted = document.if_contains("admitted");
      admitted != nullptr && admitted->is_array()) {
    work.verified = true;
    for (const json::value& precision : admitted->get_array())
      if (precision.is_string()) work.admitted.emplace_back(precision.get_string());
  }
  return work;
}

}  // namespace assay
