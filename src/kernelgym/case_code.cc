#include "kernelgym/case_code.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/strings.h"
#include "lint/parse_tree.h"

namespace assay::kernelgym {
namespace {

using lint::Kind;
using lint::kNoNode;
using lint::NodeId;
using lint::ParseTree;
using Names = std::set<std::string_view>;

constexpr size_t kMostDigits = 9;

/// Functions of torch that give one tensor and reach nothing outside their arguments.
const Names& TensorFunctions() {
  static const Names names = {"abs",        "add",         "addmm",
                              "amax",       "amin",        "arange",
                              "argmax",     "argmin",      "argsort",
                              "baddbmm",    "bmm",         "cat",
                              "ceil",       "clamp",       "cos",
                              "cosh",       "cumprod",     "cumsum",
                              "diag",       "div",         "dot",
                              "einsum",     "erf",         "exp",
                              "expm1",      "eye",         "flatten",
                              "flip",       "floor",       "full",
                              "full_like",  "gather",      "index_select",
                              "linspace",   "log",         "log1p",
                              "log2",       "log_softmax", "logsumexp",
                              "matmul",     "maximum",     "mean",
                              "minimum",    "mm",          "mul",
                              "mv",         "neg",         "norm",
                              "ones",       "ones_like",   "outer",
                              "pow",        "prod",        "rand",
                              "rand_like",  "randint",     "randn",
                              "randn_like", "randperm",    "reciprocal",
                              "relu",       "remainder",   "repeat_interleave",
                              "roll",       "round",       "rsqrt",
                              "sigmoid",    "sign",        "sin",
                              "sinh",       "softmax",     "sqrt",
                              "square",     "stack",       "std",
                              "sub",        "sum",         "tan",
                              "tanh",       "tensor",      "tile",
                              "transpose",  "tril",        "triu",
                              "trunc",      "var",         "where",
                              "zeros",      "zeros_like"};
  return names;
}

/// Of torch.nn.functional.
const Names& LayerFunctions() {
  static const Names names = {"avg_pool1d",
                              "avg_pool2d",
                              "conv1d",
                              "conv2d",
                              "conv3d",
                              "cosine_similarity",
                              "elu",
                              "gelu",
                              "group_norm",
                              "hardsigmoid",
                              "hardswish",
                              "hardtanh",
                              "l1_loss",
                              "layer_norm",
                              "leaky_relu",
                              "linear",
                              "log_softmax",
                              "logsigmoid",
                              "max_pool1d",
                              "max_pool2d",
                              "mish",
                              "mse_loss",
                              "normalize",
                              "pad",
                              "relu",
                              "relu6",
                              "rms_norm",
                              "selu",
                              "sigmoid",
                              "silu",
                              "smooth_l1_loss",
                              "softmax",
                              "softplus",
                              "softsign",
                              "tanh"};
  return names;
}

/// Attributes of torch that are no functions.
const Names& Constants() {
  static const Names names = {"bfloat16", "bool",    "complex64", "device", "float",  "float16",
                              "float32",  "float64", "half",      "int",    "int16",  "int32",
                              "int64",    "int8",    "long",      "pi",     "double", "uint8"};
  return names;
}

/// Methods of a tensor other than those that are functions of torch too.
const Names& Methods() {
  static const Names names = {"T",       "bfloat16", "bool",   "clone",     "contiguous", "cpu",
                              "cuda",    "detach",   "double", "expand",    "float",      "half",
                              "int",     "long",     "mT",     "permute",   "repeat",     "reshape",
                              "squeeze", "t",        "to",     "unsqueeze", "view"};
  return names;
}

/// Reads one get_cases() and refuses what is not plain arithmetic.
class Extractor {
 public:
  explicit Extractor(std::string_view source) : source_(source), tree_(ParseTree::Parse(source)) {}

  Result<std::string> Run() {
    const NodeId function = FindFunction();
    if (function == kNoNode)
      return Err(ErrorCode::kNotFound, "kernel_code defines no get_cases() at its top level");
    if (tree_.has_error())
      return Err(ErrorCode::kInvalid, "get_cases() was not read: kernel_code does not parse");
    ASSAY_RETURN_IF_ERROR(CheckCharacters(function));
    ASSAY_RETURN_IF_ERROR(CheckFunction(function));
    std::string out = "import math\nimport torch\nimport torch.nn.functional as F\n\n";
    for (const std::string_view name : used_constants_)
      out += std::string(tree_.Text(constants_.at(name))) + "\n";
    return out + "\n\n" + std::string(tree_.Text(function)) + "\n";
  }

 private:
  [[nodiscard]] Error Refuse(NodeId node, std::string_view what) const {
    return Err(ErrorCode::kInvalid,
               "get_cases() in kernel_code must be plain tensor arithmetic, because a submission's "
               "code is not run where expected outputs are kept; line {} has {}: send the cases as "
               "cases_code or cases instead",
               tree_.Line(node), what);
  }

  /// The only top-level get_cases(); notes numeric constants of the module on the way.
  NodeId FindFunction() {
    NodeId found = kNoNode;
    for (NodeId node = tree_.FirstChild(0); node != kNoNode; node = tree_.NextSibling(node)) {
      if (tree_.kind(node) == Kind::kFunction) {
        const NodeId name = tree_.FirstChild(node);
        if (name != kNoNode && tree_.Text(name) == "get_cases") found = node;
      }
      if (tree_.kind(node) != Kind::kExpressionStatement) continue;
      const NodeId assignment = tree_.FirstChild(node);
      if (assignment == kNoNode || tree_.kind(assignment) != Kind::kAssignment) continue;
      const NodeId target = tree_.FirstChild(assignment);
      const NodeId value = tree_.LastChild(assignment);
      if (target != value && tree_.kind(target) == Kind::kIdentifier && IsNumber(value) &&
          tree_.NextSibling(target) == value && PlainCharacters(tree_.Text(node)))
        constants_[tree_.Text(target)] = node;
    }
    return found;
  }

  /// Python and the parser must agree on every line's end and every name, so nothing that either
  /// might read in its own way is let in.
  static bool PlainCharacters(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return c == '\n' || (c >= ' ' && c <= '~' && c != '\\'); });
  }

  [[nodiscard]] Status CheckCharacters(NodeId function) const {
    if (PlainCharacters(tree_.Text(function))) return {};
    return Refuse(function, "characters other than printable ASCII, or a backslash or tab");
  }

  [[nodiscard]] bool IsNumber(NodeId node) const {
    const std::string_view text = tree_.Text(node);
    if (tree_.kind(node) != Kind::kOther || tree_.FirstChild(node) != kNoNode || text.empty())
      return false;
    if (text == "True" || text == "False") return true;
    const bool digits_only = text.find_first_not_of("0123456789") == std::string_view::npos;
    if (digits_only) return text.size() <= kMostDigits;
    return text.size() <= 2 * kMostDigits &&
           (text[0] == '.' || (text[0] >= '0' && text[0] <= '9')) &&
           text.find_first_of("0123456789") != std::string_view::npos &&
           text.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
  }

  Status CheckFunction(NodeId function) {
    const NodeId parameters = tree_.ChildOf(function, Kind::kParameters);
    if (parameters != kNoNode && tree_.FirstChild(parameters) != kNoNode)
      return Refuse(parameters, "a parameter");
    const NodeId body = tree_.ChildOf(function, Kind::kBlock);
    if (body == kNoNode || tree_.NextSibling(tree_.FirstChild(function)) != parameters ||
        tree_.NextSibling(parameters) != body)
      return Refuse(function, "a return annotation");
    if (tree_.Text(function).starts_with("async")) return Refuse(function, "async");
    for (NodeId node = tree_.FirstChild(body); node != kNoNode; node = tree_.NextSibling(node))
      ASSAY_RETURN_IF_ERROR(CheckStatement(node));
    return {};
  }

  Status CheckStatement(NodeId node) {
    if (tree_.kind(node) == Kind::kReturn) {
      const NodeId value = tree_.FirstChild(node);
      return value == kNoNode ? Status() : CheckExpression(value);
    }
    const NodeId inner = tree_.FirstChild(node);
    if (tree_.kind(node) != Kind::kExpressionStatement || inner == kNoNode ||
        tree_.NextSibling(inner) != kNoNode)
      return Refuse(node, "a statement other than an assignment or return");
    if (tree_.kind(inner) == Kind::kString) return CheckExpression(inner);  // a docstring
    if (tree_.kind(inner) != Kind::kAssignment)
      return Refuse(node, "a statement other than an assignment or return");
    const NodeId target = tree_.FirstChild(inner);
    const NodeId value = tree_.LastChild(inner);
    if (target == value || tree_.NextSibling(target) != value)
      return Refuse(node, "an annotated assignment");
    ASSAY_RETURN_IF_ERROR(CheckExpression(value));
    return Bind(target, HoldsContainer(value));
  }

  Status Bind(NodeId target, bool container) {
    if (tree_.kind(target) == Kind::kIdentifier) {
      const std::string_view name = tree_.Text(target);
      if (name == "torch" || name == "F" || name == "math")
        return Refuse(target, "an assignment to a module's name");
      locals_.insert(name);
      if (container) containers_.insert(name);
      return {};
    }
    if (tree_.kind(target) != Kind::kPatternList && tree_.kind(target) != Kind::kTuplePattern)
      return Refuse(target, "an assignment to something other than names");
    for (NodeId part = tree_.FirstChild(target); part != kNoNode; part = tree_.NextSibling(part)) {
      if (tree_.kind(part) != Kind::kIdentifier) return Refuse(part, "a nested pattern");
      ASSAY_RETURN_IF_ERROR(Bind(part, container));
    }
    return {};
  }

  /// Lists, tuples, dicts and strings may not be operands: `[0] * 10**9` is how memory is filled.
  [[nodiscard]] bool HoldsContainer(NodeId node) const {
    node = tree_.Unwrap(node);
    switch (tree_.kind(node)) {
      case Kind::kIdentifier:
        return containers_.contains(tree_.Text(node));
      case Kind::kList:
      case Kind::kTuple:
      case Kind::kDictionary:
      case Kind::kString:
        return true;
      case Kind::kSubscript:
        return HoldsContainer(tree_.FirstChild(node));
      case Kind::kExpressionList:
        for (NodeId part = tree_.FirstChild(node); part != kNoNode; part = tree_.NextSibling(part))
          if (HoldsContainer(part)) return true;
        return false;
      default:
        return false;
    }
  }

  Status CheckAll(NodeId node) {
    for (NodeId part = tree_.FirstChild(node); part != kNoNode; part = tree_.NextSibling(part))
      ASSAY_RETURN_IF_ERROR(CheckExpression(part));
    return {};
  }

  Status CheckExpression(NodeId node) {
    if (++depth_ > 100) return Refuse(node, "an expression nested too deeply");
    Status status = CheckNode(node);
    --depth_;
    return status;
  }

  Status CheckNode(NodeId node) {
    switch (tree_.kind(node)) {
      case Kind::kIdentifier:
        return CheckName(node);
      case Kind::kNone:
        return {};
      case Kind::kList:
      case Kind::kTuple:
      case Kind::kDictionary:
      case Kind::kPair:
      case Kind::kParenthesized:
      case Kind::kExpressionList:
        return CheckAll(node);
      case Kind::kString:
        return CheckString(node);
      case Kind::kCall:
        return CheckCall(node);
      case Kind::kAttribute:
        return CheckAttribute(node);
      case Kind::kSubscript:
        if (HoldsContainer(tree_.FirstChild(node))) return Refuse(node, "an index into a list");
        return CheckAll(node);
      case Kind::kBinaryOperator:
        return CheckOperator(node);
      default:
        return CheckOther(node);
    }
  }

  Status CheckName(NodeId node) {
    const std::string_view name = tree_.Text(node);
    if (locals_.contains(name)) return {};
    if (constants_.contains(name)) {
      used_constants_.insert(name);
      return {};
    }
    return Refuse(node, fmt::format("the name '{}'", name));
  }

  Status CheckString(NodeId node) {
    for (NodeId id = node + 1; id < tree_[node].next; ++id)
      if (tree_.kind(id) != Kind::kStringStart && tree_.kind(id) != Kind::kStringContent &&
          tree_.kind(id) != Kind::kStringEnd)
        return Refuse(node, "a formatted string");
    return {};
  }

  Status CheckCall(NodeId node) {
    const NodeId callee = tree_.FirstChild(node);
    const NodeId arguments = tree_.NextSibling(callee);
    if (tree_.kind(callee) != Kind::kAttribute || arguments == kNoNode ||
        tree_.kind(arguments) != Kind::kArgumentList)
      return Refuse(node, "a call of something other than a tensor function");
    ASSAY_RETURN_IF_ERROR(CheckAttribute(callee));
    for (NodeId part = tree_.FirstChild(arguments); part != kNoNode;
         part = tree_.NextSibling(part)) {
      NodeId value = part;
      if (tree_.kind(part) == Kind::kKeywordArgument) {
        value = tree_.LastChild(part);
        if (tree_.FirstChild(part) == value) return Refuse(part, "a keyword without a value");
      }
      ASSAY_RETURN_IF_ERROR(CheckExpression(value));
    }
    return {};
  }

  Status CheckAttribute(NodeId node) {
    const NodeId object = tree_.FirstChild(node);
    const NodeId name_node = tree_.LastChild(node);
    const std::string_view name = tree_.Text(name_node);
    const std::string_view base = tree_.Text(object);
    if (base == "torch" && tree_.kind(object) == Kind::kIdentifier) {
      if (TensorFunctions().contains(name) || Constants().contains(name)) return {};
      return Refuse(node, fmt::format("'torch.{}', which is not on the list", name));
    }
    if (base == "F" || base == "torch.nn.functional") {
      if (LayerFunctions().contains(name)) return {};
      return Refuse(node, fmt::format("'{}.{}', which is not on the list", base, name));
    }
    if (base == "math" && (name == "pi" || name == "sqrt" || name == "exp" || name == "log"))
      return {};
    if (!Methods().contains(name) && !TensorFunctions().contains(name))
      return Refuse(node, fmt::format("the attribute '{}', which is not on the list", name));
    return CheckExpression(object);
  }

  Status CheckOperator(NodeId node) {
    const NodeId left = tree_.FirstChild(node);
    const NodeId right = tree_.LastChild(node);
    const uint32_t begin = tree_[left].end;
    const std::string between(Trim(source_.substr(begin, tree_[right].start - begin)));
    static const Names kOperators = {"+", "-", "*", "/", "//", "%", "@", "&", "|", "^"};
    if (!kOperators.contains(between))
      return Refuse(node, fmt::format("the operator '{}'", between));
    for (const NodeId side : {left, right}) {
      if (HoldsContainer(side)) return Refuse(side, "a list, tuple, string or index as operand");
      ASSAY_RETURN_IF_ERROR(CheckExpression(side));
    }
    return {};
  }

  /// Numbers, and signs in front of something.
  Status CheckOther(NodeId node) {
    if (IsNumber(node)) return {};
    const NodeId only = tree_.FirstChild(node);
    const bool sign = tree_.kind(node) == Kind::kOther && only != kNoNode &&
                      tree_.NextSibling(only) == kNoNode &&
                      (tree_.Text(node)[0] == '-' || tree_.Text(node)[0] == '+');
    if (sign) return CheckExpression(only);
    return Refuse(node, "something other than calls, arithmetic and numbers");
  }

  std::string_view source_;
  ParseTree tree_;
  std::map<std::string_view, NodeId> constants_;
  std::set<std::string_view> used_constants_;
  Names locals_;
  Names containers_;
  int depth_ = 0;
};

}  // namespace

Result<std::string> ExtractCases(std::string_view kernel_code) {
  return Extractor(kernel_code).Run();
}

}  // namespace assay::kernelgym
