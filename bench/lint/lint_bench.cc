// assay_lint_bench FILE…: median CPU time of Lint and of parsing alone, in milliseconds.
// CPU time, because both are pure computing and the machine may be busy.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "lint/lint.h"
#include "lint/parse_tree.h"

namespace {

constexpr int kRounds = 41;

double CpuMillis() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

template <typename Work>
double MedianMillis(const Work& work) {
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) {
    const double start = CpuMillis();
    work();
    times.push_back(CpuMillis() - start);
  }
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: {} FILE...\n", argv[0]);
    return 2;
  }
  fmt::print("{:>9} {:>8} {:>9} {:>9}  file\n", "bytes", "nodes", "parse ms", "lint ms");
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      fmt::print(stderr, "cannot read {}\n", argv[i]);
      return 1;
    }
    std::ostringstream text;
    text << file.rdbuf();
    const std::string source = text.str();
    assay::LintOptions options;
    options.max_bytes = source.size();
    assay::lint::NodeId nodes = 0;
    const double parse =
        MedianMillis([&] { nodes = assay::lint::ParseTree::Parse(source).size(); });
    size_t findings = 0;
    const double lint =
        MedianMillis([&] { findings += assay::Lint(source, options).findings.size(); });
    fmt::print("{:>9} {:>8} {:>9.2f} {:>9.2f}  {} ({} findings)\n", source.size(), nodes, parse,
               lint, argv[i], findings / kRounds);
  }
  return 0;
}
