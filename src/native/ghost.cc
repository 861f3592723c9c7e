#include "native/ghost.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <iterator>
#include <set>
#include <string_view>

namespace assay {
namespace {

constexpr std::string_view kLaunches[] = {"cudaLaunchKernel",         "__cudaLaunchKernel",
                                          "cudaLaunchKernelExC",      "cudaLaunchCooperativeKernel",
                                          "cuLaunchKernel",           "cuLaunchKernelEx",
                                          "cuLaunchCooperativeKernel"};
constexpr std::string_view kPerThread = "_ptsz";  ///< of their variants

std::atomic<uint64_t> skipped{0};  // NOLINT: counted by whatever launches

/// Success in both interfaces, whatever the arguments are.
int Skip() {
  ++skipped;
  return 0;
}

bool Launches(std::string_view name) {
  if (name.ends_with(kPerThread)) name.remove_suffix(kPerThread.size());
  return std::find(std::begin(kLaunches), std::end(kLaunches), name) != std::end(kLaunches);
}

/// The tables of one loaded object that say which functions of others it calls through where.
struct Tables {
  const char* strings = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const ElfW(Rela) * relocations[2] = {};  // of all kinds, and of called functions
  size_t bytes[2] = {};
};

template <typename T>
const T* At(ElfW(Addr) address) {
  return std::bit_cast<const T*>(address);
}

Tables FindTables(const dl_phdr_info& info) {
  Tables tables;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry = At<ElfW(Dyn)>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      // The loader has made these addresses absolute.
      const auto address = entry->d_un.d_ptr;
      if (entry->d_tag == DT_STRTAB) tables.strings = At<char>(address);
      if (entry->d_tag == DT_SYMTAB) tables.symbols = At<ElfW(Sym)>(address);
      if (entry->d_tag == DT_RELA) tables.relocations[0] = At<ElfW(Rela)>(address);
      if (entry->d_tag == DT_JMPREL) tables.relocations[1] = At<ElfW(Rela)>(address);
      if (entry->d_tag == DT_RELASZ) tables.bytes[0] = entry->d_un.d_val;
      if (entry->d_tag == DT_PLTRELSZ) tables.bytes[1] = entry->d_un.d_val;
    }
  }
  return tables;
}

Status Store(uintptr_t place) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = place / page * page;
  const size_t size = place + sizeof(void*) - begin;
  // The loader may have made the table read-only. It stays writable, as lazy binding needs it.
  if (::mprotect(std::bit_cast<void*>(begin), size, PROT_READ | PROT_WRITE) != 0)
    return ErrnoError("mprotect", errno);
  *std::bit_cast<int (**)()>(place) = &Skip;
  return {};
}

Result<int> CutOff(const dl_phdr_info& info) {
  const Tables tables = FindTables(info);
  if (tables.strings == nullptr || tables.symbols == nullptr) return 0;
  int changed = 0;
  for (int table = 0; table < 2; ++table) {
    const size_t count =
        tables.relocations[table] != nullptr ? tables.bytes[table] / sizeof(ElfW(Rela)) : 0;
    for (size_t i = 0; i < count; ++i) {
      const ElfW(Rela)& relocation = tables.relocations[table][i];
      const auto type = ELF64_R_TYPE(relocation.r_info);
      if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64) continue;
      if (!Launches(tables.strings + tables.symbols[ELF64_R_SYM(relocation.r_info)].st_name))
        continue;
      ASSAY_RETURN_IF_ERROR(Store(info.dlpi_addr + relocation.r_offset));
      ++changed;
    }
  }
  return changed;
}

struct Walk {
  std::string folder;
  int changed = 0;
  Status status;
};

int Visit(dl_phdr_info* info, size_t /*size*/, void* data) {
  auto* walk = static_cast<Walk*>(data);
  static std::set<uintptr_t> seen;  // NOLINT: one thread
  const std::string_view name = info->dlpi_name != nullptr ? info->dlpi_name : "";
  if (!name.starts_with(walk->folder) || !seen.insert(info->dlpi_addr).second) return 0;
  const Result<int> changed = CutOff(*info);
  if (changed.ok())
    walk->changed += *changed;
  else
    walk->status = changed.error();
  return 0;
}

}  // namespace

Result<int> CutOffLaunches(const std::string& folder) {
  if (folder.empty() || folder == "/")
    return Err(ErrorCode::kInvalid, "'{}' is not a submission's folder", folder);
  Walk walk{folder.ends_with('/') ? folder : folder + "/", 0, {}};
  ::dl_iterate_phdr(&Visit, &walk);
  if (!walk.status.ok()) return walk.status.error();
  return walk.changed;
}

uint64_t SkippedLaunches() { return skipped; }

}  // namespace assay
