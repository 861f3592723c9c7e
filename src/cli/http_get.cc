#include "cli/http_get.h"

namespace assay {

Result<std::string> HttpGet(http::Client* client, const std::string& path, Seconds timeout) {
  ASSAY_ASSIGN_OR_RETURN(http::Client::Answer answer, client->Get(path, timeout));
  if (answer.status != 200)
    return Err(ErrorCode::kInvalid, "{} answers {}: {}", path, answer.status, answer.Words());
  return std::move(answer.body);
}

}  // namespace assay
