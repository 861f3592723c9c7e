#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "lint/lint.h"
#include "lint/names.h"
#include "lint/parse_tree.h"
#include "lint/reach.h"
#include "lint/resolve.h"

namespace assay::lint {

/// Collects findings: each (rule, reason) once, at its first line, and not more than a model would
/// read.
class Findings {
 public:
  void Add(std::string_view rule, int line, std::string reason,
           LintFinding::Severity severity = LintFinding::Severity::kFlag);

  /// The findings, invalid ones first, then by line.
  std::vector<LintFinding> Take();

 private:
  std::vector<LintFinding> findings_;
  std::unordered_set<std::string> seen_;
};

/// Everything the rules look at; all parts outlive them.
struct Module {
  const ParseTree& tree;
  const Names& names;
  const Resolver& resolver;
  const Kernels& kernels;
  const LintOptions& options;
  NodeId model = kNoNode;  ///< the class that ModelNew is, if it is one of this file
  Reach from_forward;      ///< what ModelNew.forward may lead to
};

/// Builds a Module: finds ModelNew and what its forward leads to.
Module MakeModule(const ParseTree& tree, const Names& names, const Resolver& resolver,
                  const Kernels& kernels, const LintOptions& options);

/// C++ and CUDA in the module's strings.
struct CppSources {
  bool has_kernel = false;
  bool has_loop = false;
  bool any = false;
};

// One function per family of rules; docs/lint.md lists them.
void CheckModel(const Module& module, Findings* findings);                           // S1
void CheckImports(const Module& module, Findings* findings);                         // S3, S4
void CheckNames(const Module& module, Findings* findings, LintReport* report);       // S4, S8
void CheckPatches(const Module& module, Findings* findings);                         // S5
void CheckHarness(const Module& module, Findings* findings);                         // S8
CppSources CheckCpp(const Module& module, Findings* findings, LintReport* report);   // S9
void CheckKernels(const Module& module, const CppSources& cpp, Findings* findings);  // S2
void CheckFallbacks(const Module& module, Findings* findings);                       // S6
void CheckLibrary(const Module& module, Findings* findings);                         // S7

}  // namespace assay::lint
