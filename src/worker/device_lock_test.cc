#include "worker/device_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace assay {
namespace {

using std::chrono::milliseconds;

TEST(DeviceLockTest, ReadersShareAndWritersAreAlone) {
  DeviceLock lock;
  std::atomic<int> readers{0};
  std::atomic<int> writers{0};
  std::atomic<bool> broken{false};
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 200; ++round) {
        if (i % 2 == 0) {
          const std::shared_lock guard(lock);
          ++readers;
          if (writers != 0) broken = true;
          --readers;
        } else {
          const std::unique_lock guard(lock);
          if (++writers != 1 || readers != 0) broken = true;
          --writers;
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(broken);
}

TEST(DeviceLockTest, AWriterIsNotStarvedByReadersThatComeLater) {
  DeviceLock lock;
  lock.lock_shared();
  std::atomic<bool> written{false};
  std::thread writer([&] {
    const std::unique_lock guard(lock);
    written = true;
  });
  std::this_thread::sleep_for(milliseconds(20));
  std::atomic<bool> read_after_write{false};
  std::thread late_reader([&] {
    const std::shared_lock guard(lock);
    read_after_write = written.load();
  });
  std::this_thread::sleep_for(milliseconds(20));
  lock.unlock_shared();
  writer.join();
  late_reader.join();
  EXPECT_TRUE(read_after_write);
}

}  // namespace
}  // namespace assay
