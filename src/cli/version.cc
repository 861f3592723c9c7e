#include "base/json.h"
#include "cli/allocator.h"
#include "cli/commands.h"
#include "verdict/verdict.h"

namespace assay {

namespace {

std::string VersionText() {
  return fmt::format("assay {} ({}, {}; {})", ASSAY_VERSION, kProtocolVersion, kVerdictSchema,
                     AllocatorName());
}

}  // namespace

void AddVersion(CLI::App* app, int* exit_code) {
  app->set_version_flag("--version", VersionText, "As `assay version`");
  CLI::App* command = app->add_subcommand(
      "version", "Versions of the program, the protocol and the verdict format");
  auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "machine-readable");
  command->footer("Example:\n  assay version --json");
  command->callback([as_json, exit_code] {
    if (*as_json) {
      fmt::print("{}\n", json::serialize(json::object{{"version", ASSAY_VERSION},
                                                      {"protocol", kProtocolVersion},
                                                      {"verdict", kVerdictSchema},
                                                      {"allocator", AllocatorName()}}));
    } else {
      fmt::print("{}\n", VersionText());
    }
    *exit_code = kExitOk;
  });
}

}  // namespace assay
