// SQL as text: the little that must be known of it to run one text on both
// databases. Literals, quoted names and comments are left alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace skald {

// In SQLite "$1" is a name, numbered by first appearance: makes it ?1.
std::string number_parameters(std::string_view sql);

// Splits at ';' outside of literals; empty statements are dropped.
std::vector<std::string> split_statements(std::string_view sql);

// The first word in upper case, comments and white space skipped.
std::string first_word(std::string_view sql);

// BEGIN, COMMIT, SAVEPOINT and the like belong to the store; throws Error with
// the code TRANSACTION_CONTROL where user SQL tries one.
void refuse_transaction_control(std::string_view sql);

}  // namespace skald
