#include "worker/host_results.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace assay {
namespace {

/// Two outputs a call, of 3 and 5 bytes, in slots of 64.
LaneArena Arena() {
  LaneArena arena;
  arena.load["plan"] = {{"output_bytes", 64},
                        {"output_places", {{{"offset", 0}}, {{"offset", 16}}}},
                        {"output_sizes", {3, 5}}};
  arena.outputs = UniqueFd(::memfd_create("outputs", MFD_CLOEXEC));
  EXPECT_EQ(::ftruncate(arena.outputs.get(), 4096), 0);
  return arena;
}

std::string Slot(const LaneArena& arena, int slot) {
  std::string bytes(24, '?');
  EXPECT_EQ(::pread(arena.outputs.get(), bytes.data(), bytes.size(), 64 * slot), 24);
  return bytes;
}

int64_t Address(const void* memory) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory));
}

TEST(HostResults, AreCopiedOutOfTheProcessIntoTheSlot) {
  const LaneArena arena = Arena();
  const char first[] = "abc";
  const char second[] = "defgh";
  ResultPlaces results = {{Address(first), Address(second)}, {}};
  ASSERT_TRUE(TakeHostResults(arena, ::getpid(), 2, &results).ok());
  EXPECT_EQ(results.places, (std::vector<int64_t>{128, 144}));
  EXPECT_EQ(Slot(arena, 2),
            std::string("abc") + std::string(13, '\0') + "defgh" + std::string(3, '\0'));
  EXPECT_EQ(Slot(arena, 1), std::string(24, '\0'));
}

TEST(HostResults, WhatTheProcessCopiedItselfIsLeftAlone) {
  const LaneArena arena = Arena();
  const char second[] = "defgh";
  ResultPlaces results = {{-1, Address(second)}, {}};
  ASSERT_TRUE(TakeHostResults(arena, ::getpid(), 0, &results).ok());
  EXPECT_EQ(results.places, (std::vector<int64_t>{-1, 16}));
}

TEST(HostResults, NothingIsReadWhereNothingIs) {
  const LaneArena arena = Arena();
  void* hidden = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (const int64_t address : {int64_t{0}, int64_t{1} << 60, Address(hidden)}) {
    ResultPlaces results = {{-1, address}, {}};
    const Status taken = TakeHostResults(arena, ::getpid(), 0, &results);
    ASSERT_FALSE(taken.ok());
    EXPECT_EQ(taken.error().code, ErrorCode::kInvalid) << taken.error().message;
  }
  // A result that runs over the end of what there is.
  char* two = static_cast<char*>(
      ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(::mprotect(two + 4096, 4096, PROT_NONE), 0);
  ResultPlaces results = {{-1, Address(two + 4094)}, {}};
  EXPECT_FALSE(TakeHostResults(arena, ::getpid(), 0, &results).ok());
  ::munmap(two, 8192);
  ::munmap(hidden, 4096);
}

TEST(HostResults, SaysWhetherMemoryCanBeRead) {
  EXPECT_TRUE(CanReadMemory(::getpid()));
  EXPECT_FALSE(CanReadMemory(0x7FFFFFFF)) << "no such process";
}

}  // namespace
}  // namespace assay
