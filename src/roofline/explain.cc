#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "roofline/bound.h"

namespace assay {
namespace {

constexpr size_t kMostRows = 12;

std::string Bytes(double bytes) {
  return bytes >= 1e9   ? fmt::format("{:.3f} GB", bytes / 1e9)
         : bytes >= 1e6 ? fmt::format("{:.3f} MB", bytes / 1e6)
                        : fmt::format("{:.0f} B", bytes);
}

std::string Name(const std::string& text) { return CleanText(TruncateMiddle(text, 40)); }

void Tensors(const char* title, std::vector<Work::Tensor> tensors, double total,
             std::string* text) {
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const Work::Tensor& a, const Work::Tensor& b) { return a.moved > b.moved; });
  *text += fmt::format("{} {}\n", title, Bytes(total));
  for (size_t i = 0; i < std::min(tensors.size(), kMostRows); ++i) {
    const Work::Tensor& each = tensors[i];
    *text +=
        fmt::format("  {:<28} {:<10} {:>12}{}\n", Name(each.name), Name(each.dtype),
                    Bytes(each.moved), each.moved < each.bytes ? "  of " + Bytes(each.bytes) : "");
  }
  if (tensors.size() > kMostRows)
    *text += fmt::format("  and {} more\n", tensors.size() - kMostRows);
}

void Terms(const char* title, double us, const std::vector<BoundTerm>& terms, std::string* text) {
  *text += fmt::format("{:<32} {:>12.4g} us\n", title, us);
  for (const BoundTerm& term : terms)
    *text += fmt::format("  {:<30} {:>12.4g} us  {}\n", term.name, term.us, term.how);
}

json::array TermsJson(const std::vector<BoundTerm>& terms) {
  json::array out;
  for (const BoundTerm& term : terms)
    out.push_back({{"name", term.name}, {"us", term.us}, {"how", term.how}});
  return out;
}

}  // namespace

std::string ExplainText(const Work& work, const Bound& bound) {
  std::string text;
  Tensors("Reads", work.inputs, work.read_bytes, &text);
  Tensors("Writes", work.outputs, work.write_bytes, &text);
  if (!work.operators.empty()) {
    text += "Arithmetic (FLOP)                  as written       needed  algorithms' least\n";
    std::vector<Work::Operator> operators = work.operators;
    std::stable_sort(
        operators.begin(), operators.end(),
        [](const Work::Operator& a, const Work::Operator& b) { return a.nominal > b.nominal; });
    for (size_t i = 0; i < std::min(operators.size(), kMostRows); ++i) {
      const Work::Operator& op = operators[i];
      text += fmt::format("  {:<28} {:<6} {:>9.3e}    {:>9.3e}          {:>9.3e}\n", Name(op.op),
                          op.matrix ? "matrix" : "vector", op.nominal, op.flops, op.least);
    }
    if (operators.size() > kMostRows)
      text += fmt::format("  and {} more\n", operators.size() - kMostRows);
  }
  text += fmt::format("Card: {}, {}\n", bound.card, bound.source);
  Terms("Bound", bound.bound_us, bound.bound_terms, &text);
  if (bound.calibrated_us) Terms("Calibrated", *bound.calibrated_us, bound.calibrated_terms, &text);
  text +=
      fmt::format("Eager: {:.0f} kernels move {}, {:.4g} us; fusion gains at most {:.1f}x\n",
                  work.eager_kernels, Bytes(work.eager_bytes), bound.eager_us, bound.fusion_gain);
  text += fmt::format("Limited by {}{}{}\n", bound.limiter, bound.precision.empty() ? "" : ", ",
                      bound.precision);
  for (const std::string& note : bound.notes) text += "Note: " + CleanText(note) + "\n";
  return text;
}

json::object ExplainJson(const Work& work, const Bound& bound) {
  json::object out = ToJson(ToReport(bound));
  out["device"] = bound.cpu ? "cpu" : "cuda";
  out["card"] = bound.card;
  out["bound_terms"] = TermsJson(bound.bound_terms);
  out["calibrated_terms"] = TermsJson(bound.calibrated_terms);
  out["eager_us"] = bound.eager_us;
  out["fusion_gain"] = bound.fusion_gain;
  out["read_bytes"] = work.read_bytes;
  out["write_bytes"] = work.write_bytes;
  out["notes"] = json::array(bound.notes.begin(), bound.notes.end());
  return out;
}

}  // namespace assay
