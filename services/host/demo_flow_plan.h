// What `skald demo flow` is about: a small shop in two repositories, and works for agents in them. Plain data.
#pragma once

#include <array>
#include <string_view>

namespace skald::host {

struct DemoFile {
  std::string_view repository, path, text;
};

struct DemoWork {
  std::string_view name, script;  // the agent begins in the worktree of the first repository
  std::string_view agent = "shell";
};

inline constexpr std::array<std::string_view, 2> kDemoRepositories = {"api", "web"};

inline constexpr DemoFile kDemoFiles[] = {
    {"api", "server.py", "ROUTES = [\"/health\"]\n\n\ndef serve(path):\n    return 200 if path in ROUTES else 404\n"},
    {"api", "README.md", "# The shop's API\n"},
    {"web", "index.html", "<h1>The little tea shop</h1>\n<a href=\"/about\">About us</a>\n"},
    {"web", "README.md", "# The shop's pages\n"},
};

inline constexpr DemoWork kDemoWorks[] = {
    {"prices in the api",
     "echo 'I add the path /prices and what it says.'\n"
     "sed -i 's|\"/health\"|\"/health\", \"/prices\"|' server.py\n"
     "printf '{\"tea\": 4.50, \"cup\": 12.00}\\n' > prices.json\n"},
    {"prices on the page",
     "currency=$(sed -n 's/.*\"currency\": \"\\([A-Z]*\\)\".*/\\1/p' prices.json)\n"
     "if [ -z \"$currency\" ]; then\n"
     "  echo 'prices.json names no currency, and I will not guess one.'\n"
     "  exit 3\n"
     "fi\n"
     "echo \"I write the page with prices in $currency.\"\n"
     "cd \"$SKALD_SPACE/web\"\n"
     "printf '<p>Tea 4.50 %s, cup 12.00 %s</p>\\n' \"$currency\" \"$currency\" > prices.html\n"
     "sed -i 's|About us</a>|About us</a> <a href=\"/prices.html\">Prices</a>|' index.html\n"},
    {"notes for people",
     "echo 'I write down what is new.'\n"
     "for repository in api web; do\n"
     "  printf '\\nNew: prices.\\n' >> \"$SKALD_SPACE/$repository/README.md\"\n"
     "done\n"},
    {"a notice for customers",
     "ask Are taxes in the prices?\n"
     "write NOTICE.md Taxes: {answer}.\n"
     "say I have written what I was told.\n",
     "scripted"},
};

// What the agent of the last work wants to know, and what a person answers.
inline constexpr std::string_view kDemoQuestion = "Are taxes in the prices?", kDemoAnswer = "included";
inline constexpr DemoFile kDemoNotice = {"api", "NOTICE.md", "Taxes: included.\n"};

// What the agent of the second work says where it fails, and what a person then writes.
inline constexpr std::string_view kDemoComplaint = "prices.json names no currency, and I will not guess one.";
inline constexpr DemoFile kDemoMending = {"api", "prices.json",
                                          "{\"currency\": \"EUR\", \"tea\": 4.50, \"cup\": 12.00}\n"};

// A file that somebody deletes by mistake, and what each repository has at the end.
inline constexpr DemoFile kDemoMistake = {"web", "prices.html", "<p>Tea 4.50 EUR, cup 12.00 EUR</p>\n"};
inline constexpr DemoFile kDemoResults[] = {kDemoMending, kDemoMistake, kDemoNotice};

}  // namespace skald::host
