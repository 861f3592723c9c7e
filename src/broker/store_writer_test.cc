#include "broker/store_writer.h"

#include <future>

#include "broker/broker_testing.h"

namespace assay {
namespace {

using ::testing::ElementsAre;

class StoreWriterTest : public ::testing::TestWithParam<bool> {
 protected:
  StoreWriterTest()
      : store_(*Store::Open(GetParam() ? folder_.File("s.db") : ":memory:", Store::Mode::kWrite)) {}

  static StoreWriter::Change Put(const std::string& id) {
    return [id](Store* store) { return store->PutDocument("d", id, "{}", 1); };
  }
  void Say(const std::string& word) {
    const std::lock_guard guard(mutex_);
    said_.push_back(word);
  }
  StoreWriter::Done Says(const std::string& word) {
    return [this, word](const Status& status) { Say(status.ok() ? word : word + " failed"); };
  }

  test::TempFolder folder_;
  std::unique_ptr<Store> store_;
  std::mutex mutex_;
  std::vector<std::string> said_;
};

INSTANTIATE_TEST_SUITE_P(DiskAndMemory, StoreWriterTest, ::testing::Bool());

TEST_P(StoreWriterTest, CommittedComesBeforeDurableAndAllInOrder) {
  {
    StoreWriter writer(store_.get());
    writer.Post(Put("a"), Says("a durable"), Says("a committed"));
    ASSERT_TRUE(writer.Run(Put("b")).ok());
    Say("b");
    writer.Post(Put("c"), nullptr, Says("c committed"));
    writer.Post(Put("d"), Says("d durable"));
  }
  EXPECT_THAT(said_, ElementsAre("a committed", "a durable", "b", "c committed", "d durable"));
  EXPECT_EQ((*store_->ListDocuments("d", 9)).size(), 4U);
}

TEST_P(StoreWriterTest, AnErrorIsOneChangesOwn) {
  {
    StoreWriter writer(store_.get());
    std::promise<void> go;
    // All that follows is one batch.
    writer.Post(
        [wait = go.get_future().share()](Store*) {
          wait.wait();
          return Status();
        },
        nullptr);
    for (const char* id : {"a", "bad", "c", "d", "e"})
      writer.Post(
          [id = std::string(id)](Store* store) -> Status {
            ASSAY_RETURN_IF_ERROR(store->PutDocument("d", id, "{}", 1));
            if (id == "bad") return Err(ErrorCode::kInvalid, "no");
            return {};
          },
          Says(id));
    go.set_value();
  }
  EXPECT_THAT(said_, ElementsAre("a", "bad failed", "c", "d", "e"));
  EXPECT_THAT(*store_->ListDocuments("d", 9), ElementsAre("e", "d", "c", "a"));
}

TEST_P(StoreWriterTest, ManyThreadsWaitForTheirOwn) {
  StoreWriter writer(store_.get());
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string id = std::to_string(t) + "/" + std::to_string(i);
        ASSERT_TRUE(writer.Run(Put(id)).ok());
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ((*store_->ListDocuments("d", 1000)).size(), 400U);
}

}  // namespace
}  // namespace assay
