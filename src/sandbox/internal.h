#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sandbox/sandbox.h"

/// The steps of Unshare() and Confine(). All run in a forked, single-threaded process: no threads,
/// no static state.
namespace assay::sandbox {

/// Notes why a mechanism is missing: "name: what: text of errno".
void Miss(SandboxReport* report, std::string_view name, std::string_view what, int error_number);

/// Highest level whose every mechanism the report has.
SandboxLevel LevelOf(const SandboxReport& report);

/// Writes a whole small file that exists (a /proc knob). errno on failure, else 0.
int WriteKnob(const char* path, std::string_view text);

// namespaces.cc

/// Maps the calling process's own user and group, unchanged, in the user namespace it has just
/// entered. errno on failure, else 0.
int MapOwnUser(uint32_t uid, uint32_t gid);

/// Enters a user namespace with only its own user in it; sets report->user_ns.
void EnterUserNamespace(SandboxReport* report);

// root.cc

/// Replaces the root by a private one and mounts /proc. A refusal before the switch is noted; a
/// failure after it is an Error.
Status EnterPrivateRoot(const SandboxSpec& spec, uint32_t uid, SandboxReport* report);

/// Where there is no private root: a fresh folder of the host as work_dir, owned by `uid`.
Status MakeHostWorkDir(uint32_t uid, SandboxReport* report);

/// Device nodes that every candidate has.
inline constexpr const char* kBasicDevices[] = {"/dev/null", "/dev/zero", "/dev/full",
                                                "/dev/random", "/dev/urandom"};

// privileges.cc

[[nodiscard]] bool HasCapability(int capability);
void SetLimits(const SandboxSpec& spec, SandboxReport* report);
/// From root to `uid`, without supplementary groups and bounding set; sets report->own_uid.
void BecomeUser(uint32_t uid, SandboxReport* report);
/// Empties the bounding set, then all other sets; sets no-new-privileges.
void DropPrivileges(SandboxReport* report);
/// Closes everything but `keep` and puts /dev/null in place of unkept 0, 1, 2.
Status CloseDescriptors(std::vector<int> keep);
/// Waits for the stem's end, then arms the parent-death signal.
void DieWithWorker(SandboxReport* report);

// landlock.cc, seccomp.cc

void RestrictWithLandlock(const SandboxSpec& spec, SandboxReport* report);
void RestrictSystemCalls(const SandboxSpec& spec, SandboxReport* report);

}  // namespace assay::sandbox
