#pragma once

// What the module's inner files share of Boost. Not for other modules: these headers cost half a
// minute a file.

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/clock.h"

namespace assay::http {

namespace asio = boost::asio;

using ErrorCodeOf = boost::system::error_code;
using Executor = asio::io_context::executor_type;
/// Any stream socket: IPv4, IPv6, Unix.
using Socket = asio::basic_stream_socket<asio::generic::stream_protocol, Executor>;
using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Executor>;

template <typename T>
using Awaitable = asio::awaitable<T, Executor>;

/// `co_await f(kTuple)` gives an error code instead of throwing.
inline constexpr auto kTuple = asio::as_tuple(asio::use_awaitable_t<Executor>{});

}  // namespace assay::http
