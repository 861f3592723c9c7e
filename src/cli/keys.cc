#include <sys/stat.h>

#include <cerrno>

#include "base/fd.h"
#include "cli/commands.h"
#include "http/key_file.h"

namespace assay {
namespace {

struct Options {
  std::string name;
  std::string scope = "submit";
  std::string file;
};

/// Adds a line to the key file, which only its owner can read.
Status Append(const std::string& path, const std::string& line) {
  std::string text;
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    ASSAY_ASSIGN_OR_RETURN(text, ReadFile(path, 4u << 20));
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
  }
  text += line + "\n";
  // Refused here rather than at the server's next start.
  Result<std::vector<http::ApiKey>> keys = http::ParseKeys(text);
  if (!keys.ok()) return Err(ErrorCode::kInvalid, "'{}': {}", path, keys.error().message);
  ASSAY_RETURN_IF_ERROR(WriteFileAtomically(path, text));
  if (::chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0)
    return ErrnoError(fmt::format("cannot keep '{}' from others", path), errno);
  return {};
}

int New(const Options& options) {
  if (const Status name = http::CheckKeyName(options.name); !name.ok()) return Report(name.error());
  http::Scope scope = http::Scope::kNone;
  for (const http::Scope known : http::kKeyScopes)
    if (options.scope == http::ScopeName(known)) scope = known;
  const std::string key = http::MakeKey();
  const std::string line = http::KeyLine(options.name, key, scope);
  if (!options.file.empty()) {
    if (Status status = Append(options.file, line); !status.ok()) return Report(status.error());
    fmt::print(stderr,
               "assay: '{}' has the scope {} now (after a SIGHUP, where a server runs); its key is "
               "shown this once:\n",
               options.name, options.scope);
  } else {
    fmt::print(stderr,
               "assay: add this line to the server's --api-key-file:\n  {}\n"
               "the key is shown this once:\n",
               line);
  }
  fmt::print("{}\n", key);
  return kExitOk;
}

}  // namespace

void AddKeys(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("keys", "Keys for `assay serve --api-key-file`");
  command->require_subcommand(1);
  command->footer("Example:\n  assay keys new --name trainer --scope submit --file keys.txt");
  auto options = std::make_shared<Options>();
  CLI::App* make = command->add_subcommand("new", "Make a key; only its hash is stored");
  make->add_option("--name", options->name, "who will use it; shown in logs and queues")
      ->required();
  make->add_option(
          "--scope", options->scope,
          "read, submit (and read), worker (for `assay worker`, nothing else), admin (all)")
      ->check(CLI::IsMember({"read", "submit", "worker", "admin"}))
      ->capture_default_str();
  make->add_option("--file", options->file, "key file to add it to; made if there is none");
  make->footer(
      "The key goes to standard output, once.\n"
      "Example:\n"
      "  assay keys new --name trainer --scope submit --file keys.txt");
  make->callback([options, exit_code] { *exit_code = New(*options); });
}

}  // namespace assay
