// The library operations that do a reference's work.
#include <unordered_set>

#include "lint/tables.h"

namespace assay::lint {
namespace {

using Set = std::unordered_set<std::string_view>;

std::string_view Parent(std::string_view path) {
  const size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

std::string_view Last(std::string_view path) { return path.substr(path.rfind('.') + 1); }

std::string_view StripInPlace(std::string_view name) {
  if (name.size() > 1 && name.back() == '_') name.remove_suffix(1);
  return name;
}

// Functions of torch, and most of them also methods of tensors, that do a reference's work.
const Set& ComputeNames() {
  static const Set set{"matmul",
                       "mm",
                       "bmm",
                       "mv",
                       "dot",
                       "vdot",
                       "inner",
                       "outer",
                       "ger",
                       "addmm",
                       "addmv",
                       "addbmm",
                       "baddbmm",
                       "addr",
                       "chain_matmul",
                       "einsum",
                       "tensordot",
                       "kron",
                       "cdist",
                       "linear",
                       "bilinear",
                       "conv1d",
                       "conv2d",
                       "conv3d",
                       "conv_transpose1d",
                       "conv_transpose2d",
                       "conv_transpose3d",
                       "convolution",
                       "conv_tbc",
                       "_scaled_mm",
                       "_int_mm",
                       "_grouped_mm",
                       "softmax",
                       "log_softmax",
                       "relu",
                       "relu6",
                       "prelu",
                       "rrelu",
                       "leaky_relu",
                       "celu",
                       "elu",
                       "selu",
                       "gelu",
                       "silu",
                       "mish",
                       "hardtanh",
                       "hardswish",
                       "hardsigmoid",
                       "softplus",
                       "softsign",
                       "sigmoid",
                       "logsigmoid",
                       "tanh",
                       "threshold",
                       "glu",
                       "batch_norm",
                       "layer_norm",
                       "group_norm",
                       "instance_norm",
                       "rms_norm",
                       "native_layer_norm",
                       "native_batch_norm",
                       "normalize",
                       "renorm",
                       "sum",
                       "nansum",
                       "mean",
                       "nanmean",
                       "prod",
                       "max",
                       "min",
                       "amax",
                       "amin",
                       "aminmax",
                       "argmax",
                       "argmin",
                       "logsumexp",
                       "norm",
                       "var",
                       "std",
                       "var_mean",
                       "std_mean",
                       "median",
                       "mode",
                       "quantile",
                       "cumsum",
                       "cumprod",
                       "cummax",
                       "cummin",
                       "logcumsumexp",
                       "topk",
                       "sort",
                       "argsort",
                       "kthvalue",
                       "msort",
                       "exp",
                       "exp2",
                       "expm1",
                       "log",
                       "log2",
                       "log10",
                       "log1p",
                       "sqrt",
                       "rsqrt",
                       "pow",
                       "erf",
                       "erfc",
                       "sin",
                       "cos",
                       "clamp",
                       "clip",
                       "lerp",
                       "addcmul",
                       "addcdiv",
                       "max_pool1d",
                       "max_pool2d",
                       "max_pool3d",
                       "avg_pool1d",
                       "avg_pool2d",
                       "avg_pool3d",
                       "adaptive_avg_pool1d",
                       "adaptive_avg_pool2d",
                       "adaptive_avg_pool3d",
                       "adaptive_max_pool1d",
                       "adaptive_max_pool2d",
                       "lp_pool2d",
                       "unfold",
                       "fold",
                       "interpolate",
                       "upsample",
                       "pixel_shuffle",
                       "grid_sample",
                       "embedding",
                       "dropout",
                       "scaled_dot_product_attention",
                       "multi_head_attention_forward",
                       "mse_loss",
                       "l1_loss",
                       "smooth_l1_loss",
                       "huber_loss",
                       "cross_entropy",
                       "nll_loss",
                       "kl_div",
                       "cosine_similarity",
                       "cosine_embedding_loss",
                       "triplet_margin_loss",
                       "hinge_embedding_loss",
                       "binary_cross_entropy",
                       "lstm",
                       "gru",
                       "rnn_tanh",
                       "rnn_relu",
                       "lstm_cell",
                       "gru_cell",
                       "bincount",
                       "histc",
                       "cross",
                       "tril",
                       "triu",
                       "masked_fill",
                       "where",
                       "vmap"};
  return set;
}

// Names among them that are not computing as methods, or are too common on other objects.
const Set& NotMethods() {
  static const Set set{"where", "linear",      "embedding", "fold",      "unfold",  "cross", "mode",
                       "vmap",  "interpolate", "normalize", "threshold", "dropout", "outer"};
  return set;
}

const Set& PassiveModules() {
  static const Set set{"torch.nn.Module",
                       "torch.nn.Parameter",
                       "torch.nn.ParameterList",
                       "torch.nn.ParameterDict",
                       "torch.nn.Buffer",
                       "torch.nn.Identity",
                       "torch.nn.UninitializedParameter",
                       "torch.nn.Flatten",
                       "torch.nn.Unflatten"};
  return set;
}

}  // namespace

bool IsComputePath(std::string_view path) {
  if (path.starts_with("torch.nn.functional.")) return Last(path) != "pad";
  for (const std::string_view area :
       {"torch.linalg.", "torch.fft.", "torch.special.", "torch.sparse.", "torch.ops.aten."})
    if (path.starts_with(area)) return true;
  const std::string_view parent = Parent(path);
  if (parent != "torch" && parent != "torch.Tensor" && parent != "torch._C._nn") return false;
  const std::string_view name = Last(path);
  return ComputeNames().contains(name) || ComputeNames().contains(StripInPlace(name)) ||
         name.starts_with("_foreach_");
}

bool IsComputeMethod(std::string_view name) {
  if (!ComputeNames().contains(name) && !ComputeNames().contains(StripInPlace(name))) return false;
  return !NotMethods().contains(StripInPlace(name));
}

bool IsComputeModule(std::string_view path) {
  if (!path.starts_with("torch.nn.") || Parent(path).starts_with("torch.nn.init")) return false;
  if (path.starts_with("torch.nn.functional.") || path.find('(') != std::string_view::npos)
    return false;
  const std::string_view name = Last(path);
  return !PassiveModules().contains(path) && !name.empty() && name[0] >= 'A' && name[0] <= 'Z';
}

}  // namespace assay::lint
