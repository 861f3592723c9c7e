#pragma once

#include <cstddef>

#include "base/clock.h"

namespace assay::http {

/// The largest bodies of routes that need less than the server's limit: what is parsed on a serving
/// thread shall be no longer than somebody has use for. JSON may spell a byte with six, so the
/// second has room for a source of 1 MiB.
inline constexpr size_t kSmallBody = 1u << 20;
inline constexpr size_t kSourceBody = 8u << 20;

/// What one client may cost. Every buffer and every wait of a connection has its bound here.
struct Limits {
  size_t header_bytes = 16u << 10;   ///< request line and fields; 431
  size_t body_bytes = 16u << 20;     ///< 413
  size_t message_bytes = 16u << 20;  ///< of a WebSocket, over all frames; closed with 1009
  /// Waiting for one peer to read; beyond it a WebSocket is dropped. Holds two of the largest
  /// messages.
  size_t write_queue_bytes = 32u << 20;
  size_t stream_queue_bytes = 8u << 20;  ///< the same for a streamed body
  /// Bodies and messages of more than 64 KiB that are being received or answered, over all
  /// connections; 503, or closed with 1013. Where keys are used each has a quarter of it.
  size_t inflight_bytes = 1u << 30;
  size_t connections = 16384;  ///< over all listeners; 503
  /// Half of them at most may come from one address and not yet have shown a key (or, where none is
  /// needed, sent a request); 503.
  size_t connections_per_key = 0;  ///< where the key's quota says nothing; 0: no limit; 429

  Seconds head{10};   ///< from a request's first byte to the end of its head; 408
  Seconds body{60};   ///< for the body after the head; 408
  Seconds write{60};  ///< for one response, message or piece to leave
  Seconds idle{75};   ///< of a kept-alive connection between requests
  /// A client that has shut down its side is taken for one that left, also while it waits for an
  /// answer: after so long, since some read on for a moment.
  Seconds half_closed{5};
  Seconds ping{20};  ///< between pings to a WebSocket: keeps proxies and NAT awake
  /// A WebSocket without any sign of life, pongs included, is closed. Long, because a blocked
  /// trainer answers no ping for minutes; a peer that has vanished is found by `unacknowledged`.
  Seconds silence{1800};
  Seconds unacknowledged{60};  ///< data that the peer's kernel does not acknowledge (TCP)
  Seconds close{5};            ///< for the closing handshake of a WebSocket
  Seconds linger{2};           ///< reading on after a refusal, so that it reaches the client
  Seconds tick{0.25};          ///< how often a thread looks at its connections
};

}  // namespace assay::http
