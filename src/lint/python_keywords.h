#pragma once

#include <string_view>

#include "lint/python_lexer.h"

namespace assay::lint {

/// The type of a word: a keyword, or kName.
TokenType TypeOfPythonWord(std::string_view word);

/// Whether a keyword begins statements or clauses and is in no expression or pattern.
bool IsStatementKeyword(TokenType type);

}  // namespace assay::lint
