#include "cli/http_get.h"

#include "base/json.h"
#include "base/strings.h"

namespace assay {
namespace {

/// The server's own words, in any of its error shapes.
std::string Reason(std::string_view body) {
  const Result<json::object> object = ParseJsonObject(body);
  if (!object.ok()) return CleanText(body.substr(0, 200));
  const std::string native = GetString(GetObject(*object, "error"), "message");
  return native.empty() ? GetString(*object, "detail", body.substr(0, 200)) : native;
}

}  // namespace

Result<std::string> HttpGet(http::Client* client, const std::string& path, Seconds timeout) {
  ASSAY_ASSIGN_OR_RETURN(http::Client::Answer answer, client->Get(path, timeout));
  if (answer.status != 200)
    return Err(ErrorCode::kInvalid, "{} answers {}: {}", path, answer.status, Reason(answer.body));
  return std::move(answer.body);
}

}  // namespace assay
