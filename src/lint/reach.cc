#include "lint/reach.h"

#include <algorithm>

namespace assay::lint {
namespace {

// Decorators and wrappers whose argument becomes a GPU kernel.
constexpr std::string_view kKernelMakers[] = {
    "triton.jit",
    "triton.runtime.jit",
    "triton.runtime.jit.jit",
    "triton.experimental.gluon.jit",
    "gluon.jit",
    "numba.cuda.jit",
    "cutlass.cute.kernel",
    "cutlass.cute.jit",
    "tilelang.jit",
    "tilelang.language.prim_func",
    "helion.kernel",
};

// Calls that turn source text into a kernel.
constexpr std::string_view kExtensionBuilders[] = {
    "torch.utils.cpp_extension.load_inline",
    "torch.utils.cpp_extension.load",
    "torch.cuda._compile_kernel",
    "torch.ops.load_library",
    "cupy.RawKernel",
    "cupy.RawModule",
};

// Members that using a class runs without naming them.
constexpr std::string_view kImplicitMembers[] = {
    "__init__", "__call__", "forward", "backward", "setup_context", "__post_init__", "__new__",
};

bool IsKernelMaker(std::string_view path) {
  return std::find(std::begin(kKernelMakers), std::end(kKernelMakers), path) !=
         std::end(kKernelMakers);
}

/// `triton.jit` of `@triton.jit` and `@triton.jit(do_not_specialize=…)`; empty for other
/// decorators.
std::string_view MakerOf(const ParseTree& tree, const Resolver& resolver, NodeId expression) {
  if (expression == kNoNode) return {};
  if (tree.kind(expression) == Kind::kCall) expression = tree.FirstChild(expression);
  const Ref& ref = resolver.Resolve(expression);
  return ref.external() && IsKernelMaker(ref.path) ? std::string_view(ref.path)
                                                   : std::string_view();
}

}  // namespace

bool IsExtensionBuilder(std::string_view path) {
  return std::find(std::begin(kExtensionBuilders), std::end(kExtensionBuilders), path) !=
         std::end(kExtensionBuilders);
}

Kernels FindKernels(const ParseTree& tree, const Names& names, const Resolver& resolver) {
  Kernels kernels;
  std::vector<bool> known(static_cast<size_t>(tree.size()), false);
  const auto add = [&](NodeId function, std::string_view maker) {
    kernels.triton |= maker.starts_with("triton.");
    if (known[static_cast<size_t>(function)]) return;
    known[static_cast<size_t>(function)] = true;
    kernels.functions.push_back(function);
  };
  for (const NodeId function : names.functions()) {
    const NodeId decorated = tree.parent(function);
    if (tree.kind(decorated) != Kind::kDecorated) continue;
    for (NodeId child = tree.FirstChild(decorated); child != kNoNode;
         child = tree.NextSibling(child))
      if (tree.kind(child) == Kind::kDecorator) {
        const std::string_view maker = MakerOf(tree, resolver, tree.Unwrap(tree.LastChild(child)));
        if (!maker.empty()) add(function, maker);
      }
  }
  for (NodeId node = 0; node < tree.size(); ++node) {
    if (tree.kind(node) != Kind::kCall) continue;
    const Ref& callee = resolver.Resolve(tree.FirstChild(node));
    if (!callee.external()) continue;
    if (IsExtensionBuilder(callee.path)) kernels.extensions.push_back(node);
    if (IsKernelMaker(callee.path)) {
      const Ref& wrapped = resolver.Resolve(resolver.Argument(node, 0));
      if (wrapped.what == Ref::What::kFunction) add(wrapped.node, callee.path);
    }
  }
  kernels.inside.resize(static_cast<size_t>(tree.size()), false);
  for (const NodeId function : kernels.functions)
    for (NodeId node = function; node < tree[function].next; ++node)
      kernels.inside[static_cast<size_t>(node)] = true;
  return kernels;
}

Reach::Reach(const ParseTree& tree, const Names& names, const Resolver& resolver)
    : tree_(tree),
      names_(names),
      resolver_(resolver),
      reached_(static_cast<size_t>(tree.size()), false),
      class_reached_(static_cast<size_t>(tree.size()), false),
      chain_reached_(names.binding_count(), false) {}

bool Reach::HasKernel(const Kernels& kernels) const {
  const auto reached = [&](NodeId node) { return Has(node); };
  return std::any_of(kernels.functions.begin(), kernels.functions.end(), reached) ||
         std::any_of(kernels.extensions.begin(), kernels.extensions.end(), reached);
}

void Reach::Add(NodeId region) {
  Push(region);
  Drain();
}

void Reach::AddClass(NodeId class_node) {
  PushBinding({Binding::What::kClass, class_node, {}, -1});
  Drain();
}

void Reach::AddMember(NodeId class_node, std::string_view name) {
  PushMember(class_node, name);
  Drain();
}

void Reach::AddClassesIn(NodeId region) {
  for (NodeId node = region; node < tree_[region].next; ++node) {
    if (tree_.kind(node) != Kind::kIdentifier || !IsNameUse(tree_, node)) continue;
    const Ref& ref = resolver_.Resolve(node);
    if (ref.what == Ref::What::kClass) AddClass(ref.node);
  }
}

void Reach::Push(NodeId region) {
  if (region == kNoNode || Has(region)) return;
  // A function's decorators are part of what calling it does.
  if (tree_.kind(region) == Kind::kFunction && tree_.kind(tree_.parent(region)) == Kind::kDecorated)
    region = tree_.parent(region);
  work_.push_back(region);
}

void Reach::PushBinding(const Binding& binding) {
  switch (binding.what) {
    case Binding::What::kFunction:
    case Binding::What::kValue:
    case Binding::What::kElement:
      Push(binding.node);
      break;
    case Binding::What::kClass: {
      if (class_reached_[static_cast<size_t>(binding.node)]) break;
      class_reached_[static_cast<size_t>(binding.node)] = true;
      for (const std::string_view name : kImplicitMembers) PushMember(binding.node, name);
      for (const NodeId base : resolver_.Bases(binding.node)) Push(base);
      break;
    }
    default:
      break;
  }
}

void Reach::PushChain(int32_t first) {
  if (first < 0 || chain_reached_[static_cast<size_t>(first)]) return;
  chain_reached_[static_cast<size_t>(first)] = true;
  for (; first >= 0; first = names_.binding(first).next) PushBinding(names_.binding(first));
}

void Reach::PushMember(NodeId class_node, std::string_view name) {
  const ScopeId scope = names_.OpenedBy(class_node);
  if (scope < 0) return;
  PushChain(names_.In(scope, name));
  PushChain(names_.Attribute(scope, name));
  const Ref member = resolver_.Member(class_node, name);  // also in the bases
  if (member.what == Ref::What::kFunction) Push(member.node);
}

void Reach::Drain() {
  while (!work_.empty()) {
    const NodeId region = work_.back();
    work_.pop_back();
    for (NodeId node = region; node < tree_[region].next;) {
      if (Has(node)) {
        node = tree_[node].next;  // seen with all below it, or about to be
        continue;
      }
      reached_[static_cast<size_t>(node)] = true;
      if (tree_.kind(node) == Kind::kIdentifier && IsNameUse(tree_, node)) VisitName(node);
      if (tree_.kind(node) == Kind::kAttribute) VisitAttribute(node);
      if (tree_.kind(node) == Kind::kCall) VisitCall(node);
      ++node;
    }
  }
}

void Reach::VisitName(NodeId node) {
  PushChain(names_.Lookup(tree_.Text(node), names_.ScopeOf(node)));
}

void Reach::VisitAttribute(NodeId node) {
  const NodeId object = tree_.FirstChild(node);
  const NodeId last = tree_.LastChild(node);
  if (object == kNoNode || last == object) return;
  const std::string_view name = tree_.Text(last);
  const Ref& ref = resolver_.Resolve(object);
  switch (ref.what) {
    case Ref::What::kClass:
    case Ref::What::kInstance:
      PushMember(ref.node, name);
      break;
    case Ref::What::kUnknown:
      if (member_names_.insert(name).second)
        for (const Binding& member : names_.Members(name)) PushBinding(member);
      break;
    default:
      break;
  }
}

void Reach::VisitCall(NodeId node) {
  const Ref& callee = resolver_.Resolve(tree_.FirstChild(node));
  if (callee.what == Ref::What::kInstance) {
    PushBinding({Binding::What::kClass, callee.node, {}, -1});
  } else if (callee.what == Ref::What::kBuiltin && callee.path == "getattr") {
    // getattr(self, f"block{i}") may give any attribute.
    const Ref& object = resolver_.Resolve(resolver_.Argument(node, 0));
    if (object.what == Ref::What::kInstance) PushAttributes(object.node);
  }
}

void Reach::PushAttributes(NodeId class_node) {
  // The constructor is where such attributes come from.
  const ScopeId scope = names_.OpenedBy(class_node);
  if (scope < 0) return;
  PushChain(names_.In(scope, "__init__"));
}

}  // namespace assay::lint
