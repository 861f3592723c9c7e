#include "lint/python_keywords.h"

#include <array>

namespace assay::lint {
namespace {

struct Keyword {
  std::string_view text;
  TokenType type;
};

constexpr Keyword kKeywords[] = {
    {"and", TokenType::kAnd},
    {"as", TokenType::kAs},
    {"assert", TokenType::kAssert},
    {"async", TokenType::kAsync},
    {"await", TokenType::kAwait},
    {"break", TokenType::kBreak},
    {"class", TokenType::kClass},
    {"continue", TokenType::kContinue},
    {"def", TokenType::kDef},
    {"del", TokenType::kDel},
    {"elif", TokenType::kElif},
    {"else", TokenType::kElse},
    {"except", TokenType::kExcept},
    {"False", TokenType::kFalse},
    {"finally", TokenType::kFinally},
    {"for", TokenType::kFor},
    {"from", TokenType::kFrom},
    {"global", TokenType::kGlobal},
    {"if", TokenType::kIf},
    {"import", TokenType::kImport},
    {"in", TokenType::kIn},
    {"is", TokenType::kIs},
    {"lambda", TokenType::kLambda},
    {"None", TokenType::kNone},
    {"nonlocal", TokenType::kNonlocal},
    {"not", TokenType::kNot},
    {"or", TokenType::kOr},
    {"pass", TokenType::kPass},
    {"raise", TokenType::kRaise},
    {"return", TokenType::kReturn},
    {"True", TokenType::kTrue},
    {"try", TokenType::kTry},
    {"while", TokenType::kWhile},
    {"with", TokenType::kWith},
    {"yield", TokenType::kYield},
};

constexpr size_t kLongestKeyword = 8;

/// Slot of a word in the table of keywords; chosen so that few share one.
constexpr size_t KeywordSlot(std::string_view word) {
  return (static_cast<size_t>(word[0]) * 5 + static_cast<size_t>(word[1]) * 3 + word.size()) % 128;
}

constexpr auto kKeywordSlots = [] {
  // Up to three keywords per slot, as index + 1.
  std::array<std::array<uint8_t, 3>, 128> slots{};
  uint8_t id = 0;
  for (const Keyword& keyword : kKeywords) {
    auto& slot = slots[KeywordSlot(keyword.text)];
    size_t at = 0;
    while (slot[at] != 0) ++at;  // beyond the third: no constant expression, so no build
    slot[at] = ++id;
  }
  return slots;
}();

}  // namespace

TokenType TypeOfPythonWord(std::string_view word) {
  if (word.size() < 2 || word.size() > kLongestKeyword) return TokenType::kName;
  if (static_cast<uint8_t>(word[0]) >= 0x80 || static_cast<uint8_t>(word[1]) >= 0x80)
    return TokenType::kName;
  for (const uint8_t id : kKeywordSlots[KeywordSlot(word)]) {
    if (id == 0) break;
    if (kKeywords[id - 1].text == word) return kKeywords[id - 1].type;
  }
  return TokenType::kName;
}

bool IsStatementKeyword(TokenType type) {
  switch (type) {
    case TokenType::kAssert:
    case TokenType::kBreak:
    case TokenType::kClass:
    case TokenType::kContinue:
    case TokenType::kDef:
    case TokenType::kDel:
    case TokenType::kElif:
    case TokenType::kExcept:
    case TokenType::kFinally:
    case TokenType::kGlobal:
    case TokenType::kImport:
    case TokenType::kNonlocal:
    case TokenType::kPass:
    case TokenType::kRaise:
    case TokenType::kReturn:
    case TokenType::kTry:
    case TokenType::kWhile:
    case TokenType::kWith:
      return true;
    default:
      return false;
  }
}

}  // namespace assay::lint
