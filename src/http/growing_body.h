#pragma once

#include <algorithm>
#include <boost/asio/buffers_iterator.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/optional/optional.hpp>
#include <cstdint>
#include <string>

namespace assay::http {

/// A body in a string, for Beast's parser, that grows with what arrives. Beast's own reserves what
/// the head announces, so that a client could claim memory with a number.
struct GrowingBody {
  using value_type = std::string;

  class reader {
   public:
    template <bool kRequest, class Fields>
    reader(boost::beast::http::header<kRequest, Fields>& /*head*/, std::string& body)
        : body_(body) {}
    void init(const boost::optional<std::uint64_t>& length, boost::system::error_code& error) {
      constexpr std::uint64_t kAtOnce = 64u << 10;
      if (length) body_.reserve(static_cast<size_t>(std::min(*length, kAtOnce)));
      error = {};
    }
    template <class Buffers>
    size_t put(const Buffers& buffers, boost::system::error_code& error) {
      const size_t before = body_.size();
      for (const boost::asio::const_buffer piece : boost::beast::buffers_range_ref(buffers))
        body_.append(static_cast<const char*>(piece.data()), piece.size());
      error = {};
      return body_.size() - before;
    }
    static void finish(boost::system::error_code& error) { error = {}; }

   private:
    std::string& body_;
  };
};

}  // namespace assay::http
