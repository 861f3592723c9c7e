#pragma once

#include <string>

#include "base/json.h"
#include "task/task.h"

namespace assay::openenv {

struct PromptOptions {
  json::object hardware;     ///< gpu, arch, torch, triton, ...; may be empty
  std::string backend_hint;  ///< "triton", "cuda": asked for; empty: free choice
  int max_turns = 4;
};

/// The first message of an episode: what is asked, the rules, the reference module, the machine,
/// one worked example of another operator, how to answer. The same arguments give the same bytes:
/// the text is part of what a policy is trained on.
std::string TaskPrompt(const Task& task, const PromptOptions& options);

/// The rules alone, which are the same for every task.
std::string ContractText();

}  // namespace assay::openenv
