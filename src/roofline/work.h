#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace assay {

/// What a task's reference must move and compute at the least: an `assay.work/1` document, made by
/// python/assay/runtime/trace_work.py.
struct Work {
  struct Tensor {
    std::string name;  ///< "input[0]", a parameter's name, "output[0]"
    std::string dtype;
    double bytes = 0;
    double moved = 0;  ///< bytes that must be read or written
  };
  struct Operator {
    std::string op;
    bool matrix = false;  ///< can run on matrix units
    std::string dtype;    ///< of its operands, as torch names it: "float32"
    double nominal = 0;   ///< as the reference writes it; multiply and add are two
    double flops = 0;     ///< without what is not needed or known to be zero
    double least = 0;     ///< less what Winograd's and Strassen's algorithms could save
  };
  /// An operator that reads its input again where a row does not fit on the chip.
  struct SecondRead {
    std::string op;
    double row_bytes = 0;
    double bytes = 0;
  };

  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<Operator> operators;
  std::vector<SecondRead> second_reads;
  double read_bytes = 0;
  double write_bytes = 0;
  double eager_bytes = 0;    ///< what the reference's operators move, each a kernel of its own
  double eager_kernels = 0;  ///< how many those are
  double depth = 0;          ///< longest chain of matrix operators and reductions
  /// Precisions beside the operands' own in which the matrix work passes the numeric rule ("tf32",
  /// "bf16", "fp16"); `verified` says that it was tried.
  std::vector<std::string> admitted;
  bool verified = false;
};

/// kInvalid: not such a document, or with figures that cannot be.
Result<Work> ReadWork(const json::object& document);

}  // namespace assay
