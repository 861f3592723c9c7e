#include "task/repair.h"

#include <algorithm>

#include "base/strings.h"

namespace assay {
namespace {

constexpr Repair kRepairs[] = {
    {"reweighted", "weights drawn anew so that a signal keeps its size"},
    {"signed", "inputs of both signs"},
    {"scaled", "inputs over four decades, of both signs"},
};

// Class and functions are changed where they stand: a subclass named Model would break what calls
// super(Model, self). Names begin with an underscore so that they hide nothing of the task's.

constexpr std::string_view kReweighted = R"(

def _assay_reweight(model):
    with torch.no_grad():
        for module in model.modules():
            transposed = "ConvTranspose" in type(module).__name__
            for name, weight in module.named_parameters(recurse=False):
                if not weight.is_floating_point():
                    continue
                if weight.dim() < 2:
                    centre = 1.0 if float(weight.float().mean()) > 0.5 else 0.0
                    weight.copy_(centre + 0.1 * torch.randn_like(weight))
                    continue
                fan_in = weight[0].numel() if not transposed else weight.numel() // weight.shape[1]
                weight.copy_(torch.randn_like(weight) * ({gain} / fan_in) ** 0.5)


_assay_init = {entry}.__init__


def _assay_reweighted_init(self, *args, **kwargs):
    _assay_init(self, *args, **kwargs)
    _assay_reweight(self)


{entry}.__init__ = _assay_reweighted_init
)";

constexpr std::string_view kInputs = R"(

def _assay_{name}(value):
    if isinstance(value, (list, tuple)):
        return type(value)(_assay_{name}(item) for item in value)
    if not isinstance(value, torch.Tensor) or not value.is_floating_point() or value.numel() < 2:
        return value
    sample = value.reshape(-1)[:65536].float()
    uniform = float(sample.min()) >= 0 and float(sample.max()) <= 1
    if torch.unique(sample).numel() < 32 or not (uniform or float(sample.min()) < 0):
        return value
    {body}


_assay_inputs = get_inputs


def get_inputs():
    return _assay_{name}(_assay_inputs())
)";

constexpr std::string_view kSignedBody = "return value * 8 - 4 if uniform else value * 2";
constexpr std::string_view kScaledBody =
    "exponents = torch.rand_like(value) * 12 - 6\n"
    "    signs = torch.where(torch.rand_like(value) < 0.5, -1.0, 1.0).to(value.dtype)\n"
    "    return signs * exponents.exp2()";

std::string Replaced(std::string_view text,
                     std::span<const std::pair<std::string_view, std::string_view>> words) {
  std::string result(text);
  for (const auto& [word, with] : words)
    for (size_t at = result.find(word); at != std::string::npos;
         at = result.find(word, at + with.size()))
      result.replace(at, word.size(), with);
  return result;
}

std::string Addition(const Task& task, std::string_view name) {
  if (name == "reweighted") {
    const bool rectified = ToLower(task.source).find("relu") != std::string::npos;
    const std::pair<std::string_view, std::string_view> words[] = {
        {"{entry}", task.entry}, {"{gain}", rectified ? "2.0" : "1.0"}};
    return Replaced(kReweighted, words);
  }
  const std::pair<std::string_view, std::string_view> words[] = {
      {"{name}", name}, {"{body}", name == "signed" ? kSignedBody : kScaledBody}};
  return Replaced(kInputs, words);
}

}  // namespace

std::span<const Repair> Repairs() { return kRepairs; }

VariantId SplitVariant(std::string_view id) {
  const size_t at = id.rfind('~');
  if (at == std::string_view::npos) return {id, {}};
  const std::string_view name = id.substr(at + 1);
  const bool known = std::any_of(std::begin(kRepairs), std::end(kRepairs),
                                 [&](const Repair& repair) { return name == repair.name; });
  return known ? VariantId{id.substr(0, at), name} : VariantId{id, {}};
}

Result<Task> MakeVariant(const Task& task, std::string_view name) {
  const auto* repair = std::find_if(std::begin(kRepairs), std::end(kRepairs),
                                    [&](const Repair& one) { return name == one.name; });
  if (repair == std::end(kRepairs)) {
    std::vector<std::string> names;
    for (const Repair& one : kRepairs) names.emplace_back(one.name);
    return Err(ErrorCode::kNotFound, "no repair '{}'; there are {}", CleanText(name.substr(0, 100)),
               Join(names, ", "));
  }
  Task variant = task;
  variant.id = fmt::format("{}~{}", task.id, repair->name);
  variant.aliases.clear();
  for (const std::string& alias : task.aliases)
    variant.aliases.push_back(fmt::format("{}~{}", alias, repair->name));
  variant.name = fmt::format("{}~{}", task.name, repair->name);
  variant.origin = fmt::format("{}, {}", task.origin, repair->what);
  variant.source += fmt::format("\n\n# {}: {}.\nimport torch\n", repair->name, repair->what);
  variant.source += Addition(task, repair->name);
  return MakeTask(std::move(variant));
}

}  // namespace assay
