#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace assay::lint {

/// Tokens of Python. Operators that the parser treats alike share a type.
enum class TokenType : uint8_t {
  kEnd,
  kNewline,  ///< ends a logical line
  kIndent,
  kDedent,
  kBadIndent,  ///< at a line's begin, after indents and dedents: its indentation fits no other line
  kBad,        ///< text that is no token: a stray character, a string without end, …
  kName,
  kNumber,
  kString,      ///< a whole literal that is no f-string
  kFormatOpen,  ///< prefix and opening quotes of an f-string, or t-string
  kFormatText,  ///< its text, or that of a format specifier
  kFormatClose,
  kFieldOpen,  ///< `{` of a replacement field
  kFieldClose,
  kFieldColon,  ///< begins a format specifier
  kBang,        ///< begins a conversion
  // Keywords. `match`, `case`, `type` and `_` are names to the lexer.
  kAnd,
  kAs,
  kAssert,
  kAsync,
  kAwait,
  kBreak,
  kClass,
  kContinue,
  kDef,
  kDel,
  kElif,
  kElse,
  kExcept,
  kFalse,
  kFinally,
  kFor,
  kFrom,
  kGlobal,
  kIf,
  kImport,
  kIn,
  kIs,
  kLambda,
  kNone,
  kNonlocal,
  kNot,
  kOr,
  kPass,
  kRaise,
  kReturn,
  kTrue,
  kTry,
  kWhile,
  kWith,
  kYield,
  // Punctuation and operators.
  kLeftParen,
  kRightParen,
  kLeftSquare,
  kRightSquare,
  kLeftCurly,
  kRightCurly,
  kComma,
  kColon,
  kSemicolon,
  kDot,
  kEllipsis,
  kArrow,
  kAssign,
  kWalrus,
  kAugmentedAssign,  ///< all but `@=`
  kAtAssign,
  kCompare,  ///< `<` `>` `<=` `>=` `==` `!=`
  kPipe,
  kCaret,
  kAmpersand,
  kShift,
  kPlus,
  kMinus,
  kStar,
  kSlash,
  kDivide,  ///< `//` and `%`
  kAt,
  kTilde,
  kDoubleStar,
  kStop,  ///< never in a text: what the parser sees after an error until it recovers
  kCount,
};

struct Token {
  TokenType type = TokenType::kEnd;
  uint32_t start = 0;  ///< byte offsets into the source
  uint32_t end = 0;
};

/// Splits Python into tokens as CPython does, in linear time; the last is kEnd. Never fails: text
/// that CPython's tokenizer refuses becomes kBad or kBadIndent. Brackets nest at most 200 deep, as
/// in CPython, counting the fields of f-strings; an indentation has at most 100 levels.
///
/// A bracket that is never closed would make one line of the rest of the text. So a line that
/// begins with a keyword no expression has, like `def`, ends the open brackets: a kNewline comes
/// before it.
std::vector<Token> TokenizePython(std::string_view source);

/// Bytes before the quotes of a string literal.
size_t StringPrefixLength(std::string_view literal);

}  // namespace assay::lint
